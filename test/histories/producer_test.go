package histories

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/histories/check"
)

// partition is a partition of a topic.
type partition = check.Partition

// values are new values, which no other record has.
func (p *play) values(who string, n int) []string {
	list := make([]string, n)
	for i := range list {
		p.written++
		list[i] = fmt.Sprintf("%s#%d", who, p.written)
	}
	return list
}

// batch is one batch on its way to a partition.
type batch struct {
	at            partition
	producer      check.Producer
	sequence      int32
	transactional string // id; empty: outside of a transaction
	acks          int16
	version       int16
	values        []string
	timestamp     int64
}

// produce sends a batch once. A nil error means that it is acknowledged, at base.
func (c *client) produce(b batch) (base int64, err error) {
	leader := c.leader(b.at)
	if leader < 0 {
		c.forget(b.at.Topic)
		return -1, errNowhere
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = b.acks, 2000
	if b.transactional != "" {
		req.TransactionID = &b.transactional
	}
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = b.at.Topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition = b.at.Index
	p.Records = check.Batch(b.producer, b.sequence, b.transactional != "", b.timestamp, b.values...)
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	resp, err := send[*kmsg.ProduceResponse](c, leader, b.version, req)
	if err != nil {
		c.forget(b.at.Topic)
		return -1, err
	}
	got := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		if kerr.IsRetriable(err) {
			c.forget(b.at.Topic)
		}
		return -1, err
	}
	c.ledger.Acknowledged(got.BaseOffset, b.acks == -1, b.values...)
	return got.BaseOffset, nil
}

// plain writes records outside of transactions. With a producer id it sends a batch
// again until it is acknowledged; without one it does not know what became of a
// batch that was not.
func (c *client) plain(targets []partition, idempotent bool) {
	producer, sequence := check.NoProducer, map[partition]int32{}
	for !c.over {
		c.pause(c.some(50*time.Millisecond, 2500*time.Millisecond))
		if idempotent && producer == check.NoProducer {
			producer, sequence = c.freshProducer(), map[partition]int32{}
			continue
		}
		at := targets[c.random.IntN(len(targets))]
		b := batch{at: at, producer: producer, sequence: -1, acks: -1, version: 11, values: c.values(c.name, 1+c.random.IntN(4)), timestamp: c.sim.Now().UnixMilli()}
		if !idempotent && c.chance(3) {
			b.acks = 1
		}
		if idempotent {
			b.sequence = sequence[at]
		}
		c.ledger.Wrote(at, nil, idempotent, b.values...)
		_, err := c.produce(b)
		for tries := 0; idempotent && later(err); tries++ {
			if tries == 30 || c.over && tries == 3 {
				break
			}
			c.pause(c.some(20*time.Millisecond, time.Second))
			_, err = c.produce(b)
		}
		sequence[at] += int32(len(b.values))
		if err != nil {
			producer = check.NoProducer
		}
	}
}

// freshProducer asks for a producer id outside of transactions.
func (c *client) freshProducer() check.Producer {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.ProducerID, req.ProducerEpoch = -1, -1
	resp, err := send[*kmsg.InitProducerIDResponse](c, c.anyBroker(), 4, req)
	if err != nil || resp.ErrorCode != 0 {
		return check.NoProducer
	}
	return check.Producer{ID: resp.ProducerID, Epoch: resp.ProducerEpoch}
}
