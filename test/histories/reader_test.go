package histories

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/histories/check"
)

// fetch reads a partition from an offset on.
func (c *client) fetch(at partition, from int64, committed bool) (records []check.Record, next int64, err error) {
	leader := c.leader(at)
	if leader < 0 {
		c.forget(at.Topic)
		return nil, from, errNowhere
	}
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxBytes, req.MinBytes = -1, 1<<20, 1
	req.MaxWaitMillis = int32(c.random.IntN(2) * 300)
	if committed {
		req.IsolationLevel = 1
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = at.Topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch, p.LastFetchedEpoch = at.Index, from, 4096, -1, -1
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	resp, err := send[*kmsg.FetchResponse](c, leader, 12, req)
	if err != nil {
		c.forget(at.Topic)
		return nil, from, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, from, err
	}
	got := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		c.forget(at.Topic)
		return nil, from, err
	}
	c.offsets.Together(at, got.LogStartOffset, got.LastStableOffset, got.HighWatermark)
	records, next, err = check.Consume(got, from, committed)
	if err != nil {
		c.t.Errorf("%s: %v: %v", c.name, at, err)
	}
	return records, next, nil
}

// offsetOf asks a leader for one of a partition's offsets, and checks the answer.
func (c *client) offsetOf(at partition, what string, epoch int32) (int64, error) {
	leader := c.leader(at)
	if leader < 0 {
		c.forget(at.Topic)
		return -1, errNowhere
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = at.Topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = at.Index, -1, epoch
	switch what {
	case check.LogStart:
		p.Timestamp = -2
	case check.LastStable:
		req.IsolationLevel = 1
	case check.LogEnd:
		req.ReplicaID = -2
	}
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	sent := c.sim.Now()
	resp, err := send[*kmsg.ListOffsetsResponse](c, leader, 10, req)
	if err != nil {
		c.forget(at.Topic)
		return -1, err
	}
	got := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		c.forget(at.Topic)
		return -1, err
	}
	if epoch >= 0 {
		c.offsets.See(at, check.Sight{Epoch: epoch, What: what, Offset: got.Offset, Sent: sent.UnixNano(), Answered: c.sim.Now().UnixNano()})
	}
	return got.Offset, nil
}

// consumer reads partitions one after the other and commits how far it came, as a
// member of no group.
type consumer struct {
	*client
	group     string
	committed bool // isolation
	position  map[partition]int64
}

func (c *consumer) run(of []partition) {
	for !c.over {
		c.pause(c.some(30*time.Millisecond, 1500*time.Millisecond))
		at := of[c.random.IntN(len(of))]
		if c.chance(25) { // it restarts where it has committed
			if offsets, err := c.client.committed(c.group, []partition{at}, false); err == nil {
				c.position[at] = max(0, offsets[at])
			}
			continue
		}
		records, next, err := c.fetch(at, c.position[at], c.committed)
		if err == kerr.OffsetOutOfRange {
			if start, err := c.offsetOf(at, check.LogStart, -1); err == nil {
				c.position[at] = start
			}
			continue
		}
		if err != nil {
			continue
		}
		c.ledger.Saw(c.name, at, c.committed, records)
		if next > c.position[at] || c.chance(10) {
			c.position[at] = next
			c.commit(at)
		}
	}
}

func (c *consumer) commit(at partition) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = c.group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = at.Topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = at.Index, c.position[at], -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := toCoordinator[*kmsg.OffsetCommitResponse](c.client, ofGroup, c.group, 9, req)
	if err == nil {
		c.settle(ofGroup, c.group, resp.Topics[0].Partitions[0].ErrorCode)
	}
}

// watcher asks for offsets in the order in which each bounds the next, and now and
// then what is known of transactions.
func (c *client) watch(of []partition) {
	for !c.over {
		c.pause(c.some(50*time.Millisecond, time.Second))
		at := of[c.random.IntN(len(of))]
		epoch, ok := c.epochOf(at)
		if !ok {
			continue
		}
		order := []string{check.LogStart, check.LastStable, check.HighWatermark, check.LogEnd}
		for _, what := range order {
			if _, err := c.offsetOf(at, what, epoch); err != nil {
				break
			}
		}
		if c.chance(5) {
			c.describe(transactionalIDs[c.random.IntN(len(transactionalIDs))])
		}
	}
}

// epochOf is a partition's leader epoch by the metadata, with its leader.
func (c *client) epochOf(at partition) (epoch int32, ok bool) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &at.Topic
	req.Topics = append(req.Topics, t)
	resp, err := send[*kmsg.MetadataResponse](c, c.anyBroker(), 12, req)
	if err != nil || resp.Topics[0].ErrorCode != 0 {
		return -1, false
	}
	leaders := make([]int32, len(resp.Topics[0].Partitions))
	for _, p := range resp.Topics[0].Partitions {
		leaders[p.Partition] = p.Leader
		if p.Leader < 0 {
			c.noLeader(partition{Topic: at.Topic, Index: p.Partition})
		}
		if p.Partition == at.Index {
			epoch = p.LeaderEpoch
		}
	}
	c.leaders[at.Topic] = leaders
	return epoch, leaders[at.Index] >= 0
}

// describe looks at a transactional id.
func (c *client) describe(id string) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	resp, err := toCoordinator[*kmsg.DescribeTransactionsResponse](c, ofTransaction, id, 0, req)
	if err == nil && len(resp.TransactionStates) == 1 {
		c.settle(ofTransaction, id, resp.TransactionStates[0].ErrorCode)
	}
}
