package share

import (
	"bytes"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// The records of share groups (KIP-932), in the encoding of package message, as
// those of the consumer protocol.
//
//	member       10  group string │ member string
//	                 rack or null │ client id │ client host │ [topic string]
//	group        11  group string
//	                 epoch i32 │ metadata hash i64
//	target epoch 12  group string
//	                 epoch i32 │ tag 0 time i64
//	target       13  group string │ member string
//	                 [topic id uuid │ [partition i32]]
//	current      14  group string │ member string
//	                 epoch i32 │ previous epoch i32 │ state i8 │ [topic id uuid │ [partition i32]]
//	state        15  group string
//	                 initializing, initialized [topic id uuid │ topic string │ [partition i32]]
//	                 │ deleting [topic id uuid │ topic string]

func memberRecord(groupID string, m *member) group.Record {
	return group.Record{Key: record.MemberKey(record.ShareMember, groupID, m.id), Value: encodeMember(m)}
}

func encodeMember(m *member) []byte {
	w := record.NewValue()
	w.NullableString(m.rackID)
	w.String(m.clientID)
	w.String(m.clientHost)
	w.Strings(m.topics)
	w.Tags()
	return w.B
}

func epochRecord(groupID string, epoch int32, hash uint64) group.Record {
	w := record.NewValue()
	w.Int32(epoch)
	w.Int64(int64(hash))
	w.Tags()
	return group.Record{Key: record.GroupKey(record.ShareGroup, groupID), Value: w.B}
}

func targetEpochRecord(groupID string, epoch int32, at int64) group.Record {
	return group.Record{Key: record.GroupKey(record.ShareTargetEpoch, groupID), Value: record.TargetEpoch(epoch, at)}
}

func targetRecord(groupID, member string, target assignment.Set) group.Record {
	return group.Record{Key: record.MemberKey(record.ShareTarget, groupID, member), Value: record.Target(target)}
}

// currentRecord says what a member has. It is always stable.
func currentRecord(groupID string, m *member) group.Record {
	w := record.NewValue()
	w.Int32(m.epoch)
	w.Int32(m.previous)
	w.Int8(int8(assignment.Stable))
	record.WritePartitions(&w, m.assigned)
	w.Tags()
	return group.Record{Key: record.MemberKey(record.ShareCurrent, groupID, m.id), Value: w.B}
}

// stateRecord says for which partitions share state is, or is being, set up.
// Topics on the way out have no part in it: they go at once.
func stateRecord(groupID string, initializing, initialized map[kafka.TopicID]sharedTopic) group.Record {
	w := record.NewValue()
	for _, topics := range []map[kafka.TopicID]sharedTopic{initializing, initialized} {
		w.Length(len(topics))
		for _, id := range sortedIDs(topics) {
			w.UUID(id)
			w.String(topics[id].name)
			w.Int32s(topics[id].partitions)
			w.Tags()
		}
	}
	w.Length(0)
	w.Tags()
	return group.Record{Key: record.GroupKey(record.ShareState, groupID), Value: w.B}
}

func readSharedTopics(r *message.Reader, now int64) map[kafka.TopicID]sharedTopic {
	topics := make(map[kafka.TopicID]sharedTopic)
	for range r.Length() {
		id := r.UUID()
		topics[id] = sharedTopic{name: r.String(), partitions: r.Int32s(), since: now}
		r.Tags(nil)
	}
	return topics
}

// Replay takes one record into the group. What cannot be read changes nothing.
func (g *Group) Replay(entry group.Record, now int64) {
	k, r, ok := record.Read(entry)
	if !ok {
		return
	}
	if entry.Value == nil {
		g.replayTombstone(k)
		return
	}
	switch k.Kind {
	case record.ShareGroup:
		g.epoch, g.metadataHash = r.Int32(), uint64(r.Int64())
	case record.ShareTargetEpoch:
		g.targetEpoch, g.targetAt = record.ReadTargetEpoch(&r)
	case record.ShareTarget:
		g.target[k.Member] = record.ReadPartitions(&r)
	case record.ShareState:
		g.initializing, g.initialized = readSharedTopics(&r, now), readSharedTopics(&r, now)
	case record.ShareMember:
		g.replaceMember(k.Member, func(m *member) {
			m.rackID, m.clientID, m.clientHost, m.topics = r.NullableString(), r.String(), r.String(), r.Strings()
		})
	case record.ShareCurrent:
		g.replaceMember(k.Member, func(m *member) {
			m.epoch, m.previous = r.Int32(), r.Int32()
			r.Int8() // the state
			m.assigned = record.ReadPartitions(&r)
		})
	}
}

// replaceMember lays a record over a member, which may be new.
func (g *Group) replaceMember(id string, lay func(*member)) {
	m := &member{id: id, previous: -1}
	if old := g.members[id]; old != nil {
		*m = *old
	}
	lay(m)
	g.members[id] = m
}

func (g *Group) replayTombstone(k record.ModernKey) {
	switch k.Kind {
	case record.ShareTargetEpoch:
		g.targetEpoch, g.targetAt = -1, 0
	case record.ShareTarget:
		delete(g.target, k.Member)
	case record.ShareMember:
		delete(g.members, k.Member)
	case record.ShareState:
		clear(g.initializing)
		clear(g.initialized)
	}
}

// Tombstones end the group.
func (g *Group) Tombstones() []group.Record {
	var records []group.Record
	for _, kind := range []int16{record.ShareCurrent, record.ShareTarget, record.ShareTargetEpoch, record.ShareMember, record.ShareState, record.ShareGroup} {
		if !record.NamesMember(kind) {
			records = append(records, group.Record{Key: record.GroupKey(kind, g.id)})
			continue
		}
		for _, m := range g.sorted() {
			records = append(records, group.Record{Key: record.MemberKey(kind, g.id, m.id)})
		}
	}
	return records
}

// sortedIDs is topic ids in order.
func sortedIDs[V any](m map[kafka.TopicID]V) []kafka.TopicID {
	ids := make([]kafka.TopicID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b kafka.TopicID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

func (m *member) sameMetadata(other *member) bool {
	return bytes.Equal(encodeMember(m), encodeMember(other))
}
