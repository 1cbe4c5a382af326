package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// topic is one life of a topic's name.
type topic struct {
	name             string
	created, deleted window
	partitions       []*partition
}

// Truth is what a record says of a cluster: for every quantity the values that
// it may have had at every moment.
type Truth struct {
	fleet   *fleet
	topics  map[string][]*topic // lives, in order
	groups  map[string]*group
	commits map[commitKey]*commitLog
}

// Learn works a record out. The acts may come in any order. It refuses a record
// that contradicts itself.
func Learn(acts []Act) (*Truth, error) {
	acts = slices.Clone(acts)
	slices.SortStableFunc(acts, func(a, b Act) int { return a.Sent.Compare(b.Sent) })
	l := &learner{
		Truth: &Truth{
			fleet:  &fleet{outages: map[int32][]outage{}},
			topics: map[string][]*topic{}, groups: map[string]*group{}, commits: map[commitKey]*commitLog{},
		},
		ledger: newLedger(), written: map[placeKey][]written{},
		markers: map[placeKey]map[string][]int64{}, sights: map[placeKey][]Act{}, retained: map[string]bool{},
	}
	l.fleet.timing = (*Timing)(nil).withDefaults()
	for _, a := range acts {
		if err := l.learn(a); err != nil {
			return nil, err
		}
	}
	return l.Truth, l.finish()
}

type learner struct {
	*Truth
	ledger  *ledger
	written map[placeKey][]written
	markers map[placeKey]map[string][]int64
	sights  map[placeKey][]Act

	retained map[string]bool // topics that retention is on
}

func (l *learner) learn(a Act) error {
	switch a.Kind {
	case Cluster:
		l.fleet.timing = a.Timing.withDefaults()
		l.fleet.brokers = a.Brokers
	case PauseBroker, ResumeBroker, KillBroker, StopBroker, StartBroker:
		l.fleet.learn(a)
	case CreateTopic, CreatePartitions, DeleteTopic:
		return l.learnTopic(a)
	case Retention:
		l.retained[a.Topic] = true
	case BeginTransaction, EndTransaction, CompleteTransaction:
		l.learnTransaction(a)
	case MakeGroup, JoinGroup, LeaveGroup, DeleteGroup, Coordinator:
		l.learnGroup(a)
	case CommitOffset, DeleteOffset:
		return l.learnCommit(a)
	case Append, AddPartition, WriteMarker, LostMarker, Marker, DeleteRecords, LogStart, LoseRecords, ElectLeader, Leader:
		return l.learnPartition(a)
	default:
		return fmt.Errorf("record: no such kind of act: %q", a.Kind)
	}
	return nil
}

func (l *learner) learnTopic(a Act) error {
	lives := l.topics[a.Topic]
	switch a.Kind {
	case CreateTopic:
		t := &topic{name: a.Topic, created: a.window(), deleted: window{never, never}}
		l.topics[a.Topic] = append(lives, t)
		l.addPartitions(t, len(lives), a)
		l.inheritCommits(t, len(lives))
		return nil
	case CreatePartitions:
		if len(lives) == 0 {
			return fmt.Errorf("record: partitions of %q, which was never created", a.Topic)
		}
		l.addPartitions(lives[len(lives)-1], len(lives)-1, a)
		return nil
	}
	if len(lives) == 0 {
		return fmt.Errorf("record: deletion of %q, which was never created", a.Topic)
	}
	lives[len(lives)-1].deleted = a.window()
	for key, log := range l.commits {
		if key.topic == a.Topic && key.life == len(lives)-1 {
			w := a.window()
			w.late = w.late.add(l.fleet.slack())
			if l.fleet.anyAway() {
				w.late = never // a coordinator that is away does not learn of it
			}
			log.events = append(log.events, commitEvent{written: w, effect: w, none: true})
		}
	}
	return nil
}

// inheritCommits has a topic that is made anew take the commits of the one before, as
// far as coordinators have not heard of the deletion.
func (l *learner) inheritCommits(t *topic, life int) {
	for _, p := range t.partitions {
		for key, log := range l.commits {
			if key.placeKey == (placeKey{t.name, life - 1, p.index}) {
				l.commits[commitKey{key.group, p.placeKey}] = &commitLog{events: slices.Clone(log.events)}
			}
		}
	}
}

func (l *learner) addPartitions(t *topic, life int, a Act) {
	for _, replicas := range a.Replicas {
		t.partitions = append(t.partitions, &partition{
			placeKey: placeKey{t.name, life, int32(len(t.partitions))},
			replicas: replicas, minInSync: max(1, a.MinInSync), created: a.window(), lossy: never, alone: never,
		})
	}
}

func (l *learner) learnTransaction(a Act) {
	switch a.Kind {
	case BeginTransaction:
		l.ledger.begin(a)
	case EndTransaction:
		l.ledger.end(a)
	case CompleteTransaction:
		if t := l.ledger.cur[a.TransactionalID]; t != nil && t.mayHaveEnded(momentOf(a.Sent)) {
			t.end.late = min(t.end.late, momentOf(a.Answered))
		}
	}
}

func (l *learner) group(name string) *group {
	g := l.groups[name]
	if g == nil {
		g = &group{name: name, born: window{never, never}, members: map[string][]member{}}
		l.groups[name] = g
	}
	return g
}

func (l *learner) learnGroup(a Act) {
	l.group(a.Group).learn(a)
	if a.Kind != DeleteGroup {
		return
	}
	for key, log := range l.commits {
		if key.group == a.Group {
			log.events = append(log.events, commitEvent{written: a.window(), effect: a.window(), none: true})
		}
	}
}

func (l *learner) learnCommit(a Act) error {
	p, err := l.place(a)
	if err != nil {
		return err
	}
	key := commitKey{a.Group, p.placeKey}
	log := l.commits[key]
	if log == nil {
		log = &commitLog{}
		l.commits[key] = log
	}
	ev := commitEvent{written: a.window(), effect: a.window(), value: a.Offset, none: a.Kind == DeleteOffset, maybe: a.Maybe}
	if a.TransactionalID != "" {
		ev.txn = l.ledger.open(a)
	}
	log.events = append(log.events, ev)
	if a.Kind == CommitOffset {
		l.group(a.Group).learn(a)
	}
	return nil
}

// place is the partition that an act means: of the newest life of its topic.
func (l *learner) place(a Act) (*partition, error) {
	lives := l.topics[a.Topic]
	if len(lives) == 0 {
		return nil, fmt.Errorf("record: %s on %q, which was never created", a.Kind, a.Topic)
	}
	t := lives[len(lives)-1]
	if a.Partition < 0 || int(a.Partition) >= len(t.partitions) {
		return nil, fmt.Errorf("record: %s on %s-%d, which was never created", a.Kind, a.Topic, a.Partition)
	}
	return t.partitions[a.Partition], nil
}

func (l *learner) learnPartition(a Act) error {
	p, err := l.place(a)
	if err != nil {
		return err
	}
	key := p.placeKey
	switch a.Kind {
	case Append:
		w := written{act: a, base: a.Offset, next: a.Offset + a.Records}
		if a.TransactionalID != "" && !a.Unregistered {
			w.txn = l.ledger.open(a)
			w.txn.touch(key, !a.Answered.IsZero())
		}
		l.written[key] = append(l.written[key], w)
	case AddPartition:
		l.ledger.open(a).touch(key, !a.Answered.IsZero())
	case WriteMarker:
		l.ledger.mark(a, key)
	case LostMarker:
		if t := l.ledger.cur[a.TransactionalID]; t != nil {
			delete(t.partitions, key)
		}
	case Marker:
		if l.markers[key] == nil {
			l.markers[key] = map[string][]int64{}
		}
		l.markers[key][a.TransactionalID] = append(l.markers[key][a.TransactionalID], a.Offset)
	case DeleteRecords, LogStart:
		p.start.values = append(p.start.values, a.Offset)
		p.start.windows = append(p.start.windows, a.window())
		if a.Kind == LogStart || a.Answered.IsZero() || l.retained[a.Topic] {
			p.alone = min(p.alone, momentOf(a.Sent))
		}
	case LoseRecords:
		p.lossy = min(p.lossy, momentOf(a.Sent))
	case ElectLeader:
		p.elections = append(p.elections, a.window())
	case Leader:
		l.sights[key] = append(l.sights[key], a)
	}
	return nil
}

func (l *learner) finish() error {
	for _, t := range l.ledger.cur {
		t.close()
	}
	l.ledger.failedOver(l.fleet)
	for _, log := range l.commits {
		log.settle()
	}
	for _, g := range l.groups {
		g.sights = slices.DeleteFunc(g.sights, func(a Act) bool { return l.fleet.justBack(momentOf(a.Answered)) })
		g.seats = l.fleet.seats(l.fleet.brokers, l.fleet.brokers, always, g.sights, nil)
		if l.fleet.timing.FixedCoordinators && len(g.sights) > 0 {
			g.seats = []seat{{always, []int32{g.sights[0].Broker}}}
		}
	}
	for _, lives := range l.topics {
		for _, t := range lives {
			for _, p := range t.partitions {
				if err := l.finishPartition(p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (l *learner) finishPartition(p *partition) error {
	key := p.placeKey
	var txns []*transaction
	for _, t := range l.ledger.all {
		if _, touched := t.partitions[key]; touched {
			txns = append(txns, t)
		}
	}
	p.registered = register(txns, l.written[key])
	var first []int32
	if len(p.replicas) > 0 {
		first = p.replicas[:1]
	}
	p.leaders = l.fleet.seats(first, p.replicas, p.created.early, l.sights[key], p.elections)
	p.settleStart()
	if len(p.start.windows) > 0 {
		p.start.reverts = min(l.fleet.killedAfter(p, p.start.windows[0].early), anotherAfter(p.leaders, p.alone))
	}
	for id, offsets := range l.markers[key] {
		slices.Sort(offsets)
		l.markers[key][id] = offsets
	}
	if err := p.rebuild(l.fleet, l.written[key], l.markers[key], txns); err != nil {
		return err
	}
	p.lossy = min(p.lossy, p.mayLose(l.fleet))
	if l.retained[p.topic] {
		p.start.amid = p.isBase
	}
	p.forget(l.fleet)
	return nil
}

// settleStart puts the log starts in order. One that is no higher than one before
// it changes nothing: the log starts at a value or above as soon, and as surely, as
// at any that is higher.
func (p *partition) settleStart() {
	values, windows := p.start.values, p.start.windows
	byValue := make([]int, len(values))
	for i := range byValue {
		byValue[i] = i
	}
	slices.SortStableFunc(byValue, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	p.start = steps{reverts: never}
	for _, i := range byValue {
		p.start.values = append(p.start.values, values[i])
		p.start.windows = append(p.start.windows, windows[i])
	}
	for i := len(windows) - 2; i >= 0; i-- {
		w, above := &p.start.windows[i], p.start.windows[i+1]
		w.early, w.late = min(w.early, above.early), min(w.late, above.late)
	}
}

// lives are the lives of a topic that some moment of [s, e] may belong to, with
// what the deletion of a topic leaves visible for a while.
func (t *Truth) lives(name string, s, e moment) []*topic {
	var out []*topic
	for _, life := range t.topics[name] {
		if life.created.early <= e && s <= life.deleted.late.add(t.fleet.slack()) {
			out = append(out, life)
		}
	}
	return out
}

// certain is the life of a topic that existed, and was known everywhere, at
// every moment of [s, e]; nil if there is none.
func (t *Truth) certain(name string, s, e moment) *topic {
	for _, life := range t.topics[name] {
		if life.created.late.add(t.fleet.slack()) < s && e < life.deleted.early {
			return life
		}
	}
	return nil
}

// renewed says whether a topic of that name may have been created anew within
// [s, e].
func (t *Truth) renewed(name string, s, e moment) bool {
	lives := t.topics[name]
	for i := 1; i < len(lives); i++ {
		if lives[i].created.early <= e && s <= lives[i].created.late.add(t.fleet.slack()) {
			return true
		}
	}
	return false
}

// partitions are those that a sample of [s, e] may be of.
func (t *Truth) partitions(name string, index int32, s, e moment) []*partition {
	var out []*partition
	for _, life := range t.lives(name, s, e) {
		if int(index) < len(life.partitions) && life.partitions[index].created.early <= e {
			out = append(out, life.partitions[index])
		}
	}
	return out
}

// leaderExcused says whether an outage or an election may have cost the partition's
// offsets in a sweep of [s, e].
func (t *Truth) leaderExcused(p *partition, s, e moment) bool {
	for _, w := range p.elections {
		if w.early <= e && s <= w.late.add(t.fleet.slack()) {
			return true
		}
	}
	return t.fleet.excused(holders(p.leaders, s, e), func(b int32, o outage) bool { return t.fleet.spare(p, b, o) }, s, e)
}

// groupExcused says the same of a group's commits and members. A broker that loads any
// groups lists none (COORDINATOR_LOAD_IN_PROGRESS).
func (t *Truth) groupExcused(g *group, s, e moment) bool {
	moves := len(t.fleet.brokers) > 1 && !t.fleet.timing.FixedCoordinators
	return t.fleet.excused(holders(g.seats, s, e), func(int32, outage) bool { return moves }, s, e) || moves && t.fleet.loads(s, e)
}

// Below bounds how long between two moments the last stable offset of a
// partition was below its high watermark. It is zero for a topic that the
// record does not know.
func (t *Truth) Below(topic string, partition int32, from, to time.Time) (least, most time.Duration) {
	lives := t.topics[topic]
	if len(lives) == 0 || int(partition) >= len(lives[len(lives)-1].partitions) {
		return 0, 0
	}
	lo, hi := lives[len(lives)-1].partitions[partition].below(momentOf(from), momentOf(to))
	return time.Duration(lo), time.Duration(hi)
}

// internal says whether a topic is one of Kafka's own, whose content no record
// tells.
func internal(topic string) bool { return strings.HasPrefix(topic, "__") }
