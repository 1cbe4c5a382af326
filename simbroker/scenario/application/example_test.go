package application_test

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/application"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
)

// An outbox dies between sending and marking what it has sent. Its topic has rows
// twice, and a consumer that knows them by their keys handles each once.
func Example() {
	sim, err := simbroker.Start(simbroker.Config{Clock: simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Seed: 1})
	if err != nil {
		panic(err)
	}
	defer sim.Close()
	ctx, cluster := context.Background(), simulated.New(sim)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 5, 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "orders", 1, 1
	create.Topics = append(create.Topics, topic)
	if _, err := cluster.Request(ctx, 1, "example", create); err != nil {
		panic(err)
	}

	var table, effects application.Store
	table.Insert(10)
	orders := application.Partition{Topic: "orders"}
	outbox := application.Outbox{From: &table, To: orders, Batch: 4}
	first := application.Start(cluster, outbox)
	if _, err := first.Until(ctx, "sent", 2); err != nil {
		panic(err)
	}
	first.Crash()
	if _, err := application.Run(ctx, cluster, outbox); err != nil {
		panic(err)
	}
	sent, err := application.Records(ctx, cluster, orders)
	if err != nil {
		panic(err)
	}
	fmt.Println("the topic:", application.Count(table.Rows, sent))

	consumer := application.Consumer{Group: "shipping", From: orders, Into: &effects, Promise: application.Once}
	if _, err := application.Run(ctx, cluster, consumer); err != nil {
		panic(err)
	}
	fmt.Println("effects:", application.Count(table.Rows, effects.Effects))
	// Output:
	// the topic: 6 once, 0 lost, 4 doubled
	// effects: 10 once, 0 lost, 0 doubled
}
