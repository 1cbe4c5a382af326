package lag

import (
	"slices"
	"time"
)

// ProducerID is the id under which a producer's batches stand in the log.
type ProducerID int64

// ProducerEpoch is the generation of a producer id. DescribeProducers answers
// it with 32 bits.
type ProducerEpoch int32

// CoordinatorEpoch is the epoch of the coordinator that wrote a producer's last
// end marker into a partition.
type CoordinatorEpoch int32

// Lookup is what a sweep found out about a partition whose last stable offset
// stands still. Its parts were read in the order of the fields, and those of
// Transactions between them (measurements.md 4).
type Lookup struct {
	// Producers are producers of the partition, as the broker that answered
	// this sweep's ListOffsets describes them: all that have an open
	// transaction, and of the others at least those of WantedProducers, as far
	// as the collector's limit goes. It is known when ProducersFailed is
	// ReasonNone.
	Producers       []Producer
	ProducersFailed Reason

	// LastStable is the last stable offset, read once more from the same leader
	// in the same epoch after all else. It is read when LastStableFailed is
	// ReasonNone.
	LastStable       Reading
	LastStableFailed Reason

	// Confirmed says whether the brokers agree on who leads the partition and who
	// coordinates its transaction, asked after all else: ReasonNone when more than
	// half of them told what the sweep went by and none told a newer leader epoch;
	// ReasonLeaderChanged or ReasonCoordinatorUnavailable when one did;
	// ReasonNotYetConfirmed when too few told. Empty where nobody was asked, as for
	// all but those of Tracker.WantConfirmations.
	Confirmed Reason
}

// Producer is one producer of a partition, as DescribeProducers describes it.
type Producer struct {
	ID               ProducerID
	Epoch            ProducerEpoch
	CoordinatorEpoch CoordinatorEpoch // −1 before its first end marker

	// LastTimestamp is the timestamp of its last record, as the client made it,
	// or of its end marker; zero where there is none.
	LastTimestamp time.Time

	// Start is the first offset of its open transaction; unknown if none is
	// open.
	Start Optional[Offset]
}

// Transactions is what coordinators answered about the producers of a sweep's
// Lookups.
type Transactions struct {
	// Found holds the transactions that a coordinator listed for one of the
	// producer ids, by transactional id and coordinator.
	Found []Transaction

	// Uncovered is why a producer id that is not found may be known to some
	// coordinator all the same. It is ReasonNone only when every partition of
	// __transaction_state has a leader and each of those leaders answered
	// ListTransactions without an error and, where a holder's producer id was
	// not found, spoke after that as the coordinator that has loaded the
	// partition, in the leader epoch of Terms.
	Uncovered Reason

	// Unseen is why transactional ids may be hidden from this principal. It is
	// ReasonNone only when DescribeTransactions of ids that were never used was
	// answered with "not found" and not with a lack of rights, for as many ids as
	// the cluster's ACLs tell apart. It is asked only when a holder's producer id
	// was not found.
	Unseen Reason

	// Terms are the leaders of the partitions of __transaction_state, by
	// partition, that answered for them. Known, where they are needed, when
	// Uncovered and Unseen are ReasonNone.
	Terms []Term
}

// Term is a leadership of a partition: nothing that its leader knows is lost or
// loaded again within it.
type Term struct {
	Leader BrokerID
	Epoch  LeaderEpoch // −1 where the broker does not tell
}

// Transaction is one transactional id, as the coordinator that listed it
// describes it.
type Transaction struct {
	ID          string
	Producer    ProducerID // for which it was listed
	Coordinator BrokerID

	// Displaced says that another broker leads the partition of
	// __transaction_state that keeps the id, or none, as far as the sweep's
	// Metadata knows: the coordinator has just taken office, or does not know yet
	// that it has lost it, and its word is the older one. Where Metadata does not
	// list that topic, it says that another broker lists the id as well, or may.
	Displaced bool

	// Undescribed is why the coordinator's description is not known; if it is
	// not ReasonNone, all below is empty.
	Undescribed Reason

	State TransactionState
	// Described is the producer id in the description. It is another than
	// Producer when the id got a new one between the two answers.
	Described ProducerID
	Start     Optional[time.Time] // by the coordinator's clock
	Timeout   time.Duration
	// Topics are the partitions that the coordinator lists: all of them while
	// the transaction is Ongoing, those without an end marker while it is
	// Prepare*, none otherwise. Topics that the principal may not describe are
	// missing.
	Topics []TopicPartitions
	// ScanPeriod is how often this coordinator looks for transactions that are
	// past their timeout; unknown where it may not be read.
	ScanPeriod Optional[time.Duration]
}

// TransactionState is a transaction's state in Kafka's words.
type TransactionState string

// The states in which a transaction holds partitions, or has let go of them.
const (
	Empty          TransactionState = "Empty"
	Ongoing        TransactionState = "Ongoing"
	PrepareCommit  TransactionState = "PrepareCommit"
	PrepareAbort   TransactionState = "PrepareAbort"
	CompleteCommit TransactionState = "CompleteCommit"
	CompleteAbort  TransactionState = "CompleteAbort"
)

// preparing says whether the outcome is decided and markers are on their way.
func (s TransactionState) preparing() bool { return s == PrepareCommit || s == PrepareAbort }

// ended says whether nothing is open for the coordinator.
func (s TransactionState) ended() bool {
	return s == Empty || s == CompleteCommit || s == CompleteAbort
}

// TopicPartitions names partitions of one topic.
type TopicPartitions struct {
	Topic      string
	Partitions []int32
}

// lists says whether the coordinator counts a partition to the transaction.
func (t *Transaction) lists(topic string, partition int32) bool {
	return slices.ContainsFunc(t.Topics, func(l TopicPartitions) bool {
		return l.Topic == topic && slices.Contains(l.Partitions, partition)
	})
}

// empty says whether the coordinator lists no partition at all.
func (t *Transaction) empty() bool {
	return !slices.ContainsFunc(t.Topics, func(l TopicPartitions) bool { return len(l.Partitions) > 0 })
}

// Pinned returns the partition's last stable offset and log start as views
// report them, and whether the sweep proved the last stable offset to be below
// the high watermark. It returns known false where the readings say nothing of
// that.
func (p *Partition) Pinned() (lso Offset, logStart Optional[Offset], below, known bool) {
	var v PartitionView
	v.setOffsets(p)
	lso, known = v.LastStable.Get()
	return lso, v.LogStart, known && lso < v.HighWatermark.value, known
}

// WantedProducers returns the ids that coordinators are to be asked about: that
// of the producer that holds the last stable offset, and true; or, where an end
// marker above the high watermark holds it, those of the producers without an
// open transaction, and false.
func (p *Partition) WantedProducers() (ids []ProducerID, holder bool) {
	if p.Lookup == nil || p.Lookup.ProducersFailed != ReasonNone {
		return nil, false
	}
	lso, logStart, _, _ := p.Pinned()
	first, hold := p.Lookup.holder(lso, logStart)
	switch hold {
	case holdsByProducer:
		return []ProducerID{first.ID}, true
	case holdsByMarker:
		for i := range p.Lookup.Producers {
			if q := &p.Lookup.Producers[i]; !q.Start.known {
				ids = append(ids, q.ID)
			}
		}
	}
	return ids, false
}

// hold is what producers say about what holds a last stable offset.
type hold int

const (
	// holdsByMarker: no transaction is open at the last stable offset, so that
	// it waits for an end marker to be replicated.
	holdsByMarker hold = iota
	// holdsByProducer: the transaction with the smallest start offset does.
	holdsByProducer
	// holdsNotThis: the answer is from another moment than the offsets.
	holdsNotThis
)

// holder returns the producer with the smallest open start offset, nil if no
// transaction is open, and what it has to do with a last stable offset. A start
// below that is right only where retention or DeleteRecords has moved the
// offset to the log start.
func (l *Lookup) holder(lso Offset, logStart Optional[Offset]) (*Producer, hold) {
	var first *Producer
	for i := range l.Producers {
		p := &l.Producers[i]
		if p.Start.known && (first == nil || p.Start.value < first.Start.value) {
			first = p
		}
	}
	switch start, known := logStart.Get(); {
	case first == nil || first.Start.value > lso:
		return first, holdsByMarker
	case first.Start.value == lso || known && lso == start:
		return first, holdsByProducer
	default:
		return first, holdsNotThis
	}
}

// producer returns a producer by its id; nil if it is not known.
func (l *Lookup) producer(id ProducerID) *Producer {
	for i := range l.Producers {
		if l.Producers[i].ID == id {
			return &l.Producers[i]
		}
	}
	return nil
}

// open counts the open transactions.
func (l *Lookup) open() Count {
	n := Count(0)
	for i := range l.Producers {
		if l.Producers[i].Start.known {
			n++
		}
	}
	return n
}
