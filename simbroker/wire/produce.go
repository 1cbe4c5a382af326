package wire

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// adminClientID is the client.id that may write to internal topics.
const adminClientID = "__admin_client"

// produce serves Produce (rules A5, C1 to C6, F8 and G10). Each partition has
// its own error. With acks=0 there is no response, and any error closes the
// connection. Null records are never answered, and nothing after them on the
// connection, since Kafka's handler dies of them (rule A5).
//
// v3: transactional ids; older versions are shown and not served (KAFKA-18659).
// v7: zstd. v8: error messages. v10: the leader and its address with
// NOT_LEADER_OR_FOLLOWER (KIP-951). v11: TRANSACTION_ABORTABLE. v12: adds
// partitions to the transaction (KIP-890). v13: topic ids in place of names.
//
// Of several records for one partition the last count, and a topic without
// partitions is not answered. Records that do not begin with a batch make the
// whole request fail.
func (c *call) produce(req *kmsg.ProduceRequest) {
	req = distinctPartitions(req)
	transactional, corrupt := hasTransactionalRecords(req)
	if corrupt != nil {
		c.produced(corruptAnswer(req, corrupt))
		return
	}
	if transactional {
		if req.TransactionID == nil || !c.may(acl.Write, acl.TransactionalID, *req.TransactionID) {
			c.refuse(kafka.ErrTransactionalIDAuthorizationFailed)
			return
		}
	}
	answer := newProduceAnswer(req)
	room := replica.ProduceRequest{
		TransactionalID: stringOf(req.TransactionID),
		Support:         transactionSupport(req.Version),
		Acks:            req.Acks,
		Timeout:         milliseconds(req.TimeoutMillis),
		InternalTopics:  c.conn.ClientID == adminClientID,
	}
	for i := range req.Topics {
		if !c.produceTopic(req, i, &room, answer) {
			return
		}
	}
	if len(room.Partitions) == 0 {
		c.produced(answer)
		return
	}
	c.broker.Replicas.Produce(room, func(result replica.ProduceResult) {
		for k, p := range result.Partitions {
			answer.set(answer.asked[k], p)
			if req.Version >= 10 && domainError(p.Err) == kafka.ErrNotLeaderOrFollower {
				answer.name(answer.asked[k], c.presentLeader(p.Partition, p.Leader, p.LeaderEpoch))
			}
		}
		c.produced(answer)
	})
}

// distinctPartitions is the request with each topic and each partition in it
// once.
func distinctPartitions(req *kmsg.ProduceRequest) *kmsg.ProduceRequest {
	if len(req.Topics) == 1 && len(req.Topics[0].Partitions) == 1 {
		return req
	}
	type topicKey struct {
		name string
		id   [16]byte
	}
	distinct := *req
	distinct.Topics = nil
	topics := make(map[topicKey]int)
	places := make(map[place]int) // by the topic's index and the partition's number
	for i := range req.Topics {
		t := &req.Topics[i]
		key := topicKey{t.Topic, t.TopicID}
		at, known := topics[key]
		if !known && len(t.Partitions) > 0 {
			at = len(distinct.Topics)
			topics[key] = at
			distinct.Topics = append(distinct.Topics, kmsg.ProduceRequestTopic{Topic: t.Topic, TopicID: t.TopicID})
		}
		for _, p := range t.Partitions {
			into := &distinct.Topics[at].Partitions
			numbered := place{at, int(p.Partition)}
			if j, twice := places[numbered]; twice {
				(*into)[j] = p
				continue
			}
			places[numbered] = len(*into)
			*into = append(*into, p)
		}
	}
	return &distinct
}

// corruptAnswer refuses a request for the sake of one of its batches.
func corruptAnswer(req *kmsg.ProduceRequest, err error) *produceAnswer {
	answer := newProduceAnswer(req)
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			answer.fail(place{i, j}, err)
		}
	}
	return answer
}

// produceTopic adds those partitions of a topic that can be written to what the
// room is asked for. It reports false if the request must never be answered.
func (c *call) produceTopic(req *kmsg.ProduceRequest, i int, room *replica.ProduceRequest, answer *produceAnswer) bool {
	t := &req.Topics[i]
	name, topicErr := c.topicName(t.Topic, t.TopicID, req.Version >= 13)
	for j := range t.Partitions {
		p := &t.Partitions[j]
		tp := kafka.TopicPartition{Topic: name, Partition: p.Partition}
		err := topicErr
		if err == nil {
			err = c.checkPartition(acl.Write, tp)
		}
		if err == nil && p.Records == nil {
			return false
		}
		if err == nil && req.Version < 7 && compressedWithZstd(p.Records) {
			err = errUnsupportedCompressionType
		}
		if err != nil {
			answer.fail(place{i, j}, err)
			continue
		}
		room.Partitions = append(room.Partitions, replica.ProducePartition{Partition: tp, Records: c.ownRecords(p.Records)})
		answer.asked = append(answer.asked, place{i, j})
	}
	return true
}

// ownRecords are records that the log may keep and write to: those of a frame
// are nobody else's, those of an in-process call are copied.
func (c *call) ownRecords(records []byte) []byte {
	if c.ownsRequest {
		return records
	}
	return bytes.Clone(records)
}

func transactionSupport(version int16) replica.TransactionSupport {
	switch {
	case version <= 10:
		return replica.DefaultError
	case version == 11:
		return replica.GenericErrorSupported
	}
	return replica.AddPartition
}

// produceAnswer is a response to Produce as it comes together.
type produceAnswer struct {
	resp   *kmsg.ProduceResponse
	asked  []place // of the partitions that the room was asked for
	acks   int16
	failed bool
	// leaders are those whose addresses the client needs.
	leaders []kafka.BrokerID
}

func newProduceAnswer(req *kmsg.ProduceRequest) *produceAnswer {
	return &produceAnswer{resp: refuseProducePartitions(req, 0), acks: req.Acks}
}

func (a *produceAnswer) partition(at place) *kmsg.ProduceResponseTopicPartition {
	return &a.resp.Topics[at.topic].Partitions[at.partition]
}

// fail records a partition's error.
func (a *produceAnswer) fail(at place, err error) {
	p := a.partition(at)
	p.ErrorCode, p.ErrorMessage = codeOf(err), messageOf(err)
	var refused *commitlog.RecordErrors
	if errors.As(err, &refused) {
		for _, r := range refused.Records {
			p.ErrorRecords = append(p.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{RelativeOffset: r.Index, ErrorMessage: &r.Message})
		}
	}
	a.failed = true
}

// set records what became of a partition's records: some errors come with
// where they are, too (rule F8).
func (a *produceAnswer) set(at place, p replica.ProducedPartition) {
	if p.Err != nil {
		a.fail(at, p.Err)
	}
	answer := a.partition(at)
	answer.BaseOffset, answer.LogAppendTime, answer.LogStartOffset = int64(p.BaseOffset), p.LogAppendTimeMs, int64(p.LogStartOffset)
}

// name tells the client where a partition's leader is.
func (a *produceAnswer) name(at place, leader leadership) {
	p := a.partition(at)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(leader.id), int32(leader.epoch)
	a.leaders = append(a.leaders, leader.id)
}

// produced sends the answer, as far as the client wants one.
func (c *call) produced(a *produceAnswer) {
	switch {
	case a.acks != 0:
		for _, b := range c.endpoints(a.leaders) {
			a.resp.Brokers = append(a.resp.Brokers, kmsg.ProduceResponseBroker(b))
		}
		c.send(a.resp)
	case a.failed:
		c.hangUp()
	default:
		c.reply(nil)
	}
}

// firstAttributes are the attributes of the first record batch; ok is false
// where there is no complete batch of format v2 (rule A1).
func firstAttributes(records []byte) (attributes uint16, ok bool) {
	const length, magic, attributesAt, header = 8, 16, 21, 61
	if len(records) < header || records[magic] != 2 {
		return 0, false
	}
	if size := int32(binary.BigEndian.Uint32(records[length:])); int(size) > len(records)-length-4 {
		return 0, false
	}
	return binary.BigEndian.Uint16(records[attributesAt:]), true
}

// hasTransactionalRecords looks at the first batch of each partition, up to one
// that is transactional or corrupt.
func hasTransactionalRecords(req *kmsg.ProduceRequest) (transactional bool, corrupt error) {
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			if _, _, err := commitlog.Split(p.Records); err != nil {
				return false, err
			}
			if attributes, ok := firstAttributes(p.Records); ok && attributes&0x10 != 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

func compressedWithZstd(records []byte) bool {
	attributes, ok := firstAttributes(records)
	return ok && attributes&0x07 == 4
}

func refuseProduce(req *kmsg.ProduceRequest, code int16) kmsg.Response {
	if req.Acks == 0 {
		return nil
	}
	return refuseProducePartitions(req, code)
}

func refuseProducePartitions(req *kmsg.ProduceRequest, code int16) *kmsg.ProduceResponse {
	resp := kmsg.NewPtrProduceResponse()
	resp.Topics = make([]kmsg.ProduceResponseTopic, len(req.Topics))
	for i := range req.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
		topic.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(req.Topics[i].Partitions))
		for j, p := range req.Topics[i].Partitions {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition, partition.ErrorCode, partition.BaseOffset = p.Partition, code, -1
			topic.Partitions[j] = partition
		}
		resp.Topics[i] = topic
	}
	return resp
}
