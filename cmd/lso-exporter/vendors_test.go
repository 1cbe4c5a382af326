package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// Of brokers that offer less than Kafka 4.3 is shown all that they have: offsets and
// lags of each, whatever the version of OffsetFetch; what holds a partition where they
// describe transactions. What they lack is counted, and has no number in its place.
// docs/compatibility.md says the same.
func TestOtherBrokers(t *testing.T) {
	const (
		missing  = `lso_exporter_errors_total{kind="api_missing"}`
		unlisted = `{age_source="producer_timestamp",coordinator="",partition="0",producer_epoch="0",producer_id="P",reason="api_missing",topic="orders",transactional_id="",verdict="unknown"}`
		ongoing  = `{age_source="coordinator",coordinator="1",partition="0",producer_epoch="0",producer_id="P",reason="none",topic="orders",transactional_id="tx",verdict="ongoing"}`
	)
	for vendor, offers := range map[string]struct {
		transactions bool   // producers can begin any
		groupType    string // as it is told
		blocker      string // what is said of the transaction that holds the partition
		lacking      bool   // APIs are counted as missing
	}{
		"kafka-2.8":  {true, "", unlisted, true},
		"kafka-3.0":  {true, "", ongoing, false},
		"kafka-3.9":  {true, "classic", ongoing, false},
		"kafka-4.0":  {true, "classic", ongoing, false},
		"redpanda":   {true, "", ongoing, false},
		"event-hubs": {false, "", "", true},
	} {
		t.Run(vendor, func(t *testing.T) {
			t.Parallel()
			cluster, err := simbroker.Start(simbroker.Config{ListenAddress: "127.0.0.1:0", Vendor: vendor})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cluster.Close() })
			interval := 200 * time.Millisecond
			if offers.lacking {
				interval = 3 * time.Second // time for the first census, which is repeated only after a minute
			}
			s := newSite(t, cluster, interval, "--transactions.look-up-after=1s")
			if _, err := s.admin.CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
				t.Fatal(err)
			}
			plain, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.DisableIdempotentWrite())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(plain.Close)
			for range 5 {
				if err := plain.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("v")}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 3 {
				s.commit([]string{"billing", "settlement", "waiting"}[i], "orders", 0, []int64{2, 0, 5}[i])
			}
			hwm := 5.0
			if offers.transactions {
				s.begin(s.writer("tx"), "orders", 0, 2)
				hwm = 7
			}
			want := offsetsOf("orders", 0, 0, 5, hwm, hwm)
			for group, committed := range map[string]float64{"billing": 2, "settlement": 0, "waiting": 5} {
				of := fmt.Sprintf(`{group=%q,partition="0",topic="orders"}`, group)
				want["kafka_group_partition_committed_offset"+of] = committed
				want["kafka_group_partition_lso_lag"+of] = 5 - committed
				want["kafka_group_partition_hwm_lag"+of] = hwm - committed
				want[fmt.Sprintf(`kafka_group_members{group=%q}`, group)] = 0
			}
			want[fmt.Sprintf(`kafka_group_info{coordinator="1",group="billing",protocol_type="",type=%q}`, offers.groupType)] = 1
			want["lso_exporter_groups{}"] = 3
			want["lso_exporter_last_sweep_success{}"] = 1
			p := s.await(func(p page) string {
				if got := holds(p, "orders"); got != offers.blocker {
					return fmt.Sprintf("%s (last: %s)", offers.blocker, got)
				}
				if offers.lacking && p[missing] == 0 {
					return "an API that is missing"
				}
				return has(want)(p)
			})
			if !offers.lacking && p[missing] > 0 {
				t.Errorf("APIs that are missing: counted %v", p[missing])
			}
			if d := s.diagnose("--wait=0s", "--group=billing"); strings.Contains(d.stdout, "cannot tell what the groups") || strings.Contains(d.stdout, "has no commits") {
				t.Errorf("a diagnosis with the status %d:\n%s", d.status, d.stdout)
			}
		})
	}
}

// producerID is the label with an id that nobody can foresee.
var producerID = regexp.MustCompile(`producer_id="\d+"`)

// holds is what a page says of the transaction that holds a partition of a topic, with
// P for the producer id; empty for nothing.
func holds(p page, topic string) string {
	for name := range p {
		labels, is := strings.CutPrefix(name, "kafka_partition_blocking_transaction_info")
		if is && strings.Contains(labels, fmt.Sprintf("topic=%q", topic)) {
			return producerID.ReplaceAllString(labels, `producer_id="P"`)
		}
	}
	return ""
}
