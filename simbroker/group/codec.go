package group

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The records of __consumer_offsets (rule H1). Keys begin with a type. Integers
// are big-endian; version 4 of a value is flexible: lengths are unsigned
// varints, one more than the length, and optional fields follow as tags.
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
// Keys of other types belong to the protocols that are left out.

// The types of keys, and the versions of values that Kafka 4.3 writes.
const (
	keyOldOffset = 0
	keyOffset    = 1
	keyGroup     = 2

	offsetVersion        = 4
	offsetExpiresVersion = 1 // for a commit with a retention of its own
	groupVersion         = 3
)

var errMalformed = errors.New("malformed record of " + kafka.ConsumerOffsetsTopic)

// key is a decoded key: of an offset if its partition has a topic, otherwise
// of a group.
type key struct {
	group     string
	partition kafka.TopicPartition
}

func encodeOffsetKey(group string, tp kafka.TopicPartition) []byte {
	w := writer{}
	w.int16(keyOffset)
	w.string(group)
	w.string(tp.Topic)
	w.int32(tp.Partition)
	return w.b
}

func encodeGroupKey(group string) []byte {
	w := writer{}
	w.int16(keyGroup)
	w.string(group)
	return w.b
}

// decodeKey reports false for a key of a type that is not served, which a
// loader skips.
func decodeKey(b []byte) (k key, known bool, err error) {
	r := reader{b: b}
	switch r.int16() {
	case keyOldOffset, keyOffset:
		k.group = r.string()
		k.partition = kafka.TopicPartition{Topic: r.string(), Partition: r.int32()}
	case keyGroup:
		k.group = r.string()
	default:
		return key{}, false, r.err
	}
	return k, true, r.err
}

// encodeCommit is the record value of a commit.
func encodeCommit(c commit) []byte {
	version := int16(offsetVersion)
	if c.expires != noTime {
		version = offsetExpiresVersion
	}
	w := writer{flexible: version >= 4}
	w.int16(version)
	w.int64(int64(c.offset))
	if version >= 3 {
		w.int32(int32(c.leaderEpoch))
	}
	w.string(c.metadata)
	w.int64(c.at)
	if version == 1 {
		w.int64(c.expires)
	}
	if w.flexible {
		if c.topicID == (kafka.TopicID{}) {
			w.b = append(w.b, 0)
		} else {
			w.b = append(w.b, 1, 0, byte(len(c.topicID)))
			w.b = append(w.b, c.topicID[:]...)
		}
	}
	return w.b
}

// decodeCommit is the commit of a record value; it reports false for a version
// that is not known.
func decodeCommit(b []byte) (c commit, known bool, err error) {
	r := reader{b: b}
	version := r.int16()
	if version < 0 || version > 4 {
		return commit{}, false, r.err
	}
	r.flexible = version >= 4
	c = commit{leaderEpoch: noLeaderEpoch, expires: noTime}
	c.offset = kafka.Offset(r.int64())
	if version >= 3 {
		c.leaderEpoch = kafka.LeaderEpoch(r.int32())
	}
	c.metadata = r.string()
	c.at = r.int64()
	if version == 1 {
		c.expires = r.int64()
	}
	if r.flexible {
		r.tags(func(tag int, field []byte) {
			if tag == 0 {
				copy(c.topicID[:], field)
			}
		})
	}
	return c, true, r.err
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
	w := writer{}
	w.int16(groupVersion)
	w.string(g.protocolType)
	w.int32(g.number)
	w.nullable(g.protocol)
	w.nullable(g.leader)
	w.int64(g.since)
	w.int32(int32(len(g.members)))
	for _, m := range g.members {
		w.string(m.id)
		w.nullable(m.instanceID)
		w.string(m.clientID)
		w.string(m.clientHost)
		w.int32(int32(m.rebalanceTimeout / time.Millisecond))
		w.int32(int32(m.sessionTimeout / time.Millisecond))
		w.bytes(m.subscription)
		w.bytes(m.assignment)
	}
	return w.b
}

// decodeGeneration is the group of a record value; it reports false for a
// version that is not known.
func decodeGeneration(b []byte) (g generation, known bool, err error) {
	r := reader{b: b}
	version := r.int16()
	if version < 0 || version > 4 {
		return generation{}, false, r.err
	}
	r.flexible = version >= 4
	g = generation{since: noTime}
	g.protocolType = r.string()
	g.number = r.int32()
	g.protocol = r.nullable()
	g.leader = r.nullable()
	if version >= 2 {
		g.since = r.int64()
	}
	for range r.length() {
		g.members = append(g.members, r.member(version))
	}
	if r.flexible {
		r.tags(nil)
	}
	return g, true, r.err
}

func (r *reader) member(version int16) generationMember {
	var m generationMember
	m.id = r.string()
	if version >= 3 {
		m.instanceID = r.nullable()
	}
	m.clientID = r.string()
	m.clientHost = r.string()
	if version >= 1 {
		m.rebalanceTimeout = time.Duration(r.int32()) * time.Millisecond
	}
	m.sessionTimeout = time.Duration(r.int32()) * time.Millisecond
	if m.rebalanceTimeout <= 0 {
		m.rebalanceTimeout = m.sessionTimeout
	}
	m.subscription = r.bytes()
	m.assignment = r.bytes()
	if r.flexible {
		r.tags(nil)
	}
	return m
}

// writer appends fields; flexible says in which encoding.
type writer struct {
	b        []byte
	flexible bool
}

func (w *writer) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *writer) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *writer) int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

func (w *writer) string(s string) {
	if w.flexible {
		w.b = binary.AppendUvarint(w.b, uint64(len(s)+1))
	} else {
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

func (w *writer) nullable(s *string) {
	if s == nil {
		w.int16(-1)
		return
	}
	w.string(*s)
}

func (w *writer) bytes(b []byte) {
	w.int32(int32(len(b)))
	w.b = append(w.b, b...)
}

// reader takes fields; after the first error everything reads as zero.
type reader struct {
	b        []byte
	flexible bool
	err      error
}

// take is the next n bytes, or n zero bytes after an error (n is then at most
// 8: longer fields are read only if they are there).
func (r *reader) take(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.b)) {
		r.err = errMalformed
	}
	if r.err != nil {
		return make([]byte, min(max(n, 0), 8))
	}
	field := r.b[:n]
	r.b = r.b[n:]
	return field
}

func (r *reader) int16() int16 { return int16(binary.BigEndian.Uint16(r.take(2))) }
func (r *reader) int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<31 {
		r.err = errMalformed
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// length is that of an array or of bytes: 0 for null, and never more than
// there are bytes.
func (r *reader) length() int {
	n := 0
	if r.flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.int32())
	}
	if n > len(r.b) {
		r.err = errMalformed
	}
	if r.err != nil {
		return 0
	}
	return max(n, 0)
}

// string reads a string, null as empty.
func (r *reader) string() string {
	if s := r.nullable(); s != nil {
		return *s
	}
	return ""
}

func (r *reader) nullable() *string {
	n := 0
	if r.flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.int16())
	}
	if r.err != nil || n == -1 {
		return nil
	}
	s := string(r.take(n))
	return &s
}

func (r *reader) bytes() []byte { return append([]byte(nil), r.take(r.length())...) }

// tags reads tagged fields; a nil visit skips them.
func (r *reader) tags(visit func(tag int, field []byte)) {
	for range r.uvarint() {
		tag, size := r.uvarint(), r.uvarint()
		field := r.take(size)
		if r.err != nil {
			return
		}
		if visit != nil {
			visit(tag, field)
		}
	}
}

// subscribedTopics reads the topics of a consumer's subscription, which every
// version of it begins with (version i16 │ [topic string]).
func subscribedTopics(subscription []byte) ([]string, error) {
	r := reader{b: subscription}
	r.int16()
	var topics []string
	for range r.length() {
		topics = append(topics, r.string())
	}
	return topics, r.err
}
