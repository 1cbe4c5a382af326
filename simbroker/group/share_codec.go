package group

import (
	"bytes"
	"slices"

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

func shareMemberRecord(groupID string, m *shareMember) Record {
	return Record{Key: encodeMemberKey(keyShareMember, groupID, m.id), Value: encodeShareMember(m)}
}

func encodeShareMember(m *shareMember) []byte {
	w := newValue()
	w.NullableString(m.rackID)
	w.String(m.clientID)
	w.String(m.clientHost)
	w.Strings(m.topics)
	w.Tags()
	return w.B
}

func shareEpochRecord(groupID string, epoch int32, hash uint64) Record {
	w := newValue()
	w.Int32(epoch)
	w.Int64(int64(hash))
	w.Tags()
	return Record{Key: encodeKindKey(keyShareGroup, groupID), Value: w.B}
}

func shareTargetEpochRecord(groupID string, epoch int32, at int64) Record {
	return Record{Key: encodeKindKey(keyShareTargetEpoch, groupID), Value: encodeTargetEpoch(epoch, at)}
}

func shareTargetRecord(groupID, member string, target partitionSet) Record {
	return Record{Key: encodeMemberKey(keyShareTarget, groupID, member), Value: encodeTarget(target)}
}

// shareCurrentRecord says what a member has. It is always stable.
func shareCurrentRecord(groupID string, m *shareMember) Record {
	w := newValue()
	w.Int32(m.epoch)
	w.Int32(m.previous)
	w.Int8(int8(memberStable))
	writePartitions(&w, m.assigned)
	w.Tags()
	return Record{Key: encodeMemberKey(keyShareCurrent, groupID, m.id), Value: w.B}
}

// shareStateRecord says for which partitions share state is, or is being, set
// up. Topics on the way out have no part in it: they go at once.
func shareStateRecord(groupID string, initializing, initialized map[kafka.TopicID]shareTopic) Record {
	w := newValue()
	for _, topics := range []map[kafka.TopicID]shareTopic{initializing, initialized} {
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
	return Record{Key: encodeKindKey(keyShareState, groupID), Value: w.B}
}

func readShareTopics(r *message.Reader, now int64) map[kafka.TopicID]shareTopic {
	topics := make(map[kafka.TopicID]shareTopic)
	for range r.Length() {
		id := r.UUID()
		topics[id] = shareTopic{name: r.String(), partitions: r.Int32s(), since: now}
		r.Tags(nil)
	}
	return topics
}

// replay implements modern.
func (g *share) replay(entry Record, now int64) {
	k, err := decodeModernKey(entry.Key)
	if err != nil {
		return
	}
	if entry.Value == nil {
		g.replayTombstone(k)
		return
	}
	r, known := valueReader(entry.Value)
	if !known {
		return
	}
	switch k.kind {
	case keyShareGroup:
		g.epoch, g.metadataHash = r.Int32(), uint64(r.Int64())
	case keyShareTargetEpoch:
		g.targetEpoch, g.targetAt = readTargetEpoch(&r)
	case keyShareTarget:
		g.target[k.member] = readPartitions(&r)
	case keyShareState:
		g.initializing, g.initialized = readShareTopics(&r, now), readShareTopics(&r, now)
	case keyShareMember:
		g.replaceMember(k.member, func(m *shareMember) {
			m.rackID, m.clientID, m.clientHost, m.topics = r.NullableString(), r.String(), r.String(), r.Strings()
		})
	case keyShareCurrent:
		g.replaceMember(k.member, func(m *shareMember) {
			m.epoch, m.previous = r.Int32(), r.Int32()
			r.Int8() // the state
			m.assigned = readPartitions(&r)
		})
	}
}

// replaceMember lays a record over a member, which may be new.
func (g *share) replaceMember(id string, lay func(*shareMember)) {
	m := &shareMember{id: id, previous: -1}
	if old := g.members[id]; old != nil {
		*m = *old
	}
	lay(m)
	g.members[id] = m
}

func (g *share) replayTombstone(k modernKey) {
	switch k.kind {
	case keyShareTargetEpoch:
		g.targetEpoch, g.targetAt = -1, 0
	case keyShareTarget:
		delete(g.target, k.member)
	case keyShareMember:
		delete(g.members, k.member)
	case keyShareState:
		clear(g.initializing)
		clear(g.initialized)
	}
}

// tombstones end the group.
func (g *share) tombstones() []Record {
	var records []Record
	for _, kind := range []int16{keyShareCurrent, keyShareTarget, keyShareTargetEpoch, keyShareMember, keyShareState, keyShareGroup} {
		if !namesMember(kind) {
			records = append(records, Record{Key: encodeKindKey(kind, g.id)})
			continue
		}
		for _, m := range g.sorted() {
			records = append(records, Record{Key: encodeMemberKey(kind, g.id, m.id)})
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

func (m *shareMember) sameMetadata(other *shareMember) bool {
	return bytes.Equal(encodeShareMember(m), encodeShareMember(other))
}
