package simulated

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

// What a text says of its cluster, and no cluster can be, is found before one is
// started.
func TestConfigMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"property log.retention.ms=abc":                                    "text:1: log.retention.ms=abc: Not a number",
		"topic T1 retention.ms=x":                                          "text:1: Invalid value x for configuration retention.ms: Not a number of type LONG; expected ",
		"\ntopic T1 retention.m=1":                                         "text:2: retention.m is no property of topics",
		"feature transaction.version=9":                                    "text:1: feature transaction.version has no level 9; expected 0 for none, or 1 to 2",
		"vendor kafka-1.0":                                                 `text:1: vendor "kafka-1.0" is none; expected one of event-hubs`,
		"topic T1\nfault hold_marker T1 => F1":                             `text:2: not the description of a fault: fault "hold_marker" is none; expected one of cut_answers`,
		"topic T1\nfault fail_requests T1 error=NOT_COORDINATOR => F1":     "text:2: not the description of a fault: fail_requests has no topic",
		"fault fail_requests apis=List error=NOT_COORDINATOR => F1":        `"List" is none that a broker serves`,
		"fault fail_requests error=NOPE => F1":                             `error "NOPE" is none`,
		"fault fail_requests error=NOT_COORDINATOR times=-1 => F1":         "times",
		"property listeners=PLAINTEXT://:0,SASL://:0":                      "SASL",
		"id X1 coordinator=A\nfault delay_loading G1-log loading=0s => F1": "text:2: not the description of a fault",
	} {
		s, err := scenario.Parse("text", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Config(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A cluster is started with the features and the vendor of a text.
func TestConfig(t *testing.T) {
	s, err := scenario.Parse("text", `# An older broker, with the first transaction protocol.
brokers 2
vendor kafka-4.0
feature transaction.version=1
property transactional.id.expiration.ms=1000
requires transaction.version 1
topic T1

InitProducerId X1 => ok (P1,0)
TxnOffsetCommit/v4 X1 (P1,0) G1 T1-0 7 => TRANSACTION_ABORTABLE(120)
AddPartitionsToTxn/v3 X1 (P1,0) T1-0 => ok
T(P1,0,0,3)/v11 T1-0 => ok @0
EndTxn/v4 X1 COMMIT (P1,0) => ok
await T1-0 LEO/HWM/LSO => 4/4/4
EndTxn/v4 X1 COMMIT (P1,0) => ok
`)
	if err != nil {
		t.Fatal(err)
	}
	config, err := Config(s)
	if err != nil {
		t.Fatal(err)
	}
	config.Clock = simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	cluster, err := simbroker.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	result, err := s.Run(context.Background(), New(cluster), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Err(); err != nil {
		t.Error(err)
	}
	if other := start(t, simbroker.Config{Clock: config.Clock}); !errors.Is(s.Offered(context.Background(), New(other)), scenario.ErrNotOffered) {
		t.Error("a cluster of another vendor is said to be one")
	}
}

// What needs no newer API is played on the brokers of every vendor.
func TestEveryVendor(t *testing.T) {
	for _, vendor := range simbroker.Vendors() {
		t.Run(vendor, func(t *testing.T) {
			tell(t, "vendor "+vendor+`
topic T1 replicas=A,B
group G1 coordinator=B

N(3) T1-0 => ok @0
await T1-0 LEO/HWM/LSO => 3/3/3
OffsetCommit G1 T1-0 2 => ok
OffsetFetch G1 stable=false T1-0 => G1 T1-0=2
OffsetFetch G1 stable=false all => G1 T1-0=2
consume T1-0 from 0 => reads 0-2, position 3
`, New(start(t, simbroker.Config{Vendor: vendor, Clock: simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))})))
		})
	}
}

// On a cluster that runs, the features of a text are put in force for its time.
func TestFeaturesOfARunningCluster(t *testing.T) {
	cluster := start(t, simbroker.Config{Clock: simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))})
	stage := New(cluster)
	levels := func() map[string]int16 {
		t.Helper()
		s, err := scenario.Parse("levels", "requires transaction.version 2\nrequires group.version 1\n")
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int16{}
		for _, r := range s.Requirements {
			one := *s
			one.Requirements = []scenario.Requirement{r}
			if one.Offered(context.Background(), stage) == nil {
				found[r.Name] = r.Level
			}
		}
		return found
	}
	before := levels()
	tell(t, `# The first protocol, and no groups of the newer one.
feature transaction.version=1
feature group.version=0
topic T1

InitProducerId X1 => ok (P1,0)
AddPartitionsToTxn/v3 X1 (P1,0) T1-0 => ok
T(P1,0,0,3)/v11 T1-0 => ok @0
EndTxn/v4 X1 COMMIT (P1,0) => ok
ConsumerGroupHeartbeat G1 M1 join T1 => UNSUPPORTED_VERSION(35)
`, stage)
	if after := levels(); len(before) != 2 || !maps.Equal(before, after) {
		t.Errorf("features %v before, %v afterwards", before, after)
	}
}
