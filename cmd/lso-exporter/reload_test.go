package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/simbroker"
)

// reloading is a site whose exporter has a configuration file.
type reloading struct {
	*site
	hangUps chan<- os.Signal
	log     *journal
}

// newReloading starts an exporter of a cluster with a configuration, in which
// BROKERS stands for the cluster's brokers.
func newReloading(t *testing.T, cluster *simbroker.Cluster, content string) *reloading {
	t.Helper()
	t.Chdir(t.TempDir())
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	r := &reloading{site: &site{t: t, cluster: cluster, client: client, admin: kadm.NewClient(client)}}
	r.write(content)
	stop, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	hangUps := make(chan chan<- os.Signal, 1)
	p := &program{stop: stop, stdout: io.Discard, stderr: writer, notifyHangUp: func(c chan<- os.Signal) { hangUps <- c }}
	done := make(chan int, 1)
	go func() {
		done <- p.run([]string{"--config.file=exporter.yml", "--web.listen-address=127.0.0.1:0", "--log.format=json"})
		writer.Close()
	}()
	r.log = &journal{lines: logLines(reader)}
	t.Cleanup(func() {
		cancel()
		r.log.count("")
		if status := <-done; status != exitOK {
			t.Errorf("serve ended with status %d", status)
		}
	})
	r.base = "http://" + r.log.await(t, "Listening on")["address"].(string)
	r.hangUps = <-hangUps
	return r
}

// write replaces the configuration file.
func (r *reloading) write(content string) {
	r.t.Helper()
	content = strings.ReplaceAll(content, "BROKERS", "["+strings.Join(r.cluster.Bootstrap(), ", ")+"]")
	if err := os.WriteFile("next.yml", []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename("next.yml", "exporter.yml"); err != nil {
		r.t.Fatal(err)
	}
}

// What is logged of a reload.
const (
	reloaded    = "the configuration was reloaded"
	unchanged   = "the configuration was read anew, with the files that it names, and no setting has changed"
	notReloaded = "the configuration was not reloaded, and the one before stays in effect"
)

// next returns the next line of the log with a message.
func (r *reloading) next(message string) map[string]any {
	r.t.Helper()
	r.log.seen = nil
	return r.log.await(r.t, message)
}

// reload writes a configuration, tells of it by the signal and returns what is
// logged.
func (r *reloading) reload(content, message string) map[string]any {
	r.t.Helper()
	r.write(content)
	r.hangUps <- syscall.SIGHUP
	return r.next(message)
}

// named finds the only series of a metric.
func (p page) named(t *testing.T, name string) (series string, value float64) {
	t.Helper()
	for s, v := range p {
		if strings.HasPrefix(s, name+"{") {
			return s, v
		}
	}
	t.Fatalf("no %s", name)
	return "", 0
}

const (
	reloadSuccessful = "lso_exporter_config_last_reload_successful"
	reloadedAt       = "lso_exporter_config_last_reload_success_timestamp_seconds"
	fingerprint      = "lso_exporter_config_info"
)

const reloadBase = "kafka: {brokers: BROKERS}\nreload: {interval: 0s}\nsweep: {interval: 200ms}\n"

// What was counted and remembered outlasts a reload, and pages are served all
// the time.
func TestReloadKeepsWhatWasSeen(t *testing.T) {
	r := newReloading(t, newCluster(t), reloadBase)
	r.create("orders", []int32{1})
	r.create("internal", []int32{1})
	r.begin(r.writer("billing"), "orders", 0, 1)
	const stalled = `kafka_partition_lso_stalled_seconds{partition="0",topic="orders"}`
	before := r.await(func(p page) string {
		if p[stalled] < 1 || p[`lso_exporter_sweeps_total{result="complete"}`] < 3 {
			return stalled
		}
		return ""
	})
	_, started := before.named(t, reloadedAt)

	// Somebody scrapes all the time.
	scraping, stop := context.WithCancel(t.Context())
	scraped := make(chan error, 1)
	go func() {
		for scraping.Err() == nil {
			response, err := http.Get(r.base + "/metrics")
			if err != nil {
				scraped <- err
				return
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			complete := bytes.Contains(body, []byte("\nlso_exporter_last_sweep_success 1\n"))
			if err != nil || complete && !bytes.Contains(body, []byte("\nkafka_partition_lso_stalled_seconds{")) {
				scraped <- fmt.Errorf("a scrape gave %s, %d bytes, %v", response.Status, len(body), err)
				return
			}
		}
		scraped <- nil
	}()

	line := r.reload(reloadBase+"granularity: topic\ntopics: {exclude: internal}\n", reloaded)
	if got := fmt.Sprint(line["changed"]); got != "[granularity topics.exclude]" {
		t.Errorf("changed %s", got)
	}
	after := r.await(func(p page) string {
		if _, there := p[`kafka_partition_high_watermark{partition="0",topic="internal"}`]; there {
			return "no topic that is excluded"
		}
		at, read := p[stalled]
		switch {
		case read && at < before[stalled]:
			t.Fatalf("%s fell from %v to %v", stalled, before[stalled], at)
		case !read || at == before[stalled]:
			return "a longer " + stalled
		}
		return ""
	})
	stop()
	if err := <-scraped; err != nil {
		t.Error(err)
	}
	for name, value := range before {
		if strings.HasPrefix(name, "lso_exporter_") && strings.Contains(name, "_total{") && after[name] < value {
			t.Errorf("%s fell from %v to %v", name, value, after[name])
		}
	}
	if _, at := after.named(t, reloadedAt); at <= started {
		t.Errorf("reloaded at %v, started at %v", at, started)
	}

	// Series under another label are others; pages can move.
	r.reload(reloadBase+"cluster: blue\nweb: {telemetry_path: /m}\n", reloaded)
	_, body := get(t, r.base+"/m")
	for _, want := range []string{`lso_exporter_sweeps_total{cluster="blue",result="complete"}`, `kafka_partition_lso_stalled_seconds{cluster="blue",partition="0",topic="orders"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("after a reload with another label, no %s", want)
		}
	}
	if _, body := get(t, r.base+"/config"); !strings.Contains(body, `cluster: "blue"`) {
		t.Error("the page of the configuration shows another one")
	}
}

// Of another cluster nothing is known, and nothing of the one before is shown.
func TestReloadToAnotherCluster(t *testing.T) {
	first, second := newCluster(t), newCluster(t)
	r := newReloading(t, first, reloadBase)
	r.create("orders", []int32{1})
	const watermark = `kafka_partition_high_watermark{partition="0",topic="orders"}`
	r.await(has(page{watermark: 0}))
	r.cluster = second
	r.reload(reloadBase, reloaded)
	r.await(func(p page) string {
		if _, there := p[watermark]; there {
			t.Fatal("a topic of the cluster before is shown")
		}
		for series := range p {
			if strings.HasPrefix(series, "kafka_cluster_info{") {
				return ""
			}
		}
		return "another cluster"
	})
}

// A bad configuration changes nothing, whatever else is in it.
func TestReloadRefuses(t *testing.T) {
	r := newReloading(t, newCluster(t), reloadBase)
	before, _ := r.scrape().named(t, fingerprint)
	for _, step := range []struct{ content, reason string }{
		{reloadBase + "cluster: blue\nlog:\n  level: loud\n  colour: red\n",
			`exporter.yml:6: log.level = "loud" is not one of trace, debug, info, warn, error; choose one of them; exporter.yml:7: log.colour = "red" is an unknown key; remove it`},
		{reloadBase + "cluster: blue\nsweep: {interval: 1s}\n", `exporter.yml:5: sweep = "{interval: 1s}" stands in line 3 already; remove one of the two`},
		{reloadBase + "cluster: blue\nweb: {config_file: /dev/null}\n",
			`exporter.yml:5: web.config_file = "/dev/null" cannot change while the exporter runs (in effect is ""); set it back, or start the exporter anew`},
		{"cluster: blue\n", `exporter.yml: kafka.brokers = "" is empty; list at least one host:port there, in --kafka.brokers or in LSO_EXPORTER_KAFKA_BROKERS`},
	} {
		if reason := r.reload(step.content, notReloaded)["reason"]; reason != step.reason {
			t.Errorf("refused because %s\nwant %s", reason, step.reason)
		}
		p := r.scrape()
		if _, successful := p.named(t, reloadSuccessful); successful != 0 {
			t.Error("the metrics do not say that it was refused")
		}
		if got, _ := p.named(t, fingerprint); got != before {
			t.Errorf("in effect is %s, want %s", got, before)
		}
	}
	r.reload(reloadBase+"granularity: group\n", reloaded)
	p := r.scrape()
	if _, successful := p.named(t, reloadSuccessful); successful != 1 {
		t.Error("the metrics do not say that it was reloaded")
	}
	if got, _ := p.named(t, fingerprint); got == before {
		t.Error("a good configuration is not in effect")
	}
	r.reload(reloadBase+"granularity: group\n", unchanged)
}

// Without a signal too it is noticed that a file has changed: the configuration,
// or one that it names.
func TestReloadOfChangedFiles(t *testing.T) {
	base := strings.Replace(reloadBase, "0s", "100ms", 1)
	r := newReloading(t, newCluster(t), base)
	r.write(base + "granularity: group\n")
	if changed := fmt.Sprint(r.next(reloaded)["changed"]); changed != "[granularity]" {
		t.Errorf("changed %s", changed)
	}
	const withPassword = "kafka:\n  brokers: BROKERS\n  sasl: {mechanism: PLAIN, username: alice, password: 'file:password'}\nreload: {interval: 100ms}\n"
	r.write(withPassword)
	if reason, _ := r.next(notReloaded)["reason"].(string); !strings.Contains(reason, "names a file that cannot be read") {
		t.Errorf("refused because %s", reason)
	}
	secret := func(content string) {
		if err := os.WriteFile("password", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secret("one")
	r.write(withPassword + "\n")
	r.next(reloaded)
	secret("two")
	r.next(unchanged) // a setting: the secret stands in the same file
	secret("")
	r.next(notReloaded)
}

func TestInOneLine(t *testing.T) {
	for lines, want := range map[int]string{1: "a", 3: "a; a; a", 20: strings.Repeat("a; ", 19) + "a", 22: strings.Repeat("a; ", 20) + "and 2 more"} {
		err := errors.New(strings.TrimSuffix(strings.Repeat("a\n", lines), "\n"))
		if got := inOneLine(err); got != want {
			t.Errorf("%d lines: %s", lines, got)
		}
	}
}

// Log lines follow the configuration.
func TestLogOutput(t *testing.T) {
	var out strings.Builder
	o := newLogOutput(&out, config.Log{Level: "warn", Format: "json"})
	logger := o.logger()
	logger.Info().Msg("one")
	o.use(config.Log{Level: "debug", Format: "text"})
	logger.Debug().Msg("two")
	o.use(config.Log{Level: "error", Format: "json"})
	logger.Warn().Msg("three")
	logger.Error().Msg("four")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "DBG two") || !strings.Contains(lines[1], `"message":"four"`) {
		t.Errorf("logged %q", lines)
	}
}
