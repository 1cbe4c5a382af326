// Package demo plays a storyline on a simulated cluster, in which everything
// that the exporter tells apart happens within a minute or two, and shows it as
// a table.
package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/workload"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Chapter is one part of the storyline: what happens on a topic, in words.
type Chapter struct{ Topic, Text string }

// Chapters are the parts of the storyline, which are all told at the same time.
var Chapters = []Chapter{
	{"orders", "a pipeline makes invoices of orders, exactly once: healthy"},
	{"payments", "group settlement is slow, then catches up: its LSO lag is real"},
	{"shipments", "transaction carrier-sync is left open: it holds group dispatch back"},
	{"ledger", "transaction ledger-import hangs: it holds bookkeeping back for good"},
	{"returns", "group refunds stands still over one record: no transaction is to blame"},
	{"campaigns", "an application aborts half its work: offsets with nothing to read"},
	{"audit", "the follower stops fetching now and then: HWM stays behind LEO"},
}

// Properties are the broker properties that the storyline needs on top of
// Kafka's defaults: small internal topics, and rebalances and time-outs that do
// not keep a spectator waiting.
func Properties(brokers int) map[string]string {
	replicas := fmt.Sprint(min(brokers, 3))
	return map[string]string{
		"offsets.topic.num.partitions":                                "5",
		"offsets.topic.replication.factor":                            replicas,
		"transaction.state.log.num.partitions":                        "5",
		"transaction.state.log.replication.factor":                    replicas,
		"transaction.state.log.min.isr":                               "1",
		"group.initial.rebalance.delay.ms":                            "0",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
		"transaction.remove.expired.transaction.cleanup.interval.ms":  "3600000",
		"auto.create.topics.enable":                                   "false",
	}
}

// The rhythm of the storyline. Each part goes round by itself.
const (
	openFor      = 40 * time.Second // carrier-sync's transaction timeout
	quietFor     = 20 * time.Second // between two of them
	fetchingFor  = 15 * time.Second // audit's follower
	standingFor  = 10 * time.Second // well below replica.lag.time.max.ms
	readableFor  = 2 * time.Second  // ledger and shipments
	slowFor      = 30 * time.Second
	catchesUpFor = 15 * time.Second
	refundsFor   = 5 * time.Second // long enough to commit something
)

// Play tells the storyline on a cluster until ctx is done. What goes wrong at
// its beginning is returned; applications live through what happens later.
func Play(ctx context.Context, cluster *simbroker.Cluster) error {
	s := story{cluster: cluster, seeds: cluster.Bootstrap(), brokers: cluster.Brokers()}
	if err := s.createTopics(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	problems := make(chan error, 1)
	tell := func(part func(context.Context) error) {
		running.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				select {
				case problems <- err:
				default:
				}
			}
		})
	}
	for _, app := range s.applications() {
		tell(app.Run)
	}
	tell(s.hang)
	tell(s.leave)
	tell(s.settle)
	tell(s.stick)
	if len(s.brokers) > 1 {
		tell(s.holdFollower)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-problems:
		return err
	}
}

// story is a storyline on one cluster.
type story struct {
	cluster *simbroker.Cluster
	seeds   []string
	brokers []kafka.BrokerID
}

// topics are those of the storyline; audit has two replicas where there are two
// brokers, so that there is a follower to hold.
func (s story) createTopics(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.seeds...), kgo.ClientID("demo"))
	if err != nil {
		return err
	}
	defer cl.Close()
	replicas := int16(min(len(s.brokers), 3))
	for _, t := range []struct {
		name       string
		partitions int32
		replicas   int16
	}{
		{"orders", 3, replicas}, {"invoices", 3, replicas}, {"payments", 1, replicas}, {"shipments", 1, replicas},
		{"ledger", 1, replicas}, {"returns", 1, replicas}, {"campaigns", 1, replicas}, {"audit", 1, min(replicas, 2)},
	} {
		_, err := kadm.NewClient(cl).CreateTopic(ctx, t.partitions, t.replicas, nil, t.name)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("create topic %s: %w", t.name, err)
		}
	}
	return nil
}

// applications are those that do the same all the time.
func (s story) applications() []workload.App {
	return []workload.App{
		workload.Producer{Seeds: s.seeds, Topic: "orders", Every: 20 * time.Millisecond},
		workload.Pipeline{Seeds: s.seeds, Group: "invoicing", From: "orders", To: "invoices", TransactionalID: "invoicing-0", Work: 50 * time.Millisecond},
		workload.Producer{Seeds: s.seeds, Topic: "payments", Every: 50 * time.Millisecond},
		workload.Producer{Seeds: s.seeds, Topic: "shipments", Every: 100 * time.Millisecond},
		workload.Consumer{Seeds: s.seeds, Group: "dispatch", Topic: "shipments"},
		workload.Consumer{Seeds: s.seeds, Group: "bookkeeping", Topic: "ledger"},
		workload.Producer{Seeds: s.seeds, Topic: "ledger", Every: 500 * time.Millisecond},
		workload.Producer{Seeds: s.seeds, Topic: "returns", Every: time.Second},
		workload.Transactor{Seeds: s.seeds, Topic: "campaigns", TransactionalID: "mailer", Records: 5, Work: 200 * time.Millisecond, Pause: 300 * time.Millisecond, AbortEvery: 2},
		workload.Consumer{Seeds: s.seeds, Group: "mailing", Topic: "campaigns"},
		workload.Producer{Seeds: s.seeds, Topic: "audit", Every: 100 * time.Millisecond, LeaderOnly: true},
		workload.Consumer{Seeds: s.seeds, Group: "compliance", Topic: "audit"},
	}
}

// hang makes the transaction in ledger that nobody will end, once bookkeeping
// has had something to read and commit.
func (s story) hang(ctx context.Context) error {
	if !wait(ctx, readableFor) {
		return nil
	}
	return workload.Hang(ctx, s.seeds, "ledger", 0, "ledger-import", 4)
}

// leave leaves transactions open in shipments, once dispatch has had something to
// read and commit.
func (s story) leave(ctx context.Context) error {
	if !wait(ctx, readableFor) {
		return nil
	}
	return workload.Leaver{
		Seeds: s.seeds, Topic: "shipments", TransactionalID: "carrier-sync",
		Records: 3, Timeout: openFor, Pause: quietFor,
	}.Run(ctx)
}

// settle has group settlement slow for a while, then fast.
func (s story) settle(ctx context.Context) error {
	for ctx.Err() == nil {
		slow := workload.Consumer{Seeds: s.seeds, Group: "settlement", Topic: "payments", Batch: 5, Work: time.Second}
		if err := during(ctx, slowFor, slow.Run); err != nil {
			return err
		}
		fast := workload.Consumer{Seeds: s.seeds, Group: "settlement", Topic: "payments"}
		if err := during(ctx, catchesUpFor, fast.Run); err != nil {
			return err
		}
	}
	return nil
}

// stick has group refunds commit a little, and then stand still over one record.
func (s story) stick(ctx context.Context) error {
	group := workload.Consumer{Seeds: s.seeds, Group: "refunds", Topic: "returns"}
	if err := during(ctx, refundsFor, group.Run); err != nil {
		return err
	}
	group.Batch, group.Work = 1, 1000*time.Hour
	return group.Run(ctx)
}

// holdFollower keeps audit's followers from fetching now and then.
func (s story) holdFollower(ctx context.Context) error {
	for {
		if !wait(ctx, fetchingFor) {
			return nil
		}
		remove := s.cluster.Install(simbroker.HoldFetches{Topic: "audit"})
		goesOn := wait(ctx, standingFor)
		remove()
		if !goesOn {
			return nil
		}
	}
}

// during runs f for d.
func during(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// wait waits for d, or until ctx is done; it reports whether d is over.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
