package e2e

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The tests' own client of a world: one request each, which must succeed.

// createTopic creates a topic with the given replicas of each partition.
func (w *world) createTopic(name string, replicas ...[]int32) {
	w.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 30_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	for i, r := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), r
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	req.Topics = append(req.Topics, t)
	resp := do[*kmsg.CreateTopicsResponse](w, w.Brokers()[0], req)
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		w.t.Fatalf("create topic %s: %v", name, err)
	}
	w.wait(100 * time.Millisecond)
}

// produce appends a batch at a leader, in or outside a transaction, and returns
// the error code.
func (w *world) produce(leader int32, topic string, partition int32, records int, acks int16, in *producer) int16 {
	w.t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 11, acks, 30_000 // also of brokers before Kafka 4
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition = partition
	if in == nil {
		p.Records = batch(w.Now(), records, -1, -1, -1)
	} else {
		req.Version, req.TransactionID = 12, &in.transactionalID
		at := topicPartition{topic, partition}
		p.Records = batch(w.Now(), records, in.id, in.epoch, in.sequence[at])
		in.sequence[at] += int32(records)
	}
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return do[*kmsg.ProduceResponse](w, leader, req).Topics[0].Partitions[0].ErrorCode
}

// mustProduce is produce of plain records that must be accepted.
func (w *world) mustProduce(leader int32, topic string, partition int32, records int) {
	w.t.Helper()
	if code := w.produce(leader, topic, partition, records, -1, nil); code != 0 {
		w.t.Fatalf("produce to %s-%d: %v", topic, partition, kerr.ErrorForCode(code))
	}
}

type topicPartition struct {
	topic     string
	partition int32
}

// producer is a transactional producer.
type producer struct {
	transactionalID string
	coordinator     int32
	id              int64
	epoch           int16
	sequence        map[topicPartition]int32
}

// newProducer gets a producer id for a transactional id.
func (w *world) newProducer(transactionalID string, timeout time.Duration) *producer {
	w.t.Helper()
	p := &producer{transactionalID: transactionalID, coordinator: w.coordinator(1, transactionalID)}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, &transactionalID, int32(timeout.Milliseconds())
	for range 1000 {
		resp := do[*kmsg.InitProducerIDResponse](w, p.coordinator, req)
		if resp.ErrorCode == 0 {
			p.id, p.epoch, p.sequence = resp.ProducerID, resp.ProducerEpoch, map[topicPartition]int32{}
			return p
		}
		w.wait(10 * time.Millisecond)
	}
	w.t.Fatalf("no producer id for %s", transactionalID)
	return nil
}

// end ends the transaction (TV2) and returns the error code.
func (w *world) end(p *producer, commit bool) int16 {
	w.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 5, p.transactionalID, p.id, p.epoch, commit
	resp := do[*kmsg.EndTxnResponse](w, p.coordinator, req)
	if resp.ErrorCode == 0 {
		p.id, p.epoch, p.sequence = resp.ProducerID, resp.ProducerEpoch, map[topicPartition]int32{}
	}
	return resp.ErrorCode
}

// coordinator finds the coordinator of a group (kind 0) or id (kind 1).
func (w *world) coordinator(kind int8, key string) int32 {
	w.t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKeys = 4, kind, []string{key}
	for range 1000 {
		resp := do[*kmsg.FindCoordinatorResponse](w, w.Brokers()[0], req)
		if c := resp.Coordinators[0]; c.ErrorCode == 0 {
			return c.NodeID
		}
		w.wait(10 * time.Millisecond)
	}
	w.t.Fatalf("no coordinator of %s", key)
	return 0
}

// commit commits an offset for a group that has no members.
func (w *world) commit(coordinator int32, group, topic string, partition int32, offset int64) int16 {
	w.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 8, group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return do[*kmsg.OffsetCommitResponse](w, coordinator, req).Topics[0].Partitions[0].ErrorCode
}

// mustCommit is commit that must be accepted, once the coordinator serves.
func (w *world) mustCommit(group, topic string, partition int32, offset int64) {
	w.t.Helper()
	coordinator := w.coordinator(0, group)
	for range 1000 {
		code := w.commit(coordinator, group, topic, partition, offset)
		if code == 0 {
			return
		}
		if !kerr.IsRetriable(kerr.ErrorForCode(code)) {
			w.t.Fatalf("commit of group %q: %v", group, kerr.ErrorForCode(code))
		}
		w.wait(10 * time.Millisecond)
	}
	w.t.Fatalf("group %q cannot commit", group)
}

// latest is the end of a partition as a consumer sees it.
func (w *world) latest(leader int32, topic string, partition int32, committed bool) int64 {
	w.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 7, -1
	if committed {
		req.IsolationLevel = 1
	}
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = partition, -1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return do[*kmsg.ListOffsetsResponse](w, leader, req).Topics[0].Partitions[0].Offset
}

// batch is a record batch in format v2 (rule A1): transactional if it has a
// producer id.
func batch(now time.Time, records int, id int64, epoch int16, sequence int32) []byte {
	const header, crcFrom = 61, 21
	b := make([]byte, header)
	be := binary.BigEndian
	for i := range records {
		body := binary.AppendVarint([]byte{0, 0}, int64(i)) // attributes, timestamp delta, offset delta
		body = append(body, 1, 2, 'v', 0)                   // no key, a value of one byte, no headers
		b = append(binary.AppendVarint(b, int64(len(body))), body...)
	}
	be.PutUint32(b[8:], uint32(len(b)-12))
	be.PutUint32(b[12:], ^uint32(0))
	b[16] = 2
	if id >= 0 {
		be.PutUint16(b[21:], 0x10)
	}
	be.PutUint32(b[23:], uint32(records-1))
	be.PutUint64(b[27:], uint64(now.UnixMilli()))
	be.PutUint64(b[35:], uint64(now.UnixMilli()))
	be.PutUint64(b[43:], uint64(id))
	be.PutUint16(b[51:], uint16(epoch))
	be.PutUint32(b[53:], uint32(sequence))
	be.PutUint32(b[57:], uint32(records))
	be.PutUint32(b[17:], crc32.Checksum(b[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// value is the only sample of a metric with these labels (name, value, …).
func value(t testing.TB, p page, metric string, labels ...string) float64 {
	t.Helper()
	pick := selection{labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		pick.labels[labels[i]] = labels[i+1]
	}
	found := 0
	for _, m := range p[metric] {
		if pick.matches(m) {
			found++
		}
	}
	if found != 1 {
		t.Fatalf("%d samples of %s with %q, want one", found, metric, labels)
	}
	return p.total(metric, pick)
}
