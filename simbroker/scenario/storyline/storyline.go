// Package storyline is the story of the demo as a value: which topics there are,
// which applications work on them, and at what rhythm. In it happens everything that
// an exporter of consumer lag has to tell apart. Whoever tells the story brings a
// cluster and plays it: the demo with clients over TCP, a benchmark in process on a
// simulated clock.
package storyline

import (
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario/workload"
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

// Story is the storyline on a cluster. Its applications reach the cluster by its
// seeds. Each part goes round by itself.
type Story struct {
	Topics []Topic

	// Applications that do the same all the time.
	Producers []workload.Producer
	Consumers []workload.Consumer
	Invoicing workload.Pipeline
	Mailer    workload.Transactor

	// Readable is how long ledger and shipments can be read at first, so that their
	// groups have something to commit. Then CarrierSync begins to leave its
	// transactions, and LedgerImport leaves the one that hangs.
	Readable     time.Duration
	CarrierSync  workload.Leaver
	LedgerImport Hang

	Settlement Settlement
	Refunds    Refunds
	Held       Held
}

// Topic is a topic to be created. Audit has two replicas where there are two
// brokers, so that there is a follower to hold.
type Topic struct {
	Name                 string
	Partitions, Replicas int
}

// Hang is a transaction that hangs in a partition (workload.Hang).
type Hang struct {
	Topic           string
	Partition       int32
	TransactionalID string
	Records         int
}

// Settlement is a group that is slow for a while, then catches up for a while, and
// so on.
type Settlement struct {
	Slow, Fast       workload.Consumer
	SlowFor, FastFor time.Duration
}

// Refunds is a group that commits a little for a while, and then stands still over
// one record.
type Refunds struct {
	Reading    workload.Consumer
	ReadingFor time.Duration
}

// Held are the followers of a topic that fetch for a while, then do not for a while,
// which is well below replica.lag.time.max.ms, and so on.
type Held struct {
	Topic              string
	Fetching, Standing time.Duration
}

// Of returns the storyline on a cluster of so many brokers.
func Of(brokers int, seeds []string) Story {
	replicas := min(brokers, 3)
	settlement := workload.Consumer{Seeds: seeds, Group: "settlement", Topic: "payments"}
	slow := settlement
	slow.Batch, slow.Work = 5, time.Second
	return Story{
		Topics: []Topic{
			{"orders", 3, replicas}, {"invoices", 3, replicas}, {"payments", 1, replicas}, {"shipments", 1, replicas},
			{"ledger", 1, replicas}, {"returns", 1, replicas}, {"campaigns", 1, replicas}, {"audit", 1, min(replicas, 2)},
		},
		Producers: []workload.Producer{
			{Seeds: seeds, Topic: "orders", Every: 20 * time.Millisecond},
			{Seeds: seeds, Topic: "payments", Every: 50 * time.Millisecond},
			{Seeds: seeds, Topic: "shipments", Every: 100 * time.Millisecond},
			{Seeds: seeds, Topic: "ledger", Every: 500 * time.Millisecond},
			{Seeds: seeds, Topic: "returns", Every: time.Second},
			{Seeds: seeds, Topic: "audit", Every: 100 * time.Millisecond, LeaderOnly: true},
		},
		Consumers: []workload.Consumer{
			{Seeds: seeds, Group: "dispatch", Topic: "shipments"},
			{Seeds: seeds, Group: "bookkeeping", Topic: "ledger"},
			{Seeds: seeds, Group: "mailing", Topic: "campaigns"},
			{Seeds: seeds, Group: "compliance", Topic: "audit"},
		},
		Invoicing: workload.Pipeline{
			Seeds: seeds, Group: "invoicing", From: "orders", To: "invoices",
			TransactionalID: "invoicing-0", Work: 50 * time.Millisecond,
		},
		Mailer: workload.Transactor{
			Seeds: seeds, Topic: "campaigns", TransactionalID: "mailer", Records: 5,
			Work: 200 * time.Millisecond, Pause: 300 * time.Millisecond, AbortEvery: 2,
		},
		Readable: 2 * time.Second,
		CarrierSync: workload.Leaver{
			Seeds: seeds, Topic: "shipments", TransactionalID: "carrier-sync", Records: 3,
			Timeout: 40 * time.Second, Pause: 20 * time.Second,
		},
		LedgerImport: Hang{Topic: "ledger", TransactionalID: "ledger-import", Records: 4},
		Settlement:   Settlement{Slow: slow, Fast: settlement, SlowFor: 30 * time.Second, FastFor: 15 * time.Second},
		Refunds:      Refunds{workload.Consumer{Seeds: seeds, Group: "refunds", Topic: "returns"}, 5 * time.Second},
		Held:         Held{Topic: "audit", Fetching: 15 * time.Second, Standing: 10 * time.Second},
	}
}
