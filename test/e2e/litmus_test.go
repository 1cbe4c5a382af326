package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/litmus"
)

// unjudged are the litmus tests that do what no record of the oracle tells.
var unjudged = map[string]string{
	"38-retention": "a partition is moved to other replicas",
}

// Every litmus test is swept after each of its steps, and the oracle judges
// every scrape.
func TestLitmusUnderTheOracle(t *testing.T) {
	stories, err := litmus.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stories {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			properties := map[string]string{}
			for _, p := range s.Properties {
				properties[p.Name] = p.Value
			}
			w := newWorld(t, max(3, s.Brokers), properties)
			e, client := w.exporter(collector.Options{}, metrics.Options{})
			client.impatient = true
			e.judged = unjudged[s.Name] == ""
			result, err := s.Run(context.Background(), w, scenario.Options{Given: w.properties, Observe: func(scenario.StepResult) {
				e.sweep()
				w.wait(time.Millisecond)
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := result.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
