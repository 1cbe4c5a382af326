package metrics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/lso-exporter/lso-exporter/lag"
)

// MaxBlockingTransactions is how many partitions of one page have a series
// with the transaction that holds them: transactional ids can be unbounded.
// Those that are held the longest are shown.
const MaxBlockingTransactions = 1000

// blockingTransactionInfo is the name of the metric that is cut to
// MaxBlockingTransactions.
const blockingTransactionInfo = "kafka_partition_blocking_transaction_info"

// ofBlocked declares a metric of each partition that a transaction holds.
func ofBlocked(m Metric, samples func(*lag.PartitionView, emit)) source {
	m.Collector, m.Section = "transactions", 4
	m.Sparse = "while a transaction is found to hold the partition's last stable offset"
	return declare(m, partitionLabels, nil, func(o *objects) []labelled[*lag.PartitionView] { return o.blocked }, samples)
}

// blockerSources are the metrics of transactions that hold partitions.
var blockerSources = []source{
	declare(Metric{
		Name: blockingTransactionInfo, Type: Gauge, Section: 4, Collector: "transactions",
		Meaning: "Always 1. The transaction that holds the partition's last stable offset: verdict completing, ongoing, overdue, hanging, ownerless or unknown, the reason of what is not certain, and where its age comes from. transactional_id, producer_id, producer_epoch (the partition's) and coordinator (a broker id) are empty where unknown. At most 1,000 series, those held the longest; lso_exporter_series_cut_total counts what is cut.",
		Sparse:  "while a transaction is found to hold the partition's last stable offset",
	}, partitionLabels,
		[]string{"transactional_id", "producer_id", "producer_epoch", "coordinator", "verdict", "reason", "age_source"},
		func(o *objects) []labelled[*lag.PartitionView] { return o.named },
		func(p *lag.PartitionView, add emit) {
			b := p.Blocker
			id, epoch, coordinator := "", "", ""
			if producer, ok := b.Producer.Get(); ok {
				id = strconv.FormatInt(int64(producer.ID), 10)
				epoch = strconv.FormatInt(int64(producer.Epoch), 10)
			}
			if b.Coordinator != lag.NoBroker {
				coordinator = strconv.Itoa(int(b.Coordinator))
			}
			add(1, b.TransactionalID, id, epoch, coordinator, string(b.Verdict), string(b.Reason), string(b.AgeSource))
		}),

	ofBlocked(Metric{
		Name: "kafka_partition_blocking_transaction_age_seconds", Type: Gauge, Unit: "seconds, as of the sweep",
		Meaning: "How long the transaction that holds the last stable offset has been open, or at least for how long it is known to hold it; the label age_source of " + blockingTransactionInfo + " says which. Needs no history: right at the first scrape after a restart.",
	}, func(p *lag.PartitionView, add emit) { add(p.Blocker.Age.Seconds()) }),

	ofBlocked(Metric{
		Name: "kafka_partition_blocking_transaction_deadline_timestamp_seconds", Type: Gauge, Unit: "seconds since the epoch",
		Meaning: "When the transaction that holds the last stable offset reaches its timeout, after which its coordinator aborts it. Only for the verdicts ongoing and overdue.",
	}, func(p *lag.PartitionView, add emit) {
		if at, ok := p.Blocker.Deadline.Get(); ok {
			add(float64(at.UnixMilli()) / 1000)
		}
	}),

	ofBlocked(Metric{
		Name: "kafka_partition_open_transactions", Type: Gauge, Unit: "transactions",
		Meaning: "Producers that have a transaction open in the partition.",
	}, func(p *lag.PartitionView, add emit) { known(p.Blocker.OpenTransactions, add) }),
}

// setBlocked lists the partitions that a transaction holds, and those of them
// that are named.
func (o *objects) setBlocked() {
	for _, l := range o.partitions {
		if l.object.Blocker != nil {
			o.blocked = append(o.blocked, l)
		}
	}
	o.named = o.blocked
	if o.cut = len(o.blocked) - MaxBlockingTransactions; o.cut > 0 {
		oldest := make([]int, len(o.blocked))
		for i := range oldest {
			oldest[i] = i
		}
		slices.SortStableFunc(oldest, func(a, b int) int {
			return cmp.Compare(o.blocked[b].object.Blocker.Age, o.blocked[a].object.Blocker.Age)
		})
		oldest = oldest[:MaxBlockingTransactions]
		slices.Sort(oldest)
		o.named = make([]labelled[*lag.PartitionView], len(oldest))
		for i, at := range oldest {
			o.named[i] = o.blocked[at]
		}
	}
	for _, l := range o.named {
		o.note("transactional_id", l.object.Blocker.TransactionalID)
	}
}
