// Package lag turns samples of a cluster into views: offsets, lags, sums and
// the history that they need. It is the arithmetic of measurements.md and
// nothing else: no clock, goroutine, I/O, Kafka client or Prometheus.
//
// It promises: log start ≤ last stable ≤ high watermark ≤ log end in every
// view; no lag is ever negative; a sum that lacks a part is absent; what a
// sample does not hold is unknown, never 0, −1 or the value before. It leaves
// out how a sample is read (package collector) and how a view looks (packages
// metrics and web).
package lag

import (
	"fmt"
	"slices"
	"time"
)

// intervalPeriods is how many periods an interval between two sweeps may last
// to be judged: the next one counts for neither below nor observed, and a view
// older than this has expired.
const intervalPeriods = 3

// Tracker turns the samples of one cluster into views, one after the other,
// and keeps what the next view needs from the ones before. The zero value is
// not usable; see NewTracker. It is not safe for concurrent use.
type Tracker struct {
	settings Settings
	sweeps   uint64 // how many samples were observed; marks what was seen last

	topics map[string]*topicMemory
	groups map[string]*groupMemory
	census censusMemory
	log    logMemory
	above  map[groupPartition]struct{} // commits that the last sweep saw above the high watermark

	// Scratch of Observe, kept for its memory.
	aboveNow  map[groupPartition]struct{}
	index     map[string]int // topic → place in the view under way
	rehearsal history        // of WantDates
}

// topicMemory is what is remembered of one topic.
type topicMemory struct {
	id         TopicID
	seen       uint64            // the last sweep that listed it
	partitions []partitionMemory // by number
}

// groupPartition names a group's commit on one partition.
type groupPartition struct {
	group, topic string
	partition    int32
}

// Settings are what a tracker judges by. The zero value of each field but Period
// stands for its default.
type Settings struct {
	// Period is the time from the beginning of one sweep to that of the next.
	Period time.Duration

	// StillAfter is for how long a commit must have been watched not to move
	// for it to be still; default 60 s.
	StillAfter time.Duration

	// StalledAfter is for how long a last stable offset must have stood still
	// below the high watermark for groups to count as blocked; default 10 s.
	StalledAfter time.Duration

	// ReadUncommitted says of which groups it is known that they read
	// uncommitted; default none.
	ReadUncommitted func(group string) bool

	// TellsTransaction says of which transactional ids views tell that they hold
	// a partition; default all. A partition that another one holds has no
	// Blocker. One that no id is known to hold has.
	TellsTransaction func(id string) bool
}

// NewTracker returns a tracker without history, with default settings, for
// sweeps that begin one period after another. It panics if period is not
// positive.
func NewTracker(period time.Duration) *Tracker { return Settings{Period: period}.NewTracker() }

// NewTracker returns a tracker without history. It panics if the settings make
// no sense.
func (s Settings) NewTracker() *Tracker {
	if s.StillAfter == 0 {
		s.StillAfter = time.Minute
	}
	if s.StalledAfter == 0 {
		s.StalledAfter = 10 * time.Second
	}
	if s.ReadUncommitted == nil {
		s.ReadUncommitted = func(string) bool { return false }
	}
	if s.TellsTransaction == nil {
		s.TellsTransaction = func(string) bool { return true }
	}
	if s.Period <= 0 || s.StillAfter < 0 || s.StalledAfter < 0 {
		panic(fmt.Sprintf("lag: period %v, still after %v, stalled after %v: want them above 0", s.Period, s.StillAfter, s.StalledAfter))
	}
	return &Tracker{
		settings: s,
		log:      make(logMemory),
		topics:   make(map[string]*topicMemory),
		groups:   make(map[string]*groupMemory),
		above:    make(map[groupPartition]struct{}),
		aboveNow: make(map[groupPartition]struct{}),
		index:    make(map[string]int),
	}
}

// Reconfigure gives the tracker other settings; what it remembers stays. It
// panics if the settings make no sense.
func (t *Tracker) Reconfigure(s Settings) { t.settings = s.NewTracker().settings }

// Observe takes the next sample and returns the view after it. The tracker
// keeps no reference to the sample, but the view shares its strings, Cluster,
// Audit and Missed.
func (t *Tracker) Observe(s Sample) *View {
	t.sweeps++
	view := &View{
		Started: s.Started, Ended: s.Ended, Period: t.settings.Period,
		Cluster: s.Cluster, Audit: s.Audit, Missed: s.Missed, Failure: s.Failure, Offsetless: s.Offsetless,
	}
	t.observeTopics(view, s)
	t.observeCensus(view, s.Census)
	t.observeLog(view, s.TransactionRecords)
	t.observeGroups(view, &s)
	t.dropHistories(&s)
	t.forgetGroups(s.Ended)
	view.holdGroups()
	return view
}

// observeTopics fills in the view's topics and forgets those that are gone.
func (t *Tracker) observeTopics(view *View, s Sample) {
	clear(t.index)
	partitions := 0
	for i := range s.Topics {
		partitions += len(s.Topics[i].Partitions)
	}
	backing := make([]PartitionView, 0, partitions)
	view.Topics = make([]TopicView, 0, len(s.Topics))
	inconsistent := 0
	for i := range s.Topics {
		topic := &s.Topics[i]
		memory := t.recall(topic)
		first := len(backing)
		for j := range topic.Partitions {
			p, ok := memory.partitions[j].observe(&topic.Partitions[j], s.Ended, t.settings.Period)
			if !ok {
				inconsistent++
			} else if h := memory.partitions[j].history; h != nil {
				view.Skewed += h.take(&topic.Partitions[j])
			}
			memory.partitions[j].judge(&p, evidence{
				topic: topic.Name, partition: &topic.Partitions[j], transactions: s.Transactions, brokers: s.Cluster.value.Brokers, sweep: t.sweeps,
			})
			if b := p.Blocker; b != nil && b.TransactionalID != "" && !t.settings.TellsTransaction(b.TransactionalID) {
				p.Blocker = nil
			}
			backing = append(backing, p)
		}
		t.index[topic.Name] = len(view.Topics)
		view.Topics = append(view.Topics, TopicView{
			Name: topic.Name, ID: topic.ID, Internal: topic.Internal, Unreadable: topic.Unreadable,
			Partitions: backing[first:len(backing):len(backing)],
		})
	}
	if inconsistent > 0 {
		view.Missed = append(slices.Clip(view.Missed),
			Miss{Kind: MissInconsistent, Subject: "partitions", Count: inconsistent})
	}
	t.passOver(s)
}

// recall returns the memory of a topic with one entry for each of its
// partitions, in order: new where the topic or the partition is.
func (t *Tracker) recall(topic *Topic) *topicMemory {
	memory := t.topics[topic.Name]
	if memory == nil || recreated(memory.id, topic.ID) {
		memory = &topicMemory{}
		t.topics[topic.Name] = memory
	}
	if topic.ID != (TopicID{}) {
		memory.id = topic.ID
	}
	if !topic.Unreadable {
		memory.seen = t.sweeps
		memory.align(topic.Partitions)
	}
	return memory
}

// recreated says whether two ids of one topic name are of different topics.
// A broker that does not know topic ids contradicts nothing.
func recreated(before, now TopicID) bool {
	return before != now && before != (TopicID{}) && now != (TopicID{})
}

// align brings the memory's partitions into step with those of a sample.
func (m *topicMemory) align(partitions []Partition) {
	inStep := len(m.partitions) == len(partitions)
	for i := 0; inStep && i < len(partitions); i++ {
		inStep = m.partitions[i].number == partitions[i].Number
	}
	if inStep {
		return
	}
	aligned := make([]partitionMemory, len(partitions))
	for i, p := range partitions {
		aligned[i].number = p.Number
		j, found := slices.BinarySearchFunc(m.partitions, p.Number,
			func(m partitionMemory, number int32) int { return int(m.number) - int(number) })
		if found {
			aligned[i] = m.partitions[j]
		}
	}
	m.partitions = aligned
}

// passOver deals with the topics that the sample does not describe: those that
// are gone are forgotten; of those that may exist all the same, this sweep has
// read nothing.
func (t *Tracker) passOver(s Sample) {
	for name, memory := range t.topics {
		if memory.seen == t.sweeps {
			continue
		}
		if _, listed := t.index[name]; !listed && s.Cluster.IsKnown() {
			delete(t.topics, name)
			continue
		}
		for i := range memory.partitions {
			memory.partitions[i].closeInterval(s.Ended, t.settings.Period)
		}
	}
}
