package application_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/application"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
)

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		name          string
		sent, arrived []string
		want          string
	}{
		{"nothing", nil, nil, "0 once, 0 lost, 0 doubled"},
		{"in another order", []string{"1", "2"}, []string{"2", "1"}, "2 once, 0 lost, 0 doubled"},
		{"three times is doubled", []string{"1", "2"}, []string{"1", "1", "1"}, "0 once, 1 lost, 1 doubled"},
		{"sent and there twice", []string{"1", "1"}, []string{"1", "1"}, "2 once, 0 lost, 0 doubled"},
		{"sent twice, there once", []string{"1", "1"}, []string{"1"}, "1 once, 1 lost, 0 doubled"},
		{"sent twice, there three times", []string{"1", "1"}, []string{"1", "1", "1"}, "1 once, 0 lost, 1 doubled"},
		{"sent twice, there five times", []string{"1", "1"}, []string{"1", "1", "1", "1", "1"}, "0 once, 0 lost, 2 doubled"},
		{"never sent", []string{"1"}, []string{"1", "x", "x"}, "1 once, 0 lost, 0 doubled, 1 foreign"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := application.Count(tt.sent, tt.arrived).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// protocols are the levels of transaction.version, which decide the transaction
// protocol.
var protocols = map[string]int16{"protocol 1": 0, "protocol 2": 2}

// start starts a cluster in simulated time with two topics of one partition, and
// rows in the first of them.
func start(t *testing.T, level int16, rows int) (cluster application.Cluster, from, to application.Partition, sent []string) {
	t.Helper()
	sim, err := simbroker.Start(simbroker.Config{
		Brokers: 1, Features: map[string]int16{"transaction.version": level}, Seed: 1,
		Clock:      simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		Properties: map[string]string{"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := context.Background()
	on := simulated.New(sim)
	from, to = application.Partition{Topic: "from"}, application.Partition{Topic: "to"}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 10_000
	for _, p := range []application.Partition{from, to} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = p.Topic, 1, 1
		req.Topics = append(req.Topics, topic)
	}
	if _, err := on.Request(ctx, 1, "test", req); err != nil {
		t.Fatal(err)
	}
	var source application.Store
	source.Insert(rows)
	if _, err := application.Run(ctx, on, application.Producer{From: &source, To: from, Promise: application.Once}); err != nil {
		t.Fatal(err)
	}
	return on, from, to, source.Rows
}

// arrived are the keys in a partition once every transaction has ended.
func arrived(t *testing.T, cluster application.Cluster, of application.Partition) []string {
	t.Helper()
	ctx := context.Background()
	if err := cluster.Wait(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	keys, err := application.Records(ctx, cluster, of)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// crashing runs instances of an application one after the other; each crashes at
// a moment, the first at its nth, the others at the first that they come to. The
// last one is let go on.
func crashing(t *testing.T, cluster application.Cluster, app application.App, at application.Moment, n int) {
	t.Helper()
	ctx := context.Background()
	for range 3 {
		l := application.Start(cluster, app)
		reached, err := l.Until(ctx, at, n)
		if l.Crash(); err != nil {
			t.Fatal(err)
		}
		if !reached {
			return // its work is done
		}
		n = 1
	}
	if _, err := application.Run(ctx, cluster, app); err != nil {
		t.Fatal(err)
	}
}

// Whatever its moments of dying, what is exactly once loses nothing and doubles
// nothing, by either transaction protocol.
func TestExactlyOnceWhereverItCrashes(t *testing.T) {
	const rows = 10
	type build func(from, to application.Partition, state *application.Store) application.App
	for name, tt := range map[string]struct {
		app     build
		moments []application.Moment
	}{
		"transform": {
			func(from, to application.Partition, _ *application.Store) application.App {
				return application.Transform{TransactionalID: "x", Group: "g", From: from, To: to, Batch: 3}
			},
			[]application.Moment{"started", "written", "offsets", "committed"},
		},
		"sink": {
			func(from, to application.Partition, state *application.Store) application.App {
				return application.Sink{Prefix: "x", From: from, To: to, State: state, Batch: 3}
			},
			[]application.Moment{"written", "checkpointed", "committed"},
		},
		"streams": {
			func(from, to application.Partition, _ *application.Store) application.App {
				return application.Streams{ID: "x", Process: "p", Group: "g", From: from.Topic, To: to.Topic, Threads: 2, Batch: 3}
			},
			[]application.Moment{"started", "written", "committed"},
		},
	} {
		for protocol, level := range protocols {
			for _, moment := range tt.moments {
				for n := 1; n <= 4; n++ {
					t.Run(fmt.Sprintf("%s/%s/%s:%d", name, protocol, moment, n), func(t *testing.T) {
						cluster, from, to, sent := start(t, level, rows)
						crashing(t, cluster, tt.app(from, to, &application.Store{}), moment, n)
						if got := application.Count(sent, arrived(t, cluster, to)); got != (application.Tally{Once: rows}) {
							t.Errorf("%v", got)
						}
					})
				}
			}
		}
	}
}

// A consumer keeps its promise wherever it dies: at most once doubles nothing, at
// least once loses nothing, and one that knows what it handled does neither; and
// there are moments at which the first loses and the second doubles.
func TestPromisesWhereverTheConsumerCrashes(t *testing.T) {
	const rows = 10
	for _, promise := range []application.Promise{application.AtMostOnce, application.AtLeastOnce, application.Once} {
		lost, doubled := 0, 0
		for _, moment := range []application.Moment{"handled", "committed"} {
			for n := 1; n <= 4; n++ {
				cluster, from, _, sent := start(t, 2, rows)
				var into application.Store
				crashing(t, cluster, application.Consumer{Group: "g", From: from, Into: &into, Batch: 3, Promise: promise}, moment, n)
				got := application.Count(sent, into.Effects)
				lost, doubled = lost+got.Lost, doubled+got.Doubled
			}
		}
		if (lost > 0) != (promise == application.AtMostOnce) || (doubled > 0) != (promise == application.AtLeastOnce) {
			t.Errorf("promise %d: %d lost, %d doubled", promise, lost, doubled)
		}
	}
}

// An instance that is let go on after its successor has taken over is fenced, and
// says so.
func TestZombieIsFenced(t *testing.T) {
	for protocol, level := range protocols {
		t.Run(protocol, func(t *testing.T) {
			ctx := context.Background()
			cluster, from, to, sent := start(t, level, 10)
			app := application.Transform{TransactionalID: "x", Group: "g", From: from, To: to, Batch: 3}
			zombie := application.Start(cluster, app)
			if reached, err := zombie.Until(ctx, "written", 2); !reached || err != nil {
				t.Fatal(reached, err)
			}
			if _, err := application.Run(ctx, cluster, app); err != nil {
				t.Fatal(err)
			}
			if err := zombie.Finish(ctx); !application.Fenced(err) {
				t.Errorf("the zombie ended with %v", err)
			}
			if got := zombie.Counts.String(); got != "6 written, 1 committed, 1 fenced" {
				t.Errorf("the zombie has done %s", got)
			}
			if got := application.Count(sent, arrived(t, cluster, to)); got != (application.Tally{Once: 10}) {
				t.Errorf("%v", got)
			}
		})
	}
}
