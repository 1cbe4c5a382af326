// Package web is the exporter's HTTP side: which page is where, whether the
// exporter is healthy and ready, and listening with or without TLS and basic
// authentication.
//
//	/             the status page, for people
//	/metrics      the metrics (the path can be configured)
//	/healthz      200 while the process serves, whatever the cluster does
//	/readyz       200 while the last view is fresh, else 503 with the reason
//	/api/report   what the status page says, as JSON
//	/config       the configuration in effect, without secrets
//
// No request to any page makes a request to Kafka, and none waits for a sweep.
// What the pages say is made elsewhere: the metrics by package metrics, what is
// held back by package diagnose.
package web

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Options say what the pages show.
type Options struct {
	// Metrics serves TelemetryPath, which starts with a slash.
	Metrics       http.Handler
	TelemetryPath string
	// View returns the last view, nil before the first.
	View func() *lag.View
	// Status serves what NewStatus says.
	Status http.Handler
	// Now is the clock by which views expire; nil stands for time.Now.
	Now func() time.Time
}

// NewHandler returns the handler of all pages.
func NewHandler(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+o.TelemetryPath, o.Metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if reason := NotReady(o.View(), o.Now()); reason != "" {
			plain(w, http.StatusServiceUnavailable, "not ready: "+reason)
			return
		}
		plain(w, http.StatusOK, ready(o.View()))
	})
	for _, path := range statusPaths {
		mux.Handle("GET "+path, o.Status)
	}
	return mux
}

// HealthOnly returns the part of the pages that is for the probes of an
// orchestrator, which have no certificate and no password: /healthz and /readyz.
func HealthOnly(pages http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", pages)
	mux.Handle("GET /readyz", pages)
	return mux
}

// plain answers with text that no cache keeps.
func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// An error is a client that went away; there is nobody to tell.
	_, _ = io.WriteString(w, text+"\n")
}

// ready is what is said of a view that can be relied on: the rights that it
// lacks, and the brokers that did not answer, a line each.
func ready(view *lag.View) string {
	text := "ready"
	for _, m := range view.Missed {
		switch {
		case m.Kind == lag.MissUnauthorized:
			text += "\nmissing: " + oneLine(m.Subject+": "+m.Detail)
		case m.Silent():
			text += "\nmissing: " + oneLine(fmt.Sprintf("%s: %s (%s)", m.Subject, cmp.Or(m.Detail, "no answer"), m.Kind))
		}
	}
	return text
}

// oneLine is a text without line breaks and doubled spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// NotReady says why a view is not to be relied on at a time; empty when it is. A
// cluster of which nothing may be seen looks empty, and cannot be relied on.
// A view that lacks something is ready: it says itself what is missing.
func NotReady(view *lag.View, now time.Time) string {
	switch {
	case view == nil:
		return "no sweep has ended yet"
	case view.Expired(now):
		return fmt.Sprintf("the last sweep ended %s ago, and views expire after %s", now.Sub(view.Ended).Round(time.Second), 3*view.Period)
	case view.Failure != "":
		return view.FailureTitle() + ":" + indented(view.Failure)
	case view.Offsetless != "":
		return "no offset of any partition could be read:" + indented(view.Offsetless)
	}
	for _, m := range view.Missed {
		if m.Kind == lag.MissUnauthorized && m.Subject == lag.AllTopics {
			return "nothing of the cluster may be seen: " + m.Detail
		}
	}
	return ""
}

// indented puts the lines of a text behind a colon: one beside it, several below.
func indented(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) == 1 {
		return " " + oneLine(text)
	}
	below := ""
	for _, line := range lines {
		below += "\n  " + oneLine(line)
	}
	return below
}
