package replica

import (
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// partitions are those that a broker hosts.
type partitions struct {
	*host
	byName  table[partition]
	order   []*partition                 // sorted, for whatever visits all
	configs map[TopicConfig]*TopicConfig // one of a kind, which partitions share
	expires func() time.Duration         // what all logs ask for producer.id.expiration.ms
}

func newPartitions(h *host) *partitions {
	return &partitions{host: h, byName: table[partition]{}, configs: map[TopicConfig]*TopicConfig{}, expires: h.producerIDExpiration}
}

// get is a partition with a log here, nil if there is none.
func (ps *partitions) get(tp kafka.TopicPartition) *partition { return ps.byName.get(tp) }

// add begins to host a partition, with an empty log.
func (ps *partitions) add(state PartitionState) *partition {
	p := &partition{
		replica: replica{
			process: ps.process, state: PartitionState{Partition: state.Partition, TopicID: state.TopicID},
			log: commitlog.New(&state.Config.Log, ps.expires, ps.nowMs()),
		},
		host: ps.host, follows: kafka.NoBroker,
	}
	ps.byName.set(state.Partition, p)
	i, _ := ps.place(state.Partition)
	ps.order = slices.Insert(ps.order, i, p)
	return p
}

// remove forgets a partition and its log.
func (ps *partitions) remove(tp kafka.TopicPartition) {
	ps.byName.remove(tp)
	if i, ok := ps.place(tp); ok {
		ps.order = slices.Delete(ps.order, i, i+1)
	}
}

func (ps *partitions) place(tp kafka.TopicPartition) (int, bool) {
	return slices.BinarySearchFunc(ps.order, tp, func(p *partition, tp kafka.TopicPartition) int {
		return p.state.Partition.Compare(tp)
	})
}

// shared is the one config of its kind that partitions have.
func (ps *partitions) shared(c *TopicConfig) *TopicConfig {
	one := ps.configs[*c]
	if one == nil {
		one = c
		ps.configs[*c] = c
	}
	return one
}

// lookup finds a hosted partition, or says why not.
func (ps *partitions) lookup(tp kafka.TopicPartition) (*partition, error) {
	if p := ps.get(tp); p != nil && p.role != NotHosted {
		return p, nil
	}
	if ps.deps.Metadata.Exists(tp) {
		return nil, kafka.ErrNotLeaderOrFollower
	}
	return nil, kafka.ErrUnknownTopicOrPartition
}

// lookupLeader finds a partition that this broker leads. One that it only
// follows is returned with the error, as it knows the leader.
func (ps *partitions) lookupLeader(tp kafka.TopicPartition) (*partition, error) {
	p, err := ps.lookup(tp)
	if err == nil && p.role != Leader {
		return p, kafka.ErrNotLeaderOrFollower
	}
	return p, err
}
