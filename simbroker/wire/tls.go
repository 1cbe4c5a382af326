package wire

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// Stores are where the certificates of a listener with TLS stand, all of them
// PEM (KIP-651). Of a file and a text, the text counts.
type Stores struct {
	// KeyStore is a file with the broker's key (PKCS#8, not encrypted) and its
	// certificates; Key and Chain are the same as texts.
	KeyStore, Key, Chain string
	// TrustStore is a file with the authorities that may have signed clients'
	// certificates; Authorities is the same as a text.
	TrustStore, Authorities string
	// ClientAuth is none, requested or required, as in ssl.client.auth.
	ClientAuth string
}

// clientAuth are the values of ssl.client.auth.
var clientAuth = map[string]tls.ClientAuthType{
	"none": tls.NoClientCert, "requested": tls.VerifyClientCertIfGiven, "required": tls.RequireAndVerifyClientCert,
}

// ErrStores is wrapped by the errors of NewTLS.
var ErrStores = errors.New("expected a key in PKCS#8 and certificates, as PEM")

// NewTLS reads the stores. Certificates are judged by the machine's clock.
func NewTLS(s Stores) (*tls.Config, error) {
	if s.KeyStore == "" && s.Chain == "" {
		return nil, errors.New("there is no key store; expected one in ssl.keystore.location, or ssl.keystore.certificate.chain and ssl.keystore.key")
	}
	chain, key := []byte(s.Chain), []byte(s.Key)
	if s.Chain == "" {
		content, err := os.ReadFile(s.KeyStore)
		if err != nil {
			return nil, fmt.Errorf("key store: %w", err)
		}
		chain, key = content, content
	}
	certificate, err := tls.X509KeyPair(only("CERTIFICATE", chain), only("PRIVATE KEY", key))
	if err != nil {
		return nil, fmt.Errorf("key store %s: %w: %w", s.KeyStore, err, ErrStores)
	}
	mode, ok := clientAuth[s.ClientAuth]
	if !ok {
		return nil, fmt.Errorf("ssl.client.auth=%s; expected none, requested or required", s.ClientAuth)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: mode, MinVersion: tls.VersionTLS12}
	if mode == tls.NoClientCert || s.TrustStore == "" && s.Authorities == "" {
		return config, nil // without a store, the system's authorities count
	}
	authorities := []byte(s.Authorities)
	if s.Authorities == "" {
		if authorities, err = os.ReadFile(s.TrustStore); err != nil {
			return nil, fmt.Errorf("trust store: %w", err)
		}
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("trust store %s: there is no certificate: %w", s.TrustStore, ErrStores)
	}
	return config, nil
}

// only are the blocks of one type.
func only(kind string, content []byte) []byte {
	var blocks []byte
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == kind {
			blocks = append(blocks, pem.EncodeToMemory(block)...)
		}
	}
	return blocks
}

// keysTimeout is how long a server of keys may take.
const keysTimeout = 10 * time.Second

// ReadKeys reads the key set at a URL, whose scheme is file, http or https
// (sasl.oauthbearer.jwks.endpoint.url).
func ReadKeys(address string) (*sasl.Keys, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "file" {
		document, err := os.ReadFile(u.Path)
		if err != nil {
			return nil, err
		}
		return sasl.ParseKeys(document)
	}
	response, err := (&http.Client{Timeout: keysTimeout}).Get(address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	document, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, response.Status)
	}
	return sasl.ParseKeys(document)
}
