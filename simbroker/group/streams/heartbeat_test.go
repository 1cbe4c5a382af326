package streams

import (
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// A member that joins is told which tasks it must not bring.
func TestJoiningWithTasks(t *testing.T) {
	none, some := []group.TaskIDs{}, []group.TaskIDs{{Subtopology: "0", Partitions: []int32{0}}}
	for _, test := range []struct {
		active, standby []group.TaskIDs
		want            string
	}{
		{some, none, "ActiveTasks must be empty when (re-)joining."},
		{none, some, "StandbyTasks must be empty when (re-)joining."},
		{none, none, "Topology must be non-null when (re-)joining."},
	} {
		err := Validate(group.StreamsHeartbeatRequest{GroupID: "G1", MemberID: "a", Active: test.active, Standby: test.standby, Warmup: none})
		if err == nil || err.Error() != test.want {
			t.Errorf("%v and %v: %v, want %s", test.active, test.standby, err, test.want)
		}
	}
}
