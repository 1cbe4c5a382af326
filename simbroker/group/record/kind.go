package record

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
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

// NamesMember says whether keys of a kind have a second string.
func NamesMember(kind int16) bool {
	return slices.Contains([]int16{
		ConsumerMember, ConsumerTarget, ConsumerCurrent, ConsumerRegex,
		ShareMember, ShareTarget, ShareCurrent,
		StreamsMember, StreamsTarget, StreamsCurrent,
	}, kind)
}
