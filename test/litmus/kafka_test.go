package litmus

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"testing"

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
// line.
func TestOnKafka(t *testing.T) {
	version := kafka.Version(t)
	var shared, own []*scenario.Scenario
	for _, s := range scenarios(t) {
		if ownCluster(s) {
			own = append(own, s)
		} else {
			shared = append(shared, s)
		}
	}
	t.Run("shared", func(t *testing.T) { playOnKafka(t, version, Properties(), shared...) })
	for _, s := range own {
		properties := Properties()
		for _, property := range s.Properties {
			properties[property.Name] = property.Value
		}
		t.Run("own", func(t *testing.T) { playOnKafka(t, version, properties, s) })
	}
}

func playOnKafka(t *testing.T, version string, properties map[string]string, texts ...*scenario.Scenario) {
	cluster := kafka.StartFor(t, kafka.Config{Version: version, Brokers: 3, Properties: maps.Clone(properties)})
	network, err := scenario.Dial(context.Background(), cluster.Bootstrap(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	for _, s := range texts {
		t.Run(s.Name, func(t *testing.T) {
			result := play(t, s, network, scenario.Options{Given: properties})
			if *update {
				text := s.Update(result)
				if err := os.WriteFile(s.Name+".txt", []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play runs a scenario and reports each line that differs.
func play(t *testing.T, s *scenario.Scenario, cluster scenario.Cluster, opts scenario.Options) *scenario.Result {
	t.Helper()
	result, err := s.Run(context.Background(), cluster, opts)
	if errors.Is(err, scenario.ErrNotOffered) {
		t.Skip("not run: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Err(); err != nil {
		t.Error(err)
	}
	return result
}
