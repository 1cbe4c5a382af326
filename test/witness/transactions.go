package witness

import (
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// Error codes whose meaning for the record is not plain refusal.
const (
	notLeaderOrFollower      = 6  // with acks -1 as 7, if the leader lost the partition meanwhile
	requestTimedOut          = 7  // appended, perhaps not replicated (rule F8)
	messageTooLarge          = 10 // refused behind the coordinator
	notEnoughReplicasAfter   = 20 // as 7
	invalidTimestamp         = 32 // as 10
	outOfOrderSequenceNumber = 45 // as 10
	concurrentTransactions   = 51
)

// implicitRegistration is the version of Produce from which on a batch puts its
// partition into the transaction (rule G10).
const implicitRegistration = 12

func (x exchange) produce(req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) {
	answers := map[topicPartition]kmsg.ProduceResponseTopicPartition{}
	if resp != nil {
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				answers[topicPartition{x.topic(t.Topic, t.TopicID), p.Partition}] = p
			}
		}
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			at := topicPartition{x.topic(t.Topic, t.TopicID), p.Partition}
			h, ok := headerOf(p.Records)
			if !ok || kafka.IsInternal(at.topic) {
				continue
			}
			answer, answered := answers[at]
			x.batch(req, at, h, answer, answered)
		}
	}
}

// batch records what became of one batch.
func (x exchange) batch(req *kmsg.ProduceRequest, at topicPartition, h header, answer kmsg.ProduceResponseTopicPartition, answered bool) {
	act := oracle.Act{Kind: oracle.Append, Topic: at.topic, Partition: at.partition, Offset: -1, Records: h.records, Acks: req.Acks}
	if h.transactional {
		t := x.transaction(h.producer)
		act.TransactionalID = ProducerKey(h.producer)
		act.Unregistered = req.Version < implicitRegistration && (t.ended || !t.registered[at])
	}
	certain := false
	switch {
	case !answered || req.Acks == 0:
	case answer.ErrorCode == 0:
		act.Offset, certain = answer.BaseOffset, true
	case answer.ErrorCode == requestTimedOut, answer.ErrorCode == notEnoughReplicasAfter, answer.ErrorCode == notLeaderOrFollower && req.Acks == -1:
	default:
		behind := []int16{messageTooLarge, invalidTimestamp, outOfOrderSequenceNumber}
		if h.transactional && req.Version >= implicitRegistration && slices.Contains(behind, answer.ErrorCode) {
			x.register(h.producer, at)
			x.record(oracle.Act{Kind: oracle.AddPartition, TransactionalID: act.TransactionalID, Topic: at.topic, Partition: at.partition})
		}
		return
	}
	if h.transactional && req.Version >= implicitRegistration {
		x.register(h.producer, at)
	}
	x.keep(act, at, h, certain)
}

// keep records a batch, once however often it was sent.
func (x exchange) keep(act oracle.Act, at topicPartition, h header, certain bool) {
	key := batchKey{at, h.producer, h.epoch, h.sequence}
	if h.producer >= 0 && h.sequence >= 0 {
		if i, again := x.batches[key]; again {
			if before := &x.acts[i]; certain && before.Answered.IsZero() {
				before.Offset, before.Answered, before.Acks = act.Offset, x.answered, act.Acks
			}
			return
		}
	}
	i := x.record(act)
	if !certain {
		x.acts[i].Answered = time.Time{}
	}
	if h.producer >= 0 && h.sequence >= 0 {
		x.batches[key] = i
	}
}

// transaction is the producer's current transaction.
func (x exchange) transaction(producer int64) *transaction {
	t := x.open[producer]
	if t == nil {
		t = &transaction{registered: map[topicPartition]bool{}}
		x.open[producer] = t
	}
	return t
}

func (x exchange) register(producer int64, at topicPartition) {
	t := x.transaction(producer)
	if t.ended {
		t = &transaction{registered: map[topicPartition]bool{}}
		x.open[producer] = t
	}
	t.registered[at] = true
}

func (x exchange) initProducerID(req *kmsg.InitProducerIDRequest, resp *kmsg.InitProducerIDResponse) {
	if req.TransactionalID == nil {
		return
	}
	id := *req.TransactionalID
	producer, known := x.producers[id]
	switch {
	case resp != nil && resp.ErrorCode == 0:
		if known {
			x.record(oracle.Act{Kind: oracle.CompleteTransaction, TransactionalID: ProducerKey(producer)})
		}
		x.producers[id] = resp.ProducerID
		delete(x.open, resp.ProducerID)
		x.record(oracle.Act{Kind: oracle.BeginTransaction, TransactionalID: ProducerKey(resp.ProducerID),
			Timeout: time.Duration(req.TransactionTimeoutMillis) * time.Millisecond})
	case known && (resp == nil || resp.ErrorCode == concurrentTransactions):
		// An open transaction of the id is aborted (rule G5).
		if t := x.transaction(producer); len(t.registered) > 0 && !t.ended {
			t.ended = resp != nil
			i := x.record(oracle.Act{Kind: oracle.EndTransaction, TransactionalID: ProducerKey(producer)})
			if t.asked { // it may be on its way to be committed
				x.acts[i].Answered = time.Time{}
			}
		}
	}
}

func (x exchange) addPartitions(req *kmsg.AddPartitionsToTxnRequest, resp *kmsg.AddPartitionsToTxnResponse) {
	if req.Version > 3 {
		return
	}
	if resp == nil {
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if !kafka.IsInternal(t.Topic) {
					x.record(oracle.Act{Kind: oracle.AddPartition, TransactionalID: ProducerKey(req.ProducerID), Topic: t.Topic, Partition: p})
				}
			}
		}
		return
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 || kafka.IsInternal(t.Topic) {
				continue
			}
			x.register(req.ProducerID, topicPartition{t.Topic, p.Partition})
			x.record(oracle.Act{Kind: oracle.AddPartition, TransactionalID: ProducerKey(req.ProducerID), Topic: t.Topic, Partition: p.Partition})
		}
	}
}

func (x exchange) endTxn(req *kmsg.EndTxnRequest, resp *kmsg.EndTxnResponse) {
	if resp != nil && resp.ErrorCode != 0 {
		return
	}
	if t := x.transaction(req.ProducerID); resp != nil {
		t.ended = true
	} else if req.Commit {
		t.asked = true
	}
	x.record(oracle.Act{Kind: oracle.EndTransaction, TransactionalID: ProducerKey(req.ProducerID), Committed: req.Commit})
}

func (x exchange) writeMarkers(req *kmsg.WriteTxnMarkersRequest, resp *kmsg.WriteTxnMarkersResponse) {
	if resp == nil {
		for _, m := range req.Markers {
			for _, t := range m.Topics {
				for _, p := range t.Partitions {
					if !kafka.IsInternal(t.Topic) {
						x.record(oracle.Act{Kind: oracle.WriteMarker, TransactionalID: ProducerKey(m.ProducerID),
							Topic: t.Topic, Partition: p, Committed: m.Committed})
					}
				}
			}
		}
		return
	}
	commit := map[int64]bool{}
	for _, m := range req.Markers {
		commit[m.ProducerID] = m.Committed
	}
	for _, m := range resp.Markers {
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode == 0 && !kafka.IsInternal(t.Topic) {
					x.record(oracle.Act{Kind: oracle.WriteMarker, TransactionalID: ProducerKey(m.ProducerID),
						Topic: t.Topic, Partition: p.Partition, Committed: commit[m.ProducerID]})
				}
			}
		}
	}
}

func (x exchange) describeTransactions(resp *kmsg.DescribeTransactionsResponse) {
	if resp == nil {
		return
	}
	for _, t := range resp.TransactionStates {
		if t.ErrorCode == 0 && strings.HasPrefix(t.State, "Complete") {
			x.record(oracle.Act{Kind: oracle.CompleteTransaction, TransactionalID: ProducerKey(t.ProducerID)})
		}
	}
}
