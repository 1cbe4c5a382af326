package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A site is the demo with everything that alerts need.
type site struct {
	exporter, prometheus string // addresses
	crowd                string // that of a Prometheus with several exporters
	brokers              []string
	webhook              *webhook
}

// tools skips the test where it is not asked for, or cannot run.
func tools(t *testing.T) {
	t.Helper()
	if os.Getenv("LSO_PROMETHEUS") == "" {
		t.Skip("LSO_PROMETHEUS is not set")
	}
	for _, tool := range []string{"prometheus", "prometheus-alertmanager", "promtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not here; Debian's packages are prometheus and prometheus-alertmanager", tool)
		}
	}
}

// run runs a program that ends by itself and returns what it printed.
func run(t *testing.T, stdin io.Reader, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Stdin = stdin
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, output)
	}
	return string(output)
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// thresholds are short enough for the storyline. A hanging transaction is proven
// before it counts as a stall, so that its own alert comes first. A tenth of what
// alerts go on for is longer than the time between two evaluations.
var thresholds = []string{
	"--alerts.stalled=12s", "--alerts.group-blocked=14s", "--alerts.keep-firing=20s", "--alerts.exporter-stale=30s",
}

// begin starts demo, Prometheus and Alertmanager.
func begin(t *testing.T) *site {
	t.Helper()
	folder := t.TempDir()
	program := filepath.Join(folder, "lso-exporter")
	run(t, nil, "go", "build", "-o", program, "../../cmd/lso-exporter")
	rules := filepath.Join(folder, "rules.yml")
	write(t, rules, run(t, nil, program, append([]string{"rules"}, thresholds...)...))

	s := &site{webhook: newWebhook(t)}
	example, err := os.ReadFile("../../docs/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	routing := filepath.Join(folder, "alertmanager.yml")
	write(t, routing, replaced(t, string(example),
		"http://127.0.0.1:9095", s.webhook.url, "group_wait: 30s", "group_wait: 1s", "group_interval: 5m", "group_interval: 1s"))
	alertmanager := start(t, "prometheus-alertmanager", "--config.file="+routing, "--storage.path="+filepath.Join(folder, "alertmanager"),
		"--web.listen-address=127.0.0.1:0", "--cluster.listen-address=")
	demo := start(t, program, "demo", "--web.listen-address=127.0.0.1:0")
	s.exporter = demo.await(t, `metrics  http://(\S+)/metrics\n`)[1]
	s.brokers = strings.Split(demo.await(t, `brokers  (\S+)\n`)[1], ",")

	configuration := filepath.Join(folder, "prometheus.yml")
	write(t, configuration, fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: lso-exporter, honor_labels: true, static_configs: [{targets: [%q]}]}]
`, rules, alertmanager.await(t, `msg="Listening on" address=(\S+)`)[1], s.exporter))
	prometheus := start(t, "prometheus", "--config.file="+configuration, "--storage.tsdb.path="+filepath.Join(folder, "prometheus"),
		"--web.listen-address=127.0.0.1:0")
	s.prometheus = prometheus.await(t, `msg="Listening on" address=(\S+)`)[1]
	s.crowd = startCrowd(t, folder, s.exporter)
	return s
}

// replaced replaces parts of a text, which must be there.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("no %q in\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// get reads a page.
func get(t *testing.T, url string) []byte {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", url, response.Status, err, body)
	}
	return body
}

// rulesAreHealthy says of every rule that Prometheus could evaluate it, and
// returns the names of the alerts that fire, with their topics.
func (s *site) rulesAreHealthy(t *testing.T) (firing []string) {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name, Health, LastError string
					Alerts                  []struct {
						State  string
						Labels map[string]string
					}
				}
			}
		}
	}
	if err := json.Unmarshal(get(t, "http://"+s.prometheus+"/api/v1/rules"), &answer); err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			rules++
			if r.Health != "ok" {
				t.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
			for _, a := range r.Alerts {
				if a.State == "firing" {
					firing = append(firing, r.Name+" "+a.Labels["topic"])
				}
			}
		}
	}
	if rules < 15 {
		t.Errorf("Prometheus has %d rules", rules)
	}
	return firing
}

// abort ends the open transaction of a partition as kafka-transactions.sh abort
// does: by an end marker that names its producer.
func (s *site) abort(t *testing.T, topic string, partition int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	describe := kmsg.NewPtrDescribeProducersRequest()
	describe.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{partition}}}
	described, err := describe.RequestWith(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	for _, producer := range described.Topics[0].Partitions[0].ActiveProducers {
		if producer.CurrentTxnStartOffset < 0 {
			continue
		}
		marker := kmsg.NewWriteTxnMarkersRequestMarker()
		marker.ProducerID, marker.ProducerEpoch = producer.ProducerID, int16(producer.ProducerEpoch)
		marker.CoordinatorEpoch = max(producer.CoordinatorEpoch, 0)
		marker.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: topic, Partitions: []int32{partition}}}
		request := kmsg.NewPtrWriteTxnMarkersRequest()
		request.Markers = append(request.Markers, marker)
		if _, err := request.RequestWith(ctx, client); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no transaction is open in %s-%d", topic, partition)
}

// What the storyline does reaches whoever is to know, names the cluster and the
// transaction, is told once, and is resolved; and the dashboard shows it.
func TestAlertsArrive(t *testing.T) {
	tools(t)
	begun := time.Now()
	s := begin(t)

	hanging := s.webhook.await(t, "KafkaTransactionHanging", "firing", "ledger")
	stalled := s.webhook.await(t, "KafkaLSOStalled", "firing", "shipments")
	held := time.Now()
	for _, c := range []struct {
		alert                        alert
		topic, id, verdict, receiver string
	}{
		{hanging, "ledger", "ledger-import", "hanging", "/pager"},
		{stalled, "shipments", "carrier-sync", "ongoing", "/pager"},
	} {
		got := fmt.Sprintln(c.alert.Labels["cluster"], c.alert.Labels["topic"], c.alert.Labels["partition"],
			c.alert.Annotations["transactional_id"], c.alert.Annotations["verdict"], c.alert.receiver)
		if want := fmt.Sprintln("demo", c.topic, "0", c.id, c.verdict, c.receiver); got != want {
			t.Errorf("got %swant %s", got, want)
		}
		if _, err := os.Stat("../../docs/runbooks/" + filepath.Base(c.alert.Annotations["runbook_url"])); err != nil {
			t.Errorf("the link to the runbook leads nowhere: %v", err)
		}
	}

	if lint := run(t, bytes.NewReader(get(t, "http://"+s.exporter+"/metrics")), "promtool", "check", "metrics"); lint != "" {
		t.Errorf("promtool check metrics says\n%s", lint)
	}

	// Consequences fire, and nobody is told of them beside their cause.
	inhibited := []string{"KafkaLSOStalled ledger", "KafkaGroupBlockedByTransaction shipments", "KafkaGroupBlockedByTransaction ledger"}
	deadline := time.After(patience)
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for {
		firing := strings.Join(s.rulesAreHealthy(t), "\n")
		lacks := ""
		for _, name := range inhibited {
			if !strings.Contains(firing, name) {
				lacks = name
			}
		}
		if lacks == "" {
			break
		}
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("%s does not fire; what does:\n%s", lacks, firing)
		}
	}

	s.abort(t, "ledger", 0)
	s.webhook.await(t, "KafkaTransactionHanging", "resolved", "ledger")
	s.webhook.await(t, "KafkaLSOStalled", "resolved", "shipments") // its timeout is over
	alerts, _ := s.webhook.received()
	for _, a := range alerts {
		for _, name := range inhibited {
			if name == a.Labels["alertname"]+" "+a.Labels["topic"] && a.Status == "firing" {
				t.Errorf("%s arrived, although what causes it did", name)
			}
		}
		if strings.HasPrefix(a.Labels["alertname"], "LSOExporter") {
			t.Errorf("%s arrived: %v", a.Labels["alertname"], a.Annotations)
		}
	}
	t.Logf("from start to resolution in %v", time.Since(begun).Round(time.Second))
	t.Run("dashboard", func(t *testing.T) { s.dashboardHasData(t, begun, held) })
}
