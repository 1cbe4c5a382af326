package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where all pages ask for a password, probes have an address of their own, on
// which there is nothing but health and readiness.
func TestProbesNeedNoPassword(t *testing.T) {
	webConfig := filepath.Join(t.TempDir(), "web.yml")
	// The hash is that of "secret".
	users := "basic_auth_users:\n  prometheus: $2a$04$jp6MfR/RwBKTB073j.acUO1J2NU2YNPqV/VvooEqPv6xqbv04YHdK\n"
	if err := os.WriteFile(webConfig, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(context.Background())
	defer cancel()
	reader, writer := io.Pipe()
	p := &program{stop: stop, stdout: io.Discard, stderr: writer}
	status := make(chan int, 1)
	go func() {
		status <- p.run([]string{
			"--kafka.brokers=127.0.0.1:1", "--web.listen-address=127.0.0.1:0", "--web.config.file=" + webConfig,
			"--web.health-listen-address=127.0.0.1:0", "--log.format=json",
		})
		writer.Close()
	}()
	log := &journal{lines: logLines(reader)}
	locked := 0
	for range 2 {
		base := "http://" + log.await(t, "Listening on")["address"].(string)
		log.seen = nil // the other address is in a line of its own
		code, _ := get(t, base+"/metrics")
		health, _ := get(t, base+"/healthz")
		ready, reason := get(t, base+"/readyz")
		switch code {
		case http.StatusUnauthorized:
			if locked++; health != http.StatusUnauthorized || ready != http.StatusUnauthorized {
				t.Errorf("with a password: /healthz %d, /readyz %d", health, ready)
			}
		case http.StatusNotFound:
			if health != http.StatusOK || ready != http.StatusServiceUnavailable || !strings.HasPrefix(reason, "not ready: ") {
				t.Errorf("for probes: /healthz %d, /readyz %d %s", health, ready, reason)
			}
		default:
			t.Errorf("/metrics: %d", code)
		}
	}
	if locked != 1 {
		t.Errorf("%d of two addresses ask for a password, want one", locked)
	}
	cancel()
	log.count("")
	if got := <-status; got != exitOK {
		t.Errorf("status %d after a stop", got)
	}
}
