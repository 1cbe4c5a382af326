package lag

import (
	"slices"
	"time"
)

// Blocker is the transaction that holds a partition's last stable offset
// (measurements.md 4).
type Blocker struct {
	Verdict Verdict
	Reason  Reason

	// TransactionalID is empty where it is not known. An unknown verdict keeps
	// the one that was proven for the same producer id and start offset.
	TransactionalID string
	// State is the coordinator's word for the transactional id in this sweep;
	// empty where it did not say.
	State TransactionState
	// Coordinator is the broker that listed the transactional id; NoBroker where
	// none did. An unknown verdict keeps the one that did for as long as it is one
	// of the cluster's brokers.
	Coordinator BrokerID

	// Producer is the producer of the transaction, as the partition's leader
	// describes it; unknown where that did not say.
	Producer Optional[Producer]

	// OpenTransactions is how many producers have a transaction open in the
	// partition; unknown where the leader did not say.
	OpenTransactions Optional[Count]

	// Age is how long the transaction has been open, or at least how long the
	// offset has been held; never below the partition's StalledFor.
	Age       time.Duration
	AgeSource AgeSource

	// Deadline is when its coordinator may abort it; known while it is ongoing
	// or overdue. It is never later than Timeout after the first sweep that heard
	// of the transaction, however far ahead the coordinator's clock is.
	Deadline Optional[time.Time]

	// Groups are the groups that have read up to the last stable offset and have
	// nothing to read because of the transaction, by name. Of a partition of
	// __consumer_offsets, they are the groups that it keeps: one that has a commit
	// in the transaction waits for it.
	Groups []string
}

// Verdict is what is to be said of a transaction that holds a last stable
// offset.
type Verdict string

// The verdicts. Each sweep goes through the table of measurements.md 4 anew.
const (
	// Completing: its outcome is decided, end markers are on their way.
	Completing Verdict = "completing"
	// Owned by nobody: no coordinator knows its producer id. No timeout ends it.
	Ownerless Verdict = "ownerless"
	// OngoingTransaction: it is open and within its timeout.
	OngoingTransaction Verdict = "ongoing"
	// Overdue: its coordinator should have aborted it by now.
	Overdue Verdict = "overdue"
	// Hanging: its coordinator knows nothing of it being open in this partition.
	// No timeout ends it.
	Hanging Verdict = "hanging"
	// Unknown: Reason says why.
	Unknown Verdict = "unknown"
)

// Reason is why a verdict is Unknown, or its transaction not certain: a closed
// list, each with its remedy in docs/blocking-transactions.md.
type Reason string

// The reasons.
const (
	ReasonNone Reason = "none"
	// ReasonNotYetConfirmed: the first of two sweeps that a proof needs, or too few
	// brokers have told who leads.
	ReasonNotYetConfirmed Reason = "not_yet_confirmed"
	// ReasonStaleAnswer: the producers that the leader described are not those
	// of the offsets.
	ReasonStaleAnswer Reason = "stale_answer"
	// ReasonAmbiguous: several transactions wait for their end markers; the one
	// that started first is named.
	ReasonAmbiguous Reason = "ambiguous"
	// ReasonUnexpectedState: the coordinator's state says neither that the
	// transaction holds the partition nor that it does not.
	ReasonUnexpectedState Reason = "unexpected_state"

	// ReasonNoReadOnTopic: DescribeProducers needs READ on the topic.
	ReasonNoReadOnTopic Reason = "no_read_on_topic"
	// ReasonNoDescribeOnTransactionalID: without DESCRIBE on all transactional
	// ids, one that exists looks as if it did not.
	ReasonNoDescribeOnTransactionalID Reason = "no_describe_on_transactional_id"
	// ReasonNoTransactionState: Metadata does not list __transaction_state; it
	// needs DESCRIBE on it.
	ReasonNoTransactionState Reason = "no_describe_on_transaction_state"
	// ReasonNoDescribeOnCluster: without DESCRIBE on the cluster nobody can tell
	// whether single transactional ids are denied to this principal.
	ReasonNoDescribeOnCluster Reason = "no_describe_on_cluster"

	// ReasonLeaderChanged: the partition's leader changed during the look-up.
	ReasonLeaderChanged Reason = "leader_changed"
	// ReasonLeaderUnreachable: the partition's leader did not answer.
	ReasonLeaderUnreachable Reason = "leader_unreachable"
	// ReasonCoordinatorLoading: a coordinator still loads its part of
	// __transaction_state.
	ReasonCoordinatorLoading Reason = "coordinator_loading"
	// ReasonCoordinatorUnreachable: a coordinator did not answer.
	ReasonCoordinatorUnreachable Reason = "coordinator_unreachable"
	// ReasonCoordinatorUnavailable: a partition of __transaction_state has no
	// leader, or the coordinator has moved.
	ReasonCoordinatorUnavailable Reason = "coordinator_unavailable"

	// ReasonAPIMissing: a broker does not speak an API that is needed (Kafka
	// before 3.0, some services).
	ReasonAPIMissing Reason = "api_missing"
	// ReasonBudget: the sweep was over, or more partitions are pinned than a
	// sweep looks into.
	ReasonBudget Reason = "budget"
	// ReasonError: a broker answered another error.
	ReasonError Reason = "error"
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{
		ReasonNone, ReasonNotYetConfirmed, ReasonStaleAnswer, ReasonAmbiguous, ReasonUnexpectedState,
		ReasonNoReadOnTopic, ReasonNoDescribeOnTransactionalID, ReasonNoTransactionState, ReasonNoDescribeOnCluster,
		ReasonLeaderChanged, ReasonLeaderUnreachable,
		ReasonCoordinatorLoading, ReasonCoordinatorUnreachable, ReasonCoordinatorUnavailable,
		ReasonAPIMissing, ReasonBudget, ReasonError,
	}
}

// Verdicts lists every verdict.
func Verdicts() []Verdict {
	return []Verdict{Completing, Ownerless, OngoingTransaction, Overdue, Hanging, Unknown}
}

// AgeSource is where a Blocker's age comes from.
type AgeSource string

// The sources of ages, the best first.
const (
	// AgeByCoordinator: the coordinator's start timestamp.
	AgeByCoordinator AgeSource = "coordinator"
	// AgeByProducer: the timestamp of the producer's last record, as its client
	// made it.
	AgeByProducer AgeSource = "producer_timestamp"
	// AgeByObservation: since when this exporter has seen it.
	AgeByObservation AgeSource = "observed"
)

const (
	// defaultScanPeriod is Kafka's default of
	// transaction.abort.timed.out.transaction.cleanup.interval.ms.
	defaultScanPeriod = 10 * time.Second

	// overdueGrace is how much later than the coordinator's next scan an open
	// transaction is overdue.
	overdueGrace = 5 * time.Second

	// plausibleAge bounds the ages that a client's timestamp may give.
	plausibleAge = 10 * 365 * 24 * time.Hour
)

// blockerMemory is what is remembered of the transaction that holds a
// partition, from the first sweep that saw it.
type blockerMemory struct {
	producer ProducerID
	start    Offset
	since    time.Time // first seen by this tracker
	lso      Offset    // at which it was seen the last time

	// What its leader and coordinators said of it the last time.
	last            Producer
	transactionalID string
	coordinator     BrokerID

	// begun is the start of the last transaction that a coordinator said to hold
	// the partition, by its clock, and begunBy when this tracker first heard of it:
	// by then it had begun, whatever that clock says.
	begun, begunBy time.Time

	// suspected is the proof of which the sweep suspectedIn gave one half, or
	// more; empty for none. Of a proof that the transaction is ownerless, the
	// coordinators that know nothing of it did so in suspectedTerms.
	suspected      Verdict
	suspectedIn    uint64
	suspectedTerms []Term

	// proven is Hanging, Ownerless or empty.
	proven Verdict
}

// evidence is what there is to judge a partition by.
type evidence struct {
	topic        string
	partition    *Partition
	transactions *Transactions // nil if nobody was asked
	brokers      []Broker      // of the cluster
	lso          Offset        // as reported
	logStart     Optional[Offset]
	at           time.Time // of the offsets
	sweep        uint64
}

// finding is one row of the table: what a single sweep says.
type finding struct {
	verdict     Verdict // empty: nothing holds the partition any more
	reason      Reason
	suspect     Verdict // what is proven if two sweeps say so
	producer    *Producer
	transaction *Transaction
	inTime      bool // the coordinator's start is that of this transaction
}

// unknown is the finding that nothing is known of what holds the partition.
func unknown(reason Reason) finding { return finding{verdict: Unknown, reason: reason} }

// judge fills in the view's blocker.
func (m *partitionMemory) judge(v *PartitionView, e evidence) {
	switch {
	case !v.LastStable.known:
		return // not read: what is remembered stays
	case !v.Below || v.StalledFor == 0 && m.blocker != nil && m.blocker.lso != v.LastStable.value:
		m.blocker = nil // it has let go
	}
	if !v.Below || e.partition.Lookup == nil {
		return
	}
	e.lso, e.logStart, e.at = v.LastStable.value, v.LogStart, e.partition.LastStable.Within.Answered
	f := e.find()
	if f.verdict == "" {
		return
	}
	b := m.follow(f, e)
	b.date(f, e)
	v.Blocker = b.conclude(f, e, v.StalledFor)
}

// find goes through the rows of the table of measurements.md 4, in their order,
// as far as one sweep can.
func (e *evidence) find() finding {
	l := e.partition.Lookup
	if l.LastStableFailed == ReasonNone && e.moved() {
		return finding{}
	}
	if l.ProducersFailed != ReasonNone {
		return unknown(l.ProducersFailed)
	}
	if l.LastStableFailed != ReasonNone {
		return unknown(l.LastStableFailed) // one look proves nothing
	}
	first, hold := l.holder(e.lso, e.logStart)
	switch hold {
	case holdsByMarker:
		return e.findCompleted()
	case holdsNotThis:
		return unknown(ReasonStaleAnswer)
	}
	f := e.findOwner(first)
	f.producer = first
	if c := l.Confirmed; f.suspect != "" && c != "" && c != ReasonNone && c != ReasonNotYetConfirmed {
		f.reason, f.suspect = c, "" // who says so had lost its office
	}
	return f
}

// moved says whether the last stable offset is another one than before, or no
// longer below the high watermark.
func (e *evidence) moved() bool {
	again := e.partition.Lookup.LastStable.Offset
	if start, known := e.logStart.Get(); known {
		again = max(again, start)
	}
	return again != e.lso
}

// findCompleted is the row for an end marker that is not replicated yet: the
// transaction is one whose outcome is decided and that waits for this partition.
// Of several, the one that started first is named.
func (e *evidence) findCompleted() finding {
	f := finding{verdict: Completing, reason: ReasonNone}
	if e.transactions == nil {
		return f
	}
	several := false
	for i := range e.transactions.Found {
		t := &e.transactions.Found[i]
		if t.Undescribed != ReasonNone || !t.State.preparing() || !t.lists(e.topic, e.partition.Number) {
			continue
		}
		switch {
		case f.transaction == nil:
			f.transaction = t
		case t.ID == f.transaction.ID:
		default:
			several = true
			if t.startedBefore(f.transaction) {
				f.transaction = t
			}
		}
	}
	switch {
	case several:
		f.reason = ReasonAmbiguous
	case f.transaction == nil:
		f.reason = e.transactions.Uncovered
	}
	if f.transaction != nil {
		f.inTime = true
		f.producer = e.partition.Lookup.producer(f.transaction.Described)
	}
	return f
}

// startedBefore orders transactions by their start, then by id.
func (t *Transaction) startedBefore(other *Transaction) bool {
	a, b := t.Start, other.Start
	switch {
	case a.known && b.known && !a.value.Equal(b.value):
		return a.value.Before(b.value)
	case a.known != b.known:
		return a.known
	}
	return t.ID < other.ID
}

// findOwner is the rows that depend on what coordinators know of the producer
// that holds the partition.
func (e *evidence) findOwner(holder *Producer) finding {
	if e.transactions == nil {
		return unknown(ReasonBudget)
	}
	t := e.transactions.of(holder.ID)
	switch {
	case t != nil:
		return e.findState(t)
	case e.transactions.Unseen != ReasonNone:
		return unknown(e.transactions.Unseen)
	case e.transactions.Uncovered != ReasonNone:
		return unknown(e.transactions.Uncovered)
	}
	f := unknown(ReasonNotYetConfirmed)
	f.suspect = Ownerless
	return f
}

// of returns the transaction of a producer id: of several, as a coordinator
// that has lost its office may still list it, one that is described, by the
// coordinator in office before any other. It returns nil if none was found.
func (t *Transactions) of(id ProducerID) *Transaction {
	weight := func(t *Transaction) int {
		switch {
		case t == nil:
			return 0
		case t.Undescribed != ReasonNone:
			return 1
		case t.Displaced:
			return 2
		}
		return 3
	}
	var found *Transaction
	for i := range t.Found {
		if each := &t.Found[i]; each.Producer == id && weight(each) > weight(found) {
			found = each
		}
	}
	return found
}

// findState is the rows for what the coordinator says of the transactional id.
func (e *evidence) findState(t *Transaction) finding {
	f := unknown(t.Undescribed)
	f.transaction = t
	if t.Undescribed != ReasonNone {
		return f
	}
	listed := t.lists(e.topic, e.partition.Number)
	switch {
	case t.Described != t.Producer:
		f.reason = ReasonNotYetConfirmed // the id has just got another producer id
	case t.State == Ongoing && listed:
		f.verdict, f.reason, f.inTime = OngoingTransaction, ReasonNone, true
	case t.State.preparing() && (listed || t.empty()):
		f.verdict, f.reason, f.inTime = Completing, ReasonNone, listed
	case !t.State.ended() && t.State != Ongoing && !t.State.preparing():
		f.reason = ReasonUnexpectedState
	case t.Displaced:
		f.reason = ReasonCoordinatorUnavailable // what it does not know proves nothing
	default:
		f.reason, f.suspect = ReasonNotYetConfirmed, Hanging
	}
	return f
}

// scanPeriod is how late the coordinator may find that it should.
func (t *Transaction) scanPeriod() time.Duration {
	if t.ScanPeriod.known {
		return t.ScanPeriod.value
	}
	return defaultScanPeriod
}

// follow brings the memory into step with a finding, and returns what is
// remembered of what this finding is about. It begins anew where another
// transaction holds the partition than before.
func (m *partitionMemory) follow(f finding, e evidence) *blockerMemory {
	b, holder := m.blocker, f.producer
	if holder != nil && !holder.Start.known {
		holder = nil // it has finished, and holds nothing by its start
	}
	switch {
	case holder == nil && b != nil && b.lso == e.lso:
		// Not seen, but what holds this offset is what held it before.
	case holder == nil:
		fresh := &blockerMemory{producer: -1, since: e.at, lso: e.lso, coordinator: NoBroker}
		if b == nil {
			m.blocker = fresh
		}
		// The offset has moved to the log start. Perhaps the next sweep sees the
		// same transaction there: what is known of it stays.
		return fresh
	case b == nil || !b.isOf(*holder):
		b = &blockerMemory{producer: holder.ID, start: holder.Start.value, since: e.at, coordinator: NoBroker}
		m.blocker = b
	}
	b.lso = e.lso
	if holder != nil {
		b.last = *holder
		if f.transaction != nil {
			b.transactionalID, b.coordinator = f.transaction.ID, f.transaction.Coordinator
		}
	}
	b.weigh(f, e)
	return b
}

// isOf says whether what is remembered is the transaction that a producer has open.
func (b *blockerMemory) isOf(p Producer) bool {
	return p.Start.known && b.producer == p.ID && b.start == p.Start.value
}

// date notes when the transaction of a finding began.
func (b *blockerMemory) date(f finding, e evidence) {
	if !f.inTime || !f.transaction.Start.known {
		return
	}
	if start := f.transaction.Start.value; !start.Equal(b.begun) {
		b.begun, b.begunBy = start, e.at
	}
}

// startedBy is when the transaction of a finding began at the latest, and whose clock
// says so: the coordinator's, unless that is ahead.
func (b *blockerMemory) startedBy() (time.Time, AgeSource) {
	if b.begun.After(b.begunBy) {
		return b.begunBy, AgeByObservation
	}
	return b.begun, AgeByCoordinator
}

// weigh keeps count of the sweeps that prove a verdict.
//
// That nobody owns a transaction is proven by two look-ups in the same terms of
// all coordinators: each had loaded its partition when the first ended, so that
// the list of the second was whole.
//
// The second of two also needs a majority of the brokers to say that those who were
// asked lead (Lookup.Confirmed): brokers that are cut off from the controller agree
// with each other on what was.
func (b *blockerMemory) weigh(f finding, e evidence) {
	if b.proven == Ownerless && e.contradictsOwnerless(f) {
		b.proven = ""
	}
	if f.suspect == "" {
		b.suspected = ""
		if f.verdict != Unknown {
			b.proven = ""
		}
		return
	}
	if b.completes(f, e) && e.partition.Lookup.Confirmed == ReasonNone {
		b.proven = f.suspect
	}
	b.suspected, b.suspectedIn = f.suspect, e.sweep
	if f.suspect == Ownerless {
		b.suspectedTerms = e.transactions.Terms
	}
}

// completes says whether a finding is the second half of a proof that there is not
// yet.
func (b *blockerMemory) completes(f finding, e evidence) bool {
	switch {
	case f.suspect == "" || b.suspected != f.suspect || b.suspectedIn+1 != e.sweep || b.proven == f.suspect:
		return false
	case f.suspect == Ownerless:
		return b.proven == "" && slices.Equal(b.suspectedTerms, e.transactions.Terms)
	}
	return true
}

// contradictsOwnerless says whether a coordinator knows the transaction, or one
// does not speak for its part of __transaction_state.
func (e *evidence) contradictsOwnerless(f finding) bool {
	if f.transaction != nil {
		return true
	}
	if e.transactions == nil {
		return false
	}
	switch e.transactions.Uncovered {
	case ReasonCoordinatorLoading, ReasonCoordinatorUnavailable, ReasonCoordinatorUnreachable:
		return true
	}
	return false
}

// conclude returns what is to be said after this sweep and those before.
func (b *blockerMemory) conclude(f finding, e evidence, stalled time.Duration) *Blocker {
	v := &Blocker{Verdict: f.verdict, Reason: f.reason, Coordinator: NoBroker}
	if v.Verdict == Unknown && b.proven != "" {
		v.Verdict, v.Reason = b.proven, ReasonNone
	}
	switch {
	case f.producer != nil:
		v.Producer = Known(*f.producer)
	case f.verdict == Unknown && b.producer >= 0:
		v.Producer = Known(b.last)
	}
	switch {
	case f.transaction != nil:
		v.TransactionalID, v.Coordinator = f.transaction.ID, f.transaction.Coordinator
		v.State = f.transaction.State
	case f.verdict == Unknown:
		v.TransactionalID = b.transactionalID
		if slices.ContainsFunc(e.brokers, func(broker Broker) bool { return broker.ID == b.coordinator }) {
			v.Coordinator = b.coordinator // for as long as it is one of the cluster's
		}
	}
	if l := e.partition.Lookup; l.ProducersFailed == ReasonNone {
		v.OpenTransactions = Known(l.open())
	}
	if t := f.transaction; v.Verdict == OngoingTransaction && t.Start.known {
		start, _ := b.startedBy()
		deadline := start.Add(t.Timeout)
		v.Deadline = Known(deadline)
		if e.at.After(deadline.Add(t.scanPeriod() + overdueGrace)) {
			v.Verdict = Overdue
		}
	}
	v.Age, v.AgeSource = b.age(f, e)
	if v.Age < stalled {
		v.Age, v.AgeSource = stalled, AgeByObservation
	}
	return v
}

// age returns how long a transaction has been open, by the best source that
// there is. Complete* keeps the start of what has ended, and an Ongoing
// elsewhere is another transaction: neither counts.
func (b *blockerMemory) age(f finding, e evidence) (time.Duration, AgeSource) {
	if f.inTime && f.transaction.Start.known {
		start, source := b.startedBy()
		return e.at.Sub(start), source
	}
	producer := f.producer
	if producer == nil && f.verdict == Unknown && b.producer >= 0 {
		producer = &b.last
	}
	if producer != nil && producer.Start.known && !producer.LastTimestamp.IsZero() {
		if age := e.at.Sub(producer.LastTimestamp); age > 0 && age < plausibleAge {
			return age, AgeByProducer
		}
	}
	return e.at.Sub(b.since), AgeByObservation
}

// holdGroups fills in which groups each blocker holds: those that have read up
// to the last stable offset, or have nothing but end markers before it, and could
// read on if it moved; of a topic on which a group reads uncommitted records, not
// that group.
func (v *View) holdGroups() {
	held := make(map[string]*TopicView)
	for i := range v.Topics {
		topic := &v.Topics[i]
		if slices.ContainsFunc(topic.Partitions, func(p PartitionView) bool { return p.Blocker != nil }) {
			held[topic.Name] = topic
		}
	}
	if len(held) == 0 {
		return
	}
	for i := range v.Groups {
		g := &v.Groups[i]
		if topic := held[offsetsTopic]; topic != nil {
			if p := topic.partition(Keeper(g.Name, len(topic.Partitions))); p != nil && p.Blocker != nil {
				p.Blocker.Groups = append(p.Blocker.Groups, g.Name)
			}
		}
		for j := range g.Topics {
			t := &g.Topics[j]
			if topic := held[t.Topic]; topic != nil && t.Topic != offsetsTopic {
				t.addHeld(g.Name, topic)
			}
		}
	}
}

// addHeld adds a group to the blockers of a topic that hold it.
func (t *GroupTopicView) addHeld(group string, topic *TopicView) {
	for i := range t.Partitions {
		row := &t.Partitions[i]
		p := topic.partition(row.Partition)
		if p == nil || p.Blocker == nil {
			continue
		}
		if row.State == StateBlocked || row.waitsFor(p) && !t.ReadUncommitted {
			p.Blocker.Groups = append(p.Blocker.Groups, group)
		}
	}
}

// waitsFor says whether a group's position is the partition's last stable
// offset.
func (r *GroupPartitionView) waitsFor(p *PartitionView) bool {
	committed, known := r.Committed.Get()
	lag, lagKnown := r.LSOLag.Get()
	return known && lagKnown && lag == 0 && committed <= p.LastStable.value
}
