package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Coordinator is one broker's group coordinator.
type Coordinator struct {
	broker broker
	shards map[int32]*shard // by partition of __consumer_offsets
}

// New returns a coordinator that leads no partition yet, with its scan running
// on clk. What it held in memory is lost with the broker: a restarted broker
// gets a new one.
func New(id kafka.BrokerID, clk clock.Clock, cfg Config, env Environment) *Coordinator {
	c := &Coordinator{broker: broker{id: id, clk: clk, cfg: cfg, env: env}, shards: make(map[int32]*shard)}
	c.scan()
	return c
}

// Configure replaces the configuration; the scan takes a new interval up at
// its next run.
func (c *Coordinator) Configure(cfg Config) { c.broker.cfg = cfg }

// PartitionFor is the partition of __consumer_offsets that keeps a group.
func (c *Coordinator) PartitionFor(groupID string) int32 {
	return kafka.PartitionFor(groupID, c.broker.cfg.Partitions)
}

// TopicsCreated is told that the broker's metadata has new topics.
func (c *Coordinator) TopicsCreated() { c.broker.topicsCreated = c.broker.env.Topics.Version() }

// sortedShards is the shards in the order of their partitions.
func (c *Coordinator) sortedShards() []*shard {
	return slices.SortedFunc(maps.Values(c.shards), func(a, b *shard) int { return cmp.Compare(a.partition, b.partition) })
}

// find is the shard of a group.
func (c *Coordinator) find(groupID string) (*shard, error) {
	s := c.shards[c.PartitionFor(groupID)]
	switch {
	case s == nil:
		return nil, kafka.ErrNotCoordinator
	case s.loading:
		return nil, kafka.ErrCoordinatorLoadInProgress
	}
	return s, nil
}

// String is the coordinator's state on one line, sorted by partition and id:
// 1: [__consumer_offsets-3: G1 Empty gen 0 [] {orders-0: 5 pending 1}].
func (c *Coordinator) String() string {
	var parts []string
	for _, s := range c.sortedShards() {
		var b strings.Builder
		fmt.Fprintf(&b, "%s-%d:", kafka.ConsumerOffsetsTopic, s.partition)
		if s.loading {
			b.WriteString(" loading")
		}
		for i, g := range s.sorted() {
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, " %s {%s}", g, s.committed(g.listing().GroupID))
		}
		parts = append(parts, b.String())
	}
	return fmt.Sprintf("%d: [%s]", c.broker.id, strings.Join(parts, " | "))
}

// committed is what a group has committed by the end of the log, for people.
func (s *shard) committed(group string) string {
	var parts []string
	for _, tp := range s.offsets.present(group) {
		slot := s.offsets.get(group, tp)
		part := tp.String() + ": none"
		if latest := slot.latest(); latest != nil {
			part = fmt.Sprintf("%s: %d", tp, latest.offset)
		}
		if len(slot.pending) > 0 {
			part += fmt.Sprintf(" pending %d", len(slot.pending))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
