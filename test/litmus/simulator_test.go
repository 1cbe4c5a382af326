package litmus

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
)

// start is when simulated time begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// playOnSimulator plays a scenario on a cluster of its own, which is checked for
// its invariants afterwards.
func playOnSimulator(s *scenario.Scenario, config simbroker.Config) (*scenario.Result, error) {
	config.Brokers, config.Properties, config.Seed = s.Brokers, propertiesFor(s), 1
	cluster, err := simbroker.Start(config)
	if err != nil {
		return nil, err
	}
	var on scenario.Cluster = simulated.New(cluster)
	if config.ListenAddress != "" {
		network, err := simulated.Dial(context.Background(), cluster)
		if err != nil {
			return nil, errors.Join(err, cluster.Close())
		}
		defer network.Close()
		on = network
	}
	result, err := s.Run(context.Background(), on, scenario.Options{Given: config.Properties})
	return result, errors.Join(err, cluster.Close())
}

// Every litmus test prints on the simulator, in process under simulated time,
// what a real Kafka printed.
func TestInProcess(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			report(t)(playOnSimulator(s, simbroker.Config{Clock: simbroker.Simulated(start)}))
		})
	}
}

// atOnce is how many scenarios play over TCP at the same time. They mostly wait
// for sessions and timeouts to end.
const atOnce = 16

// The same over TCP under real time.
func TestOverTCP(t *testing.T) {
	type outcome struct {
		result *scenario.Result
		err    error
	}
	slots := make(chan struct{}, atOnce)
	outcomes := map[string]chan outcome{}
	for _, s := range scenarios(t) {
		done := make(chan outcome, 1)
		outcomes[s.Name] = done
		go func() {
			slots <- struct{}{}
			result, err := playOnSimulator(s, simbroker.Config{ListenAddress: "127.0.0.1:0"})
			<-slots
			done <- outcome{result, err}
		}()
	}
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			o := <-outcomes[s.Name]
			report(t)(o.result, o.err)
		})
	}
}
