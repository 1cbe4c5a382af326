package e2e

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/litmus"
)

// Two teams write in transactions, each with an exporter in the scope of its own
// ids: it shows what they write, and of the other team nothing but the partition
// that both write.
func TestScopeOfIDsOnSimulator(t *testing.T) {
	t.Parallel()
	sim, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: litmus.Properties(), ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	tellIDScope(t, sim.Bootstrap())
}

func TestScopeOfIDsOnKafka(t *testing.T) {
	cluster := kafka.StartFor(t, kafka.Config{Version: kafka.Version(t), Brokers: 1, Properties: litmus.Properties()})
	tellIDScope(t, cluster.Bootstrap())
}

// idScopeStory is two producers, and an exporter for each.
type idScopeStory struct {
	t         *testing.T
	producers map[string]*kgo.Client // by team
	exporters map[string]*exporter
}

const (
	ordersOfA   = "scope-a-orders"
	paymentsOfB = "scope-b-payments"
	auditOfBoth = "scope-audit"
	untouched   = "scope-untouched"
)

func tellIDScope(t *testing.T, bootstrap []string) {
	s := &idScopeStory{t: t, producers: map[string]*kgo.Client{}, exporters: map[string]*exporter{}}
	for _, team := range []string{"a", "b"} {
		client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...), kgo.TransactionalID("team-"+team+"-1"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		s.producers[team] = client
		reader, err := collector.NewKafka(kgo.SeedBrokers(bootstrap...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(reader.Close)
		s.exporters[team] = newExporter(t, team, reader, time.Now, collector.Options{
			TransactionalIDs: regexp.MustCompile("^(?s:team-" + team + "-.*)$"), LookUpAfter: time.Nanosecond, CensusPeriod: time.Nanosecond,
		}, metrics.Options{Scoped: true, OwnIDs: true})
	}
	admin := kadm.NewClient(s.producers["a"])
	if _, err := admin.CreateTopics(t.Context(), 2, 1, nil, ordersOfA, paymentsOfB, auditOfBoth, untouched); err != nil {
		t.Fatal(err)
	}

	s.begin("a")
	s.produce("a", ordersOfA, 0, 3)
	s.end("a") // 0–2, marker 3
	s.begin("a")
	s.produce("a", ordersOfA, 0, 2)   // 4, 5
	s.produce("a", auditOfBoth, 1, 1) // 0
	s.begin("b")
	s.produce("b", auditOfBoth, 1, 2) // 1, 2
	s.produce("b", paymentsOfB, 1, 4) // 0–3

	s.await("a", "while both are open", map[string]string{
		"scope-a-orders-0": "lso 4 hwm 6 end 6 held by team-a-1",
		"scope-audit-1":    "lso 0 hwm 3 end 3 held by team-a-1",
		"ids":              "Ongoing 1",
	})
	s.await("b", "while both are open", map[string]string{
		"scope-b-payments-1": "lso 0 hwm 4 end 4 held by team-b-1",
		"scope-audit-1":      "lso 0 hwm 3 end 3 stalled", // by whom is not for b to tell
		"ids":                "Ongoing 1",
	})
	s.compare("while both are open")

	s.end("a")
	s.await("a", "after the end of a's", map[string]string{
		"scope-a-orders-0": "lso 7 hwm 7 end 7",
		"scope-audit-1":    "lso 1 hwm 4 end 4 stalled",
		"ids":              "CompleteCommit 1",
	})
	s.await("b", "after the end of a's", map[string]string{
		"scope-b-payments-1": "lso 0 hwm 4 end 4 held by team-b-1",
		"scope-audit-1":      "lso 1 hwm 4 end 4 held by team-b-1",
		"ids":                "Ongoing 1",
	})
	s.compare("after the end of a's")

	s.end("b")
	s.await("a", "in the end", map[string]string{
		"scope-a-orders-0": "lso 7 hwm 7 end 7",
		"scope-audit-1":    "lso 5 hwm 5 end 5",
		"ids":              "CompleteCommit 1",
	})
	s.await("b", "in the end", map[string]string{
		"scope-b-payments-1": "lso 5 hwm 5 end 5",
		"scope-audit-1":      "lso 5 hwm 5 end 5",
		"ids":                "CompleteCommit 1",
	})
}

func (s *idScopeStory) begin(team string) {
	if err := s.producers[team].BeginTransaction(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *idScopeStory) end(team string) {
	if err := s.producers[team].EndTransaction(s.t.Context(), kgo.TryCommit); err != nil {
		s.t.Fatal(err)
	}
}

func (s *idScopeStory) produce(team, topic string, partition int32, records int) {
	for range records {
		if err := s.producers[team].ProduceSync(s.t.Context(), &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v")}).FirstErr(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// await sweeps until an exporter shows this and nothing else: markers are written
// after a transaction's end was answered, and who holds a partition is looked up
// when it has stood still from one sweep to the next.
func (s *idScopeStory) await(team, when string, want map[string]string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 15*time.Second)
	defer cancel()
	var got map[string]string
	for ctx.Err() == nil {
		if got = idScopeShown(parsePage(s.exporters[team].sweep())); maps.Equal(got, want) {
			return
		}
	}
	s.t.Fatalf("%s: %s shows %v, want %v; missed %v", when, team, got, want, s.exporters[team].runner.View().Missed)
}

// idScopeShown sums up a page: the state of each partition, and the counts of ids.
func idScopeShown(p page) map[string]string {
	shown := map[string]string{}
	value := func(name, key string) (float64, bool) {
		for _, m := range p[name] {
			if l := labelsOf(m); l["topic"]+"-"+l["partition"] == key {
				return valueOf(m), true
			}
		}
		return 0, false
	}
	for _, m := range p["kafka_partition_leader"] {
		key := labelsOf(m)["topic"] + "-" + labelsOf(m)["partition"]
		lso, _ := value("kafka_partition_last_stable_offset", key)
		hwm, _ := value("kafka_partition_high_watermark", key)
		end, _ := value("kafka_partition_log_end_offset", key)
		shown[key] = fmt.Sprintf("lso %v hwm %v end %v", lso, hwm, end)
		stalled, _ := value("kafka_partition_lso_stalled_seconds", key)
		_, held := value("kafka_partition_blocking_transaction_age_seconds", key)
		if stalled > 0 && !held {
			shown[key] += " stalled"
		}
		for _, b := range p["kafka_partition_blocking_transaction_info"] {
			if l := labelsOf(b); held && l["topic"]+"-"+l["partition"] == key {
				shown[key] += " held by " + l["transactional_id"]
			}
		}
	}
	var ids []string
	for _, m := range p["kafka_transactional_ids"] {
		if valueOf(m) > 0 {
			ids = append(ids, fmt.Sprint(labelsOf(m)["state"], " ", valueOf(m)))
		}
	}
	shown["ids"] = strings.Join(ids, ", ")
	return shown
}

// compare holds the pages of the two: what both show is of the partition that
// both write, or a count of each one's own ids. Nothing else is shown.
func (s *idScopeStory) compare(when string) {
	s.t.Helper()
	seen := map[string]bool{}
	for _, team := range []string{"a", "b"} {
		for name, samples := range parsePage(s.exporters[team].scrape()) {
			if !strings.HasPrefix(name, "kafka_") {
				continue
			}
			for _, m := range samples {
				l := labelsOf(m)
				counts := slices.Contains([]string{"kafka_transactional_ids", "kafka_transactions_max_completing_seconds"}, name)
				if l["partition"] == "" && !counts {
					s.t.Errorf("%s: %s shows %s %v", when, team, name, l)
				}
				series := fmt.Sprint(name, l)
				if seen[series] && l["topic"] != auditOfBoth && !counts {
					s.t.Errorf("%s: %s is shown twice", when, series)
				}
				seen[series] = true
			}
		}
	}
}
