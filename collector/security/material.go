package security

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// material is what TLS needs of files, read anew for each connection. A file
// that is bad leaves what was read before in use: whoever renews a certificate
// and its key cannot replace both at the same moment.
type material struct {
	settings TLS
	warn     func(format string, args ...any)

	mu   sync.Mutex
	last *loaded // of the last time that all was good
}

// loaded is what files held.
type loaded struct {
	authorities *x509.CertPool // nil stands for the system's
	certificate *tls.Certificate
}

// read returns what the files hold, or what they held when they were last good.
func (m *material) read() (*loaded, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh, err := m.settings.load()
	switch {
	case err == nil:
		m.last = fresh
	case m.last == nil:
		return nil, err
	default:
		m.warn("%v; what it held before stays in use", err)
	}
	return m.last, nil
}

// load reads the files.
func (s TLS) load() (*loaded, error) {
	l := &loaded{}
	var err error
	if l.authorities, err = authorities(s.CAFile); err != nil {
		return nil, err
	}
	if s.CertFile == "" {
		return l, nil
	}
	certificate, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("client certificate %s with key %s: %w", s.CertFile, s.KeyFile, bare(err))
	}
	l.certificate = &certificate
	return l, nil
}

// authorities are the certificates of a file; nil for the system's.
func authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("authorities %s: %w", file, bare(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("authorities %s: %w", file, errNoCertificate)
	}
	return pool, nil
}

var errNoCertificate = errors.New("there is no certificate in PEM in it")

// bare is an error without the path of its file, which is named already.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// expired says that a client certificate cannot be used at a time. A broker
// would refuse it, in words that do not say why.
func (l *loaded) expired(now time.Time, file string) *Error {
	if l.certificate == nil || l.certificate.Leaf == nil {
		return nil
	}
	leaf := l.certificate.Leaf
	if now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		return tlsError(nil, "the client certificate %s is valid from %s to %s, and not at present; renew it, or set the clock right", file, date(leaf.NotBefore), date(leaf.NotAfter))
	}
	return nil
}

// fingerprint changes when one of the files does. It tells nothing of them.
func (s TLS) fingerprint() [sha256.Size]byte {
	hash := sha256.New()
	for _, file := range []string{s.CAFile, s.CertFile, s.KeyFile} {
		if file == "" {
			continue
		}
		content, err := os.ReadFile(file)
		fmt.Fprintf(hash, "%s %t %d ", file, err == nil, len(content))
		hash.Write(content)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}
