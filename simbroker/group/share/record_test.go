package share

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// ordersID and salesID are ids as the records below have them.
var (
	ordersID = kafka.TopicID{0: 1, 15: 9}
	salesID  = kafka.TopicID{0: 2, 15: 9}
)

// The records of share groups are those that the classes of Apache Kafka 4.3.1
// write (KIP-932), byte for byte.
func TestShareRecordBytes(t *testing.T) {
	m := &member{id: "m", epoch: 7, previous: 6, clientID: "c", clientHost: "/127.0.0.1", topics: []string{"orders"}, assigned: assignment.Set{{Topic: ordersID, Number: 0}: true, {Topic: ordersID, Number: 2}: true}}
	all := New("G1")
	for _, test := range []struct {
		name       string
		record     group.Record
		key, value string
	}{
		{"member", memberRecord("G1", m), "000a0002473100016d", "00000002630b2f3132372e302e302e3102076f726465727300"},
		{"group", epochRecord("G1", 7, 0x1122334455667788), "000b00024731", "000000000007112233445566778800"},
		{"target epoch", targetEpochRecord("G1", 7, 1000), "000c00024731", "00000000000701000800000000000003e8"},
		{"target", targetRecord("G1", "m", assignment.Set{{Topic: ordersID, Number: 0}: true, {Topic: ordersID, Number: 2}: true}), "000d0002473100016d",
			"000002010000000000000000000000000000090300000000000000020000"},
		{"current assignment", currentRecord("G1", m), "000e0002473100016d",
			"000000000007000000060002010000000000000000000000000000090300000000000000020000"},
		{"state", stateRecord("G1", map[kafka.TopicID]sharedTopic{ordersID: {name: "orders", partitions: []int32{1}}},
			map[kafka.TopicID]sharedTopic{salesID: {name: "sales", partitions: []int32{0}}}), "000f00024731",
			// Kafka's has a topic on its way out behind these, which the simulator never has.
			"00000201000000000000000000000000000009076f726465727302000000010002020000000000000000000000000000090673616c6573020000000000" + "0100"},
	} {
		if got := hex.EncodeToString(test.record.Key); got != test.key {
			t.Errorf("%s: key %s, want %s", test.name, got, test.key)
		}
		if got := hex.EncodeToString(test.record.Value); got != test.value {
			t.Errorf("%s: value %s, want %s", test.name, got, test.value)
		}
		g := New("G1")
		g.Replay(test.record, 5)
		g.Replay(group.Record{Key: test.record.Key, Value: []byte{0, 9}}, 5) // of a version to come
		if reflect.DeepEqual(g, New("G1")) {
			t.Errorf("%s: nothing was replayed", test.name)
		}
		g.Replay(group.Record{Key: test.record.Key}, 5)
		all.Replay(test.record, 5)
	}
	want := map[kafka.TopicID]sharedTopic{salesID: {name: "sales", partitions: []int32{0}, since: 5}}
	if !reflect.DeepEqual(all.members["m"], m) || !reflect.DeepEqual(all.target["m"], m.assigned) || !reflect.DeepEqual(all.initialized, want) {
		t.Errorf("replayed: %+v, member %+v", all, all.members["m"])
	}
}
