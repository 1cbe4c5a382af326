package litmus

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// update rewrites the texts with what a real Kafka printed.
var update = flag.Bool("update", false, "rewrite the texts with the outputs of a real Kafka")

// dynamic are the properties of the texts that a running Kafka can change. A
// text with another one needs a cluster of its own.
var dynamic = map[string]bool{
	"transaction.partition.verification.enable": true,
	"producer.id.expiration.ms":                 true,
	"log.cleaner.backoff.ms":                    true,
	"group.consumer.assignment.interval.ms":     true,
	"group.share.assignment.interval.ms":        true,
	"group.streams.assignment.interval.ms":      true,
}

// later are texts with outputs that Kafka 4.4 does not print any more, and what it
// does instead.
var later = map[string]string{
	"s11-group-kinds":    "a group that its last member has left has the assignment epoch of its group epoch",
	"s14-streams-groups": "a group that its last member has left has the assignment epoch of its group epoch",
}

// ownCluster says whether a scenario cannot share a running cluster.
func ownCluster(s *scenario.Scenario) bool {
	for _, property := range s.Properties {
		if !dynamic[property.Name] {
			return true
		}
	}
	return false
}

// Every litmus test prints on a real Kafka what stands in its text, line by
// line. Those that can share a cluster, with fresh topics and ids each.
func TestOnKafka(t *testing.T) {
	version := kafka.Version(t)
	var own []*scenario.Scenario
	t.Run("shared", func(t *testing.T) {
		network := startKafka(t, version, Properties())
		for _, s := range scenarios(t) {
			if does := later[s.Name]; does != "" && strings.HasPrefix(version, "4.4.") {
				t.Run(s.Name, func(t *testing.T) { t.Skipf("not run: Kafka %s differs: %s", version, does) })
			} else if !ownCluster(s) {
				t.Run(s.Name, func(t *testing.T) { playAndUpdate(t, s, network, Properties()) })
			} else if err := s.Offered(context.Background(), network); err != nil {
				t.Run(s.Name, func(t *testing.T) { t.Skip("not run: ", err) })
			} else {
				own = append(own, s)
			}
		}
	})
	for _, s := range own {
		t.Run(s.Name, func(t *testing.T) {
			properties := propertiesFor(s)
			playAndUpdate(t, s, startKafka(t, version, properties), properties)
		})
	}
}

// startKafka starts a cluster of three brokers that ends with the test.
func startKafka(t *testing.T, version string, properties map[string]string) *scenario.Network {
	t.Helper()
	cluster := kafka.StartFor(t, kafka.Config{Version: version, Brokers: 3, Properties: properties})
	network, err := scenario.Dial(context.Background(), cluster.Bootstrap(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	return network
}

func playAndUpdate(t *testing.T, s *scenario.Scenario, network *scenario.Network, given map[string]string) {
	t.Helper()
	opts := scenario.Options{Given: given}
	if *update {
		opts.Settle = time.Second
	}
	result, err := s.Run(context.Background(), network, opts)
	report(t)(result, err)
	if !*update {
		return
	}
	if err := os.WriteFile(s.Name+".txt", []byte(s.Update(result)), 0o644); err != nil {
		t.Fatal(err)
	}
}
