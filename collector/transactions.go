package collector

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Limits of one sweep's look-ups. With them, and brokers that answer, a look-up
// is at most four requests a broker, whatever the number of pinned partitions, and
// one more in a sweep that proves something.
const (
	// maxLookups is how many partitions of one leader a sweep looks into. What
	// goes beyond are those that have stood still the shortest.
	maxLookups = 1000

	// maxRows bounds the producers in one answer of DescribeProducers (38 bytes
	// each), as far as the answers before tell.
	maxRows = 200_000

	// maxFinished bounds the producers of one partition that are taken for the
	// one whose end marker is not replicated yet: those that ended last.
	maxFinished = 1000

	// maxIDs bounds the producer ids, and transactional ids, of one request.
	maxIDs = 10_000

	// maxBackOff bounds how many sweeps pass before a broker is asked again
	// that failed in look-ups.
	maxBackOff = 32
)

// The topics that keep what coordinators know.
const (
	transactionStateTopic = "__transaction_state"
	consumerOffsetsTopic  = "__consumer_offsets"
)

// pin is what is remembered of a partition whose last stable offset is below
// its high watermark.
type pin struct {
	topic lag.TopicID
	stall lag.Stall
	known bool // it was looked into since it stands still
	rows  int  // producers in the last answer about it
}

// backOff is for how long a broker is spared look-ups, and why.
type backOff struct {
	failures, wait int
	kind           lag.MissKind
}

// lookUp is what a sweep looks up about transactions that hold last stable
// offsets, in this order, each step at all brokers before the next begins:
//
//	DescribeProducers    at the leaders of pinned partitions
//	ListTransactions     at all brokers, for the producers that hold them
//	DescribeTransactions at the brokers that listed one
//	ListOffsets          the last stable offset again, at the leaders
//	Metadata             at all brokers: only where a verdict would be given that was not before; see confirm
//
// Another order calls healthy transactions hanging (measurements.md 4). Where a
// producer was listed by no broker, the last two steps also ask whether that
// proves anything: see unowned.
type lookUp struct {
	*sweep
	pinned  map[int32][]int      // places by leader
	topics  map[int]*topicLayout // of pinned places
	holders map[lag.ProducerID]bool
	others  map[lag.ProducerID]bool // may have ended with a marker that is not replicated

	listed  map[int32]bool         // brokers that answered ListTransactions
	lacking map[int32]lag.Reason   // why the others did not
	found   map[int32][]string     // transactional ids to describe, by coordinator
	result  *lag.Transactions      // nil until somebody is asked
	places  map[transactionKey]int // where a transaction stands in result.Found
	unowned *unowned               // nil: every producer that holds a partition was listed
	failed  map[int32]bool         // brokers that were asked: whether one of the requests failed
	spared  map[int32]bool         // brokers that were not, as they failed before
}

// transactionKey names a transactional id at one coordinator.
type transactionKey struct {
	id          string
	coordinator int32
}

// newLookUp returns a look-up that has asked nothing yet.
func (w *sweep) newLookUp() *lookUp {
	return &lookUp{
		sweep: w, topics: make(map[int]*topicLayout),
		holders: make(map[lag.ProducerID]bool), others: make(map[lag.ProducerID]bool),
		listed: make(map[int32]bool), lacking: make(map[int32]lag.Reason),
		found: make(map[int32][]string), places: make(map[transactionKey]int),
		failed: make(map[int32]bool), spared: make(map[int32]bool),
	}
}

// readTransactions looks up what holds the partitions that have stood still for
// a moment. Where there are none it sends nothing.
func (w *sweep) readTransactions(ctx context.Context) *lag.Transactions {
	u := w.newLookUp()
	u.choose()
	if len(u.pinned) == 0 {
		clear(u.backOffs)
		return nil
	}
	for _, b := range u.backOffs {
		b.wait--
	}
	u.describeProducers(ctx)
	if len(u.holders)+len(u.others) > 0 {
		u.result = &lag.Transactions{}
		u.list(ctx)
		u.describe(ctx)
	}
	u.readAgain(ctx)
	if u.unowned != nil {
		u.concludeUnowned()
	}
	u.confirm(ctx)
	u.readScanPeriods(ctx)
	for id, failed := range u.failed {
		if !failed {
			delete(u.backOffs, id)
		}
	}
	return u.result
}

// candidate is a partition that may be looked into.
type candidate struct {
	place int
	stood time.Duration
}

// choose finds the partitions to look into: those whose last stable offset has
// not moved for LookUpAfter, and all that are below when their leader answers
// the first time. What was looked into is looked into again for as long as it
// does not move, so that what was said of it does not come and go.
func (u *lookUp) choose() {
	next := make(map[topicPartition]*pin)
	greeted := make(map[int32]bool)
	candidates := make(map[int32][]candidate) // by leader
	for i := range u.layout.topics {
		topic := &u.layout.topics[i]
		for place := topic.first; place < topic.end; place++ {
			p := &u.partitions[place]
			key := topicPartition{topic.name, p.Number}
			pinned, read, stood := follow(u.pins[key], topic.id, p)
			if pinned != nil {
				next[key] = pinned
			}
			if !read {
				continue
			}
			leader := int32(p.Leader)
			greeted[leader] = true
			if pinned != nil && (stood >= u.options.LookUpAfter || pinned.known || !u.greeted[leader]) {
				candidates[leader] = append(candidates[leader], candidate{place, stood})
				u.topics[place] = topic
			}
		}
	}
	u.pins = next
	maps.Copy(u.greeted, greeted)
	u.pinned = make(map[int32][]int, len(candidates))
	for leader, list := range candidates {
		u.pick(leader, list)
	}
}

// follow returns what is to be remembered of a partition, nil if it is not
// below; whether it was read; and for how long it has stood still.
func follow(pinned *pin, id lag.TopicID, p *lag.Partition) (now *pin, read bool, stood time.Duration) {
	if pinned != nil && pinned.topic != id {
		pinned = nil
	}
	lso, logStart, below, read := p.Pinned()
	switch {
	case !read:
		return pinned, false, 0
	case !below:
		return nil, true, 0
	case pinned == nil:
		pinned = &pin{topic: id}
	}
	at := p.LastStable.Within.Answered
	if pinned.stall.Observe(lso, logStart, true, at) {
		pinned.known = false
	}
	return pinned, true, pinned.stall.Lasted(at)
}

// pick takes as many of a leader's partitions as a sweep looks into, those that
// have stood the longest. Of the others it is said that there was no room, if
// they have stood for LookUpAfter.
func (u *lookUp) pick(leader int32, list []candidate) {
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.stood, a.stood) })
	for n, c := range list {
		if n >= maxLookups && c.stood < u.options.LookUpAfter {
			continue
		}
		u.partitions[c.place].Lookup = &lag.Lookup{ProducersFailed: lag.ReasonBudget, LastStableFailed: lag.ReasonBudget}
		if n >= maxLookups {
			u.misses.add(lag.MissDeadline, brokerSubject(leader), 1, "blocking transactions", Transactions)
			continue
		}
		u.pins[u.key(c.place)].known = true
		u.pinned[leader] = append(u.pinned[leader], c.place)
	}
	slices.Sort(u.pinned[leader])
}

// replies is what one broker answered to its requests of one step.
type replies struct {
	line    *line
	answers []answered
	miss    lag.MissKind // why there is not one for each
}

// askAll sends brokers their requests of one step and waits for all of them. A
// broker has one request; more only where one was split for its size. took is
// called for each answer, failed once for each broker that did not give all.
func (u *lookUp) askAll(ctx context.Context, step string, requests map[int32][]kmsg.Request, took func(id int32, a answered), failed func(id int32, kind lag.MissKind)) {
	var ids []int32
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		_, among := slices.BinarySearch(u.brokers, id)
		switch b := u.backOffs[id]; {
		case u.down[id], !among:
			failed(id, lag.MissUnreachable)
			u.misses.fail(Transactions)
		case b != nil && b.wait > 0:
			failed(id, b.kind)
			u.spare(id)
		default:
			ids = append(ids, id)
		}
	}
	ended := make(map[int32]bool)
	u.pending.Add(len(ids))
	fanOut(ctx, u.options.Serial, ids, always, 0,
		func(id int32) replies {
			defer u.pending.Done()
			r := replies{line: &line{sweep: u.sweep, id: id}}
			for _, req := range requests[id] {
				a, miss := r.line.send(ctx, req)
				if miss != "" {
					r.miss = miss
					break
				}
				r.answers = append(r.answers, a)
			}
			return r
		},
		func(id int32, r replies) {
			ended[id] = true
			for _, a := range r.answers {
				took(id, a)
			}
			switch r.miss {
			case "":
			case lag.MissDeadline:
				failed(id, u.endedBy(id, step, Transactions))
				return
			default:
				failed(id, r.miss)
				u.lacks(r, step)
				return
			}
			if _, before := u.failed[id]; !before {
				u.failed[id] = false
			}
		})
	for _, id := range ids {
		if !ended[id] {
			failed(id, u.endedBy(id, step, Transactions))
		}
	}
}

// lacks notes that a broker did not answer, and spares it look-ups for a while:
// twice as long each time.
func (u *lookUp) lacks(r replies, step string) {
	switch id := r.line.id; r.miss {
	case lag.MissAPIMissing:
		u.misses.add(r.miss, r.line.subject(), 1, step, Transactions)
	default:
		u.markDown(r.line)
		b := u.backOffs[id]
		if b == nil {
			b = &backOff{}
			u.backOffs[id] = b
		}
		u.misses.fail(Transactions)
		u.failed[id] = true
		b.failures, b.kind = b.failures+1, r.miss
		b.wait = min(1<<min(b.failures, 10), maxBackOff)
	}
}

// spare notes that a broker is not asked in this sweep, once for all steps.
func (u *lookUp) spare(id int32) {
	if !u.spared[id] {
		u.spared[id] = true
		u.misses.add(lag.MissSuspended, brokerSubject(id), 1, "look-ups, since they failed", Transactions)
	}
}

// one returns requests in the form that askAll takes.
func one(requests map[int32]kmsg.Request) map[int32][]kmsg.Request {
	each := make(map[int32][]kmsg.Request, len(requests))
	for id, req := range requests {
		each[id] = []kmsg.Request{req}
	}
	return each
}

// describeProducers asks the leaders who writes to the pinned partitions.
func (u *lookUp) describeProducers(ctx context.Context) {
	requests := make(map[int32][]kmsg.Request)
	for leader, places := range u.pinned {
		rows := maxRows // begins a new request
		var req *kmsg.DescribeProducersRequest
		for _, place := range places {
			n := 1 + u.pins[u.key(place)].rows
			if rows += n; rows > maxRows {
				req, rows = kmsg.NewPtrDescribeProducersRequest(), n
				requests[leader] = append(requests[leader], req)
			}
			addProducersOf(req, u.topics[place].name, u.partitions[place].Number)
		}
	}
	u.askAll(ctx, "DescribeProducers", requests,
		func(id int32, a answered) { u.takeProducers(id, a.resp.(*kmsg.DescribeProducersResponse)) },
		func(id int32, kind lag.MissKind) {
			for _, place := range u.pinned[id] {
				if l := u.partitions[place].Lookup; l.ProducersFailed == lag.ReasonBudget {
					l.ProducersFailed = leaderReason(kind)
				}
			}
		})
}

// key names a place's partition.
func (u *lookUp) key(place int) topicPartition {
	return topicPartition{u.topics[place].name, u.partitions[place].Number}
}

// addProducersOf appends a partition. Those of one topic come one after the
// other.
func addProducersOf(req *kmsg.DescribeProducersRequest, topic string, partition int32) {
	if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != topic {
		t := kmsg.NewDescribeProducersRequestTopic()
		t.Topic = topic
		req.Topics = append(req.Topics, t)
	}
	last := &req.Topics[len(req.Topics)-1]
	last.Partitions = append(last.Partitions, partition)
}

// takeProducers takes over the producers that a leader described, and notes
// whom to ask coordinators about.
func (u *lookUp) takeProducers(id int32, resp *kmsg.DescribeProducersResponse) {
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			answer := &topic.Partitions[j]
			place, ok := u.layout.place(topic.Topic, answer.Partition)
			if !ok || u.topics[place] == nil || int32(u.partitions[place].Leader) != id || u.partitions[place].Lookup == nil {
				continue
			}
			p := &u.partitions[place]
			if answer.ErrorCode != 0 {
				kind := missOfCode(answer.ErrorCode)
				p.Lookup.ProducersFailed = leaderReason(kind)
				u.misses.add(kind, "topic "+u.topics[place].name, 1, "DescribeProducers: "+codeText(answer.ErrorCode), Transactions)
				continue
			}
			u.pins[u.key(place)].rows = len(answer.ActiveProducers)
			p.Lookup.ProducersFailed = lag.ReasonNone
			p.Lookup.Producers = producersOf(answer.ActiveProducers, true)
			ids, holder := p.WantedProducers()
			if !holder {
				p.Lookup.Producers = append(p.Lookup.Producers, producersOf(answer.ActiveProducers, false)...)
				ids, _ = p.WantedProducers()
			}
			for _, producer := range ids {
				if holder {
					u.holders[producer] = true
				} else {
					u.others[producer] = true
				}
			}
		}
	}
}

// producersOf returns the producers that have a transaction open, or those that
// have not and ended last, by id.
func producersOf(rows []kmsg.DescribeProducersResponseTopicPartitionActiveProducer, open bool) []lag.Producer {
	var producers []lag.Producer
	for i := range rows {
		row := &rows[i]
		if (row.CurrentTxnStartOffset >= 0) != open {
			continue
		}
		p := lag.Producer{
			ID: lag.ProducerID(row.ProducerID), Epoch: lag.ProducerEpoch(row.ProducerEpoch),
			CoordinatorEpoch: lag.CoordinatorEpoch(row.CoordinatorEpoch),
		}
		if row.LastTimestamp >= 0 {
			p.LastTimestamp = time.UnixMilli(row.LastTimestamp)
		}
		if open {
			p.Start = lag.Known(lag.Offset(row.CurrentTxnStartOffset))
		}
		producers = append(producers, p)
	}
	if !open && len(producers) > maxFinished {
		slices.SortFunc(producers, func(a, b lag.Producer) int { return b.LastTimestamp.Compare(a.LastTimestamp) })
		producers = producers[:maxFinished]
	}
	slices.SortFunc(producers, func(a, b lag.Producer) int { return cmp.Compare(a.ID, b.ID) })
	return producers
}

// list asks all brokers for the transactional ids of the producers. Which of
// them coordinate is known only as of the sweep's Metadata answer; in a failover
// another one may by now.
func (u *lookUp) list(ctx context.Context) {
	var ids []int64
	for _, set := range []map[lag.ProducerID]bool{u.holders, u.others} {
		for id := range set {
			ids = append(ids, int64(id))
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	requests := make(map[int32][]kmsg.Request)
	for _, broker := range u.brokers {
		for part := range slices.Chunk(ids, maxIDs) {
			req := kmsg.NewPtrListTransactionsRequest()
			req.ProducerIDFilters = part
			requests[broker] = append(requests[broker], req)
		}
		u.listed[broker] = true
	}
	u.askAll(ctx, "ListTransactions", requests,
		func(id int32, a answered) { u.takeListed(id, a.resp.(*kmsg.ListTransactionsResponse)) },
		u.missedList)
	u.doubtRivals()
	u.result.Uncovered = u.uncovered()
}

// doubtRivals has no coordinator counted as in office where nobody can tell whether
// it is: __transaction_state is not listed, and another broker lists the id as well,
// or may, as it did not answer.
func (u *lookUp) doubtRivals() {
	if len(u.layout.transactionState) > 0 {
		return
	}
	listed := make(map[string]int)
	for i := range u.result.Found {
		listed[u.result.Found[i].ID]++
	}
	for i := range u.result.Found {
		t := &u.result.Found[i]
		t.Displaced = listed[t.ID] > 1 || len(u.lacking) > 0
	}
}

// missedList notes that a broker did not answer ListTransactions.
func (u *lookUp) missedList(id int32, kind lag.MissKind) {
	u.listed[id] = false
	u.lacking[id] = coordinatorReason(kind, 0)
}

// refusedList says whether a broker answered ListTransactions with an error, and
// notes it.
func (u *lookUp) refusedList(id int32, code int16) bool {
	if code == 0 {
		return false
	}
	kind := missOfCode(code)
	u.listed[id] = false
	u.lacking[id] = coordinatorReason(kind, code)
	u.misses.add(kind, brokerSubject(id), 1, "ListTransactions: "+codeText(code), Transactions)
	return true
}

// takeListed takes over what a broker listed: of the producers that hold a
// partition everything, of the others the transactions whose outcome is
// decided.
func (u *lookUp) takeListed(id int32, resp *kmsg.ListTransactionsResponse) {
	if u.refusedList(id, resp.ErrorCode) {
		return
	}
	for i := range resp.TransactionStates {
		s := &resp.TransactionStates[i]
		producer := lag.ProducerID(s.ProducerID)
		key := transactionKey{s.TransactionalID, id}
		_, twice := u.places[key]
		if twice || !u.holders[producer] && !(u.others[producer] && decided(s.TransactionState)) {
			continue
		}
		u.places[key] = len(u.result.Found)
		u.result.Found = append(u.result.Found, lag.Transaction{
			ID: s.TransactionalID, Producer: producer, Coordinator: lag.BrokerID(id), Undescribed: lag.ReasonBudget,
			Displaced: u.displaced(id, s.TransactionalID),
		})
		u.found[id] = append(u.found[id], s.TransactionalID)
	}
}

// displaced says whether a broker does not lead the partition of
// __transaction_state that keeps a transactional id, by the sweep's Metadata answer.
func (u *lookUp) displaced(broker int32, id string) bool {
	terms := u.layout.transactionState
	return len(terms) > 0 && int32(terms[lag.Keeper(id, len(terms))].Leader) != broker
}

// uncovered says why a producer that no broker listed may have a coordinator
// all the same.
func (u *lookUp) uncovered() lag.Reason {
	if len(u.layout.transactionState) == 0 {
		return lag.ReasonNoTransactionState
	}
	for _, term := range u.layout.transactionState {
		leader := int32(term.Leader)
		switch reason, lacks := u.lacking[leader]; {
		case leader < 0:
			return lag.ReasonCoordinatorUnavailable
		case lacks:
			return reason
		case !u.listed[leader]:
			return lag.ReasonCoordinatorUnreachable
		}
	}
	return lag.ReasonNone
}

// describe asks coordinators for what they listed, and, where a producer was
// not listed, whether that proves anything.
func (u *lookUp) describe(ctx context.Context) {
	names := make(map[int32][]string)
	for id, found := range u.found {
		names[id] = slices.Clone(found)
	}
	if u.missesHolder() {
		u.askUnowned(ctx, names)
	}
	u.askAll(ctx, "DescribeTransactions", describeRequests(names),
		func(id int32, a answered) { u.takeDescribed(id, a.resp.(*kmsg.DescribeTransactionsResponse)) },
		func(id int32, kind lag.MissKind) {
			reason := coordinatorReason(kind, 0)
			for _, name := range u.found[id] {
				if t := &u.result.Found[u.places[transactionKey{name, id}]]; t.Undescribed == lag.ReasonBudget {
					t.Undescribed = reason
				}
			}
			if u.unowned != nil {
				u.unowned.silent[id] = reason
			}
		})
	slices.SortFunc(u.result.Found, func(a, b lag.Transaction) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Coordinator, b.Coordinator))
	})
}

// describeRequests returns the requests for the description of transactional
// ids, by broker.
func describeRequests(names map[int32][]string) map[int32][]kmsg.Request {
	requests := make(map[int32][]kmsg.Request)
	for id, list := range names {
		slices.Sort(list)
		for part := range slices.Chunk(slices.Compact(list), maxIDs) {
			req := kmsg.NewPtrDescribeTransactionsRequest()
			req.TransactionalIDs = slices.Clone(part)
			requests[id] = append(requests[id], req)
		}
	}
	return requests
}

// missesHolder says whether a producer that holds a partition was not listed.
func (u *lookUp) missesHolder() bool {
	listed := make(map[lag.ProducerID]bool, len(u.result.Found))
	for i := range u.result.Found {
		listed[u.result.Found[i].Producer] = true
	}
	for id := range u.holders {
		if !listed[id] {
			return true
		}
	}
	return false
}

// takeDescribed takes over what a coordinator says of transactional ids.
func (u *lookUp) takeDescribed(id int32, resp *kmsg.DescribeTransactionsResponse) {
	for i := range resp.TransactionStates {
		s := &resp.TransactionStates[i]
		if u.unowned != nil && u.takeProbe(id, s) {
			u.misses.add(lag.MissUnauthorized, "transactional ids", 1, "DescribeTransactions: "+codeText(s.ErrorCode), Transactions)
		}
		at, ok := u.places[transactionKey{s.TransactionalID, id}]
		if !ok {
			continue
		}
		t := &u.result.Found[at]
		if s.ErrorCode != 0 {
			kind := missOfCode(s.ErrorCode)
			t.Undescribed = coordinatorReason(kind, s.ErrorCode)
			if kerr.ErrorForCode(s.ErrorCode) == kerr.TransactionalIDNotFound {
				t.Undescribed = lag.ReasonNotYetConfirmed // it went between the two answers
				continue
			}
			u.misses.add(kind, brokerSubject(id), 1, "DescribeTransactions: "+codeText(s.ErrorCode), Transactions)
			continue
		}
		t.Undescribed = lag.ReasonNone
		t.State, t.Described = lag.TransactionState(s.State), lag.ProducerID(s.ProducerID)
		t.Timeout = time.Duration(s.TimeoutMillis) * time.Millisecond
		if s.StartTimestamp >= 0 {
			t.Start = lag.Known(time.UnixMilli(s.StartTimestamp))
		}
		t.Topics = make([]lag.TopicPartitions, len(s.Topics))
		for j := range s.Topics {
			name, _ := u.layout.intern(s.Topics[j].Topic)
			t.Topics[j] = lag.TopicPartitions{Topic: name, Partitions: s.Topics[j].Partitions}
		}
	}
}

// readAgain reads the last stable offsets of the pinned partitions once more.
func (u *lookUp) readAgain(ctx context.Context) {
	chunks := make(map[int32]*chunk)
	for leader, places := range u.pinned {
		c := &chunk{}
		chunks[leader] = c
		for _, place := range places {
			c.latest = addToTopic(c.latest, u.topics[place].name, &u.partitions[place], timestampLatest)
		}
	}
	if u.unowned != nil {
		u.addTerms(chunks)
	}
	requests := make(map[int32]kmsg.Request)
	for leader, c := range chunks {
		requests[leader] = c.request(lastStable)
	}
	u.askAll(ctx, "last stable offset again", one(requests),
		func(id int32, a answered) { u.takeAgain(id, a) },
		func(id int32, kind lag.MissKind) {
			for _, place := range u.pinned[id] {
				u.partitions[place].Lookup.LastStableFailed = leaderReason(kind)
			}
			if u.unowned != nil {
				u.unowned.silent[id] = coordinatorReason(kind, 0)
			}
		})
}

// takeAgain takes over the last stable offsets that a leader answered again.
func (u *lookUp) takeAgain(id int32, a answered) {
	resp := a.resp.(*kmsg.ListOffsetsResponse)
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			answer := &topic.Partitions[j]
			if u.unowned != nil && topic.Topic == transactionStateTopic {
				u.unowned.takeTerm(id, answer, u.layout.transactionState)
			}
			place, ok := u.layout.place(topic.Topic, answer.Partition)
			if !ok || u.topics[place] == nil || int32(u.partitions[place].Leader) != id || u.partitions[place].Lookup == nil {
				continue
			}
			l := u.partitions[place].Lookup
			if answer.ErrorCode != 0 {
				kind := missOfCode(answer.ErrorCode)
				l.LastStableFailed = leaderReason(kind)
				u.misses.add(kind, "topic "+u.topics[place].name, 1, "last stable offset again: "+codeText(answer.ErrorCode), Transactions)
				continue
			}
			l.LastStableFailed = lag.ReasonNone
			l.LastStable = lag.Reading{Offset: lag.Offset(answer.Offset), Within: a.window}
		}
	}
}

// leaderReason is why a partition's leader did not tell something.
func leaderReason(kind lag.MissKind) lag.Reason {
	switch kind {
	case lag.MissUnauthorized:
		return lag.ReasonNoReadOnTopic
	case lag.MissLeaderChanged, lag.MissTopicGone, lag.MissNoLeader, lag.MissOffsetNotAvailable:
		return lag.ReasonLeaderChanged
	case lag.MissUnreachable, lag.MissTLS, lag.MissAuthentication, lag.MissTimeout, lag.MissSuspended:
		return lag.ReasonLeaderUnreachable
	case lag.MissAPIMissing:
		return lag.ReasonAPIMissing
	case lag.MissDeadline:
		return lag.ReasonBudget
	}
	return lag.ReasonError
}

// coordinatorReason is why a coordinator did not tell something. The code is 0
// where there was no answer.
func coordinatorReason(kind lag.MissKind, code int16) lag.Reason {
	switch kind {
	case lag.MissUnauthorized:
		return lag.ReasonNoDescribeOnTransactionalID
	case lag.MissNoCoordinator:
		if kerr.ErrorForCode(code) == kerr.CoordinatorLoadInProgress {
			return lag.ReasonCoordinatorLoading
		}
		return lag.ReasonCoordinatorUnavailable
	case lag.MissUnreachable, lag.MissTLS, lag.MissAuthentication, lag.MissTimeout, lag.MissSuspended:
		return lag.ReasonCoordinatorUnreachable
	case lag.MissAPIMissing:
		return lag.ReasonAPIMissing
	case lag.MissDeadline:
		return lag.ReasonBudget
	}
	return lag.ReasonError
}
