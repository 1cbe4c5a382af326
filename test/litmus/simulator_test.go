package litmus

import (
	"context"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/simulated"
)

// start is when simulated time begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// startSimulator starts a cluster with the properties that a scenario needs,
// which ends with the test and is checked for its invariants then.
func startSimulator(t *testing.T, s *scenario.Scenario, config simbroker.Config) (*simbroker.Cluster, map[string]string) {
	t.Helper()
	properties := propertiesFor(s)
	config.Brokers, config.Properties = s.Brokers, properties
	cluster, err := simbroker.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster, properties
}

// Every litmus test prints on the simulator, in process under simulated time,
// what a real Kafka printed.
func TestInProcess(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			cluster, properties := startSimulator(t, s, simbroker.Config{Clock: simbroker.Simulated(start), Seed: 1})
			play(t, s, simulated.New(cluster), scenario.Options{Given: properties})
		})
	}
}

// The same over TCP under real time.
func TestOverTCP(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			cluster, properties := startSimulator(t, s, simbroker.Config{ListenAddress: "127.0.0.1:0", Seed: 1})
			network, err := simulated.Dial(context.Background(), cluster)
			if err != nil {
				t.Fatal(err)
			}
			defer network.Close()
			play(t, s, network, scenario.Options{Given: properties})
		})
	}
}
