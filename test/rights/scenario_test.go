package rights

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// update rewrites the texts with what a real Kafka printed.
var update = flag.Bool("update", false, "rewrite the texts with the outputs of a real Kafka")

func scenarios(t *testing.T) []*scenario.Scenario {
	t.Helper()
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// secured are the properties of a simulated cluster for a story.
func secured() map[string]string {
	all := Properties()
	maps.Copy(all, security)
	return all
}

// tell plays a story and reports each line that differs.
func tell(t *testing.T, s *scenario.Scenario, cluster scenario.Cluster, opts scenario.Options) *scenario.Result {
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

func startSimulator(t *testing.T, config simbroker.Config) *simbroker.Cluster {
	t.Helper()
	config.Properties = secured()
	cluster, err := simbroker.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// Each story, in process and under simulated time.
func TestStoriesInProcess(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			cluster := startSimulator(t, simbroker.Config{Brokers: s.Brokers, Clock: simbroker.Simulated(start), Seed: 1})
			tell(t, s, simulated.New(cluster), scenario.Options{})
		})
	}
}

// The same over TCP, with logins, one after the other on one cluster: a story
// leaves neither users nor rights behind.
func TestStoriesOverTCP(t *testing.T) {
	cluster := startSimulator(t, simbroker.Config{Brokers: 3, ListenAddress: "127.0.0.1:0", Seed: 1})
	network, err := simulated.DialSecured(context.Background(), cluster, "SASL")
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) { tell(t, s, network, scenario.Options{}) })
	}
	if left := cluster.Snapshot(); len(left.Users)+len(left.ACLs) > 0 {
		t.Errorf("users %v and rights %v are left", left.Users, left.ACLs)
	}
}

// The same on a real Kafka.
func TestStoriesOnKafka(t *testing.T) {
	cluster := kafka.StartFor(t, kafka.Config{Version: kafka.Version(t), Brokers: 3, Properties: Properties(), Secured: &kafka.Security{}})
	network, err := scenario.Dial(context.Background(), cluster.Bootstrap(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			result := tell(t, s, network.Secured(cluster.UserListeners()), scenario.Options{})
			if !*update {
				return
			}
			if err := os.WriteFile(s.Name+".txt", []byte(s.Update(result)), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}
