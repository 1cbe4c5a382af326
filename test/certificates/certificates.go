// Package certificates makes authorities and certificates for tests, as PEM: for
// the exporter, and in the form in which Kafka takes a store (KIP-651).
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	// PEM is the authority's own certificate.
	PEM []byte

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority returns an authority with a key of its own.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate, a.PEM = sign(t, template, template, &a.key.PublicKey, a.key)
	return a
}

// Request says what certificate is wanted. The zero value is one that nobody
// should accept: for no name.
type Request struct {
	// Subject is whose it is; Raw, if not nil, is the same in DER, for orders and
	// attributes that pkix.Name does not have.
	Subject pkix.Name
	Raw     []byte
	// Names are host names and addresses.
	Names []string
	// NotBefore and NotAfter default to a day before and after.
	NotBefore, NotAfter time.Time
}

// Pair is a certificate and its key, as PEM.
type Pair struct {
	Certificate, Key []byte
	// Chain is the certificate and the authority's.
	Chain []byte
}

// Issue signs a certificate, good for servers and clients.
func (a *Authority) Issue(t testing.TB, r Request) Pair {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: r.Subject, RawSubject: r.Raw,
		NotBefore: r.NotBefore, NotAfter: r.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-24 * time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(24 * time.Hour)
	}
	for _, name := range r.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	_, certificate := sign(t, template, a.certificate, &key.PublicKey, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{
		Certificate: certificate, Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		Chain: slices.Concat(certificate, a.PEM),
	}
}

// KeyStore is a pair as Kafka takes it in a file: the key, then the chain.
func (p Pair) KeyStore() []byte { return slices.Concat(p.Key, p.Chain) }

// Write puts a certificate and its key into files of a folder, NAME.crt and
// NAME.key, and returns their paths.
func (p Pair) Write(t testing.TB, dir, name string) (certificate, key string) {
	t.Helper()
	return WriteFile(t, dir, name+".crt", p.Certificate), WriteFile(t, dir, name+".key", p.Key)
}

// WriteFile puts content into a file of a folder, in the place of what was there,
// and returns its path.
func WriteFile(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func serial(t testing.TB) *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func sign(t testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, []byte) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
