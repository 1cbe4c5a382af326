package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// serve starts a server on loopback; stop ends it and gives what Serve
// returned.
func serve(t *testing.T, h http.Handler, configFile string) (address string, stop func() error) {
	t.Helper()
	listeners, err := Listen([]string{"127.0.0.1:0", "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listeners, h, configFile, quiet) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() { stop() })
	return listeners[1].Addr().String(), stop
}

// A request that is under way when the server is told to stop is answered.
func TestStopLetsRequestsFinish(t *testing.T) {
	arrived, answer := make(chan bool), make(chan bool)
	address, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-answer
		io.WriteString(w, "late")
	}), "")
	body := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + address)
		if err != nil {
			body <- err.Error()
			return
		}
		defer response.Body.Close()
		b, _ := io.ReadAll(response.Body)
		body <- string(b)
	}()
	<-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // the listener closes first
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(answer)
	if got := <-body; got != "late" {
		t.Errorf("the request got %q", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Serve returned %v", err)
	}
}

func TestListenNamesTheAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	_, err = Listen([]string{"127.0.0.1:0", address})
	if err == nil || !strings.Contains(err.Error(), "listen on "+address) {
		t.Errorf("got %v, want an error that names %s", err, address)
	}
}

func TestTLSAndBasicAuthentication(t *testing.T) {
	dir := t.TempDir()
	pool := writeCertificate(t, dir)
	config := filepath.Join(dir, "web.yml")
	// The hash is that of "secret".
	err := os.WriteFile(config, []byte(`
tls_server_config: {cert_file: cert.pem, key_file: key.pem}
basic_auth_users:
  prometheus: $2a$04$jp6MfR/RwBKTB073j.acUO1J2NU2YNPqV/VvooEqPv6xqbv04YHdK
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	address, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "in") }), config)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	status := func(user, password string) int {
		request, err := http.NewRequest(http.MethodGet, "https://"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			request.SetBasicAuth(user, password)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	for _, test := range []struct {
		user, password string
		want           int
	}{
		{"prometheus", "secret", http.StatusOK},
		{"prometheus", "wrong", http.StatusUnauthorized},
		{"nobody", "secret", http.StatusUnauthorized},
		{"", "", http.StatusUnauthorized},
	} {
		if got := status(test.user, test.password); got != test.want {
			t.Errorf("user %q with %q: status %d, want %d", test.user, test.password, got, test.want)
		}
	}
	client.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Errorf("Serve returned %v", err)
	}
}

// A web configuration that is bad ends Serve with its error.
func TestBadWebConfiguration(t *testing.T) {
	config := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(config, []byte("tls_server_config: {cert_file: missing.pem, key_file: missing.pem}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listeners, err := Listen([]string{"127.0.0.1:0", "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(context.Background(), listeners, http.NotFoundHandler(), config, quiet); err == nil {
		t.Error("Serve returned nil")
	}
}

// writeCertificate writes cert.pem and key.pem for 127.0.0.1 to dir, and
// returns the pool that trusts them.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, content []byte) []byte {
		encoded := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
		if err := os.WriteFile(filepath.Join(dir, name), encoded, 0o600); err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	write("key.pem", "PRIVATE KEY", keyBytes)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(write("cert.pem", "CERTIFICATE", certificate))
	return pool
}
