package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func handler(view *lag.View) http.Handler {
	return NewHandler(Options{
		Metrics:       http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the metrics\n") }),
		TelemetryPath: "/m",
		View:          func() *lag.View { return view },
		Status:        NewStatus(statusOf(view)),
		Now:           func() time.Time { return now },
	})
}

func get(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestReady(t *testing.T) {
	fresh := lag.View{Ended: now.Add(-30 * time.Second), Period: 10 * time.Second}
	partial := fresh
	partial.Missed = []lag.Miss{{Kind: lag.MissTimeout, Subject: "broker 2", Count: 1}}
	failed := fresh
	failed.Failure = "127.0.0.1:9092: connection refused"
	several := fresh
	several.Failure = "127.0.0.1:9092: connection refused\n127.0.0.1:9093: no answer within 2s"
	blind := fresh
	blind.Missed = []lag.Miss{{Kind: lag.MissUnauthorized, Subject: lag.AllTopics, Count: 1, Detail: "a right is missing"}}
	refused := fresh
	refused.Missed = []lag.Miss{{Kind: lag.MissUnauthorized, Subject: "group odd\nname", Count: 1, Detail: "a right is missing"}, partial.Missed[0]}
	answered := fresh
	answered.Failure = "bootstrap broker: Metadata: an error"
	answered.Missed = []lag.Miss{{Kind: lag.MissOther, Subject: "bootstrap broker", Count: 1, Detail: "Metadata: an error"}}
	offsetless := fresh
	offsetless.Offsetless = "broker 1: ListOffsets: an error\nbroker 2: ListOffsets: another"
	expired := fresh
	expired.Ended = now.Add(-31 * time.Second)
	tests := []struct {
		name   string
		view   *lag.View
		status int
		body   string
	}{
		{"no view yet", nil, 503, "not ready: no sweep has ended yet\n"},
		{"fresh", &fresh, 200, "ready\n"},
		{"fresh, a broker without an answer", &partial, 200, "ready\nmissing: broker 2: no answer (timeout)\n"},
		{"errors in place of the cluster", &answered, 503, "not ready: the brokers answered Metadata with errors: bootstrap broker: Metadata: an error\n"},
		{"no offset at all", &offsetless, 503, "not ready: no offset of any partition could be read:\n  broker 1: ListOffsets: an error\n  broker 2: ListOffsets: another\n"},
		{"nothing read", &failed, 503, "not ready: no broker reachable: 127.0.0.1:9092: connection refused\n"},
		{"nothing read from several", &several, 503, "not ready: no broker reachable:\n  127.0.0.1:9092: connection refused\n  127.0.0.1:9093: no answer within 2s\n"},
		{"nothing may be seen", &blind, 503, "not ready: nothing of the cluster may be seen: a right is missing\n"},
		{"fresh, a right missing", &refused, 200, "ready\nmissing: group odd name: a right is missing\nmissing: broker 2: no answer (timeout)\n"},
		{"expired", &expired, 503, "not ready: the last sweep ended 31s ago, and views expire after 30s\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := get(handler(test.view), http.MethodGet, "/readyz")
			if w.Code != test.status || w.Body.String() != test.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, test.status, test.body)
			}
			if w = get(handler(test.view), http.MethodGet, "/healthz"); w.Code != 200 || w.Body.String() != "ok\n" {
				t.Errorf("/healthz: %d %q, want 200 whatever the view", w.Code, w.Body)
			}
		})
	}
}

func TestHealthOnly(t *testing.T) {
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 503, "/": 404, "/m": 404, "/config": 404} {
		if w := get(HealthOnly(handler(nil)), http.MethodGet, path); w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
	}
}

func TestPages(t *testing.T) {
	tests := []struct {
		method, path string
		status       int
		contains     string
	}{
		{http.MethodGet, "/m", 200, "the metrics"},
		{http.MethodHead, "/m", 200, ""},
		{http.MethodGet, "/", 200, `<a href="/m">Metrics</a>`},
		{http.MethodHead, "/", 200, ""},
		{http.MethodGet, "/config", 200, "cluster: \"blue\"\n"},
		{http.MethodGet, "/api/report", 503, "no sweep has ended yet"},
		{http.MethodPost, "/", 405, ""},
		{http.MethodGet, "/metrics", 404, ""},
		{http.MethodGet, "/nothing", 404, ""},
		{http.MethodPost, "/m", 405, ""},
	}
	for _, test := range tests {
		w := get(handler(nil), test.method, test.path)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.contains) {
			t.Errorf("%s %s: %d %q, want %d and %q", test.method, test.path, w.Code, w.Body, test.status, test.contains)
		}
	}
}
