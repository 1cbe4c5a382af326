package classic

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// The record of a classic group, in the encoding of package message; version 4
// is flexible.
//
//	group   version i16 │ protocol type string │ generation i32 │ protocol string
//	        or null │ leader string or null │ v2: state time i64 │ [member]
//	member  id string │ v3: instance id string or null │ client id string
//	        │ client host string │ v1: rebalance timeout i32 │ session timeout i32
//	        │ subscription bytes │ assignment bytes

// groupVersion is the version that Kafka 4.3 writes.
const groupVersion = 3

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
	g = generation{since: group.NoTime}
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
