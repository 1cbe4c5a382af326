// Package collector reads a cluster: it sends the requests of a sweep in the
// order that makes false numbers impossible (measurements.md 2), a fixed
// number of them per broker (8), and hands what was answered to package lag as
// a sample. It is the only package that talks to Kafka.
//
// A sweep of a cluster with B brokers goes like this:
//
//	Metadata, from one broker after the other, sweep by sweep      1
//	Metadata, from a second one, only where topics have changed    1
//	step 1, each broker on its own:
//	    ListGroups                                                 B
//	    DescribeGroups, ConsumerGroupDescribe, of its own groups 2 B
//	    OffsetFetch, of its own groups                             B
//	    ListOffsets: log start                                     B
//	FindCoordinator, only for groups that moved or vanished        1
//	Metadata, DescribeGroups, of one name, only where no topic, or no
//	    group, is seen: whether rights lack                        2
//	                 ───── commits are before ends ─────
//	steps 2 to 4, each leader on its own:
//	    ListOffsets: high watermark, last stable, log end        3 B
//
// A broker lists the groups that it coordinates, so FindCoordinator is needed
// only for a group that is not where it was listed, or is listed nowhere. When
// leaders change in the sweep, Metadata and the steps of their partitions are
// asked for again; when commits turn up for partitions that nobody knew, only
// Metadata. A broker that has nothing to answer is not asked. In a scope of
// transactional ids ListTransactions and DescribeTransactions take the place of
// the requests for groups. All requests are
// raw kmsg: kadm works on a *kgo.Client alone, which would rule out clusters in
// the same process, and it retries, splits and resolves coordinators with
// requests of its own, which would escape the order and the budget.
//
// Failure is local. A sweep never sends more than 2 + 8 B requests (and those
// into which one is split for its size, or for its groups at brokers that answer
// for one a request: singly.go), also when leaders change under it:
// what does not fit is left out of this sweep's sample.
package collector

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Sweeper reads samples of one cluster, one after the other. It keeps between
// them what saves requests and time: the prepared requests, the groups that
// were there, and which brokers failed. It is not safe for concurrent use.
//
// A broker that hangs delays one sweep by at most Options.BrokerTimeout, the
// one that finds out; that sweep sends it nothing more. One that lets Metadata
// wait is overtaken by the next broker, and has what is left of that time. A
// broker that was found to hang is suspended: each sweep sends it one request.
// If it is done with step 1 when the others are, or a moment later (a twentieth
// of BrokerTimeout), it takes part in the sweep as if nothing had been; if it
// answers later, in the next.
type Sweeper struct {
	client  Client
	options Options

	last       *layout               // of the last Metadata answer
	asked      int32                 // the broker that gave it
	ahead      int32                 // a broker that told newer leader epochs since; −1: none did
	remembered map[string]knownGroup // the groups of the sweeps before; replaced, never changed

	census *lag.Census // the last
	tail   logTail     // of __transaction_state

	knownOrphans map[topicPartition]bool // as the last sweep found them

	pins           map[topicPartition]*pin    // partitions that are below; replaced by each sweep
	written        map[topicPartition]*writer // in a scope of transactional ids; see followIDs
	patternRefused atomic.Bool                // a broker takes the expression of the ids for none
	idsHidden      bool                       // the last census saw no id of the scope, for lack of rights

	greeted     map[int32]bool       // brokers whose offsets were read once
	backOffs    map[int32]*backOff   // brokers that failed in look-ups
	scanPeriods map[int32]scanPeriod // of coordinators
	probes      map[string][]string  // of unowned, by what they begin with, for as many partitions as there were

	advisor      advisor // nil: nothing is looked up for it
	decompressor kgo.Decompressor
	count        int                 // sweeps so far
	pauses       map[pauseKey]*pause // optional questions that brokers did not answer
	hidden       map[string]bool     // assigned topics that Metadata does not list: whether rights lack

	// deaf are the brokers that answer a request for the log end with
	// something else; see markDeaf.
	deaf map[int32]bool

	mu        sync.Mutex
	suspended map[int32]bool // did not answer the last request they were sent
	probing   map[int32]bool // have a request from a sweep before still on its way

	pending sync.WaitGroup // requests that may outlive their sweep
}

// NewSweeper returns a sweeper that asks client. It panics if the options are
// not valid.
func NewSweeper(client Client, options Options) *Sweeper {
	if err := options.Validate(); err != nil {
		panic("collector: " + err.Error())
	}
	return &Sweeper{
		client:     client,
		options:    options.withDefaults(),
		asked:      -1,
		ahead:      -1,
		remembered: make(map[string]knownGroup),
		deaf:       make(map[int32]bool),
		suspended:  make(map[int32]bool),
		probing:    make(map[int32]bool),

		greeted:     make(map[int32]bool),
		backOffs:    make(map[int32]*backOff),
		scanPeriods: make(map[int32]scanPeriod),

		written: make(map[topicPartition]*writer),
		probes:  make(map[string][]string),

		decompressor: newDecompressor(),
		pauses:       make(map[pauseKey]*pause),
	}
}

// consult has each sweep look up what advisor wants.
func (s *Sweeper) consult(a advisor) { s.advisor = a }

// sweep is one sweep under way. Its fields belong to the goroutine that sweeps;
// requests that outlive their part of the sweep use only contacts, and layout,
// known and the options, which do not change under them.
type sweep struct {
	*Sweeper
	outlive context.Context // ends with the process, not with the sweep
	budget  budget
	started time.Time
	misses  misses

	contacts *contacts
	answers  int // to Metadata

	layout *layout
	known  map[string]knownGroup // as the sweep before left it

	brokers    []int32                 // those that Metadata lists, by id
	down       map[int32]bool          // not asked any more in this sweep
	justFailed map[int32]bool          // those of them that answered in the sweep before
	unwilling  map[int32]bool          // did not answer an optional question
	late       map[int32]time.Duration // how long brokers have not answered Metadata that another one did
	partitions []lag.Partition
	errors     map[int]int16 // by place: the first error of a partition
	groups     []lag.Group
	forgotten  []string // groups of earlier sweeps that do not exist any more

	// In a scope: which partitions of groups are shown, and which groups are not.
	own     map[string][]lag.TopicPartitions
	outside map[string]bool
	ids     map[int32]*ownIDs // by broker; nil for those that did not list them

	fetches map[int32]int16 // the version in which brokers answered OffsetFetch

	// Where not all offsets are read: the places of those that are shown and of
	// those that are needed. nil: all.
	shown, needed map[int]bool
}

// Sweep reads one sample. It returns when everything is read, or has failed,
// or the deadline is over, and never fails as a whole: a cluster of which
// nothing could be read gives a sample that says why.
func (s *Sweeper) Sweep(ctx context.Context) lag.Sample {
	w := &sweep{
		Sweeper: s, outlive: ctx, started: s.options.Now(), layout: s.last, known: s.remembered,
		misses: newMisses(), contacts: newContacts(), down: make(map[int32]bool), justFailed: make(map[int32]bool), errors: make(map[int]int16),
		unwilling: make(map[int32]bool), late: make(map[int32]time.Duration), own: make(map[string][]lag.TopicPartitions), outside: make(map[string]bool),
		ids: make(map[int32]*ownIDs), fetches: make(map[int32]int16),
	}
	s.count++
	ctx, cancel := context.WithTimeout(ctx, s.options.Deadline)
	defer cancel()

	if err := w.readMetadata(ctx); err != nil {
		return w.failed(err)
	}
	w.contacts = newContacts() // who answers Metadata may be silent on the rest
	begun := s.options.Now()
	w.readStepOne(ctx)
	w.readSight(ctx)
	groupsTook := w.elapsed(begun)
	var offsetless string
	if s.options.readsOffsets() {
		begun = s.options.Now()
		w.readPlans(ctx, w.plans())
		w.readMovedPartitions(ctx)
		w.leaveOut()
		offsetless = w.offsetless()
	}
	if s.options.enabled(Offsets) {
		s.options.Observer.Collector(Offsets, !w.misses.failed[Offsets], w.elapsed(begun))
	}
	var transactions *lag.Transactions
	var census *lag.Census
	if s.options.enabled(Transactions) {
		begun = s.options.Now()
		transactions = w.readTransactions(ctx)
		census = w.readCensus(ctx)
		s.options.Observer.Collector(Transactions, !w.misses.failed[Transactions], w.elapsed(begun))
	}
	sample := lag.Sample{
		Started:      w.started,
		Cluster:      lag.Known(w.layout.cluster),
		Topics:       w.topics(),
		Groups:       w.groups,
		Transactions: transactions,
		Census:       census,
		Offsetless:   offsetless,
	}
	if s.options.TransactionLog {
		begun = s.options.Now()
		sample.TransactionRecords = w.readTransactionLog(ctx)
		s.options.Observer.Collector(TransactionLog, !w.misses.failed[TransactionLog], w.elapsed(begun))
	}
	if s.options.enabled(Groups) {
		begun = s.options.Now()
		w.readOptional(ctx, &sample)
		sample.Topics = w.topics() // with what was looked up
		s.options.Observer.Collector(Groups, !w.misses.failed[Groups], groupsTook+w.elapsed(begun))
	}
	sample.Ended, sample.Missed = s.options.Now(), w.misses.list()
	return sample
}

// wait returns when no request is on its way. The context of the last sweep
// must be done.
func (s *Sweeper) wait() { s.pending.Wait() }

// failed is the sample of a sweep whose Metadata request nobody answered.
func (w *sweep) failed(err error) lag.Sample {
	for _, c := range []Collector{Offsets, Groups, Transactions} {
		if w.options.enabled(c) {
			w.options.Observer.Collector(c, false, 0)
		}
	}
	if w.options.TransactionLog {
		w.options.Observer.Collector(TransactionLog, false, 0)
	}
	return lag.Sample{
		Started: w.started, Ended: w.options.Now(),
		Missed:  w.misses.list(),
		Failure: err.Error(),
	}
}

// readMetadata asks for Metadata. It returns why if nobody answers.
func (w *sweep) readMetadata(ctx context.Context) error {
	begun := w.options.Now()
	// Which of the brokers an unknown seed is nobody can tell.
	doubt := w.last != nil && w.asked < 0 && len(w.last.cluster.Brokers) > 1
	l, err := w.askLayout(ctx, w.metadataOrder(), w.last, doubt)
	if w.options.enabled(Replicas) {
		w.options.Observer.Collector(Replicas, err == nil, w.elapsed(begun))
	}
	if err != nil {
		return err
	}
	w.setLayout(w.hearAnother(ctx, l))
	return nil
}

// setLayout takes over the first layout of the sweep.
func (w *sweep) setLayout(l *layout) {
	w.layout, w.last = l, l
	w.partitions = l.partitions
	w.brokers = w.brokers[:0]
	for _, b := range l.cluster.Brokers {
		w.brokers = append(w.brokers, int32(b.ID))
	}
	// Two for the cluster, eight a broker. The answered Metadata request is
	// one of them, and so are those whose answer was of no use; those that failed
	// asked brokers that will not use theirs.
	w.budget.left.Store(int64(2 + 8*len(w.brokers) - w.answers))
	w.forgetBrokers()
	for i := range l.topics {
		if t := &l.topics[i]; t.errorCode != 0 {
			w.misses.add(missOfCode(t.errorCode), "topic "+t.name, 1, codeText(t.errorCode), Offsets, Replicas)
		}
	}
}

// refusedMetadata notes that a broker answered Metadata without any broker, and
// returns why.
func (w *sweep) refusedMetadata(l *line, resp *kmsg.MetadataResponse) error {
	code := resp.ErrorCode
	for i := 0; i < len(resp.Topics) && code == 0; i++ {
		code = resp.Topics[i].ErrorCode
	}
	kind, text := missOfCode(code), "Metadata: "+codeText(code)
	if code == 0 {
		kind, text = lag.MissOther, "Metadata: the answer lists no brokers"
	}
	w.misses.add(kind, l.subject(), 1, text)
	return errors.New(l.subject() + ": " + text)
}

// markDown notes that a broker did not answer: it is asked nothing more in
// this sweep, and is suspended in the next. It is one miss.
func (w *sweep) markDown(l *line) {
	if l.failure == "" || l.failure == lag.MissDeadline || w.down[l.id] {
		return
	}
	w.down[l.id] = true
	w.justFailed[l.id] = !w.isSuspended(l.id)
	w.misses.add(l.failure, l.subject(), 1, l.err.Error())
	w.suspend(l.id)
}

// suspend notes that a broker failed. Seeds are never suspended: there may be
// nobody else to ask.
func (s *Sweeper) suspend(id int32) {
	if id < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended[id] = true
	delete(s.deaf, id)
}

// isSuspended says whether a broker failed in the sweep before and has not
// answered since.
func (s *Sweeper) isSuspended(id int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspended[id]
}

// beginProbe says whether a suspended broker may be sent a request: not while
// one is on its way.
func (s *Sweeper) beginProbe(id int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.probing[id] {
		return false
	}
	s.probing[id] = true
	return true
}

// endProbe notes how the first request to a suspended broker went.
func (s *Sweeper) endProbe(id int32, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.probing, id)
	if answered {
		delete(s.suspended, id)
	}
}

// forgetBrokers drops what is remembered of brokers that have left.
func (w *sweep) forgetBrokers() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.suspended {
		if _, ok := slices.BinarySearch(w.brokers, id); !ok {
			delete(w.suspended, id)
		}
	}
	gone := func(id int32) bool {
		_, ok := slices.BinarySearch(w.brokers, id)
		return !ok
	}
	maps.DeleteFunc(w.deaf, func(id int32, _ bool) bool { return gone(id) })
	maps.DeleteFunc(w.backOffs, func(id int32, _ *backOff) bool { return gone(id) })
	maps.DeleteFunc(w.scanPeriods, func(id int32, _ scanPeriod) bool { return gone(id) })
}
