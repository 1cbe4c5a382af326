package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// process is a cluster of brokers 1 and 2 that knows their states, the faults
// and the time only.
type process struct {
	states map[kafka.BrokerID]string
	faults []simbroker.Injection
	last   int
	now    time.Time
}

func newProcess() *process {
	return &process{states: map[kafka.BrokerID]string{1: "running", 2: "running"}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (p *process) Inject(f simbroker.Fault) (int, error) {
	switch f := f.(type) {
	case simbroker.CutOff:
		if f.Broker > 2 {
			return 0, simbroker.ErrUnknownBroker
		}
	case simbroker.ForgetTransactionalID:
		return 0, simbroker.ErrUnknownTransactionalID
	}
	p.last++
	p.faults = append(p.faults, simbroker.Injection{ID: p.last, Fault: f})
	return p.last, nil
}

func (p *process) Withdraw(id int) error {
	at := slices.IndexFunc(p.faults, func(i simbroker.Injection) bool { return i.ID == id })
	if at < 0 {
		return simbroker.ErrUnknownFault
	}
	p.faults = slices.Delete(p.faults, at, at+1)
	return nil
}

func (p *process) Injections() []simbroker.Injection { return slices.Clone(p.faults) }

func (p *process) Now() time.Time { return p.now }

func (p *process) Advance(d time.Duration) { p.now = p.now.Add(d) }

func (p *process) Snapshot() simbroker.Snapshot { return simbroker.Snapshot{Now: p.now} }

func (p *process) Brokers() []kafka.BrokerID { return []kafka.BrokerID{1, 2} }

func (p *process) Describe(id kafka.BrokerID) (address, state string, fenced bool) {
	return fmt.Sprintf("127.0.0.1:%d", 9090+id), p.states[id], p.states[id] == "killed"
}

func (p *process) move(id kafka.BrokerID, from, to string) error {
	if p.states[id] != from {
		return fmt.Errorf("broker %d is %s", id, p.states[id])
	}
	p.states[id] = to
	return nil
}

func (p *process) Pause(id kafka.BrokerID) error  { return p.move(id, "running", "paused") }
func (p *process) Resume(id kafka.BrokerID) error { return p.move(id, "paused", "running") }
func (p *process) Kill(id kafka.BrokerID) error   { return p.move(id, "running", "killed") }
func (p *process) Start(id kafka.BrokerID) error  { return p.move(id, "killed", "running") }
func (p *process) Stop(id kafka.BrokerID) error   { return p.move(id, "running", "stopped") }

// step is a request with its answer.
type step struct {
	method, path, document string
	status                 int
	body                   string
}

func (s step) play(t *testing.T, h http.Handler) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(s.method, s.path, strings.NewReader(s.document)))
	if body := w.Body.String(); w.Code != s.status || body != s.body {
		t.Errorf("%s %s %s: %d %q, want %d %q", s.method, s.path, s.document, w.Code, body, s.status, s.body)
	}
}

func TestBrokers(t *testing.T) {
	h := Handler(newProcess())
	for _, s := range []step{
		{"POST", "/brokers/1/pause", "", 200, "broker 1 paused\n"},
		{"POST", "/brokers/1/pause", "", 409, "broker 1 is paused\n"},
		{"POST", "/brokers/1/resume", "", 200, "broker 1 resumed\n"},
		{"POST", "/brokers/1/kill", "", 200, "broker 1 killed\n"},
		{"GET", "/brokers", "", 200, `[{"id":1,"address":"127.0.0.1:9091","state":"killed","fenced":true},{"id":2,"address":"127.0.0.1:9092","state":"running","fenced":false}]` + "\n"},
		{"POST", "/brokers/1/start", "", 200, "broker 1 started\n"},
		{"POST", "/brokers/2/stop", "", 200, "broker 2 stopped\n"},
		{"POST", "/brokers/3/stop", "", 404, "no such broker \"3\"\n"},
		{"POST", "/brokers/01/stop", "", 404, "no such broker \"01\"\n"},
		{"POST", "/brokers/1/explode", "", 404, "no such act \"explode\": pause, resume, kill, start or stop\n"},
		{"GET", "/brokers/1/pause", "", 405, "Method Not Allowed\n"},
	} {
		s.play(t, h)
	}
}

func TestFaults(t *testing.T) {
	h := Handler(newProcess())
	const (
		hold  = `{"id":1,"text":"hold markers of orders[0]","document":{"fault":"hold_markers","topic":"orders","partitions":[0]}}`
		delay = `{"id":2,"text":"delay requests ListOffsets at broker 2 by 5s","document":{"fault":"delay_requests","broker":2,"apis":["ListOffsets"],"delay":"5s"}}`
	)
	for _, s := range []step{
		{"GET", "/faults", "", 200, "[]\n"},
		{"POST", "/faults", `{"fault": "hold_markers", "topic": "orders", "partitions": [0]}`, 201, hold + "\n"},
		{"POST", "/faults", `{"fault": "delay_requests", "apis": ["listoffsets"], "broker": 2, "delay": "5s"}`, 201, delay + "\n"},
		{"GET", "/faults", "", 200, "[" + hold + "," + delay + "]\n"},
		{"DELETE", "/faults/1", "", 200, "fault 1 withdrawn\n"},
		{"DELETE", "/faults/1", "", 404, "no such fault \"1\"\n"},
		{"DELETE", "/faults/first", "", 404, "no such fault \"first\"\n"},
		{"GET", "/faults", "", 200, "[" + delay + "]\n"},
		{"DELETE", "/faults", "", 200, "fault 2 withdrawn\n"},
		{"GET", "/faults", "", 200, "[]\n"},
		{"POST", "/faults", `{"fault": "cut_off", "broker": 9}`, 404, "no such broker\n"},
		{"POST", "/faults", `{"fault": "forget_transactional_id", "transactional_id": "x"}`, 404, "no such transactional id\n"},
		{"POST", "/faults", `{"fault": "cut_off", "broker": "2"}`, 400, `not the description of a fault: broker cannot be "2"; expected the id of a broker, a whole number` + "\n"},
		{"POST", "/faults", `{"fault": "flood"}`, 400, `not the description of a fault: fault "flood" is none; expected one of cut_answers, cut_off, delay_loading, delay_requests, drop_markers, fail_requests, forget_transactional_id, hold_fetches, hold_markers, lose_requests, skew_clock, trickle_answers` + "\n"},
	} {
		s.play(t, h)
	}
}

func TestClock(t *testing.T) {
	h := Handler(newProcess())
	for _, s := range []step{
		{"GET", "/clock", "", 200, `{"now":"2026-01-01T00:00:00Z"}` + "\n"},
		{"POST", "/clock/advance", `{"by": "1h30m"}`, 200, `{"now":"2026-01-01T01:30:00Z"}` + "\n"},
		{"GET", "/clock", "", 200, `{"now":"2026-01-01T01:30:00Z"}` + "\n"},
		{"POST", "/clock/advance", `{"by": "-1h"}`, 400, `by "-1h" is no time to advance by; expected a duration such as 10m, up to 480h0m0s, not negative` + "\n"},
		{"POST", "/clock/advance", `{"by": "soon"}`, 400, `by "soon" is no time to advance by; expected a duration such as 10m, up to 480h0m0s, not negative` + "\n"},
		{"POST", "/clock/advance", `{"by": "481h"}`, 400, `by "481h" is no time to advance by; expected a duration such as 10m, up to 480h0m0s, not negative` + "\n"},
		{"POST", "/clock/advance", `{"to": "noon"}`, 400, `json: unknown field "to"; expected {"by": "10m"}` + "\n"},
	} {
		s.play(t, h)
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
	server := &http.Server{Handler: Handler(newProcess())}
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

// leaving is a process whose client goes as soon as the clock has moved.
type leaving struct {
	*process
	leave func()
}

func (l leaving) Advance(by time.Duration) {
	l.process.Advance(by)
	l.leave()
}

func TestAdvanceEndsWithItsClient(t *testing.T) {
	p := newProcess()
	begun := p.now
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "POST", "/clock/advance", strings.NewReader(`{"by": "480h"}`))
	Handler(leaving{p, leave}).ServeHTTP(httptest.NewRecorder(), r)
	if moved := p.now.Sub(begun); moved != advanceStep {
		t.Errorf("the clock has moved by %v, want one step", moved)
	}
}
