package classic

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

func TestH1GenerationBytes(t *testing.T) {
	protocol, leader, instance := "range", "a-1", "host-1"
	tests := []struct {
		name string
		g    generation
	}{
		{"new", generation{since: 1000}},
		{"empty", generation{protocolType: "consumer", number: 4, since: 1000}},
		{"stable", generation{protocolType: "consumer", number: 3, protocol: &protocol, leader: &leader, since: 1000,
			members: []generationMember{
				{id: "a-1", instanceID: &instance, clientID: "a", clientHost: "/127.0.0.1", rebalanceTimeout: time.Minute,
					sessionTimeout: 10 * time.Second, subscription: []byte{0, 1}, assignment: []byte{2}},
				{id: "b-1", clientID: "b", clientHost: "/127.0.0.1", rebalanceTimeout: time.Minute,
					sessionTimeout: 10 * time.Second, subscription: []byte{0, 1}},
			}}},
	}
	for _, test := range tests {
		got := encodeGeneration(test.g)
		if want := generationValue(test.g, 3); !bytes.Equal(got, want) {
			t.Errorf("%s: value\n%x, want\n%x", test.name, got, want)
		}
		for version := range int16(5) {
			g, known, err := decodeGeneration(generationValue(test.g, version))
			if err != nil || !known || !reflect.DeepEqual(g, asOf(test.g, version)) {
				t.Errorf("%s, version %d: %+v, %t, %v", test.name, version, g, known, err)
			}
		}
	}
	if _, known, err := decodeGeneration([]byte{0, 5}); known || err != nil {
		t.Errorf("version 5: %t, %v", known, err)
	}
}

// asOf is what a version can say of a generation.
func asOf(g generation, version int16) generation {
	if version < 2 {
		g.since = group.NoTime
	}
	g.members = append([]generationMember(nil), g.members...)
	for i := range g.members {
		m := &g.members[i]
		if version < 1 {
			m.rebalanceTimeout = m.sessionTimeout
		}
		if version < 3 {
			m.instanceID = nil
		}
	}
	return g
}

func generationValue(g generation, version int16) []byte {
	v := kmsg.NewGroupMetadataValue()
	v.Version, v.ProtocolType, v.Generation, v.Protocol, v.Leader = version, g.protocolType, g.number, g.protocol, g.leader
	v.CurrentStateTimestamp = g.since
	for _, m := range g.members {
		member := kmsg.NewGroupMetadataValueMember()
		member.MemberID, member.InstanceID, member.ClientID, member.ClientHost = m.id, m.instanceID, m.clientID, m.clientHost
		member.RebalanceTimeoutMillis = int32(m.rebalanceTimeout.Milliseconds())
		member.SessionTimeoutMillis = int32(m.sessionTimeout.Milliseconds())
		member.Subscription, member.Assignment = m.subscription, m.assignment
		v.Members = append(v.Members, member)
	}
	return v.AppendTo(nil)
}
