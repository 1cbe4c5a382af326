// Command authorities prints the certificates of the authorities that Mozilla
// trusts, in PEM, for the file system of the image.
//
// They come from a Go module whose version go.mod holds, not from the machine that
// builds, so that the file is the same wherever it is made. Those that Mozilla
// trusts only for certificates before some day are left out, as PEM cannot say
// that.
package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	file, err := authorities()
	if err == nil {
		_, err = os.Stdout.Write(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "authorities:", err)
		os.Exit(1)
	}
}

// authorities is the file: for each certificate its subject, and itself.
func authorities() ([]byte, error) {
	var file bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&file, "# %s\n", certificate.Subject)
		if err := pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return file.Bytes(), nil
}
