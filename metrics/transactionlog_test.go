package metrics

import (
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// The histograms of transactions have classic and native buckets, a view counts
// once, and what it does not know is not counted.
func TestTransactionHistograms(t *testing.T) {
	e := NewExposition(Options{Now: func() time.Time { return sweepEnd }})
	v := aView()
	v.TransactionLog = &lag.TransactionLog{Ended: []lag.EndedTransaction{
		{Application: "billing", Result: lag.Committed, Duration: lag.Known(3 * time.Second), Completion: lag.Known(100 * time.Millisecond), Partitions: lag.Known(5)},
		{Application: "billing", Result: lag.Committed, Duration: lag.Known(time.Second)},
	}}
	e.Publish(v)
	next := aView()
	next.TransactionLog = nil
	e.Publish(next)
	families, done, err := e.Gather()
	defer done()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			h := m.GetHistogram()
			if h == nil || f.GetName()[:6] != "kafka_" {
				continue
			}
			found[f.GetName()] = h.GetSampleCount()
			if len(h.GetBucket()) == 0 || len(h.GetPositiveSpan()) == 0 {
				t.Errorf("%s has %d classic buckets and %d native spans", f.GetName(), len(h.GetBucket()), len(h.GetPositiveSpan()))
			}
		}
	}
	for name, want := range map[string]uint64{transactionDuration.Name: 2, transactionCompletion.Name: 1, transactionPartitions.Name: 1} {
		if found[name] != want {
			t.Errorf("%s has %d observations, want %d", name, found[name], want)
		}
	}
}
