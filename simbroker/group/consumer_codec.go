package group

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// The records of groups of the consumer protocol (KIP-848), in the encoding of
// package message. Keys begin with a type and are classic, values begin with
// version 0 and are flexible.
//
//	group            3  group string
//	                    epoch i32 │ tag 0 metadata hash i64
//	old metadata     4  group string
//	                    written by brokers before 4.1; read and forgotten
//	member           5  group string │ member string
//	                    instance id or null │ rack or null │ client id │ client host
//	                    │ [topic string] │ regex or null │ rebalance timeout i32
//	                    │ assignor or null │ tag 0 classic: i8 = 1 │ session timeout i32
//	                    │ [name string │ metadata bytes]
//	target epoch     6  group string
//	                    epoch i32 │ tag 0 time i64
//	target           7  group string │ member string
//	                    [topic id uuid │ [partition i32]]
//	current          8  group string │ member string
//	                    epoch i32 │ previous epoch i32 │ state i8 │ assigned │ revoking,
//	                    each [topic id uuid │ [partition i32] │ tag 0 [epoch i32]]
//	regex           16  group string │ regex string
//	                    [topic string] │ version i64 │ time i64

const (
	tagMetadataHash = 0 // of a group
	tagClassic      = 0 // of a member
)

// consumerEpochRecord says the group's epoch.
func consumerEpochRecord(groupID string, epoch int32, hash uint64) Record {
	w := newValue()
	w.Int32(epoch)
	w.Tags(int64Tag(tagMetadataHash, int64(hash))...)
	return Record{Key: encodeKindKey(keyConsumerGroup, groupID), Value: w.B}
}

// consumerMemberRecord says what a member said.
func consumerMemberRecord(groupID string, m *consumerMember) Record {
	return Record{Key: encodeMemberKey(keyConsumerMember, groupID, m.id), Value: encodeConsumerMember(m)}
}

func encodeConsumerMember(m *consumerMember) []byte {
	w := newValue()
	w.NullableString(m.instanceID)
	w.NullableString(m.rackID)
	w.String(m.clientID)
	w.String(m.clientHost)
	w.Strings(m.topics)
	w.NullableString(&m.regex)
	w.Int32(int32(m.rebalanceTimeout / time.Millisecond))
	w.NullableString(m.assignor)
	if m.classic == nil {
		w.Tags()
		return w.B
	}
	classic := message.Writer{Flexible: true}
	classic.Int8(1) // not null
	classic.Int32(int32(m.classic.sessionTimeout / time.Millisecond))
	classic.Length(len(m.classic.protocols))
	for _, p := range m.classic.protocols {
		classic.String(p.Name)
		classic.Bytes(p.Metadata)
		classic.Tags()
	}
	classic.Tags()
	w.Tags(message.Tag{Number: tagClassic, Value: classic.B})
	return w.B
}

// decodeConsumerMember lays what a record says over a member.
func decodeConsumerMember(b []byte, m *consumerMember) bool {
	r, known := valueReader(b)
	if !known {
		return false
	}
	m.instanceID, m.rackID = r.NullableString(), r.NullableString()
	m.clientID, m.clientHost = r.String(), r.String()
	m.topics = r.Strings()
	m.regex = r.String()
	m.rebalanceTimeout = time.Duration(r.Int32()) * time.Millisecond
	m.assignor = r.NullableString()
	m.classic = nil
	r.Tags(func(number int, v message.Reader) {
		if number == tagClassic {
			m.classic = readClassicMembership(v)
		}
	})
	return r.Err == nil
}

func readClassicMembership(r message.Reader) *classicMembership {
	r.Flexible = true
	r.Int8()
	c := &classicMembership{sessionTimeout: time.Duration(r.Int32()) * time.Millisecond}
	for range r.Length() {
		p := Protocol{Name: r.String(), Metadata: r.Bytes()}
		r.Tags(nil)
		c.protocols = append(c.protocols, p)
	}
	return c
}

// consumerTargetEpochRecord says for which epoch of the group there are targets.
func consumerTargetEpochRecord(groupID string, epoch int32, at int64) Record {
	return Record{Key: encodeKindKey(keyConsumerTargetEpoch, groupID), Value: encodeTargetEpoch(epoch, at)}
}

// consumerTargetRecord says what a member is to have.
func consumerTargetRecord(groupID, member string, target partitionSet) Record {
	return Record{Key: encodeMemberKey(keyTargetMember, groupID, member), Value: encodeTarget(target)}
}

// currentAssignmentRecord says what a member has.
func currentAssignmentRecord(groupID string, m *consumerMember) Record {
	return Record{Key: encodeMemberKey(keyCurrentAssignment, groupID, m.id), Value: encodeCurrentAssignment(m)}
}

func encodeCurrentAssignment(m *consumerMember) []byte {
	w := newValue()
	w.Int32(m.epoch)
	w.Int32(m.previous)
	w.Int8(int8(m.state))
	writeOwnership(&w, m.assigned)
	writeOwnership(&w, m.revoking)
	w.Tags()
	return w.B
}

// decodeCurrentAssignment lays what a record says over a member.
func decodeCurrentAssignment(b []byte, m *consumerMember) bool {
	r, known := valueReader(b)
	if !known {
		return false
	}
	m.epoch, m.previous = r.Int32(), r.Int32()
	m.state = memberState(r.Int8())
	if m.state < memberStable || m.state > memberUnreleased {
		m.state = memberStateOfFuture
	}
	m.assigned = readOwnership(&r, m.epoch)
	m.revoking = readOwnership(&r, m.epoch)
	r.Tags(nil)
	return r.Err == nil
}

// consumerRegexRecord says what a regular expression was resolved to.
func consumerRegexRecord(groupID, regex string, resolved resolvedRegex) Record {
	w := newValue()
	w.Strings(resolved.topics)
	w.Int64(resolved.version)
	w.Int64(resolved.at)
	w.Tags()
	return Record{Key: encodeMemberKey(keyConsumerRegex, groupID, regex), Value: w.B}
}

// replay implements modern.
func (g *consumer) replay(entry Record, _ int64) {
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
	case keyConsumerGroup:
		g.epoch = r.Int32()
		g.metadataHash = uint64(readInt64Tag(&r, tagMetadataHash))
	case keyConsumerTargetEpoch:
		g.targetEpoch, g.targetAt = readTargetEpoch(&r)
	case keyTargetMember:
		g.target[k.member] = readPartitions(&r)
	case keyConsumerRegex:
		g.regexes[k.member] = resolvedRegex{topics: r.Strings(), version: r.Int64(), at: r.Int64()}
	case keyConsumerMember:
		g.replaceMember(k.member, entry.Value, decodeConsumerMember)
	case keyCurrentAssignment:
		g.replaceMember(k.member, entry.Value, decodeCurrentAssignment)
	}
}

// replaceMember lays a record over a member, which may be new.
func (g *consumer) replaceMember(id string, value []byte, decode func([]byte, *consumerMember) bool) {
	m := newConsumerMember(id)
	if old := g.members[id]; old != nil {
		*m = *old
	}
	if decode(value, m) {
		g.members[id] = m
	}
}

func (g *consumer) replayTombstone(k modernKey) {
	switch k.kind {
	case keyConsumerTargetEpoch:
		g.targetEpoch, g.targetAt = -1, 0
	case keyTargetMember:
		delete(g.target, k.member)
	case keyConsumerRegex:
		delete(g.regexes, k.member)
	case keyConsumerMember:
		delete(g.members, k.member)
	case keyCurrentAssignment:
		if old := g.members[k.member]; old != nil {
			m := *old
			m.epoch, m.previous, m.assigned, m.revoking = leaveEpoch, leaveEpoch, nil, nil
			g.members[k.member] = &m
		}
	}
}

// tombstones end the group.
func (g *consumer) tombstones() []Record {
	var records []Record
	perMember := func(kind int16) {
		for _, m := range g.sorted() {
			records = append(records, Record{Key: encodeMemberKey(kind, g.id, m.id)})
		}
	}
	perMember(keyCurrentAssignment)
	perMember(keyTargetMember)
	records = append(records, Record{Key: encodeKindKey(keyConsumerTargetEpoch, g.id)})
	perMember(keyConsumerMember)
	for _, regex := range slices.Sorted(maps.Keys(g.regexes)) {
		records = append(records, Record{Key: encodeMemberKey(keyConsumerRegex, g.id, regex)})
	}
	return append(records,
		Record{Key: encodeKindKey(keyOldMetadata, g.id)},
		Record{Key: encodeKindKey(keyConsumerGroup, g.id)})
}

// sameMetadata says whether the record of what the member said would be the
// same.
func (m *consumerMember) sameMetadata(other *consumerMember) bool {
	return bytes.Equal(encodeConsumerMember(m), encodeConsumerMember(other))
}

// sameAssignment says whether the record of what the member has would be the
// same.
func (m *consumerMember) sameAssignment(other *consumerMember) bool {
	return bytes.Equal(encodeCurrentAssignment(m), encodeCurrentAssignment(other))
}

// snapshot is the records that say all that a group is.
func (g *consumer) snapshot() []Record {
	var records []Record
	for _, m := range g.sorted() {
		records = append(records, consumerMemberRecord(g.id, m))
	}
	records = append(records, consumerEpochRecord(g.id, g.epoch, g.metadataHash))
	for _, m := range g.sorted() {
		records = append(records, consumerTargetRecord(g.id, m.id, g.target[m.id]))
	}
	records = append(records, consumerTargetEpochRecord(g.id, g.targetEpoch, g.targetAt))
	for _, m := range g.sorted() {
		records = append(records, currentAssignmentRecord(g.id, m))
	}
	return records
}
