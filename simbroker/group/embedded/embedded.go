// Package embedded is the protocol that consumers embed in the classic one
// (ConsumerProtocol), which the coordinator must speak for members of either
// protocol in one group.
//
//	subscription  version i16 │ [topic string] │ user data bytes or null
//	              │ v1: owned [topic string │ [partition i32]] │ v2: generation i32
//	              │ v3: rack string or null
//	assignment    version i16 │ [topic string │ [partition i32]] │ user data bytes or null
package embedded

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// newestVersion is the newest version that the coordinator writes.
const newestVersion = 3

// Subscription is what a classic consumer says when it joins.
type Subscription struct {
	Version int16
	Topics  []string
	Owned   []group.AssignedTopic // by name
	RackID  *string
}

// DecodeSubscription reads a consumer's subscription; every version begins with
// what the ones before it have.
func DecodeSubscription(b []byte) (Subscription, error) {
	r := message.Reader{B: b}
	s := Subscription{Version: r.Int16()}
	s.Topics = r.Strings()
	r.Bytes() // user data
	if s.Version >= 1 {
		s.Owned = readNamedPartitions(&r)
	}
	if s.Version >= 2 {
		r.Int32() // the generation that it owned them in
	}
	if s.Version >= 3 {
		s.RackID = r.NullableString()
	}
	return s, r.Err
}

func readNamedPartitions(r *message.Reader) []group.AssignedTopic {
	topics := []group.AssignedTopic{}
	for range r.Length() {
		topics = append(topics, group.AssignedTopic{Topic: r.String(), Partitions: r.Int32s()})
	}
	return topics
}

// EncodeAssignment is an assignment as a classic consumer reads it, in the
// version of its subscription.
func EncodeAssignment(version int16, topics []group.AssignedTopic) []byte {
	w := message.Writer{}
	w.Int16(min(version, newestVersion))
	w.Length(len(topics))
	for _, t := range topics {
		w.String(t.Topic)
		w.Int32s(t.Partitions)
	}
	w.Length(-1) // no user data
	return w.B
}

// DecodeAssignment reads an assignment; custom says that it has data of its own
// assignor's, which no other would understand.
func DecodeAssignment(b []byte) (topics []group.AssignedTopic, custom bool, err error) {
	if len(b) == 0 {
		return nil, false, nil
	}
	r := message.Reader{B: b}
	r.Int16()
	topics = readNamedPartitions(&r)
	custom = len(r.Bytes()) > 0
	return topics, custom, r.Err
}
