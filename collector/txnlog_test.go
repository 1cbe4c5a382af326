package collector_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/simbroker"
)

// initialize has a producer initialize a transactional id so many times.
func initialize(t *testing.T, c *simbroker.Cluster, id string, times int) {
	t.Helper()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorType, find.CoordinatorKeys = 1, []string{id}
	node := ask(t, c, 1, find, 4, func(r *kmsg.FindCoordinatorResponse) bool { return r.Coordinators[0].ErrorCode == 0 }).Coordinators[0].NodeID
	for range times {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, 60_000
		ask(t, c, node, req, 4, func(r *kmsg.InitProducerIDResponse) bool { return r.ErrorCode == 0 })
	}
}

// narrow is a cluster that answers a Fetch with one batch a partition.
type narrow struct {
	inProcess
	fetches int
}

// Request implements collector.Client.
func (c *narrow) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if r, ok := req.(*kmsg.FetchRequest); ok {
		c.fetches++
		r.Topics[0].Partitions[0].PartitionMaxBytes = 1
	}
	return c.inProcess.Request(ctx, broker, req)
}

// A log that is created under the eyes of the exporter is read from its
// beginning, and one that grows faster than a sweep reads is read all the same.
func TestTransactionLogIsReadWhole(t *testing.T) {
	c := simulated(t, false)
	client := &narrow{inProcess: inProcess{c}}
	s := collector.NewSweeper(client, collector.Options{TransactionLog: true, Serial: true, Now: c.Now})
	sweep := func() []lag.TransactionRecord {
		client.fetches = 0
		sample := s.Sweep(t.Context())
		c.Advance(10 * time.Second)
		if len(sample.Missed) > 0 {
			t.Errorf("missed %v", sample.Missed)
		}
		return sample.TransactionRecords
	}
	if records := sweep(); len(records) > 0 || client.fetches > 0 {
		t.Errorf("%d records of a log that does not exist, %d fetches", len(records), client.fetches)
	}
	initialize(t, c, "x", 20)
	var counts []int
	for range 4 {
		records := sweep()
		counts = append(counts, len(records))
		for _, r := range records {
			if r.ID != "x" || r.State != lag.Empty || r.Timeout != time.Minute || r.Appended.IsZero() {
				t.Errorf("record %+v", r)
			}
		}
	}
	if got, want := fmt.Sprint(counts), "[8 8 4 0]"; got != want {
		t.Errorf("records in each sweep: %s, want %s", got, want)
	}
}

// An exporter that starts counts nothing that was there before.
func TestTransactionLogBeginsAtItsEnd(t *testing.T) {
	c := simulated(t, false)
	initialize(t, c, "x", 3)
	s := collector.NewSweeper(inProcess{c}, collector.Options{TransactionLog: true, Serial: true, Now: c.Now})
	if records := s.Sweep(t.Context()).TransactionRecords; len(records) > 0 {
		t.Errorf("records %+v", records)
	}
	initialize(t, c, "x", 2)
	if records := s.Sweep(t.Context()).TransactionRecords; len(records) != 2 {
		t.Errorf("records %+v, want 2", records)
	}
}
