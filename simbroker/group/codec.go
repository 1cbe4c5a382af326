package group

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// The records of __consumer_offsets (rule H1), in the encoding of package
// message. Keys begin with a type; version 4 of a value is flexible.
//
//	offset key    i16 = 1 (0 in old logs) │ group string │ topic string │ partition i32
//	offset value  version i16 │ offset i64 │ v3: leader epoch i32 │ metadata string
//	              │ commit time i64 │ v1 only: expire time i64 │ v4: tag 0 topic id
//	group key     i16 = 2 │ group string
//	group value   version i16 │ protocol type string │ generation i32 │ protocol string
//	              or null │ leader string or null │ v2: state time i64 │ [member]
//	member        id string │ v3: instance id string or null │ client id string
//	              │ client host string │ v1: rebalance timeout i32 │ session timeout i32
//	              │ subscription bytes │ assignment bytes
//
// Keys of other types belong to groups of the newer protocols.

// The types of keys, and the versions of values that Kafka 4.3 writes.
const (
	keyOldOffset = 0
	keyOffset    = 1
	keyGroup     = 2

	offsetVersion        = 4
	offsetExpiresVersion = 1 // for a commit with a retention of its own
	groupVersion         = 3

	tagTopicID = 0 // of a commit's value
)

// key is a decoded key: of an offset if its partition has a topic, otherwise
// of a group.
type key struct {
	group     string
	partition kafka.TopicPartition
}

func encodeOffsetKey(group string, tp kafka.TopicPartition) []byte {
	w := message.Writer{}
	w.Int16(keyOffset)
	w.String(group)
	w.String(tp.Topic)
	w.Int32(tp.Partition)
	return w.B
}

func encodeGroupKey(group string) []byte {
	w := message.Writer{}
	w.Int16(keyGroup)
	w.String(group)
	return w.B
}

// keyKind is the type of a key, -1 for one that has none.
func keyKind(key []byte) int16 {
	r := message.Reader{B: key}
	kind := r.Int16()
	if r.Err != nil {
		return -1
	}
	return kind
}

// ownerOfKey says to groups of which kind a type of key belongs, of those that
// are not classic.
func ownerOfKey(kind int16) (Kind, bool) {
	switch {
	case keyConsumerGroup <= kind && kind <= keyCurrentAssignment, kind == keyConsumerRegex:
		return Consumer, true
	case keyShareMember <= kind && kind <= keyShareState:
		return Share, true
	case keyStreamsGroup <= kind && kind <= keyStreamsTopology:
		return Streams, true
	}
	return Classic, false
}

// endingKeys are the types of the records whose tombstones end a group.
var endingKeys = map[Kind]int16{Consumer: keyConsumerGroup, Share: keyShareGroup, Streams: keyStreamsGroup}

// decodeKey reports false for a key of a type that is not served, which a
// loader skips.
func decodeKey(b []byte) (k key, known bool, err error) {
	r := message.Reader{B: b}
	switch r.Int16() {
	case keyOldOffset, keyOffset:
		k.group = r.String()
		k.partition = kafka.TopicPartition{Topic: r.String(), Partition: r.Int32()}
	case keyGroup:
		k.group = r.String()
	default:
		return key{}, false, r.Err
	}
	return k, true, r.Err
}

// encodeCommit is the record value of a commit.
func encodeCommit(c commit) []byte {
	version := int16(offsetVersion)
	if c.expires != noTime {
		version = offsetExpiresVersion
	}
	w := message.Writer{Flexible: version >= 4}
	w.Int16(version)
	w.Int64(int64(c.offset))
	if version >= 3 {
		w.Int32(int32(c.leaderEpoch))
	}
	w.String(c.metadata)
	w.Int64(c.at)
	if version == 1 {
		w.Int64(c.expires)
	}
	if c.topicID == (kafka.TopicID{}) {
		w.Tags()
	} else {
		w.Tags(message.Tag{Number: tagTopicID, Value: c.topicID[:]})
	}
	return w.B
}

// decodeCommit is the commit of a record value; it reports false for a version
// that is not known.
func decodeCommit(b []byte) (c commit, known bool, err error) {
	r := message.Reader{B: b}
	version := r.Int16()
	if version < 0 || version > 4 {
		return commit{}, false, r.Err
	}
	r.Flexible = version >= 4
	c = commit{leaderEpoch: noLeaderEpoch, expires: noTime}
	c.offset = kafka.Offset(r.Int64())
	if version >= 3 {
		c.leaderEpoch = kafka.LeaderEpoch(r.Int32())
	}
	c.metadata = r.String()
	c.at = r.Int64()
	if version == 1 {
		c.expires = r.Int64()
	}
	r.Tags(func(number int, v message.Reader) {
		if number == tagTopicID {
			copy(c.topicID[:], v.B)
		}
	})
	return c, true, r.Err
}

// generation is what the record of a group holds. The members' subscriptions
// are those of the chosen protocol.
type generation struct {
	protocolType string
	number       int32
	protocol     *string
	leader       *string
	since        int64 // of the state, in milliseconds
	members      []generationMember
}

type generationMember struct {
	id               string
	instanceID       *string
	clientID         string
	clientHost       string
	rebalanceTimeout time.Duration
	sessionTimeout   time.Duration
	subscription     []byte
	assignment       []byte
}

// encodeGeneration is the record value of a group.
func encodeGeneration(g generation) []byte {
	w := message.Writer{}
	w.Int16(groupVersion)
	w.String(g.protocolType)
	w.Int32(g.number)
	w.NullableString(g.protocol)
	w.NullableString(g.leader)
	w.Int64(g.since)
	w.Length(len(g.members))
	for _, m := range g.members {
		w.String(m.id)
		w.NullableString(m.instanceID)
		w.String(m.clientID)
		w.String(m.clientHost)
		w.Int32(int32(m.rebalanceTimeout / time.Millisecond))
		w.Int32(int32(m.sessionTimeout / time.Millisecond))
		w.Bytes(m.subscription)
		w.Bytes(m.assignment)
	}
	return w.B
}

// decodeGeneration is the group of a record value; it reports false for a
// version that is not known.
func decodeGeneration(b []byte) (g generation, known bool, err error) {
	r := message.Reader{B: b}
	version := r.Int16()
	if version < 0 || version > 4 {
		return generation{}, false, r.Err
	}
	r.Flexible = version >= 4
	g = generation{since: noTime}
	g.protocolType = r.String()
	g.number = r.Int32()
	g.protocol = r.NullableString()
	g.leader = r.NullableString()
	if version >= 2 {
		g.since = r.Int64()
	}
	for range r.Length() {
		g.members = append(g.members, readMember(&r, version))
	}
	r.Tags(nil)
	return g, true, r.Err
}

func readMember(r *message.Reader, version int16) generationMember {
	var m generationMember
	m.id = r.String()
	if version >= 3 {
		m.instanceID = r.NullableString()
	}
	m.clientID = r.String()
	m.clientHost = r.String()
	if version >= 1 {
		m.rebalanceTimeout = time.Duration(r.Int32()) * time.Millisecond
	}
	m.sessionTimeout = time.Duration(r.Int32()) * time.Millisecond
	if m.rebalanceTimeout <= 0 {
		m.rebalanceTimeout = m.sessionTimeout
	}
	m.subscription = r.Bytes()
	m.assignment = r.Bytes()
	r.Tags(nil)
	return m
}
