package share

import (
	"cmp"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// Epochs of share sessions with a meaning of their own.
const (
	firstEpoch int32 = 0  // opens a session
	finalEpoch int32 = -1 // closes it
)

// Broker is what one broker knows of share groups: the sessions of members, the
// connections by which they came, and the partitions that it leads.
type Broker struct {
	clk         clock.Clock
	env         Environment
	sessions    map[memberKey]*session
	connections map[memberKey]any // a session may end before its connection
	partitions  map[Key]*partition
}

type memberKey struct{ group, member string }

func (k memberKey) compare(other memberKey) int {
	return cmp.Or(cmp.Compare(k.group, other.group), cmp.Compare(k.member, other.member))
}

// session is what a member fetches from this broker.
type session struct {
	epoch      int32
	partitions []TopicPartition
	client     any
}

// TopicPartition names a partition by its topic's id.
type TopicPartition struct {
	TopicID   kafka.TopicID
	Partition int32
}

// New returns a broker to which nobody has come yet.
func New(clk clock.Clock, env Environment) *Broker {
	return &Broker{
		clk: clk, env: env, sessions: make(map[memberKey]*session),
		connections: make(map[memberKey]any), partitions: make(map[Key]*partition),
	}
}

// session finds a member's session, which it must be at the epoch of, and moves
// it on. A nil session and no error stand for one that is not needed: the first
// epoch's.
func (b *Broker) session(k memberKey, epoch int32) (*session, error) {
	s := b.sessions[k]
	switch {
	case epoch == firstEpoch:
		return nil, nil
	case s == nil:
		return nil, kafka.ErrShareSessionNotFound
	case epoch == finalEpoch:
		return s, nil
	case epoch != s.epoch:
		return nil, kafka.ErrInvalidShareSessionEpoch
	}
	s.epoch = nextEpoch(s.epoch)
	return s, nil
}

// nextEpoch is the epoch after another, which never is the first one again.
func nextEpoch(epoch int32) int32 { return max(1, epoch+1) }

// open opens a session, in place of one that the member may have. Where there are
// as many as there may be, none makes room: SHARE_SESSION_LIMIT_REACHED.
func (b *Broker) open(k memberKey, client any) (*session, error) {
	if b.sessions[k] == nil && len(b.sessions) >= b.env.MaxSessions {
		return nil, kafka.ErrShareSessionLimitReached
	}
	s := &session{epoch: nextEpoch(firstEpoch), client: client}
	b.sessions[k] = s
	b.connections[k] = client
	return s, nil
}

// update adds partitions to a session and removes those that the member does
// not want any more.
func (s *session) update(add, forget []TopicPartition) {
	s.partitions = slices.DeleteFunc(s.partitions, func(p TopicPartition) bool { return slices.Contains(forget, p) })
	for _, p := range add {
		if !slices.Contains(s.partitions, p) {
			s.partitions = append(s.partitions, p)
		}
	}
}

// closeSession ends a session: what the member has becomes available to others.
func (b *Broker) closeSession(k memberKey) {
	s := b.sessions[k]
	delete(b.sessions, k)
	for _, tp := range s.partitions {
		if p := b.partitions[Key{k.group, tp.TopicID, tp.Partition}]; p != nil {
			p.release(k.member)
		}
	}
}

// connected says whether a member of a group has a connection that has had a
// session.
func (b *Broker) connected(group string) bool {
	for k := range b.connections {
		if k.group == group {
			return true
		}
	}
	return false
}

// forget drops a group's partitions: who comes next begins with what is kept,
// which may be set to something else meanwhile (AlterShareGroupOffsets). Fetches
// that still wait get nothing.
func (b *Broker) forget(group string) {
	var of []*partition
	for k, p := range b.partitions {
		if k.Group == group {
			of = append(of, p)
		}
	}
	slices.SortFunc(of, func(p, q *partition) int { return p.key.compare(q.key) })
	for _, p := range of {
		for _, f := range p.waiting {
			f.giveUp()
		}
		b.drop(p)
	}
}

// Disconnected ends what members had by a connection that is gone now: their
// sessions, and with the last connection of a group all that is known of it. A
// session that is closed leaves that as it is.
func (b *Broker) Disconnected(client any) {
	var gone []memberKey
	for k, c := range b.connections {
		if c == client {
			gone = append(gone, k)
		}
	}
	slices.SortFunc(gone, memberKey.compare)
	for _, k := range gone {
		delete(b.connections, k)
		if b.sessions[k] != nil {
			b.closeSession(k)
		}
		if !b.connected(k.group) {
			b.forget(k.group)
		}
	}
}

// find is a partition that this broker leads, by the topic's present name. It is
// loaded the first time.
func (b *Broker) find(k Key, tp kafka.TopicPartition) (*partition, error) {
	status, ok := b.env.Replicas.Status(tp)
	switch p := b.partitions[k]; {
	case !ok:
		return nil, kafka.ErrUnknownTopicOrPartition
	case status.Role != replica.Leader:
		return nil, kafka.ErrNotLeaderOrFollower
	case p != nil && p.epoch == status.State.LeaderEpoch:
		p.raise(status.LogStartOffset)
		return p, nil
	case p != nil:
		b.drop(p)
	}
	return b.load(k, tp, status)
}

// load begins with a partition where the leader before left it, or where the
// group's setting says.
func (b *Broker) load(k Key, tp kafka.TopicPartition, status replica.PartitionStatus) (*partition, error) {
	state, err := b.env.Store.load(k, status.State.LeaderEpoch)
	if err != nil {
		return nil, fenced(err)
	}
	p := &partition{clk: b.clk, env: b.env, key: k, epoch: status.State.LeaderEpoch, stateEpoch: state.Epoch, start: state.Start}
	p.lost = func() { b.drop(p) }
	if p.start == kafka.NoOffset {
		if p.start, err = b.reset(k.Group, tp); err != nil {
			return nil, err
		}
	}
	p.restore(state)
	p.raise(status.LogStartOffset)
	b.partitions[k] = p
	return p, nil
}

// reset is where a group begins with a partition.
func (b *Broker) reset(group string, tp kafka.TopicPartition) (kafka.Offset, error) {
	ask := replica.ListOffsetsRequest{ReplicaID: replica.ConsumerReplica, Partition: tp, CurrentLeaderEpoch: -1, Timestamp: replica.Latest}
	switch r := b.env.Settings(group).Reset; {
	case r.Earliest:
		ask.Timestamp = replica.Earliest
	case r.Since > 0:
		ask.Timestamp = max(0, b.clk.Now().Add(-r.Since).UnixMilli())
	}
	at, err := b.env.Replicas.ListOffsets(ask)
	if err == nil && at.Offset == kafka.NoOffset { // nothing is that young
		ask.Timestamp = replica.Latest
		at, err = b.env.Replicas.ListOffsets(ask)
	}
	return at.Offset, err
}

// drop forgets a partition that this broker does not lead any more, or may not
// write about.
func (b *Broker) drop(p *partition) {
	delete(b.partitions, p.key)
	p.inFlight = nil
	p.wake()
}

// Offsets is how far a group is in a partition.
type Offsets struct {
	Start       kafka.Offset // -1 before the first acknowledgement
	LeaderEpoch kafka.LeaderEpoch
	Lag         int64 // -1 before the first acknowledgement
	// Err is that of the leader, who was asked for the end.
	Err error
}

// Offsets tells how far a group is in a partition, going by what was written.
// done is invoked once, in a later event or before Offsets returns.
func (b *Broker) Offsets(k Key, tp kafka.TopicPartition, done func(Offsets)) {
	s := b.env.Store.Summary(k)
	told := Offsets{Start: s.Start, LeaderEpoch: s.LeaderEpoch, Lag: -1}
	if s.Start == kafka.NoOffset || s.Complete < 0 {
		done(told)
		return
	}
	b.env.EndOffset(tp, func(end kafka.Offset, err error) {
		if err != nil {
			done(Offsets{Lag: -1, Err: err})
			return
		}
		told.Lag = int64(end-s.Start) - int64(s.Complete)
		done(told)
	})
}
