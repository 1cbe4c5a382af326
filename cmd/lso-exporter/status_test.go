package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/diagnose"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/workload"
)

// awaitText reads a page until it holds a text, and returns it.
func (s *site) awaitText(path, text string) string {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	poll := time.NewTicker(25 * time.Millisecond)
	defer poll.Stop()
	for {
		_, body := get(s.t, s.base+path)
		if strings.Contains(body, text) {
			return body
		}
		select {
		case <-poll.C:
		case <-deadline:
			s.t.Fatalf("%s does not say %q:\n%s", path, text, body)
		}
	}
}

// The status page of an exporter that runs says what is held back and by whom,
// and so does the report.
func TestStatusPage(t *testing.T) {
	s := newSite(t, newCluster(t), 500*time.Millisecond, "--transactions.look-up-after=1s", "--cluster=blue")
	page := s.awaitText("/", "HEALTHY")
	for _, want := range []string{"lso-exporter of cluster blue", "3 brokers", "<td>offsets</td><td>read everything</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	if _, err := s.admin.CreateTopic(context.Background(), 1, 3, nil, "ledger"); err != nil {
		t.Fatal(err)
	}
	if err := workload.Hang(context.Background(), s.cluster.Bootstrap(), "ledger", 0, "ledger-import", 4); err != nil {
		t.Fatal(err)
	}
	page = s.awaitText("/", "1 hanging transaction holds back 1 partition")
	for _, want := range []string{"ledger-0 is held back: transaction ledger-import ", "abort --topic ledger --partition 0 --start-offset"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	var report diagnose.Report
	status, body := get(t, s.base+"/api/report")
	if err := json.Unmarshal([]byte(body), &report); err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v", status, err)
	}
	if report.Status != diagnose.HeldBack || len(report.Transactions) != 1 || report.Transactions[0].TransactionalID != "ledger-import" {
		t.Errorf("the report is %s", body)
	}
	if status, body = get(t, s.base+"/config"); status != http.StatusOK || !strings.Contains(body, "\ncluster: \"blue\"\n") {
		t.Errorf("the configuration has status %d and is\n%s", status, body)
	}
}

// No page shows a secret of the configuration.
func TestPagesShowNoSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "exporter.yml")
	if err := os.WriteFile(file, []byte("kafka: {sasl: {mechanism: PLAIN, username: exporter, password: correct-horse}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, newCluster(t), time.Second, "--config.file="+file)
	s.awaitText("/", "COULD NOT TELL:</b> <span>no broker") // the cluster knows no logins
	if _, body := get(t, s.base+"/config"); !strings.Contains(body, "username: \"exporter\"\n") {
		t.Errorf("the configuration is\n%s", body)
	}
	for _, path := range []string{"/", "/config", "/api/report", "/metrics", "/readyz"} {
		if _, body := get(t, s.base+path); strings.Contains(body, "correct-horse") {
			t.Errorf("%s shows the password:\n%s", path, body)
		}
	}
}
