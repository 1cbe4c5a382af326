package main

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// Of brokers that offer less than Kafka 4.3 is shown what they have, and what they
// lack is counted: without OffsetFetch v8 there are no lags, and no number in
// their place.
func TestOtherBrokers(t *testing.T) {
	for vendor, offers := range map[string]struct{ offsetFetch, transactions bool }{
		"kafka-2.8": {false, false}, "kafka-3.9": {true, true}, "kafka-4.0": {true, true}, "redpanda": {false, true}, "event-hubs": {true, false},
	} {
		t.Run(vendor, func(t *testing.T) {
			cluster, err := simbroker.Start(simbroker.Config{ListenAddress: "127.0.0.1:0", Vendor: vendor})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cluster.Close() })
			s := newSite(t, cluster, 100*time.Millisecond)
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
			var offsets kadm.Offsets
			offsets.AddOffset("orders", 0, 2, -1)
			if err := s.admin.CommitAllOffsets(t.Context(), "billing", offsets); err != nil {
				t.Fatal(err)
			}
			of := `{group="billing",partition="0",topic="orders"}`
			want := page{`kafka_partition_last_stable_offset{partition="0",topic="orders"}`: 5}
			if offers.offsetFetch {
				want["kafka_group_partition_lso_lag"+of], want["kafka_group_partition_hwm_lag"+of] = 3, 3
			}
			complete := offers.offsetFetch && offers.transactions
			p := s.await(func(p page) string {
				if p[`lso_exporter_errors_total{kind="api_missing"}`] == 0 && !complete {
					return "an API that is missing"
				}
				return has(want)(p)
			})
			if lag, shown := p["kafka_group_partition_lso_lag"+of]; shown != offers.offsetFetch {
				t.Errorf("lag %v, shown %v", lag, shown)
			}
			if counted := p[`lso_exporter_errors_total{kind="api_missing"}`]; complete && counted > 0 {
				t.Errorf("APIs that are missing: counted %v", counted)
			}
			d := s.diagnose("--wait=0s", "--group=billing")
			if told := strings.Contains(d.stdout, "cannot tell what the groups that it coordinates have committed"); told == offers.offsetFetch || told && d.status != 2 ||
				strings.Contains(d.stdout, "has no commits") {
				t.Errorf("a diagnosis with the status %d:\n%s", d.status, d.stdout)
			}
		})
	}
}
