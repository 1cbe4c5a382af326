package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Transaction is one that holds partitions back, with all partitions that it
// holds; or, for the verdict unknown, all partitions of which the same is not
// known.
type Transaction struct {
	Verdict lag.Verdict `json:"verdict"`
	Reason  lag.Reason  `json:"reason"`

	// What is known of it; absent where it is not.
	TransactionalID string               `json:"transactional_id,omitempty"`
	ProducerID      *lag.ProducerID      `json:"producer_id,omitempty"`
	State           lag.TransactionState `json:"state,omitempty"`
	Coordinator     *lag.BrokerID        `json:"coordinator,omitempty"`

	// AgeSeconds is the greatest age that is known, from AgeSource.
	AgeSeconds float64       `json:"age_seconds"`
	AgeSource  lag.AgeSource `json:"age_source"`
	// Deadline is when its coordinator may abort it.
	Deadline *time.Time `json:"deadline,omitempty"`

	// HeldBack says that it counts for the answer: it does not only if it may
	// still turn out to be everyday life.
	HeldBack bool `json:"held_back"`

	Partitions []HeldPartition `json:"partitions"`

	// Meaning and Remedy are paragraphs for people: what it is, and what to do.
	Meaning []string `json:"meaning"`
	Remedy  []string `json:"remedy"`
	// Commands do what Remedy says; those of partitions are beside it.
	Commands []string `json:"commands,omitempty"`
	// Runbook is the page that tells more.
	Runbook string `json:"runbook"`
}

// HeldPartition is a partition whose last stable offset stands still.
type HeldPartition struct {
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	Leader    lag.BrokerID `json:"leader"`

	// The offsets; StartOffset and ProducerEpoch are those of the transaction,
	// absent where its leader did not tell.
	StartOffset      *lag.Offset        `json:"start_offset,omitempty"`
	ProducerEpoch    *lag.ProducerEpoch `json:"producer_epoch,omitempty"`
	LastStableOffset lag.Offset         `json:"last_stable_offset"`
	HighWatermark    lag.Offset         `json:"high_watermark"`
	StalledSeconds   float64            `json:"stalled_seconds"`

	Replicas int `json:"replicas"`
	InSync   int `json:"in_sync_replicas"`

	// Groups are the groups that have nothing to read because of it.
	Groups []string `json:"groups"`
	// Keeps are the groups whose commits the partition keeps, where it is one of
	// __consumer_offsets.
	Keeps []string `json:"keeps,omitempty"`

	// Headline says all of it in a sentence.
	Headline string `json:"headline"`

	// Abort ends the transaction in this partition by hand; absent where that
	// would be wrong.
	Abort *Abort `json:"abort,omitempty"`
}

// name is the partition as people write it.
func (p *HeldPartition) name() string { return fmt.Sprintf("%s-%d", name(p.Topic), p.Partition) }

// severity orders verdicts, the worst first.
var severity = map[lag.Verdict]int{
	lag.Hanging: 0, lag.Ownerless: 1, lag.Overdue: 2, lag.Unknown: 3, lag.Completing: 4, lag.OngoingTransaction: 5,
}

// transactionKey is equal for partitions that the same transaction holds.
type transactionKey struct {
	verdict     lag.Verdict
	reason      lag.Reason
	id          string
	producer    lag.ProducerID // −1: not known
	state       lag.TransactionState
	coordinator lag.BrokerID
}

// transactions fills in what holds partitions back.
func (r *reporter) transactions() {
	places := make(map[transactionKey]int)
	list := r.report.Transactions
	for i := range r.view.Topics {
		topic := &r.view.Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			if p.Blocker == nil || !r.wants(topic.Name, p) {
				continue
			}
			key := keyOf(p.Blocker)
			at, known := places[key]
			if !known {
				at = len(list)
				places[key] = at
				list = append(list, newTransaction(p.Blocker))
			}
			r.addHeld(&list[at], topic.Name, p)
		}
	}
	slices.SortStableFunc(list, func(a, b Transaction) int {
		return cmp.Or(cmp.Compare(severity[a.Verdict], severity[b.Verdict]), cmp.Compare(b.AgeSeconds, a.AgeSeconds))
	})
	for i := range list {
		r.explain(&list[i])
	}
	r.report.Transactions = list
}

// wants says whether a held partition belongs into the report: it is one that
// was asked about, and has been held for longer than every transaction may, or
// nobody knows.
func (r *reporter) wants(topic string, p *lag.PartitionView) bool {
	return r.about(topic, p) && (p.Blocker.Verdict == lag.Unknown || r.holdsBack(topic, p))
}

// about says whether a held partition is one that was asked about.
func (r *reporter) about(topic string, p *lag.PartitionView) bool {
	if id := p.Blocker.TransactionalID; id != "" && !picked(r.TransactionalIDs, id) {
		return false
	}
	return r.keepsPicked(topic, p.Number) || picked(r.Topics, topic) && (len(r.Groups) == 0 || r.reads(topic, p.Number))
}

// reads says whether one of the groups that the report is about has a commit on
// a partition.
func (r *reporter) reads(topic string, partition int32) bool {
	for i := range r.view.Groups {
		g := &r.view.Groups[i]
		if !slices.Contains(r.Groups, g.Name) {
			continue
		}
		for j := range g.Topics {
			if t := &g.Topics[j]; t.Topic == topic && slices.ContainsFunc(t.Partitions,
				func(row lag.GroupPartitionView) bool { return row.Partition == partition }) {
				return true
			}
		}
	}
	return false
}

// keyOf is the key of what holds a partition. Of what is unknown, partitions are
// told apart by no more than is known.
func keyOf(b *lag.Blocker) transactionKey {
	key := transactionKey{b.Verdict, b.Reason, b.TransactionalID, -1, b.State, b.Coordinator}
	if p, known := b.Producer.Get(); known {
		key.producer = p.ID
	}
	return key
}

// newTransaction returns what is the same for all partitions.
func newTransaction(b *lag.Blocker) Transaction {
	t := Transaction{
		Verdict: b.Verdict, Reason: b.Reason, TransactionalID: b.TransactionalID, State: b.State,
		AgeSource: b.AgeSource,
	}
	if p, known := b.Producer.Get(); known {
		t.ProducerID = &p.ID
	}
	if b.Coordinator != lag.NoBroker {
		t.Coordinator = &b.Coordinator
	}
	if at, known := b.Deadline.Get(); known {
		t.Deadline = &at
	}
	return t
}

// addHeld adds a partition to the transaction that holds it.
func (r *reporter) addHeld(t *Transaction, topic string, p *lag.PartitionView) {
	b := p.Blocker
	held := HeldPartition{
		Topic: topic, Partition: p.Number, Leader: p.Leader, Replicas: p.Replicas, InSync: p.InSync,
		StalledSeconds: p.StalledFor.Seconds(), Groups: []string{},
	}
	held.LastStableOffset, _ = p.LastStable.Get()
	held.HighWatermark, _ = p.HighWatermark.Get()
	if producer, known := b.Producer.Get(); known {
		held.ProducerEpoch = &producer.Epoch
		if start, open := producer.Start.Get(); open {
			held.StartOffset = &start
		}
	}
	for _, group := range r.waiting(topic, p) {
		held.Groups = append(held.Groups, group)
		r.named[groupOn{group, topic}] = true
	}
	if topic == offsetsTopic {
		held.Keeps = b.Groups
	}
	held.Abort = r.abortOf(b, &held)
	held.Headline = r.headline(t, &held, b)
	t.Partitions = append(t.Partitions, held)
	if age := b.Age.Seconds(); age > t.AgeSeconds {
		t.AgeSeconds, t.AgeSource = age, b.AgeSource
	}
	t.HeldBack = t.HeldBack || r.holdsBack(topic, p)
}

// holdsBack says whether a partition is held back for certain, and not only for
// the moment that every transaction takes.
func (r *reporter) holdsBack(topic string, p *lag.PartitionView) bool {
	b := p.Blocker
	switch b.Verdict {
	case lag.Hanging, lag.Ownerless, lag.Overdue:
		return true
	case lag.Completing:
		// Its age counts from its beginning, not from its end.
		return r.completingFor(topic, p.Number) >= r.HeldAfter
	case lag.OngoingTransaction:
		return b.Age >= r.HeldAfter
	}
	// A client's timestamp may be that of a backfill.
	return p.StalledFor >= r.HeldAfter || b.AgeSource == lag.AgeByCoordinator && b.Age >= r.HeldAfter
}

// headline says of a held partition which groups are blocked, by what, since
// when, and until when.
func (r *reporter) headline(t *Transaction, p *HeldPartition, b *lag.Blocker) string {
	var s strings.Builder
	switch {
	case b.Verdict == lag.Unknown && !r.holdsBack(p.Topic, r.partition(p.Topic, p.Partition)):
		fmt.Fprintf(&s, "%s may be held back: ", p.name())
	case len(p.Groups) == 0:
		fmt.Fprintf(&s, "%s is held back: ", p.name())
	case len(p.Groups) == 1:
		fmt.Fprintf(&s, "group %s on %s is blocked: ", name(p.Groups[0]), p.name())
	default:
		names := make([]string, len(p.Groups))
		for i, g := range p.Groups {
			names[i] = name(g)
		}
		fmt.Fprintf(&s, "groups %s on %s are blocked: ", enumerate(names), p.name())
	}
	s.WriteString(t.subject(p))
	s.WriteString(ageClause(b))
	if p.StartOffset != nil {
		fmt.Fprintf(&s, " at offset %d", *p.StartOffset)
	} else {
		fmt.Fprintf(&s, ", with the last stable offset at %d", p.LastStableOffset)
	}
	if p.Leader != lag.NoBroker {
		fmt.Fprintf(&s, " on broker %d", p.Leader)
	}
	s.WriteString(r.verdictClause(t, p, b))
	return s.String()
}

// subject is the transaction in a sentence.
func (t *Transaction) subject(p *HeldPartition) string {
	producer := ""
	if t.ProducerID != nil {
		producer = fmt.Sprintf("producer %d", *t.ProducerID)
		if p != nil && p.ProducerEpoch != nil {
			producer += fmt.Sprintf(" epoch %d", *p.ProducerEpoch)
		}
	}
	switch {
	case t.TransactionalID != "" && producer != "":
		return fmt.Sprintf("transaction %s (%s)", name(t.TransactionalID), producer)
	case t.TransactionalID != "":
		return "transaction " + name(t.TransactionalID)
	case producer != "":
		return "a transaction of " + producer
	}
	return "an unknown transaction"
}

// ageClause says how old a transaction is, and by whose word.
func ageClause(b *lag.Blocker) string {
	switch b.AgeSource {
	case lag.AgeByProducer:
		return fmt.Sprintf(", whose last record is %s old by its producer's clock,", span(b.Age))
	case lag.AgeByObservation:
		return " seen for " + span(b.Age)
	}
	return " open for " + span(b.Age)
}

// verdictClause ends a headline.
func (r *reporter) verdictClause(t *Transaction, p *HeldPartition, b *lag.Blocker) string {
	says := ""
	switch {
	case t.Coordinator != nil && t.State != "":
		says = fmt.Sprintf(", coordinator %d says %s", *t.Coordinator, printable(string(t.State)))
	case t.State != "":
		says = fmt.Sprintf(", its coordinator says %s", printable(string(t.State)))
	}
	deadline, dated := b.Deadline.Get()
	switch t.Verdict {
	case lag.OngoingTransaction:
		switch left := deadline.Sub(r.view.Ended); {
		case !dated:
			return says
		case left > 0:
			return fmt.Sprintf("%s, will be aborted in %s", says, span(left))
		}
		return says + ", will be aborted at any moment"
	case lag.Overdue:
		if !dated {
			return says + ", should have been aborted already"
		}
		return fmt.Sprintf("%s, should have been aborted %s ago", says, span(r.view.Ended.Sub(deadline)))
	case lag.Completing:
		if p.StartOffset != nil {
			return says + ", and its end marker is not written here"
		}
		return says + ", and its end marker is not replicated here"
	case lag.Hanging:
		if says == "" {
			return ", and its coordinator knows nothing of it being open here: it hangs, and no timeout ends it"
		}
		return says + ": it hangs here, and no timeout ends it"
	case lag.Ownerless:
		return ", and no coordinator knows it: no timeout ends it"
	}
	return says + ": what becomes of it could not be told"
}
