package workload

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// verification is the broker property that, while true, keeps transactions from
// hanging in the way of Hang (KIP-890).
const verification = "transaction.partition.verification.enable"

// Hang leaves a transaction that hangs in a partition: its producer aborts it,
// and a record that was sent before, and arrives after the marker, opens it
// again behind the coordinator's back (litmus test 27). No timeout ends it. It
// switches the brokers' verification of partitions off for that moment and needs
// the first transaction protocol (TV1). Records is how many the stray batch has.
func Hang(ctx context.Context, seeds []string, topic string, partition int32, transactionalID string, records int) error {
	// Old versions of these requests: TV1, in which an epoch outlives the
	// transaction, so that the late batch is still the producer's own.
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(kmsg.Produce.Int16(), 11)
	versions.SetMaxKeyVersion(kmsg.AddPartitionsToTxn.Int16(), 3)
	versions.SetMaxKeyVersion(kmsg.EndTxn.Int16(), 4)
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.MaxVersions(versions), kgo.ClientID(transactionalID))
	if err != nil {
		return err
	}
	defer cl.Close()
	h := hang{cl: cl, topic: topic, partition: partition, id: transactionalID}

	if err := h.setVerification(ctx, false); err != nil {
		return err
	}
	defer func() { _ = h.setVerification(context.WithoutCancel(ctx), true) }()
	if err := h.initialize(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		h.addPartition,
		func(ctx context.Context) error { return h.produce(ctx, 0, 1) },
		h.abort,
		h.aborted,
		func(ctx context.Context) error { return h.produce(ctx, 1, records) },
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("hang a transaction in %s-%d: %w", topic, partition, err)
		}
	}
	return nil
}

// hang is one producer that speaks the protocol by hand.
type hang struct {
	cl        *kgo.Client
	topic     string
	partition int32
	id        string
	pid       int64
	epoch     int16
}

func (h *hang) setVerification(ctx context.Context, on bool) error {
	value := fmt.Sprint(on)
	answers, err := kadm.NewClient(h.cl).AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: verification, Value: &value}})
	if err != nil {
		return err
	}
	for _, a := range answers {
		if a.Err != nil {
			return fmt.Errorf("set %s=%s: %w", verification, value, a.Err)
		}
	}
	return nil
}

func (h *hang) initialize(ctx context.Context) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID = &h.id
	req.TransactionTimeoutMillis = 60_000
	return retried(ctx, func() (int16, error) {
		resp, err := req.RequestWith(ctx, h.cl)
		if err != nil {
			return 0, err
		}
		h.pid, h.epoch = resp.ProducerID, resp.ProducerEpoch
		return resp.ErrorCode, nil
	})
}

func (h *hang) addPartition(ctx context.Context) error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = h.id, h.pid, h.epoch
	topic := kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic, topic.Partitions = h.topic, []int32{h.partition}
	req.Topics = append(req.Topics, topic)
	return retried(ctx, func() (int16, error) {
		resp, err := req.RequestWith(ctx, h.cl)
		if err != nil {
			return 0, err
		}
		return resp.Topics[0].Partitions[0].ErrorCode, nil
	})
}

func (h *hang) produce(ctx context.Context, sequence int32, records int) error {
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &h.id, -1, 5_000
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = h.topic
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Partition, partition.Records = h.partition, h.batch(sequence, records)
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return retried(ctx, func() (int16, error) {
		resp, err := req.RequestWith(ctx, h.cl)
		if err != nil {
			return 0, err
		}
		return resp.Topics[0].Partitions[0].ErrorCode, nil
	})
}

func (h *hang) abort(ctx context.Context) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = h.id, h.pid, h.epoch, false
	return retried(ctx, func() (int16, error) {
		resp, err := req.RequestWith(ctx, h.cl)
		if err != nil {
			return 0, err
		}
		return resp.ErrorCode, nil
	})
}

// aborted returns when the markers are written.
func (h *hang) aborted(ctx context.Context) error {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{h.id}
	return retried(ctx, func() (int16, error) {
		resp, err := req.RequestWith(ctx, h.cl)
		if err != nil {
			return 0, err
		}
		state := resp.TransactionStates[0]
		if state.ErrorCode == 0 && state.State == "PrepareAbort" {
			return kerr.ConcurrentTransactions.Code, nil
		}
		return state.ErrorCode, nil
	})
}

// retried repeats a request while Kafka answers that it may.
func retried(ctx context.Context, request func() (int16, error)) error {
	for {
		code, err := request()
		if err != nil {
			return err
		}
		if err = kerr.ErrorForCode(code); err == nil {
			return nil
		}
		again := kerr.IsRetriable(err) || errors.Is(err, kerr.ConcurrentTransactions)
		if !again || !pause(ctx, 20*time.Millisecond) {
			return err
		}
	}
}

// batch is a transactional batch of n records in format v2 (KIP-98).
func (h *hang) batch(sequence int32, n int) []byte {
	now := time.Now().UnixMilli()
	var records []byte
	for i := range n {
		r := kmsg.Record{OffsetDelta: int32(i), Key: []byte("stray"), Value: []byte("sent before the abort")}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // the length itself, 0, takes one byte
		records = r.AppendTo(records)
	}
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: 1 << 4, LastOffsetDelta: int32(n - 1),
		FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: h.pid, ProducerEpoch: h.epoch, FirstSequence: sequence,
		NumRecords: int32(n), Records: records,
	}
	raw := b.AppendTo(nil)
	const afterLength, crcAt, afterCRC = 12, 17, 21
	binary.BigEndian.PutUint32(raw[afterLength-4:], uint32(len(raw)-afterLength))
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[afterCRC:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}
