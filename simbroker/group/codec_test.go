package group

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule H1: the records are Kafka's, byte for byte; kmsg is the second opinion.
func TestH1KeyBytes(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "orders", Partition: 3}
	offset := kmsg.NewOffsetCommitKey()
	offset.Version, offset.Group, offset.Topic, offset.Partition = 1, "payments-é", "orders", 3
	if got := encodeOffsetKey("payments-é", tp); !bytes.Equal(got, offset.AppendTo(nil)) {
		t.Errorf("offset key %x, want %x", got, offset.AppendTo(nil))
	}
	group := kmsg.NewGroupMetadataKey()
	group.Version, group.Group = 2, "payments-é"
	if got := encodeGroupKey("payments-é"); !bytes.Equal(got, group.AppendTo(nil)) {
		t.Errorf("group key %x, want %x", got, group.AppendTo(nil))
	}
	for _, version := range []int16{0, 1} { // both are in use
		offset.Version = version
		if k, known, err := decodeKey(offset.AppendTo(nil)); err != nil || !known || k != (key{"payments-é", tp}) {
			t.Errorf("offset key v%d: %+v, %t, %v", version, k, known, err)
		}
	}
	if k, known, err := decodeKey(encodeGroupKey("g")); err != nil || !known || k != (key{group: "g"}) {
		t.Errorf("group key: %+v, %t, %v", k, known, err)
	}
	for _, other := range []byte{3, 4, 5, 6, 7, 8, 16} { // the keys of groups of the newer protocols
		if _, known, err := decodeKey([]byte{0, other, 0, 1, 'g'}); known || err != nil {
			t.Errorf("key of type %d: %t, %v", other, known, err)
		}
	}
	if _, _, err := decodeKey([]byte{0, 1, 0, 9, 'g'}); err == nil {
		t.Error("a truncated key was accepted")
	}
}

func TestH1CommitBytes(t *testing.T) {
	id := kafka.TopicID{1, 2, 3, 15: 9}
	tests := []struct {
		name string
		c    commit
		want int16
	}{
		{"plain", commit{offset: 5, leaderEpoch: 2, metadata: "m", at: 1000, expires: noTime, topicID: id}, 4},
		{"of a transaction", commit{offset: 1 << 40, leaderEpoch: noLeaderEpoch, at: 1000, expires: noTime}, 4},
		{"with a retention of its own", commit{offset: 5, leaderEpoch: noLeaderEpoch, metadata: "m", at: 1000, expires: 2000}, 1},
	}
	for _, test := range tests {
		want := commitValue(test.c, test.want)
		got := encodeCommit(test.c)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: value %x, want %x", test.name, got, want)
		}
		if c, known, err := decodeCommit(got); err != nil || !known || c != test.c {
			t.Errorf("%s: decoded %+v, %t, %v, want %+v", test.name, c, known, err, test.c)
		}
	}
}

func commitValue(c commit, version int16) []byte {
	v := kmsg.NewOffsetCommitValue()
	v.Version, v.Offset, v.LeaderEpoch, v.Metadata = version, int64(c.offset), int32(c.leaderEpoch), c.metadata
	v.CommitTimestamp, v.ExpireTimestamp, v.TopicID = c.at, c.expires, c.topicID
	return v.AppendTo(nil)
}

// Logs of older brokers have other versions; newer ones are skipped.
func TestH1OtherCommitVersions(t *testing.T) {
	for version := range int16(5) {
		want := commit{offset: 5, leaderEpoch: noLeaderEpoch, metadata: "m", at: 1000, expires: noTime}
		if version == 1 {
			want.expires = 2000
		}
		if version >= 3 {
			want.leaderEpoch = 2
		}
		value := commitValue(commit{offset: 5, leaderEpoch: 2, metadata: "m", at: 1000, expires: 2000}, version)
		if c, known, err := decodeCommit(value); err != nil || !known || c != want {
			t.Errorf("version %d: %+v, %t, %v, want %+v", version, c, known, err, want)
		}
		for n := 2; n < len(value); n++ {
			if _, _, err := decodeCommit(value[:n]); err == nil {
				t.Errorf("version %d cut to %d of %d bytes was accepted", version, n, len(value))
			}
		}
	}
	if _, known, err := decodeCommit([]byte{0, 5}); known || err != nil {
		t.Errorf("version 5: %t, %v", known, err)
	}
}

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
		g.since = noTime
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
