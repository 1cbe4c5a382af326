package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Kind is what there is to say of a group on a topic: a state of measurements.md
// 5, or one of the remarks.
type Kind string

// The kinds, the worst first. Those above KindUndetermined count for the answer
// as something that is held back, KindUndetermined as something that could not
// be told.
const (
	KindAhead        = Kind(lag.StateAhead)
	KindLost         = Kind(lag.StateLost)
	KindBlocked      = Kind(lag.StateBlocked)
	KindPending      = Kind("pending_offset_commit") // a commit waits for the end of a transaction
	KindStopped      = Kind(lag.StateStopped)
	KindUndetermined = Kind(lag.StateUndetermined)
	KindSlow         = Kind("slow")       // consuming, and far behind
	KindUnassigned   = Kind("unassigned") // no member is assigned the partitions any more
	KindInactive     = Kind(lag.StateInactive)
	KindEndMarkers   = Kind("end_markers") // caught up, and a lag that is no records
	KindConsuming    = Kind(lag.StateConsuming)
	KindCaughtUp     = Kind(lag.StateCaughtUp)
	KindShare        = Kind("share") // a share group: it has no commits
)

// Kinds lists all kinds in their order.
func Kinds() []Kind {
	return []Kind{
		KindAhead, KindLost, KindBlocked, KindPending, KindStopped, KindUndetermined,
		KindSlow, KindUnassigned, KindInactive, KindEndMarkers, KindConsuming, KindCaughtUp, KindShare,
	}
}

// heldBack says whether the kind counts as something that is held back.
func (k Kind) heldBack() bool {
	return slices.Index(Kinds(), k) < slices.Index(Kinds(), KindUndetermined)
}

// Group is what is to be said of a group on the partitions of one topic that are
// of one kind.
type Group struct {
	Group string `json:"group"`
	Topic string `json:"topic"`
	Kind  Kind   `json:"kind"`

	Type    lag.GroupType `json:"type,omitempty"`
	State   string        `json:"state,omitempty"`
	Members *int          `json:"members,omitempty"`

	// LSOLag and HWMLag are the sums over Partitions; absent where a part is not
	// known.
	LSOLag *lag.Count `json:"lso_lag,omitempty"`
	HWMLag *lag.Count `json:"hwm_lag,omitempty"`
	// LagSeconds is how long the oldest of the next unread records has been
	// there; absent where it is not known.
	LagSeconds *float64 `json:"lag_seconds,omitempty"`

	HeldBack   bool             `json:"held_back"`
	Partitions []GroupPartition `json:"partitions"`

	Headline string   `json:"headline"`
	Meaning  []string `json:"meaning"`
	Remedy   []string `json:"remedy"`
	// Commands do what Remedy says.
	Commands []string `json:"commands,omitempty"`
	Runbook  string   `json:"runbook,omitempty"`

	waiting     bool // another sweep may tell more
	beyond      bool // a commit lies above the high watermark, for the first time
	uncommitted bool // the group is known to read uncommitted here
	view        *lag.GroupView
	pace        float64
}

// GroupPartition is where a group is on one partition.
type GroupPartition struct {
	Partition int32       `json:"partition"`
	Committed *lag.Offset `json:"committed_offset,omitempty"`
	LSOLag    *lag.Count  `json:"lso_lag,omitempty"`
	HWMLag    *lag.Count  `json:"hwm_lag,omitempty"`
	// Readable is the number of records up to the last stable offset; absent
	// where nobody looked.
	Readable *lag.Count `json:"readable_records,omitempty"`
	Lost     *lag.Count `json:"lost_offsets,omitempty"`
	Ahead    *lag.Count `json:"ahead_offsets,omitempty"`
	// UnmovedSeconds is for how long the commit has not moved although there was
	// something to read.
	UnmovedSeconds float64 `json:"unmoved_seconds,omitempty"`
	// PendingSeconds is for how long a commit has waited for the end of a
	// transaction.
	PendingSeconds float64 `json:"pending_seconds,omitempty"`

	// Owner is the member that is assigned the partition.
	Owner *Owner `json:"owner,omitempty"`
}

// Owner is a member of a group.
type Owner struct {
	MemberID   string `json:"member_id"`
	InstanceID string `json:"instance_id,omitempty"`
	ClientID   string `json:"client_id"`
	Host       string `json:"host"`
}

// pointer returns a pointer to a value that is known; nil otherwise.
func pointer[T any](o lag.Optional[T]) *T {
	if v, known := o.Get(); known {
		return &v
	}
	return nil
}

// groups fills in what there is to say of groups.
func (r *reporter) groups() {
	for i := range r.view.Groups {
		g := &r.view.Groups[i]
		if !picked(r.Groups, g.Name) {
			continue
		}
		for j := range g.Topics {
			if t := &g.Topics[j]; picked(r.Topics, t.Topic) {
				r.onTopic(g, t)
			}
		}
		r.pendingOf(g)
		r.sharesOf(g)
	}
	order := Kinds()
	slices.SortStableFunc(r.report.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic))
	})
}

// onTopic adds what there is to say of a group on one topic, one entry a kind.
func (r *reporter) onTopic(g *lag.GroupView, t *lag.GroupTopicView) {
	byKind := make(map[Kind]*Group)
	for i := range t.Partitions {
		row := &t.Partitions[i]
		kind := r.kindOf(g, t, row)
		if kind == "" {
			continue
		}
		f := byKind[kind]
		if f == nil {
			f = newGroup(g, t.Topic, kind)
			f.uncommitted = r.readsUncommitted(g.Name, t)
			byKind[kind] = f
		}
		r.addRow(f, t, row)
	}
	for _, kind := range Kinds() {
		if f := byKind[kind]; f != nil && r.worthTelling(f) {
			r.explainGroup(f)
			r.report.Groups = append(r.report.Groups, *f)
		}
	}
}

// newGroup returns an entry without partitions.
func newGroup(g *lag.GroupView, topic string, kind Kind) *Group {
	return &Group{
		Group: g.Name, Topic: topic, Kind: kind, Type: g.Type, State: g.State, Members: pointer(g.Members),
		HeldBack: kind.heldBack(), Partitions: []GroupPartition{}, Meaning: []string{}, Remedy: []string{}, view: g,
	}
}

// worthTelling says whether an entry belongs into the report: of groups that
// are well only when somebody asked.
func (r *reporter) worthTelling(f *Group) bool {
	switch {
	case len(r.TransactionalIDs) > 0:
		return false // what a transaction holds is told with it
	case f.Kind == KindConsuming, f.Kind == KindCaughtUp, f.Kind == KindShare:
		return len(r.Groups) > 0
	case f.Kind == KindBlocked:
		return !r.named[groupOn{f.Group, f.Topic}] // who holds the partition names the groups that it holds
	}
	return true
}

// kindOf is what a group is doing on one partition; empty where that is not
// known.
func (r *reporter) kindOf(g *lag.GroupView, t *lag.GroupTopicView, row *lag.GroupPartitionView) Kind {
	p := r.partition(t.Topic, row.Partition)
	if row.State == "" || p == nil {
		return ""
	}
	unmoved, moved := r.unmoved(g.Name, t.Topic, row)
	waits := r.waits(g, t, row, p)
	lagging := !r.readAll(g.Name, t, row)
	switch {
	case row.State == lag.StateAhead:
		return KindAhead
	case beyond(row, p):
		return KindUndetermined
	case row.State == lag.StateLost && !moved:
		return r.lostKind(g)
	case row.State == lag.StateInactive && r.watched() >= r.StillAfter:
		return KindInactive
	case waits && r.isHeld(t.Topic, p):
		return KindBlocked
	case row.Unassigned && lagging:
		return KindUnassigned
	case row.State == lag.StateInactive && lagging:
		return KindInactive
	case row.State == lag.StateStopped && unmoved >= r.StillAfter:
		return KindStopped
	case lagging && !moved && (row.State == lag.StateStopped || row.State == lag.StateUndetermined):
		return KindUndetermined
	case lagging:
		if late, known := r.lagFor(g.Name, t, row).Get(); known && late >= r.StillAfter {
			return KindSlow
		}
		return KindConsuming
	}
	if lso, known := row.LSOLag.Get(); known && lso > 0 && !waits {
		return KindEndMarkers
	}
	return KindCaughtUp
}

// beyond says whether a commit lies above the high watermark; a second look tells
// whether it stays there.
func beyond(row *lag.GroupPartitionView, p *lag.PartitionView) bool {
	committed, known := row.Committed.Get()
	hwm, hwmKnown := p.HighWatermark.Get()
	return known && hwmKnown && committed > hwm
}

// lostKind is what is to be said of a group whose commit lies below the beginning
// of the log and has not moved. One that has no members has nobody who lost it.
func (r *reporter) lostKind(g *lag.GroupView) Kind {
	switch members, known := g.Members.Get(); {
	case known && members == 0:
		return KindInactive
	case r.watched() >= r.StillAfter:
		return KindLost
	}
	return KindUndetermined
}

// lagFor is how long the next record that a group can read has been there.
func (r *reporter) lagFor(group string, t *lag.GroupTopicView, row *lag.GroupPartitionView) lag.Optional[time.Duration] {
	if r.readsUncommitted(group, t) {
		return row.HWMLagFor
	}
	return row.LSOLagFor
}

// waits says whether a group has read all that is readable under read_committed
// on a partition, and there is more above the last stable offset.
func (r *reporter) waits(g *lag.GroupView, t *lag.GroupTopicView, row *lag.GroupPartitionView, p *lag.PartitionView) bool {
	if r.readsUncommitted(g.Name, t) {
		return false
	}
	committed, known := row.Committed.Get()
	lso, lsoKnown := p.LastStable.Get()
	return known && lsoKnown && p.Below && committed <= lso && nothingToRead(row)
}

// isHeld says whether a partition is held back for certain.
func (r *reporter) isHeld(topic string, p *lag.PartitionView) bool {
	return p.Blocker != nil && r.holdsBack(topic, p) || p.Below && p.StalledFor >= r.HeldAfter
}

// waiting lists the groups that have nothing to read because a partition is
// held.
func (r *reporter) waiting(topic string, p *lag.PartitionView) []string {
	var names []string
	for i := range r.view.Groups {
		g := &r.view.Groups[i]
		if !picked(r.Groups, g.Name) {
			continue
		}
		for j := range g.Topics {
			t := &g.Topics[j]
			if t.Topic != topic {
				continue
			}
			at, found := slices.BinarySearchFunc(t.Partitions, p.Number,
				func(row lag.GroupPartitionView, number int32) int { return int(row.Partition) - int(number) })
			if found && r.waits(g, t, &t.Partitions[at], p) &&
				!(t.Partitions[at].State == lag.StateInactive && r.watched() >= r.StillAfter) {
				names = append(names, g.Name)
			}
		}
	}
	return names
}

// addRow adds a partition to an entry.
func (r *reporter) addRow(f *Group, t *lag.GroupTopicView, row *lag.GroupPartitionView) {
	unmoved, moved := r.unmoved(f.Group, t.Topic, row)
	p := GroupPartition{
		Partition: row.Partition, Committed: pointer(row.Committed), LSOLag: pointer(row.LSOLag), HWMLag: pointer(row.HWMLag),
		Readable: pointer(row.Readable), UnmovedSeconds: unmoved.Seconds(),
	}
	if lost, known := row.Lost.Get(); known && lost > 0 {
		p.Lost = &lost
	}
	if ahead, known := row.Ahead.Get(); known && ahead > 0 {
		p.Ahead = &ahead
	}
	if m := row.Owner; m != nil {
		p.Owner = &Owner{MemberID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.Host}
	}
	if len(f.Partitions) == 0 {
		f.LSOLag, f.HWMLag = new(lag.Count), new(lag.Count)
	}
	f.LSOLag, f.HWMLag = sum(f.LSOLag, p.LSOLag), sum(f.HWMLag, p.HWMLag)
	if late, known := r.lagFor(f.Group, t, row).Get(); known && (f.LagSeconds == nil || late.Seconds() > *f.LagSeconds) {
		seconds := late.Seconds()
		f.LagSeconds = &seconds
	}
	f.pace += r.Watch.pace(f.Group, t.Topic, row)
	f.Partitions = append(f.Partitions, p)
	// A commit that has not moved yet may still; a group without members has
	// nobody to move it, and is not waited for.
	if at := r.partition(t.Topic, row.Partition); f.Kind == KindUndetermined && beyond(row, at) {
		f.waiting, f.beyond = true, true
	}
	members, known := f.view.Members.Get()
	if f.Kind == KindUndetermined && !moved && r.watched() < r.StillAfter && !(known && members == 0 && r.Watch.sweeps > 1) {
		f.waiting = true
	}
}

// sum is the sum of two counts; nil where one of them is.
func sum(a, b *lag.Count) *lag.Count {
	if a == nil || b == nil {
		return nil
	}
	s := *a + *b
	return &s
}

// pendingOf adds the commits of a group that wait for the end of a transaction.
func (r *reporter) pendingOf(g *lag.GroupView) {
	byTopic := make(map[string]*Group)
	for _, c := range g.Pending {
		if len(r.TransactionalIDs) > 0 || !picked(r.Topics, c.Topic) || !r.isPending(g, c) {
			continue
		}
		f := byTopic[c.Topic]
		if f == nil {
			f = newGroup(g, c.Topic, KindPending)
			byTopic[c.Topic] = f
		}
		f.Partitions = append(f.Partitions, GroupPartition{Partition: c.Partition, PendingSeconds: c.For.Seconds()})
	}
	for _, topic := range slices.Sorted(keys(byTopic)) {
		f := byTopic[topic]
		r.explainPending(f)
		r.report.Groups = append(r.report.Groups, *f)
	}
}

// isPending says whether a commit waits for the end of a transaction for longer
// than is everyday life: every transaction with offsets takes a moment.
func (r *reporter) isPending(g *lag.GroupView, c lag.PendingCommit) bool {
	log := r.partition(offsetsTopic, r.keeperOf(g.Name))
	return c.For >= r.HeldAfter || log != nil && r.isHeld(offsetsTopic, log)
}

// pendingAmong lists those of an entry's partitions on which a commit of the
// group waits for the end of a transaction.
func (r *reporter) pendingAmong(f *Group) []string {
	var list []string
	for _, c := range f.view.Pending {
		if c.Topic == f.Topic && r.isPending(f.view, c) &&
			slices.ContainsFunc(f.Partitions, func(p GroupPartition) bool { return p.Partition == c.Partition }) {
			list = append(list, fmt.Sprintf("%s-%d", name(c.Topic), c.Partition))
		}
	}
	return list
}

// keeper is the partition that keeps a group in a sentence, and the transaction
// that holds it; the latter is empty where that is not known.
func (r *reporter) keeper(group string) (partition, transaction string) {
	number := r.keeperOf(group)
	log := r.partition(offsetsTopic, number)
	if log == nil {
		return "its partition of " + offsetsTopic, ""
	}
	if b := log.Blocker; b != nil && (b.TransactionalID != "" || b.Producer.IsKnown()) {
		t := newTransaction(b)
		transaction = t.subject(nil)
	}
	return fmt.Sprintf("%s-%d", offsetsTopic, number), transaction
}

// sharesOf adds where a share group is, as its coordinator tells it.
func (r *reporter) sharesOf(g *lag.GroupView) {
	byTopic := make(map[string]*Group)
	for _, s := range g.Shares {
		lagging, known := s.Lag.Get()
		if !known || !picked(r.Topics, s.Topic) {
			continue
		}
		f := byTopic[s.Topic]
		if f == nil {
			f = newGroup(g, s.Topic, KindShare)
			f.HWMLag = new(lag.Count)
			byTopic[s.Topic] = f
		}
		*f.HWMLag += lagging
		f.Partitions = append(f.Partitions, GroupPartition{Partition: s.Partition, HWMLag: &lagging})
	}
	for _, topic := range slices.Sorted(keys(byTopic)) {
		if f := byTopic[topic]; r.worthTelling(f) {
			r.explainGroup(f)
			r.report.Groups = append(r.report.Groups, *f)
		}
	}
}

// longest is the greatest of the durations, in seconds, that of picks.
func (f *Group) longest(of func(*GroupPartition) float64) time.Duration {
	greatest := 0.0
	for i := range f.Partitions {
		greatest = max(greatest, of(&f.Partitions[i]))
	}
	return time.Duration(greatest * float64(time.Second))
}

// unread is the lag up to the end up to which the group reads, and that end.
func (f *Group) unread() (behind *lag.Count, end string) {
	if f.uncommitted {
		return f.HWMLag, "the high watermark"
	}
	return f.LSOLag, "the last stable offset"
}

// names lists the entry's partitions for a sentence.
func (f *Group) names() string {
	list := make([]string, len(f.Partitions))
	for i, p := range f.Partitions {
		list[i] = fmt.Sprintf("%s-%d", name(f.Topic), p.Partition)
	}
	return enumerate(list)
}
