package txn

import (
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// retryBackoff is the pause before markers or a Complete record are tried
// again. Kafka has none of its own: it waits for the answer of a broker or for
// a connection, which takes it as long.
const retryBackoff = 100 * time.Millisecond

// completion takes one transaction from Prepare to Complete: a marker for
// every partition, then the record.
type completion struct {
	shard *shard
	txn   *transaction
	next  entry // Complete, to be persisted
	// over says that nothing is to follow: the record is on its way, or a
	// partition's log refused the marker for good (rule G17).
	over bool
}

// begin makes the step to Complete pending and returns what starts it.
func (c *Coordinator) begin(s *shard, t *transaction) (start func()) {
	comp := &completion{shard: s, txn: t, next: t.finish(c.now())}
	return func() { c.send(comp, t.partitions) }
}

// complete takes a transaction that is in a Prepare state to its end.
func (c *Coordinator) complete(s *shard, t *transaction) { c.begin(s, t)() }

// send sends the marker to the leaders of partitions, and skips those that
// have none. Markers leave with the log that asks for them: a coordinator that
// lost its partition sends nothing.
func (c *Coordinator) send(comp *completion, tps []kafka.TopicPartition) {
	if c.owned(comp.shard) != nil {
		return
	}
	t := comp.txn
	var leaders []kafka.BrokerID // in the order of their first partition
	byLeader := make(map[kafka.BrokerID][]kafka.TopicPartition)
	for _, tp := range tps {
		leader, ok := c.env.Markers.Leader(tp)
		if !ok {
			t.marked(tp)
			continue
		}
		if byLeader[leader] == nil {
			leaders = append(leaders, leader)
		}
		byLeader[leader] = append(byLeader[leader], tp)
	}
	for _, leader := range leaders {
		m := Marker{
			Producer:         t.producer,
			Commit:           t.state.committing(),
			CoordinatorEpoch: comp.shard.epoch,
			Partitions:       byLeader[leader],
		}
		if t.clientVersion == TV2 {
			m.TransactionVersion = int16(TV2)
		}
		c.env.Markers.Write(leader, m, func(results []error, err error) { c.written(comp, m, results, err) })
	}
	c.finish(comp)
}

// written takes the answer of one leader.
func (c *Coordinator) written(comp *completion, m Marker, results []error, err error) {
	if c.owned(comp.shard) != nil {
		return
	}
	if err != nil {
		c.retry(comp, m.Partitions)
		return
	}
	if len(results) != len(m.Partitions) {
		panic(fmt.Sprintf("txn: %d results for the marker of %d partitions", len(results), len(m.Partitions)))
	}
	var again []kafka.TopicPartition
	for i, tp := range m.Partitions {
		switch results[i] {
		case nil, kafka.ErrUnsupportedVersion:
			comp.txn.marked(tp)
		case kafka.ErrUnknownTopicOrPartition, kafka.ErrNotLeaderOrFollower, kafka.ErrRequestTimedOut,
			kafka.ErrNotEnoughReplicas, kafka.ErrNotEnoughReplicasAfterAppend, kafka.ErrKafkaStorageError:
			again = append(again, tp)
		default:
			// INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED: somebody
			// newer has been there. Anything else makes Kafka lose the marker.
			// Either way the transaction stays as it is until a failover.
			comp.over = true
			return
		}
	}
	if len(again) > 0 {
		c.retry(comp, again)
		return
	}
	c.finish(comp)
}

// retry sends markers again after a pause, to whoever leads by then.
func (c *Coordinator) retry(comp *completion, tps []kafka.TopicPartition) {
	c.clk.After(retryBackoff, func() { c.send(comp, tps) })
}

// finish persists Complete once no partition lacks its marker.
func (c *Coordinator) finish(comp *completion) {
	if comp.over || len(comp.txn.partitions) > 0 {
		return
	}
	comp.over = true
	c.persist(comp)
}

// persist appends the Complete record, for as long as this broker is the
// coordinator.
func (c *Coordinator) persist(comp *completion) {
	unavailable := func(err error) bool { return err == kafka.ErrCoordinatorNotAvailable }
	c.append(comp.shard, comp.txn, comp.next, unavailable, func(err error) {
		if !unavailable(err) {
			return
		}
		c.clk.After(retryBackoff, func() {
			if c.owned(comp.shard) == nil {
				c.persist(comp)
			}
		})
	})
}
