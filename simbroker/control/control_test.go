package control

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// process is a cluster of brokers 1 and 2 that knows their states only.
type process map[kafka.BrokerID]string

func (p process) Brokers() []kafka.BrokerID { return []kafka.BrokerID{1, 2} }

func (p process) Describe(id kafka.BrokerID) (address, state string, fenced bool) {
	return fmt.Sprintf("127.0.0.1:%d", 9090+id), p[id], p[id] == "killed"
}

func (p process) move(id kafka.BrokerID, from, to string) error {
	if p[id] != from {
		return fmt.Errorf("broker %d is %s", id, p[id])
	}
	p[id] = to
	return nil
}

func (p process) Pause(id kafka.BrokerID) error  { return p.move(id, "running", "paused") }
func (p process) Resume(id kafka.BrokerID) error { return p.move(id, "paused", "running") }
func (p process) Kill(id kafka.BrokerID) error   { return p.move(id, "running", "killed") }
func (p process) Start(id kafka.BrokerID) error  { return p.move(id, "killed", "running") }
func (p process) Stop(id kafka.BrokerID) error   { return p.move(id, "running", "stopped") }

func TestHandler(t *testing.T) {
	h := Handler(process{1: "running", 2: "running"})
	for _, step := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"POST", "/brokers/1/pause", 200, "broker 1 paused\n"},
		{"POST", "/brokers/1/pause", 409, "broker 1 is paused\n"},
		{"POST", "/brokers/1/resume", 200, "broker 1 resumed\n"},
		{"POST", "/brokers/1/kill", 200, "broker 1 killed\n"},
		{"GET", "/brokers", 200, `[{"id":1,"address":"127.0.0.1:9091","state":"killed","fenced":true},{"id":2,"address":"127.0.0.1:9092","state":"running","fenced":false}]` + "\n"},
		{"POST", "/brokers/1/start", 200, "broker 1 started\n"},
		{"POST", "/brokers/2/stop", 200, "broker 2 stopped\n"},
		{"POST", "/brokers/3/stop", 404, "no such broker \"3\"\n"},
		{"POST", "/brokers/01/stop", 404, "no such broker \"01\"\n"},
		{"POST", "/brokers/1/explode", 404, "no such act \"explode\": pause, resume, kill, start or stop\n"},
		{"GET", "/brokers/1/pause", 405, "Method Not Allowed\n"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(step.method, step.path, nil))
		body, _ := io.ReadAll(w.Result().Body)
		if w.Code != step.status || string(body) != step.body {
			t.Errorf("%s %s: %d %q, want %d %q", step.method, step.path, w.Code, body, step.status, step.body)
		}
	}
}

func TestListenOnLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "[::]:0", "example.org:0"} {
		if l, err := Listen(address); !errors.Is(err, ErrNotLoopback) {
			t.Errorf("%s: %v", address, err)
			if l != nil {
				l.Close()
			}
		}
	}
	if _, err := Listen("127.0.0.1"); err == nil || !strings.Contains(err.Error(), "host:port") {
		t.Errorf("no port: %v", err)
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: Handler(process{1: "running"})}
	go server.Serve(l)
	defer server.Close()
	resp, err := http.Post("http://"+l.Addr().String()+"/brokers/1/pause", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %s", resp.Status)
	}
}
