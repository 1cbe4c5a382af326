package alerts

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// An alert is as Alertmanager sends it.
type alert struct {
	Status      string
	Labels      map[string]string
	Annotations map[string]string
	receiver    string // the path of the webhook
}

// is says whether the alert has the name, status and topic.
func (a alert) is(name, status, topic string) bool {
	return a.Labels["alertname"] == name && a.Status == status && a.Labels["topic"] == topic
}

// A webhook takes the alerts that Alertmanager sends.
type webhook struct {
	url    string
	mu     sync.Mutex
	alerts []alert
	grown  chan struct{} // closed and replaced when alerts arrive
}

func newWebhook(t *testing.T) *webhook {
	w := &webhook{grown: make(chan struct{})}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// ServeHTTP takes one message.
func (w *webhook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var message struct{ Alerts []alert }
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		return // not from Alertmanager
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range message.Alerts {
		a.receiver = r.URL.Path
		w.alerts = append(w.alerts, a)
	}
	close(w.grown)
	w.grown = make(chan struct{})
}

// received are the alerts that have arrived.
func (w *webhook) received() ([]alert, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]alert(nil), w.alerts...), w.grown
}

// await waits for an alert.
func (w *webhook) await(t *testing.T, name, status, topic string) alert {
	t.Helper()
	deadline := time.After(patience)
	for {
		alerts, grown := w.received()
		for _, a := range alerts {
			if a.is(name, status, topic) {
				return a
			}
		}
		select {
		case <-grown:
		case <-deadline:
			t.Fatalf("%s of %s did not arrive %s; what did: %v", name, topic, status, alerts)
		}
	}
}
