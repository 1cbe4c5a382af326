// Package record is what the records of __consumer_offsets have in common (rule
// H1): their keys, and those parts of values that several protocols write. The
// values of offsets and of each protocol's groups are with these.
package record

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// Key is a decoded key: of an offset if its partition has a topic, otherwise of
// a classic group.
type Key struct {
	Group     string
	Partition kafka.TopicPartition
}

// DecodeKey reports false for a key of a type that is not served, which a
// loader skips.
func DecodeKey(b []byte) (k Key, known bool, err error) {
	r := message.Reader{B: b}
	switch r.Int16() {
	case OldOffset, Offset:
		k.Group = r.String()
		k.Partition = kafka.TopicPartition{Topic: r.String(), Partition: r.Int32()}
	case Classic:
		k.Group = r.String()
	default:
		return Key{}, false, r.Err
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

// DecodeModernKey reads a key of a given type.
func DecodeModernKey(b []byte) (ModernKey, error) {
	r := message.Reader{B: b}
	k := ModernKey{Kind: r.Int16(), Group: r.String()}
	if NamesMember(k.Kind) {
		k.Member = r.String()
	}
	return k, r.Err
}
