package foreign

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
)

// exporter sweeps a cluster when a program says what it takes for a group's lag.
type exporter struct{ runner *collector.Runner }

func newExporter(t *testing.T, bootstrap []string) *exporter {
	t.Helper()
	client, err := collector.NewKafka(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	// On a busy machine a broker may take its time.
	return &exporter{collector.NewRunner(client, collector.Options{Period: time.Minute, BrokerTimeout: 10 * time.Second})}
}

// figures are those of a group in a partition after a sweep, in the words in which
// a program says what it believes.
func (e *exporter) figures(ctx context.Context, group, topic string, partition int32) string {
	e.runner.Sweep(ctx)
	view := e.runner.View()
	committed, behind := "unknown", "unknown"
	for _, g := range view.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if g.Name == group && t.Topic == topic && p.Partition == partition {
					committed, behind = show(p.Committed), show(p.LSOLag)
				}
			}
		}
	}
	return fmt.Sprintf("group %s, %s-%d: committed %s, LSO %s, lag %s", group, topic, partition, committed, lastStable(view, topic, partition), behind)
}

func lastStable(view *lag.View, topic string, partition int32) string {
	for _, t := range view.Topics {
		for _, p := range t.Partitions {
			if t.Name == topic && p.Number == partition {
				return show(p.LastStable)
			}
		}
	}
	return "unknown"
}

func show[T any](o lag.Optional[T]) string {
	if value, known := o.Get(); known {
		return fmt.Sprint(value)
	}
	return "unknown"
}
