package lag

import (
	"testing"
	"time"
)

// A group's sums and maxima are over all its topics, and absent with a part.
func TestGroupSums(t *testing.T) {
	row := func(lso, hwm Count, age time.Duration) GroupPartitionView {
		return GroupPartitionView{LSOLag: Known(lso), HWMLag: Known(hwm), LSOLagFor: Known(age), HWMLagFor: Known(2 * age)}
	}
	orders := topicSums("orders", []GroupPartitionView{row(3, 4, time.Second), row(1, 1, 3*time.Second)})
	read := topicSums("read", []GroupPartitionView{{LSOLag: Known(Count(0)), HWMLag: Known(Count(0))}})
	unread := topicSums("unread", []GroupPartitionView{row(5, 5, time.Second), {Committed: Known(Offset(1))}})
	for _, c := range []struct {
		reason         string
		topics         []GroupTopicView
		lso, hwm       Optional[Count]
		lsoFor, hwmFor Optional[time.Duration]
	}{
		{reason: "no commit"},
		{"one topic", []GroupTopicView{orders}, Known(Count(4)), Known(Count(5)), Known(3 * time.Second), Known(6 * time.Second)},
		{"a topic on which nothing is readable", []GroupTopicView{orders, read}, Known(Count(4)), Known(Count(5)), Known(3 * time.Second), Known(6 * time.Second)},
		{"a partition that was not read", []GroupTopicView{orders, unread}, Optional[Count]{}, Optional[Count]{}, Optional[time.Duration]{}, Optional[time.Duration]{}},
	} {
		g := GroupView{Topics: c.topics}
		if g.LSOLag() != c.lso || g.HWMLag() != c.hwm || g.LSOLagFor() != c.lsoFor || g.HWMLagFor() != c.hwmFor {
			t.Errorf("%s: %v %v %v %v", c.reason, g.LSOLag(), g.HWMLag(), g.LSOLagFor(), g.HWMLagFor())
		}
	}
}
