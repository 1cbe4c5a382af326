package consumer

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
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

// epochRecord says the group's epoch.
func epochRecord(groupID string, epoch int32, hash uint64) group.Record {
	w := record.NewValue()
	w.Int32(epoch)
	w.Tags(record.Int64Tag(tagMetadataHash, int64(hash))...)
	return group.Record{Key: record.GroupKey(record.ConsumerGroup, groupID), Value: w.B}
}

// memberRecord says what a member said.
func memberRecord(groupID string, m *member) group.Record {
	return group.Record{Key: record.MemberKey(record.ConsumerMember, groupID, m.id), Value: encodeMember(m)}
}

func encodeMember(m *member) []byte {
	w := record.NewValue()
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

// decodeMember lays what a record says over a member.
func decodeMember(b []byte, m *member) bool {
	r, known := record.ReadValue(b)
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
		p := group.Protocol{Name: r.String(), Metadata: r.Bytes()}
		r.Tags(nil)
		c.protocols = append(c.protocols, p)
	}
	return c
}

// targetEpochRecord says for which epoch of the group there are targets.
func targetEpochRecord(groupID string, epoch int32, at int64) group.Record {
	return group.Record{Key: record.GroupKey(record.ConsumerTargetEpoch, groupID), Value: record.TargetEpoch(epoch, at)}
}

// targetRecord says what a member is to have.
func targetRecord(groupID, member string, target assignment.Set) group.Record {
	return group.Record{Key: record.MemberKey(record.ConsumerTarget, groupID, member), Value: record.Target(target)}
}

// currentRecord says what a member has.
func currentRecord(groupID string, m *member) group.Record {
	return group.Record{Key: record.MemberKey(record.ConsumerCurrent, groupID, m.id), Value: encodeCurrent(m)}
}

func encodeCurrent(m *member) []byte {
	w := record.NewValue()
	w.Int32(m.Epoch)
	w.Int32(m.Previous)
	w.Int8(int8(m.State))
	record.WriteOwnership(&w, m.Assigned)
	record.WriteOwnership(&w, m.Revoking)
	w.Tags()
	return w.B
}

// decodeCurrent lays what a record says over a member.
func decodeCurrent(b []byte, m *member) bool {
	r, known := record.ReadValue(b)
	if !known {
		return false
	}
	m.Epoch, m.Previous = r.Int32(), r.Int32()
	m.State = assignment.State(r.Int8())
	if m.State < assignment.Stable || m.State > assignment.Unreleased {
		m.State = assignment.Unknown
	}
	m.Assigned = record.ReadOwnership(&r, m.Epoch)
	m.Revoking = record.ReadOwnership(&r, m.Epoch)
	r.Tags(nil)
	return r.Err == nil
}

// regexRecord says what a regular expression was resolved to.
func regexRecord(groupID, regex string, resolved resolvedRegex) group.Record {
	w := record.NewValue()
	w.Strings(resolved.topics)
	w.Int64(resolved.version)
	w.Int64(resolved.at)
	w.Tags()
	return group.Record{Key: record.MemberKey(record.ConsumerRegex, groupID, regex), Value: w.B}
}

// Replay takes one record into the group. What cannot be read changes nothing.
func (g *Group) Replay(entry group.Record, _ int64) {
	k, r, ok := record.Read(entry)
	if !ok {
		return
	}
	if entry.Value == nil {
		g.replayTombstone(k)
		return
	}
	switch k.Kind {
	case record.ConsumerGroup:
		g.epoch = r.Int32()
		g.metadataHash = uint64(record.ReadInt64Tag(&r, tagMetadataHash))
	case record.ConsumerTargetEpoch:
		g.targetEpoch, g.targetAt = record.ReadTargetEpoch(&r)
	case record.ConsumerTarget:
		g.target[k.Member] = record.ReadPartitions(&r)
	case record.ConsumerRegex:
		g.regexes[k.Member] = resolvedRegex{topics: r.Strings(), version: r.Int64(), at: r.Int64()}
	case record.ConsumerMember:
		g.replaceMember(k.Member, entry.Value, decodeMember)
	case record.ConsumerCurrent:
		g.replaceMember(k.Member, entry.Value, decodeCurrent)
	}
}

// replaceMember lays a record over a member, which may be new.
func (g *Group) replaceMember(id string, value []byte, decode func([]byte, *member) bool) {
	m := newMember(id)
	if old := g.members[id]; old != nil {
		*m = *old
	}
	if decode(value, m) {
		g.members[id] = m
	}
}

func (g *Group) replayTombstone(k record.ModernKey) {
	switch k.Kind {
	case record.ConsumerTargetEpoch:
		g.targetEpoch, g.targetAt = -1, 0
	case record.ConsumerTarget:
		delete(g.target, k.Member)
	case record.ConsumerRegex:
		delete(g.regexes, k.Member)
	case record.ConsumerMember:
		delete(g.members, k.Member)
	case record.ConsumerCurrent:
		if old := g.members[k.Member]; old != nil {
			m := *old
			m.Epoch, m.Previous, m.Assigned, m.Revoking = group.LeaveEpoch, group.LeaveEpoch, nil, nil
			g.members[k.Member] = &m
		}
	}
}

// Tombstones end the group.
func (g *Group) Tombstones() []group.Record {
	var records []group.Record
	perMember := func(kind int16) {
		for _, m := range g.sorted() {
			records = append(records, group.Record{Key: record.MemberKey(kind, g.id, m.id)})
		}
	}
	perMember(record.ConsumerCurrent)
	perMember(record.ConsumerTarget)
	records = append(records, group.Record{Key: record.GroupKey(record.ConsumerTargetEpoch, g.id)})
	perMember(record.ConsumerMember)
	for _, regex := range slices.Sorted(maps.Keys(g.regexes)) {
		records = append(records, group.Record{Key: record.MemberKey(record.ConsumerRegex, g.id, regex)})
	}
	return append(records,
		group.Record{Key: record.GroupKey(record.ConsumerOldMetadata, g.id)},
		group.Record{Key: record.GroupKey(record.ConsumerGroup, g.id)})
}

// sameMetadata says whether the record of what the member said would be the
// same.
func (m *member) sameMetadata(other *member) bool {
	return bytes.Equal(encodeMember(m), encodeMember(other))
}

// sameAssignment says whether the record of what the member has would be the
// same.
func (m *member) sameAssignment(other *member) bool {
	return bytes.Equal(encodeCurrent(m), encodeCurrent(other))
}

// Snapshot is the records that say all that a group is.
func (g *Group) Snapshot() []group.Record {
	var records []group.Record
	for _, m := range g.sorted() {
		records = append(records, memberRecord(g.id, m))
	}
	records = append(records, epochRecord(g.id, g.epoch, g.metadataHash))
	for _, m := range g.sorted() {
		records = append(records, targetRecord(g.id, m.id, g.target[m.id]))
	}
	records = append(records, targetEpochRecord(g.id, g.targetEpoch, g.targetAt))
	for _, m := range g.sorted() {
		records = append(records, currentRecord(g.id, m))
	}
	return records
}
