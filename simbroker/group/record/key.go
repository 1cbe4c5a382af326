// Package record is what the records of __consumer_offsets have in common (rule
// H1): their keys, and those parts of values that several protocols write. The
// values of offsets and of each protocol's groups are with these.
package record

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
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
	OldOffset = 0
	Offset    = 1
	Classic   = 2

	ConsumerGroup       = 3
	ConsumerOldMetadata = 4 // written by brokers before 4.1
	ConsumerMember      = 5
	ConsumerTargetEpoch = 6
	ConsumerTarget      = 7
	ConsumerCurrent     = 8
	ConsumerRegex       = 16 // names a regular expression where others name a member

	ShareMember      = 10
	ShareGroup       = 11
	ShareTargetEpoch = 12
	ShareTarget      = 13
	ShareCurrent     = 14
	ShareState       = 15

	StreamsGroup       = 17
	StreamsMember      = 19
	StreamsTargetEpoch = 20
	StreamsTarget      = 21
	StreamsCurrent     = 22
	StreamsTopology    = 23
)

// key is a decoded key: of an offset if its partition has a topic, otherwise
// of a group.
type key struct {
	Group     string
	Partition kafka.TopicPartition
}

// KindOf is the type of a key, -1 for one that has none.
func KindOf(key []byte) int16 {
	r := message.Reader{B: key}
	kind := r.Int16()
	if r.Err != nil {
		return -1
	}
	return kind
}

// OwnerOf says to groups of which kind a type of key belongs, of those that
// are not classic.
func OwnerOf(kind int16) (group.Kind, bool) {
	switch {
	case ConsumerGroup <= kind && kind <= ConsumerCurrent, kind == ConsumerRegex:
		return group.Consumer, true
	case ShareMember <= kind && kind <= ShareState:
		return group.Share, true
	case StreamsGroup <= kind && kind <= StreamsTopology:
		return group.Streams, true
	}
	return group.Classic, false
}

// Endings are the types of the records whose tombstones end a group.
var Endings = map[group.Kind]int16{group.Consumer: ConsumerGroup, group.Share: ShareGroup, group.Streams: StreamsGroup}

// DecodeKey reports false for a key of a type that is not served, which a
// loader skips.
func DecodeKey(b []byte) (k key, known bool, err error) {
	r := message.Reader{B: b}
	switch r.Int16() {
	case OldOffset, Offset:
		k.Group = r.String()
		k.Partition = kafka.TopicPartition{Topic: r.String(), Partition: r.Int32()}
	case Classic:
		k.Group = r.String()
	default:
		return key{}, false, r.Err
	}
	return k, true, r.Err
}

// OffsetKey is the key of what a group committed for a partition.
func OffsetKey(groupID string, tp kafka.TopicPartition) []byte {
	w := message.Writer{}
	w.Int16(Offset)
	w.String(groupID)
	w.String(tp.Topic)
	w.Int32(tp.Partition)
	return w.B
}

// ClassicKey is the key of a classic group.
func ClassicKey(groupID string) []byte {
	w := message.Writer{}
	w.Int16(Classic)
	w.String(groupID)
	return w.B
}

// ModernKey is a decoded key of a record of KIP-848, 932 or 1071.
type ModernKey struct {
	Kind   int16
	Group  string
	Member string // or the regular expression
}

// GroupKey is the key of a type that names no member.
func GroupKey(kind int16, groupID string) []byte {
	w := message.Writer{}
	w.Int16(kind)
	w.String(groupID)
	return w.B
}

// MemberKey is a key that names a member, or a regular expression.
func MemberKey(kind int16, groupID, member string) []byte {
	w := message.Writer{B: GroupKey(kind, groupID)}
	w.String(member)
	return w.B
}

// NamesMember says whether keys of a kind have a second string.
func NamesMember(kind int16) bool {
	return slices.Contains([]int16{
		ConsumerMember, ConsumerTarget, ConsumerCurrent, ConsumerRegex,
		ShareMember, ShareTarget, ShareCurrent,
		StreamsMember, StreamsTarget, StreamsCurrent,
	}, kind)
}

// DecodeModernKey reads a key of a given type.
func DecodeModernKey(b []byte) (ModernKey, error) {
	r := message.Reader{B: b}
	k := ModernKey{Kind: r.Int16(), Group: r.String()}
	if NamesMember(k.Kind) {
		k.Member = r.String()
	}
	return k, r.Err
}
