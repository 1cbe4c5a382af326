package group

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// The keys of the records of __consumer_offsets (rule H1), in the encoding of
// package message. They begin with a type, and name a group.
//
//	committed offset   1 (0 in old logs)       │ group string │ topic string │ partition i32
//	classic group      2                       │ group string
//	consumer protocol  3 to 8, 16 (KIP-848)    │ group string │ of some: member string
//	share groups       10 to 15 (KIP-932)      │ group string │ of some: member string
//	streams groups     17, 19 to 23 (KIP-1071) │ group string │ of some: member string

// The types of keys. 18 was never in use.
const (
	keyOldOffset = 0
	keyOffset    = 1
	keyGroup     = 2

	keyConsumerGroup       = 3
	keyOldMetadata         = 4 // written by brokers before 4.1
	keyConsumerMember      = 5
	keyConsumerTargetEpoch = 6
	keyTargetMember        = 7
	keyCurrentAssignment   = 8
	keyConsumerRegex       = 16 // names a regular expression where others name a member

	keyShareMember      = 10
	keyShareGroup       = 11
	keyShareTargetEpoch = 12
	keyShareTarget      = 13
	keyShareCurrent     = 14
	keyShareState       = 15

	keyStreamsGroup       = 17
	keyStreamsMember      = 19
	keyStreamsTargetEpoch = 20
	keyStreamsTarget      = 21
	keyStreamsCurrent     = 22
	keyStreamsTopology    = 23
)

// key is a decoded key: of an offset if its partition has a topic, otherwise
// of a group.
type key struct {
	group     string
	partition kafka.TopicPartition
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

func encodeOffsetKey(groupID string, tp kafka.TopicPartition) []byte {
	w := message.Writer{}
	w.Int16(keyOffset)
	w.String(groupID)
	w.String(tp.Topic)
	w.Int32(tp.Partition)
	return w.B
}

func encodeGroupKey(groupID string) []byte {
	w := message.Writer{}
	w.Int16(keyGroup)
	w.String(groupID)
	return w.B
}

// modernKey is a decoded key of a record of KIP-848, 932 or 1071.
type modernKey struct {
	kind   int16
	group  string
	member string // or the regular expression
}

func encodeKindKey(kind int16, groupID string) []byte {
	w := message.Writer{}
	w.Int16(kind)
	w.String(groupID)
	return w.B
}

// encodeMemberKey is a key that names a member, or a regular expression.
func encodeMemberKey(kind int16, groupID, member string) []byte {
	w := message.Writer{B: encodeKindKey(kind, groupID)}
	w.String(member)
	return w.B
}

// namesMember says whether keys of a kind have a second string.
func namesMember(kind int16) bool {
	return slices.Contains([]int16{
		keyConsumerMember, keyTargetMember, keyCurrentAssignment, keyConsumerRegex,
		keyShareMember, keyShareTarget, keyShareCurrent,
		keyStreamsMember, keyStreamsTarget, keyStreamsCurrent,
	}, kind)
}

// decodeModernKey reads a key of a given type.
func decodeModernKey(b []byte) (modernKey, error) {
	r := message.Reader{B: b}
	k := modernKey{kind: r.Int16(), group: r.String()}
	if namesMember(k.kind) {
		k.member = r.String()
	}
	return k, r.Err
}
