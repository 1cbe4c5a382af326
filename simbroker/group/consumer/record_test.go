package consumer

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// topicA and topicB are ids as the records below have them.
var (
	topicA = kafka.TopicID{0: 1, 15: 9}
	topicB = kafka.TopicID{0: 2, 15: 9}
)

// aConsumerMember is the member that the records below tell of.
func aConsumerMember() *member {
	return &member{
		id: "m", rackID: new("r"), rebalanceTimeout: time.Minute,
		clientID: "c", clientHost: "/127.0.0.1", topics: []string{"orders", "sales"}, regex: "or.*", assignor: new("range"),
		Holding: assignment.Holding[assignment.Partition]{
			Epoch: 7, Previous: 6, State: assignment.Unrevoked,
			Assigned: assignment.Ownership{{Topic: topicA, Number: 0}: 5, {Topic: topicA, Number: 2}: 7}, Revoking: assignment.Ownership{{Topic: topicB, Number: 1}: 6},
		},
	}
}

// aClassicMember is one that speaks the classic protocol.
func aClassicMember() *member {
	return &member{
		id: "m", instanceID: new("i"), rebalanceTimeout: time.Minute, clientID: "c", clientHost: "h", topics: []string{"orders"},
		classic: &classicMembership{sessionTimeout: 45 * time.Second, protocols: []group.Protocol{{Name: "range", Metadata: []byte{1, 2}}}},
	}
}

// The records of groups of the consumer protocol are those that the classes of
// Apache Kafka 4.3.1 write (KIP-848), byte for byte.
func TestConsumerRecordBytes(t *testing.T) {
	target := assignment.Set{{Topic: topicA, Number: 0}: true, {Topic: topicA, Number: 2}: true, {Topic: topicB, Number: 1}: true}
	resolved := resolvedRegex{topics: []string{"orders", "orders2"}, version: 12, at: 1000}
	for _, test := range []struct {
		name       string
		record     group.Record
		key, value string
	}{
		{"group", epochRecord("G1", 7, 0x1122334455667788), "000300024731", "0000000000070100081122334455667788"},
		{"group without topics", epochRecord("G1", 7, 0), "000300024731", "00000000000700"},
		{"member", memberRecord("G1", aConsumerMember()), "00050002473100016d",
			"000000027202630b2f3132372e302e302e3103076f72646572730673616c6573056f722e2a0000ea600672616e676500"},
		{"classic member", memberRecord("G1", aClassicMember()), "00050002473100016d",
			"00000269000263026802076f7264657273010000ea6000010011010000afc8020672616e67650301020000"},
		{"target epoch", targetEpochRecord("G1", 7, 1000), "000600024731", "00000000000701000800000000000003e8"},
		{"target", targetRecord("G1", "m", target), "00070002473100016d",
			"00000301000000000000000000000000000009030000000000000002000200000000000000000000000000000902000000010000"},
		{"current assignment", currentRecord("G1", aConsumerMember()), "00080002473100016d",
			"000000000007000000060102010000000000000000000000000000090300000000000000020100090300000005000000070202000000000000000000000000000009" +
				"0200000001010005020000000600"},
		{"regular expression", regexRecord("G1", "or.*", resolved), "00100002473100046f722e2a",
			"000003076f7264657273086f726465727332000000000000000c00000000000003e800"},
		{"old metadata", group.Record{Key: record.GroupKey(record.ConsumerOldMetadata, "G1")}, "000400024731", ""},
	} {
		if got := hex.EncodeToString(test.record.Key); got != test.key {
			t.Errorf("%s: key %s, want %s", test.name, got, test.key)
		}
		if got := hex.EncodeToString(test.record.Value); got != test.value {
			t.Errorf("%s: value %s, want %s", test.name, got, test.value)
		}
	}
}

// What the records say comes back from them.
func TestConsumerReplay(t *testing.T) {
	for _, m := range []*member{aConsumerMember(), aClassicMember()} {
		g := New("G1")
		g.epoch, g.metadataHash, g.targetEpoch, g.targetAt = 9, 1<<63|7, 8, 1000
		m.Assigned, m.Revoking = assignment.Ownership{{Topic: topicA, Number: 0}: 5}, assignment.Ownership{{Topic: topicB, Number: 1}: 6}
		g.members["m"] = m
		g.target["m"] = assignment.Set{{Topic: topicA, Number: 0}: true, {Topic: topicA, Number: 1}: true}
		got := New("G1")
		for _, r := range g.Snapshot() {
			got.Replay(r, 0)
		}
		if !reflect.DeepEqual(got, g) {
			t.Errorf("%+v (member %+v), want %+v (member %+v)", got, got.members["m"], g, m)
		}
	}
}

// A member record of an older broker has no assignment epochs: the member's own
// stands for them, and none is negative.
func TestConsumerReplayWithoutAssignmentEpochs(t *testing.T) {
	value, err := hex.DecodeString("00000000000700000006000201000000000000000000000000000009030000000000000002000100")
	if err != nil {
		t.Fatal(err)
	}
	m := newMember("m")
	if !decodeCurrent(value, m) || !reflect.DeepEqual(m.Assigned, assignment.Ownership{{Topic: topicA, Number: 0}: 7, {Topic: topicA, Number: 2}: 7}) {
		t.Errorf("%+v", m)
	}
	value[2], value[3], value[4], value[5] = 0xff, 0xff, 0xff, 0xfe // a static member that is away
	if !decodeCurrent(value, m) || m.Epoch != group.StaticLeaveEpoch || m.Assigned[assignment.Partition{Topic: topicA, Number: 0}] != 0 {
		t.Errorf("away: %+v", m)
	}
	value[10] = 9 // a state that this version does not know
	if decodeCurrent(value, m); m.State != assignment.Unknown {
		t.Errorf("unknown state: %+v", m)
	}
}

// Records that cannot be read change nothing.
func TestConsumerReplayOfGarbage(t *testing.T) {
	g := New("G1")
	for _, r := range []group.Record{
		{Key: []byte{0, 3}, Value: []byte{0, 0}},
		{Key: record.GroupKey(record.ConsumerGroup, "G1"), Value: []byte{0, 1, 0, 0, 0, 9, 0}},
		{Key: record.MemberKey(record.ConsumerMember, "G1", "m"), Value: []byte{0, 0, 9}},
		{Key: record.MemberKey(record.ConsumerCurrent, "G1", "m"), Value: []byte{0, 0, 9}},
		{Key: record.MemberKey(record.ConsumerCurrent, "G1", "m")},
	} {
		g.Replay(r, 0)
	}
	if !reflect.DeepEqual(g, New("G1")) {
		t.Errorf("%+v", g)
	}
}
