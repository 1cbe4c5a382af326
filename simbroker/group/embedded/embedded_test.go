package embedded

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// An assignment is written in the version of the member's subscription, as far
// as the coordinator knows it, and comes back.
func TestAssignment(t *testing.T) {
	topics := []group.AssignedTopic{{Topic: "orders", Partitions: []int32{0, 2}}}
	const rest = "0000000100066f72646572730000000200000000" + "00000002" + "ffffffff"
	for _, test := range []struct {
		version int16
		want    string
	}{{0, "0000" + rest}, {1, "0001" + rest}, {3, "0003" + rest}, {4, "0003" + rest}} {
		b := EncodeAssignment(test.version, topics)
		if got := hex.EncodeToString(b); got != test.want {
			t.Errorf("version %d: %s, want %s", test.version, got, test.want)
		}
		if got, custom, err := DecodeAssignment(b); err != nil || custom || !reflect.DeepEqual(got, topics) {
			t.Errorf("version %d: %v, %t, %v", test.version, got, custom, err)
		}
	}
	if _, custom, err := DecodeAssignment(append(EncodeAssignment(0, nil)[:6], 0, 0, 0, 1, 9)); err != nil || !custom {
		t.Errorf("with data of its assignor's: %t, %v", custom, err)
	}
}
