package simbroker

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// elections are the partitions of internal topics that a broker has come to
// lead, or to follow, each with how often: what is due for an older role is not
// done any more.
type elections map[kafka.TopicPartition]int

// roleChanged makes the broker the coordinator of what it has come to lead, at
// once unless DelayLoading is in place, and takes from it what it has lost.
func (b *broker) roleChanged(r replica.RoleChange) {
	tp := r.Partition
	if !kafka.IsInternal(tp.Topic) {
		return
	}
	b.elections[tp]++
	if r.Role != replica.Leader {
		b.unload(tp)
		return
	}
	unaware, loading := b.cluster.faults.loading(b.id, tp)
	if unaware == 0 {
		b.load(tp, r.LeaderEpoch, loading)
		return
	}
	election := b.elections[tp]
	b.host.After(unaware, func() {
		if b.elections[tp] == election {
			b.load(tp, r.LeaderEpoch, loading)
		}
	})
}

func (b *broker) load(tp kafka.TopicPartition, epoch kafka.LeaderEpoch, duration time.Duration) {
	switch tp.Topic {
	case kafka.TransactionStateTopic:
		b.txn.LoadWithin(tp.Partition, kafka.CoordinatorEpoch(epoch), duration)
	case kafka.ConsumerOffsetsTopic:
		b.groups.LoadWithin(tp.Partition, epoch, duration)
	}
}

func (b *broker) unload(tp kafka.TopicPartition) {
	switch tp.Topic {
	case kafka.TransactionStateTopic:
		b.txn.Unload(tp.Partition)
	case kafka.ConsumerOffsetsTopic:
		b.groups.Unload(tp.Partition)
	}
}
