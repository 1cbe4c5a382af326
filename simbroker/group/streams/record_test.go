package streams

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
)

// The records of streams groups are those that the classes of Apache Kafka
// 4.3.1 write (KIP-1071), byte for byte.
func TestStreamsRecordBytes(t *testing.T) {
	g := New("G1")
	m := &member{
		id: "m", rackID: new("r"), rebalanceTimeout: time.Minute, clientID: "c", clientHost: "/127.0.0.1", topologyEpoch: 3, processID: "p",
		endpoint: &group.Endpoint{Host: "h", Port: 40000}, tags: []group.KeyValue{{Key: "k", Value: "v"}},
		Holding: assignment.Holding[task]{Epoch: 7, Previous: 6, Assigned: map[task]int32{{"0", 0, false}: 5, {"0", 2, false}: 7, {"0", 1, true}: 7}, Revoking: map[task]int32{{"1", 1, false}: 6, {"1", 0, true}: 7}},
	}
	plain := *m
	plain.rackID, plain.endpoint, plain.tags = nil, nil, nil
	topology := &group.Topology{Epoch: 3, Subtopologies: []group.Subtopology{{
		ID: "0", SourceTopics: []string{"orders"}, RepartitionSinks: []string{"rp"},
		Changelogs:        []group.InternalTopic{{Name: "cl", ReplicationFactor: 1, Configs: []group.KeyValue{{Key: "cleanup.policy", Value: "compact"}}}},
		CopartitionGroups: []group.CopartitionGroup{{SourceTopics: []int16{0}}},
	}}}
	for _, test := range []struct {
		name       string
		record     group.Record
		key, value string
	}{
		{"group", epochRecord(g, 7, 0x1122334455667788, 3, "0"), "001100024731",
			"000000000007112233445566778802000400000003011902156e756d2e7374616e6462792e7265706c69636173023000"},
		{"member", memberRecord("G1", m), "00130002473100016d",
			"000000027202630b2f3132372e302e302e310000ea600000000302700102689c400002026b02760000"},
		{"member without extras", memberRecord("G1", &plain), "00130002473100016d",
			"0000000002630b2f3132372e302e302e310000ea60000000030270ff0100"},
		{"target epoch", targetEpochRecord("G1", 7, 1000), "001400024731", "00000000000701000800000000000003e8"},
		{"target", targetRecord("G1", "m", map[task]bool{{"0", 0, false}: true, {"0", 2, false}: true, {"0", 1, true}: true, {"1", 0, true}: true}), "00150002473100016d",
			"00000202300300000000000000020003023002000000010002310200000000000100"},
		{"current assignment", currentRecord("G1", m), "00160002473100016d",
			"000000000007000000060002023003000000000000000201000903000000050000000702023002000000010001020231020000000101000502000000060202310200000000000100"},
		{"topology", topologyRecord("G1", topology), "001700024731",
			"00000000000302023002076f7264657273010203636c000000000001020f636c65616e75702e706f6c69637908636f6d7061637400000203727001020200000101000000"},
	} {
		if got := hex.EncodeToString(test.record.Key); got != test.key {
			t.Errorf("%s: key %s, want %s", test.name, got, test.key)
		}
		if got := hex.EncodeToString(test.record.Value); got != test.value {
			t.Errorf("%s: value %s, want %s", test.name, got, test.value)
		}
		g.Replay(test.record, 0)
	}
	got := g.members["m"]
	if !reflect.DeepEqual(got.Holding, m.Holding) || got.rackID != nil || got.processID != "p" || g.epoch != 7 || g.validated != 3 || g.standbys != "0" ||
		g.targetEpoch != 7 || g.targetAt != 1000 || len(g.target["m"]) != 4 || !reflect.DeepEqual(g.topology.Subtopologies[0].Changelogs, topology.Subtopologies[0].Changelogs) {
		t.Errorf("replayed: %+v, member %+v", g, got)
	}
	for _, r := range g.Tombstones() {
		g.Replay(r, 0)
	}
	g.Replay(group.Record{Key: record.GroupKey(record.StreamsGroup, "G1"), Value: []byte{0, 9}}, 0)
	if len(g.members)+len(g.target) > 0 || g.topology != nil || g.targetEpoch != -1 {
		t.Errorf("after the tombstones: %+v", g)
	}
}
