package secured

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/certificates"
)

// seen is the sample of a topic that whoever may see all sees.
const seen = `kafka_partition_high_watermark{partition="0",topic="orders"}`

// number is a sample's value; 0 without it.
func (s *served) number(series string) int {
	s.t.Helper()
	n, err := strconv.Atoi(s.sample(series))
	if err != nil {
		return 0
	}
	return n
}

// door counts the connections that pass through it to a broker.
type door struct {
	address string
	passed  atomic.Int64
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{address: listener.Addr().String()}
	var open sync.WaitGroup
	t.Cleanup(func() { listener.Close(); open.Wait() })
	open.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			d.passed.Add(1)
			open.Go(func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { io.Copy(out, in); out.Close() }()
				io.Copy(in, out)
			})
		}
	})
	return d
}

// A wrong password is not tried at each sweep, and the right one is at once.
func TestNoStormOfLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := w.simulate(t, simbroker.Config{Brokers: 3})
	w.createTopic(t)
	var doors []*door
	var addresses []string
	for _, address := range cluster.BootstrapOf("BRIEF") {
		d := newDoor(t, address)
		doors, addresses = append(doors, d), append(addresses, "'"+d.address+"'")
	}
	certificates.WriteFile(t, w.dir, "own.secret", []byte(w.secrets["wrong"]))
	path := w.file("exporter.yml")
	text := "sweep: {interval: 100ms}\nkafka:\n  brokers: [" + strings.Join(addresses, ", ") + "]\n  request_timeout: 75ms\n" +
		w.fill(strings.Replace(plain, "plain.secret", "own.secret", 1), "BRIEF")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, "--config.file="+path)
	begun := time.Now()
	s.until("30 sweeps have failed", func() bool { return s.number(`lso_exporter_sweeps_total{result="failed"}`) >= 30 })
	for i, d := range doors {
		// The second login is due after 10 s, the third after 30 s; a connection
		// that took too long to open had none.
		if n, most := d.passed.Load(), int64(2+time.Since(begun)/(10*time.Second)); n < 1 || n > most {
			t.Errorf("%d connections to broker %d in %v, want 1 to %d", n, i+1, time.Since(begun), most)
		}
	}
	var most int64
	for _, d := range doors {
		most += d.passed.Load()
	}
	if n := s.number(`lso_exporter_requests_total{api="Metadata",broker="seed",error="authentication"}`); n < 1 || int64(n) > most {
		t.Errorf("%d requests are counted, with %d connections", n, most)
	}
	if errors := s.number(`lso_exporter_errors_total{kind="authentication"}`); errors < 30 {
		t.Errorf("%d errors in 30 sweeps", errors)
	}
	// On a busy machine a sweep may be over before anything is known, which is
	// another reason to tell.
	refused, other := 0, 0
	for line := range strings.Lines(s.log.String()) {
		switch {
		case strings.Contains(line, "refused the login"):
			refused++
		case strings.Contains(line, "no broker reachable"):
			other++
		}
	}
	if refused < 1 || refused > 1+other {
		t.Errorf("logged in %d lines, want one, and one more after each of %d other reasons\n%s", refused, other, s.log)
	}
	certificates.WriteFile(t, w.dir, "own.secret", []byte(w.secrets["plain"]))
	changed := time.Now()
	s.until("topic orders is seen", func() bool { return s.sample(seen) == "0" })
	if took := time.Since(changed); took > 8*time.Second {
		t.Errorf("the right password was tried after %v", took)
	}
}

// Certificates are renewed under a running exporter: its next connection shows
// the new one.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ca := certificates.NewAuthority(t, "Clients' CA")
	subject := func(name string) certificates.Request {
		return certificates.Request{Subject: pkix.Name{CommonName: name}}
	}
	cluster := w.simulate(t, simbroker.Config{Properties: map[string]string{
		"super.users":                                "User:ANONYMOUS;User:CN=second",
		"listener.name.mtls.ssl.truststore.type":     "PEM",
		"listener.name.mtls.ssl.truststore.location": certificates.WriteFile(t, w.dir, "clients.crt", ca.PEM),
	}})
	w.createTopic(t)
	ca.Issue(t, subject("first")).Write(t, w.dir, "own")
	s := serve(t, nil, "--config.file="+w.configuration(t, "renewed", "MTLS", w.fill(clientCertificate("own"), "MTLS")))
	s.until("it has looked", func() bool { return s.number(`lso_exporter_sweeps_total{result="partial"}`) > 0 })
	if got := s.sample(seen); got != "" {
		t.Fatalf("the first certificate sees the topic: %s", got)
	}
	ca.Issue(t, subject("second")).Write(t, w.dir, "own")
	if err := cluster.Stop(1); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(1); err != nil {
		t.Fatal(err)
	}
	s.until("topic orders is seen", func() bool { return s.sample(seen) == "0" })
}

// A broker with a bad certificate costs its own samples, and no others.
func TestOneBadCertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := w.simulate(t, simbroker.Config{
		Brokers: 3,
		BrokerProperties: map[kafka.BrokerID]map[string]string{2: {
			"listener.name.tls.ssl.keystore.type": "PEM", "listener.name.tls.ssl.keystore.location": w.file("expired.pem"),
		}},
	})
	w.createTopics(t, map[string]int32{"at-1": 1, "at-2": 2, "at-3": 3})
	s := serve(t, nil, "--config.file="+w.configuration(t, "bad", "TLS", w.fill(trusting, "TLS")))
	ends := func(topic string) string {
		return s.sample(`kafka_partition_high_watermark{partition="0",topic="` + topic + `"}`)
	}
	s.until("the others' topics are seen", func() bool { return ends("at-1") == "0" && ends("at-3") == "0" })
	s.until("it counts as tls", func() bool { return s.number(`lso_exporter_errors_total{kind="tls"}`) > 2 })
	if got := ends("at-2"); got != "" {
		t.Errorf("the topic of the bad broker has a sample: %s", got)
	}
	if status, body := s.get("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, body)
	}
	want := "the certificate of " + cluster.BootstrapOf("TLS")[1] + " is valid from "
	if !strings.Contains(s.log.String(), want) {
		t.Errorf("the log does not say %q\n%s", want, s.log)
	}
}

// Sessions that end are renewed in time: nothing is missed, and nothing is seen
// of it (KIP-368).
func TestSessionsAreRenewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.issuer.Lifetime = 4 * time.Second
	w.simulate(t, simbroker.Config{})
	w.createTopic(t)
	for name, r := range map[string]row{
		"password": {listener: "BRIEF", section: plain},
		"token":    {listener: "LOGIN", section: trusting + oauth + "token_url: '${TOKENS}'}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, "--config.file="+w.configuration(t, name, r.listener, w.fill(r.section, r.listener)))
			s.until("18 sweeps are complete", func() bool { return s.number(`lso_exporter_sweeps_total{result="complete"}`) >= 18 })
			for _, kind := range []string{"authentication", "tls", "unreachable"} {
				if got := s.sample(`lso_exporter_errors_total{kind="` + kind + `"}`); got != "0" {
					t.Errorf("%s errors of the kind %s\n%s", got, kind, s.log)
				}
			}
		})
	}
	t.Cleanup(func() {
		// Nine seconds of tokens that are renewed after one at the earliest.
		if n := w.issuer.Requests(); n < 3 || n > 20 {
			t.Errorf("%d tokens were asked for", n)
		}
	})
}

// Pages are served with TLS and to those who log in only, by a web configuration
// file.
func TestWebWithTLSAndPasswords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.simulate(t, simbroker.Config{})
	w.createTopic(t)
	ca := certificates.NewAuthority(t, "Web CA")
	ca.Issue(t, certificates.Request{Names: []string{"127.0.0.1"}}).Write(t, w.dir, "web")
	// The hash is that of "secret".
	web := certificates.WriteFile(t, w.dir, "web.yml", []byte("tls_server_config: {cert_file: web.crt, key_file: web.key}\n"+
		"basic_auth_users: {prometheus: $2a$04$jp6MfR/RwBKTB073j.acUO1J2NU2YNPqV/VvooEqPv6xqbv04YHdK}\n"))
	s := serve(t, nil, "--config.file="+w.configuration(t, "exporter", "TLS", w.fill(trusting, "TLS")), "--web.config.file="+web)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	get := func(path, password string) (int, string) {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, strings.Replace(s.url, "http:", "https:", 1)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if password != "" {
			request.SetBasicAuth("prometheus", password)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	s.until("topic orders is seen", func() bool {
		_, page := get("/metrics", "secret")
		return strings.Contains(page, "\n"+seen+" 0\n")
	})
	for _, path := range []string{"/metrics", "/", "/readyz", "/healthz"} {
		for password, want := range map[string]int{"secret": 200, "wrong": 401, "": 401} {
			if status, body := get(path, password); status != want || want == 401 && strings.Contains(body, "kafka") {
				t.Errorf("%s with %q: status %d, want %d\n%s", path, password, status, want, body)
			}
		}
	}
	if response, err := http.Get(s.url + "/metrics"); err == nil {
		if response.Body.Close(); response.StatusCode == http.StatusOK {
			t.Error("served in clear")
		}
	}
}

// Whoever lacks rights is told the commands that grant them, with the principal
// that the brokers know.
func TestPrincipalOfRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.simulate(t, simbroker.Config{Properties: map[string]string{"super.users": "User:ANONYMOUS"}})
	w.createTopic(t)
	for name, test := range map[string]struct{ listener, section, want string }{
		"user":  {"BRIEF", plain, plainUser},
		"token": {"LOGIN", trusting + oauth + "token_url: '${TOKENS}'}}\n", otherSubject},
	} {
		path := w.configuration(t, name, test.listener, w.fill(test.section, test.listener))
		status, report := run(t, nil, "diagnose", "--config.file="+path, "--wait=0s")
		if want := "--allow-principal User:" + test.want + " "; status != 2 || !strings.Contains(unwrapped(report), want) {
			t.Errorf("%s: status %d without %q\n%s", name, status, want, report)
		}
	}
}
