package simbroker_test

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// An application commits, and for as long as the end marker is on its way a
// read_committed consumer sees nothing of it.
func Example() {
	cluster, err := simbroker.Start(simbroker.Config{Brokers: 3, ListenAddress: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	defer cluster.Close() // checks the replicas' invariants
	ctx := context.Background()
	producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.TransactionalID("billing"))
	if err != nil {
		panic(err)
	}
	defer producer.Close()
	admin := kadm.NewClient(producer)
	if _, err := admin.CreateTopic(ctx, 1, 3, nil, "invoices"); err != nil {
		panic(err)
	}
	see := func(moment string) {
		ends, err := admin.ListEndOffsets(ctx, "invoices")
		if err != nil {
			panic(err)
		}
		stable, err := admin.ListCommittedOffsets(ctx, "invoices")
		if err != nil {
			panic(err)
		}
		end, _ := ends.Lookup("invoices", 0)
		lso, _ := stable.Lookup("invoices", 0)
		fmt.Printf("%s: high watermark %d, last stable offset %d\n", moment, end.Offset, lso.Offset)
	}

	remove := cluster.Install(simbroker.HoldMarkers{Topic: "invoices"})
	if err := producer.BeginTransaction(); err != nil {
		panic(err)
	}
	invoice := &kgo.Record{Topic: "invoices", Value: []byte("invoice")}
	if err := producer.ProduceSync(ctx, invoice, invoice, invoice).FirstErr(); err != nil {
		panic(err)
	}
	if err := producer.EndTransaction(ctx, kgo.TryCommit); err != nil {
		panic(err)
	}
	see("committed")

	remove()
	consumer, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.ConsumeTopics("invoices"), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		panic(err)
	}
	defer consumer.Close()
	for read := 0; read < 3; {
		read += consumer.PollFetches(ctx).NumRecords()
	}
	see("read")
	// Output:
	// committed: high watermark 3, last stable offset 0
	// read: high watermark 4, last stable offset 4
}

// On a simulated clock a minute passes at once: long enough for a transaction
// that nobody ends to time out.
func ExampleSimulated() {
	cluster, err := simbroker.Start(simbroker.Config{
		Clock: simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Seed: 1,
	})
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	ctx, id := context.Background(), "billing"
	ask := func(req kmsg.Request) kmsg.Response {
		resp, err := cluster.Request(ctx, 1, req)
		if err != nil {
			panic(err)
		}
		return resp
	}
	state := func() string {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{id}
		return ask(req).(*kmsg.DescribeTransactionsResponse).TransactionStates[0].State
	}
	// Time moves only here: until what is wanted has come.
	until := func(done func() bool) {
		for !done() {
			cluster.Advance(10 * time.Millisecond)
		}
	}

	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorType, find.CoordinatorKeys = 4, 1, []string{id}
	until(func() bool { return ask(find).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode == 0 })
	begin := kmsg.NewPtrAddOffsetsToTxnRequest()
	begin.Version, begin.TransactionalID, begin.Group = 3, id, "invoicing"
	initialize := kmsg.NewPtrInitProducerIDRequest()
	initialize.Version, initialize.TransactionalID, initialize.TransactionTimeoutMillis = 4, &id, 60_000
	until(func() bool {
		resp := ask(initialize).(*kmsg.InitProducerIDResponse)
		begin.ProducerID, begin.ProducerEpoch = resp.ProducerID, resp.ProducerEpoch
		return resp.ErrorCode == 0
	})
	until(func() bool { return ask(begin).(*kmsg.AddOffsetsToTxnResponse).ErrorCode == 0 })

	fmt.Println(state())
	cluster.Advance(2 * time.Minute)
	fmt.Println(state())
	// Output:
	// Ongoing
	// CompleteAbort
}
