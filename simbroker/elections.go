package simbroker

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// elections make a broker the coordinator of the partitions of internal topics
// that it has come to lead, and take from it what it has lost. They end with the
// broker's process.
type elections struct {
	*node
	faults *faults
	// changes are how often the broker's role in a partition has changed: what is due
	// for an older role is not done any more.
	changes map[kafka.TopicPartition]int
}

func newElections(n *node, f *faults) *elections {
	return &elections{node: n, faults: f, changes: make(map[kafka.TopicPartition]int)}
}

// changed follows a change of the broker's role: at once unless DelayLoading is in
// place.
func (e *elections) changed(r replica.RoleChange) {
	tp := r.Partition
	if !kafka.IsInternal(tp.Topic) {
		return
	}
	e.changes[tp]++
	if r.Role != replica.Leader {
		e.unload(tp)
		return
	}
	unaware, loading := e.faults.loading(e.id, tp)
	if unaware == 0 {
		e.load(tp, r.LeaderEpoch, loading)
		return
	}
	election := e.changes[tp]
	e.host.After(unaware, func() {
		if e.changes[tp] == election {
			e.load(tp, r.LeaderEpoch, loading)
		}
	})
}

func (e *elections) load(tp kafka.TopicPartition, epoch kafka.LeaderEpoch, duration time.Duration) {
	switch tp.Topic {
	case kafka.TransactionStateTopic:
		e.txn.LoadWithin(tp.Partition, kafka.CoordinatorEpoch(epoch), duration)
	case kafka.ConsumerOffsetsTopic:
		e.groups.LoadWithin(tp.Partition, epoch, duration)
	}
}

func (e *elections) unload(tp kafka.TopicPartition) {
	switch tp.Topic {
	case kafka.TransactionStateTopic:
		e.txn.Unload(tp.Partition)
	case kafka.ConsumerOffsetsTopic:
		e.groups.Unload(tp.Partition)
	}
}
