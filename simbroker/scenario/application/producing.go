package application

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// producer is a producer of one of three kinds: plain (producer id -1),
// idempotent, transactional.
type producer struct {
	*client
	transactionalID string
	producerID      int64
	epoch           int16
	sequences       map[Partition]int32
	added           map[Partition]bool // to the transaction, by protocol 1
	groups          map[string]bool    // the same of groups
}

const (
	noProducer     = -1
	produceTimeout = 5 * time.Second
)

func (c *client) plainProducer() *producer {
	return &producer{client: c, producerID: noProducer, epoch: -1}
}

// idempotentProducer has a producer id that nobody had before.
func (c *client) idempotentProducer() (*producer, error) {
	p := &producer{client: c}
	req := kmsg.NewPtrInitProducerIDRequest()
	return p, p.initialize(req, c.toAny)
}

// transactionalProducer initializes a transactional id, which fences who had it
// before and aborts the transaction that it left.
func (c *client) transactionalProducer(id string, timeout time.Duration) (*producer, error) {
	p := &producer{client: c, transactionalID: id}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(timeout.Milliseconds())
	return p, p.initialize(req, func(req kmsg.Request) (kmsg.Response, error) { return c.toCoordinator(ofTransaction, id, req) })
}

func (p *producer) initialize(req *kmsg.InitProducerIDRequest, ask func(kmsg.Request) (kmsg.Response, error)) error {
	if err := p.learn(); err != nil {
		return err
	}
	req.Version = p.version(req.Key())
	return p.retried("InitProducerId", func() (int16, error) {
		answer, err := ask(req)
		if err != nil {
			return 0, err
		}
		resp := answer.(*kmsg.InitProducerIDResponse)
		p.goOn(resp.ProducerID, resp.ProducerEpoch)
		return resp.ErrorCode, nil
	})
}

// goOn has the next transaction begin with a producer and epoch; sequences begin
// anew with each epoch.
func (p *producer) goOn(producerID int64, epoch int16) {
	if producerID != p.producerID || epoch != p.epoch || p.sequences == nil {
		p.sequences = map[Partition]int32{}
	}
	p.producerID, p.epoch = producerID, epoch
	p.added, p.groups = map[Partition]bool{}, map[string]bool{}
}

// request is the Produce request for records, which take the next sequence.
func (p *producer) request(to Partition, keys []string) *kmsg.ProduceRequest {
	sequence := int32(-1)
	if p.producerID != noProducer {
		sequence = p.sequences[to]
		p.sequences[to] += int32(len(keys))
	}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = p.version(req.Key()), -1, int32(produceTimeout.Milliseconds())
	if p.transactionalID != "" {
		req.TransactionID = &p.transactionalID
	}
	topic, part := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = to.Number, p.batch(keys, sequence, p.cluster.Now().UnixMilli())
	topic.Topic, topic.Partitions = to.Topic, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	return req
}

// once sends a Produce request one time.
func (p *producer) once(to Partition, req *kmsg.ProduceRequest) (int16, error) {
	answer, err := p.toLeader(to, req)
	if err != nil {
		return 0, err
	}
	return answer.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode, nil
}

// send writes records, whose keys are given, in one batch, and waits until every
// replica in sync has them.
func (p *producer) send(to Partition, keys []string) error {
	if err := p.learn(); err != nil {
		return err
	}
	if err := p.add(to); err != nil {
		return err
	}
	req := p.request(to, keys)
	return p.retried("Produce", func() (int16, error) { return p.once(to, req) })
}

// add adds a partition to the transaction, which protocol 2 does with Produce.
func (p *producer) add(to Partition) error {
	if p.transactionalID == "" || p.protocol2 || p.added[to] {
		return nil
	}
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.version(req.Key()), p.transactionalID, p.producerID, p.epoch
	topic := kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic, topic.Partitions = to.Topic, []int32{to.Number}
	req.Topics = append(req.Topics, topic)
	p.added[to] = true
	return p.retried("AddPartitionsToTxn", func() (int16, error) {
		answer, err := p.toCoordinator(ofTransaction, p.transactionalID, req)
		if err != nil {
			return 0, err
		}
		return answer.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode, nil
	})
}

// sendOffset commits an offset of a group as a part of the transaction.
func (p *producer) sendOffset(group string, of Partition, offset int64) error {
	if err := p.addGroup(group); err != nil {
		return err
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.version(req.Key()), p.transactionalID, p.producerID, p.epoch
	req.Group, req.Generation = group, -1
	topic, part := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	part.Partition, part.Offset = of.Number, offset
	topic.Topic, topic.Partitions = of.Topic, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	return p.retried("TxnOffsetCommit", func() (int16, error) {
		answer, err := p.toCoordinator(ofGroup, group, req)
		if err != nil {
			return 0, err
		}
		return answer.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, nil
	})
}

// addGroup is add for a group's partition of __consumer_offsets.
func (p *producer) addGroup(group string) error {
	if p.protocol2 || p.groups[group] {
		return nil
	}
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = min(3, p.version(req.Key())), p.transactionalID, p.producerID, p.epoch
	req.Group = group
	p.groups[group] = true
	return p.retried("AddOffsetsToTxn", func() (int16, error) {
		answer, err := p.toCoordinator(ofTransaction, p.transactionalID, req)
		if err != nil {
			return 0, err
		}
		return answer.(*kmsg.AddOffsetsToTxnResponse).ErrorCode, nil
	})
}

// end commits or aborts the transaction. Its markers are written a little later.
func (p *producer) end(commit bool) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.version(req.Key()), p.transactionalID, p.producerID, p.epoch
	req.Commit = commit
	return p.retried("EndTxn", func() (int16, error) {
		answer, err := p.toCoordinator(ofTransaction, p.transactionalID, req)
		if err != nil {
			return 0, err
		}
		resp := answer.(*kmsg.EndTxnResponse)
		if resp.ErrorCode != 0 {
			return resp.ErrorCode, nil
		}
		if p.protocol2 {
			p.goOn(resp.ProducerID, resp.ProducerEpoch)
		} else {
			p.goOn(p.producerID, p.epoch)
		}
		return 0, nil
	})
}
