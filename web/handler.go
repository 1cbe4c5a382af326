// Package web is the exporter's HTTP side: which page is where, whether the
// exporter is healthy and ready, and listening with or without TLS and basic
// authentication.
//
//	/           a landing page with links to the others
//	/metrics    the metrics (the path can be configured)
//	/healthz    200 while the process serves, whatever the cluster does
//	/readyz     200 while the last view is fresh, else 503 with the reason
//
// No request to any page makes a request to Kafka, and none waits for a sweep.
// What the pages show is made elsewhere: the package renders nothing of a view
// but whether there is one.
package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Options say what the pages show.
type Options struct {
	// Metrics serves TelemetryPath, which starts with a slash.
	Metrics       http.Handler
	TelemetryPath string
	// View returns the last view, nil before the first.
	View func() *lag.View
	// Version is shown on the landing page.
	Version string
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
		plain(w, http.StatusOK, "ready")
	})
	landing, err := toolkit.NewLandingPage(toolkit.LandingConfig{
		Name:        "LSO Exporter",
		Description: "Prometheus exporter for Kafka's last stable offsets, high watermarks, and the lag of consumer groups against both",
		Version:     o.Version,
		Profiling:   "false",
		Links: []toolkit.LandingLinks{
			{Address: o.TelemetryPath, Text: "Metrics"},
			{Address: "/healthz", Text: "Health", Description: "the process serves"},
			{Address: "/readyz", Text: "Readiness", Description: "the last view of the cluster is fresh"},
		},
	})
	if err != nil {
		panic("web: landing page: " + err.Error()) // its template is compiled in
	}
	mux.Handle("GET /{$}", landing)
	return mux
}

// plain answers with one line of text that no cache keeps.
func plain(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// An error is a client that went away; there is nobody to tell.
	_, _ = io.WriteString(w, strings.Join(strings.Fields(line), " ")+"\n")
}

// NotReady says why a view is not to be relied on at a time; empty when it is.
// A view that lacks something is ready: it says itself what is missing.
func NotReady(view *lag.View, now time.Time) string {
	switch {
	case view == nil:
		return "no sweep has ended yet"
	case view.Expired(now):
		return fmt.Sprintf("the last sweep ended %s ago, and views expire after %s", now.Sub(view.Ended).Round(time.Second), 3*view.Period)
	case view.Failure != "":
		return "no broker reachable: " + view.Failure
	}
	return ""
}
