package group

import (
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// The protocol that consumers embed in the classic one (ConsumerProtocol), and
// that the coordinator must speak for members of either protocol in one group.
//
//	subscription  version i16 │ [topic string] │ user data bytes or null
//	              │ v1: owned [topic string │ [partition i32]] │ v2: generation i32
//	              │ v3: rack string or null
//	assignment    version i16 │ [topic string │ [partition i32]] │ user data bytes or null

// embeddedVersion is the newest version that the coordinator writes.
const embeddedVersion = 3

// subscription is what a classic consumer says when it joins.
type subscription struct {
	version int16
	topics  []string
	owned   []AssignedTopic // by name
	rackID  *string
}

// decodeSubscription reads a consumer's subscription; every version begins with
// what the ones before it have.
func decodeSubscription(b []byte) (subscription, error) {
	r := message.Reader{B: b}
	s := subscription{version: r.Int16()}
	s.topics = r.Strings()
	r.Bytes() // user data
	if s.version >= 1 {
		s.owned = readNamedPartitions(&r)
	}
	if s.version >= 2 {
		r.Int32() // the generation that it owned them in
	}
	if s.version >= 3 {
		s.rackID = r.NullableString()
	}
	return s, r.Err
}

func readNamedPartitions(r *message.Reader) []AssignedTopic {
	topics := []AssignedTopic{}
	for range r.Length() {
		topics = append(topics, AssignedTopic{Topic: r.String(), Partitions: r.Int32s()})
	}
	return topics
}

// encodeEmbeddedAssignment is an assignment as a classic consumer reads it, in
// the version of its subscription.
func encodeEmbeddedAssignment(version int16, topics []AssignedTopic) []byte {
	w := message.Writer{}
	w.Int16(min(version, embeddedVersion))
	w.Length(len(topics))
	for _, t := range topics {
		w.String(t.Topic)
		w.Int32s(t.Partitions)
	}
	w.Length(-1) // no user data
	return w.B
}

// decodeEmbeddedAssignment reads an assignment; custom says that it has data
// of its own assignor's, which no other would understand.
func decodeEmbeddedAssignment(b []byte) (topics []AssignedTopic, custom bool, err error) {
	if len(b) == 0 {
		return nil, false, nil
	}
	r := message.Reader{B: b}
	r.Int16()
	topics = readNamedPartitions(&r)
	custom = len(r.Bytes()) > 0
	return topics, custom, r.Err
}
