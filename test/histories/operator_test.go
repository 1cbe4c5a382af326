package histories

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// disturb takes brokers away and brings them back. In gentle histories one is away
// at a time, and is in every ISR again before the next.
func (c *client) disturb() {
	for !c.over {
		c.pause(c.some(500*time.Millisecond, 12*time.Second))
		id := kafka.BrokerID(1 + c.random.IntN(brokers))
		if c.over {
			return
		}
		if !c.whole() {
			if c.temper == gentle {
				continue
			}
			c.loseSight()
		}
		switch c.random.IntN(3) {
		case 0:
			c.act(oracle.PauseBroker, id, c.sim.Pause)
		case 1:
			c.act(oracle.KillBroker, id, c.sim.Kill)
		case 2:
			c.act(oracle.StopBroker, id, c.sim.BeginStop)
		}
		c.pause(c.some(200*time.Millisecond, 25*time.Second))
		if c.temper == gentle || c.chance(2) {
			c.bringBack(id)
			c.pause(3 * time.Second)
		} else {
			c.bringBack(kafka.BrokerID(1 + c.random.IntN(brokers)))
		}
	}
}

// loseSight tells the record that offsets are not to be foretold any more: with two
// brokers away at a time, who is in an ISR, and what a leader takes with it, depends
// on moments that no client sees.
func (c *client) loseSight() {
	if c.blurred {
		return
	}
	c.blurred = true
	for _, t := range topics {
		for _, at := range all(t.name) {
			c.witness.Add(oracle.Act{Kind: oracle.LoseRecords, Topic: at.Topic, Partition: at.Index, Sent: c.sim.Now()})
		}
	}
}

// act does something to a broker, if its state allows it.
func (c *client) act(kind oracle.Kind, id kafka.BrokerID, do func(kafka.BrokerID) error) {
	sent := c.sim.Now()
	err := do(id)
	switch {
	case errors.Is(err, simbroker.ErrState):
		return
	case err != nil:
		c.t.Errorf("%s %d: %v", kind, id, err)
	}
	c.tell("%s %d", kind, id)
	limit := c.sim.Now().Add(time.Minute)
	for (kind == oracle.StopBroker && c.sim.State(id) != simbroker.Stopped || kind == oracle.StartBroker && c.sim.Fenced(id)) && c.sim.Now().Before(limit) {
		c.pause(20 * time.Millisecond)
	}
	c.witness.Add(oracle.Act{Kind: kind, Broker: int32(id), Sent: sent, Answered: c.sim.Now()})
}

// bringBack resumes a broker, or starts it.
func (c *client) bringBack(id kafka.BrokerID) {
	c.act(oracle.ResumeBroker, id, c.sim.Resume)
	c.act(oracle.StartBroker, id, c.sim.BeginStart)
}

// whole says whether every broker is up and in the ISR of everything that it has a
// replica of, internal topics too.
func (c *client) whole() bool {
	for _, id := range c.sim.Brokers() {
		if c.sim.State(id) != simbroker.Running || c.sim.Fenced(id) {
			return false
		}
	}
	req := kmsg.NewPtrMetadataRequest() // nil topics: all
	resp, err := send[*kmsg.MetadataResponse](c, 1, 12, req)
	if err != nil {
		return false
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if len(p.ISR) < len(p.Replicas) || p.Leader < 0 {
				return false
			}
		}
	}
	return true
}

// meddle installs faults for a while.
func (c *client) meddle() {
	for !c.over {
		c.pause(c.some(2*time.Second, 20*time.Second))
		if c.over {
			return
		}
		f := c.fault()
		id, err := c.sim.Inject(f)
		if err != nil {
			c.t.Fatal(err)
		}
		c.tell("fault: %v", f)
		longest := 8 * time.Second
		if _, replicates := f.(simbroker.HoldFetches); replicates {
			longest = timing.ReplicationDelay / 2
		}
		c.pause(c.some(100*time.Millisecond, longest))
		if err := c.sim.Withdraw(id); err != nil {
			c.t.Error(err)
		}
		c.tell("fault withdrawn: %v", f)
	}
}

// fault is one of those that cost clients time, and nothing else.
func (c *client) fault() simbroker.Fault {
	topic := topics[c.random.IntN(len(topics))].name
	broker := kafka.BrokerID(c.random.IntN(brokers + 1))
	switch c.random.IntN(7) {
	case 0:
		return simbroker.HoldMarkers{Topic: topic}
	case 1:
		return simbroker.DropMarkers{Topic: topic}
	case 2:
		return simbroker.DelayRequests{Broker: broker, APIs: []kmsg.Key{kmsg.Produce, kmsg.EndTxn, kmsg.TxnOffsetCommit}, Delay: c.some(10*time.Millisecond, 4*time.Second)}
	case 3:
		return simbroker.LoseRequests{Broker: broker, APIs: []kmsg.Key{kmsg.Produce, kmsg.EndTxn, kmsg.AddPartitionsToTxn, kmsg.InitProducerID}}
	case 4:
		return simbroker.FailRequests{APIs: []kmsg.Key{kmsg.EndTxn, kmsg.InitProducerID, kmsg.OffsetCommit}, Err: kafka.ErrCoordinatorLoadInProgress, Times: 1 + c.random.IntN(5)}
	case 5:
		return simbroker.DelayLoading{Unaware: c.some(0, 300*time.Millisecond), Loading: c.some(0, 700*time.Millisecond)}
	}
	return simbroker.HoldFetches{Broker: broker, Topic: topic}
}

// manage does what an administrator does: deletes records, moves leaders, ends what
// hangs.
func (c *client) manage() {
	for !c.over {
		c.pause(c.some(3*time.Second, 15*time.Second))
		switch c.random.IntN(4) {
		case 0, 1:
			c.deleteRecords(partition{Topic: mixedTopic, Index: int32(c.random.IntN(partitionsOf(mixedTopic)))})
		case 2:
			c.elect(partition{Topic: topics[c.random.IntN(len(topics))].name}, 0)
		case 3:
			if c.temper == unclean {
				c.elect(partition{Topic: looseTopic}, 1)
			}
		}
	}
}

// deleteRecords deletes what lies below some offset, amid a batch perhaps.
func (c *client) deleteRecords(at partition) {
	high, err := c.offsetOf(at, "high watermark", -1)
	if err != nil || high == 0 {
		return
	}
	to := c.random.Int64N(high + 1)
	c.offsets.Cut(at)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 2000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = at.Topic
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = at.Index, to
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	if leader := c.leader(at); leader >= 0 {
		if _, err := send[*kmsg.DeleteRecordsResponse](c, leader, 2, req); err != nil {
			c.forget(at.Topic)
		}
	}
}

// elect asks for an election: 0 a preferred one, 1 an unclean one.
func (c *client) elect(at partition, kind int8) {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType, req.TimeoutMillis = kind, 2000
	t := kmsg.NewElectLeadersRequestTopic()
	t.Topic, t.Partitions = at.Topic, []int32{at.Index}
	req.Topics = append(req.Topics, t)
	if kind == 1 {
		c.ledger.Loosen(at)
	}
	send[*kmsg.ElectLeadersResponse](c, c.anyBroker(), 2, req)
}

// endHanging aborts, as Kafka's tool does, what producers left open that no
// coordinator knows of: whatever has had no record for so long.
func (c *client) endHanging(at partition, quiet time.Duration) error {
	leader := c.leader(at)
	if leader < 0 {
		return errNowhere
	}
	req := kmsg.NewPtrDescribeProducersRequest()
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = at.Topic, []int32{at.Index}
	req.Topics = append(req.Topics, t)
	resp, err := send[*kmsg.DescribeProducersResponse](c, leader, 0, req)
	if err != nil {
		return err
	}
	got := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return err
	}
	for _, p := range got.ActiveProducers {
		if p.CurrentTxnStartOffset < 0 || c.sim.Now().Sub(time.UnixMilli(p.LastTimestamp)) < quiet {
			continue
		}
		abort := kmsg.NewPtrWriteTxnMarkersRequest()
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch = p.ProducerID, int16(p.ProducerEpoch), max(p.CoordinatorEpoch, 0)
		mt := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
		mt.Topic, mt.Partitions = at.Topic, []int32{at.Index}
		m.Topics = append(m.Topics, mt)
		abort.Markers = append(abort.Markers, m)
		if _, err := send[*kmsg.WriteTxnMarkersResponse](c, leader, 1, abort); err != nil {
			return err
		}
	}
	return nil
}
