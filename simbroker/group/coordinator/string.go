package coordinator

import (
	"fmt"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// String is the coordinator's state on one line, sorted by partition and id:
// 1: [__consumer_offsets-3: G1 Empty gen 0 [] {orders-0: 5 pending 1}].
func (c *Coordinator) String() string {
	var parts []string
	for _, s := range c.sortedShards() {
		var b strings.Builder
		fmt.Fprintf(&b, "%s-%d:", kafka.ConsumerOffsetsTopic, s.Partition)
		if s.Loading {
			b.WriteString(" loading")
		}
		for i, g := range s.Sorted() {
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, " %s {%s}", g, committed(s, g.Listing().GroupID))
		}
		parts = append(parts, b.String())
	}
	return fmt.Sprintf("%d: [%s]", c.broker.ID, strings.Join(parts, " | "))
}

// committed is what a group has committed by the end of the log, for people.
func committed(s *shard.Shard, groupID string) string {
	var parts []string
	for _, tp := range s.Offsets.Present(groupID) {
		slot := s.Offsets.Get(groupID, tp)
		part := tp.String() + ": none"
		if latest := slot.Latest(); latest != nil {
			part = fmt.Sprintf("%s: %d", tp, latest.Offset)
		}
		if slot.Pending() > 0 {
			part += fmt.Sprintf(" pending %d", slot.Pending())
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
