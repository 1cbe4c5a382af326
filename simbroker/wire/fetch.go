package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// fetch serves Fetch (section D), and the long poll in it (rule D7).
//
// v4: isolation level, aborted transactions. v5: log start offsets. v7: fetch
// sessions (KIP-227). v9: leader
// epochs (rule E4). v11: any replica serves a consumer (rule D1), and
// the leader sends it to one in its rack (KIP-392). v12:
// divergence (KIP-595). v13: topic ids in place of names. v15: the replica's
// id in a tagged field. v16: the leader and its address with
// NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951). v17 and v18 say
// more of the replica, which the simulator does not need.
func (c *call) fetch(req *kmsg.FetchRequest) {
	if !knownIsolation(req.IsolationLevel) {
		c.refuse(kafka.ErrUnknownServerError)
		return
	}
	context, topics, err := c.memory.fetches.open(req, c.broker.Host.Now(), c.fetchSessionSlots)
	if err != nil {
		c.refuse(err)
		return
	}
	answer := &fetchAnswer{version: req.Version, resp: kmsg.NewPtrFetchResponse()}
	room := replica.FetchRequest{
		ReplicaID:     fetchingReplica(req),
		Isolation:     replica.IsolationLevel(req.IsolationLevel),
		FromFollowers: req.Version >= 11,
		Rack:          req.Rack,
		Cut:           true,
		MaxWait:       milliseconds(req.MaxWaitMillis),
		MinBytes:      int(min(req.MinBytes, req.MaxBytes)),
		MaxBytes:      int(req.MaxBytes),
	}
	for i := range topics {
		c.fetchTopic(&topics[i], &room, answer)
	}
	if len(room.Partitions) == 0 {
		context.finish(answer.resp)
		c.send(answer.resp)
		return
	}
	c.broker.Replicas.Fetch(room, func(result replica.FetchResult) {
		for k := range result.Partitions {
			p := &result.Partitions[k]
			answer.set(answer.asked[k], p)
			if req.Version >= 16 && leaderMoved(p.Err) {
				answer.name(answer.asked[k], c.presentLeader(p.Partition, p.Leader, p.LeaderEpoch))
			}
		}
		answer.resp.Brokers = c.endpoints(answer.leaders)
		context.finish(answer.resp)
		c.send(answer.resp)
	})
}

// fetchSessionSlots is how many fetch sessions the broker keeps.
func (c *call) fetchSessionSlots() int64 {
	return c.cluster().Config().Int("max.incremental.fetch.session.cache.slots")
}

// knownIsolation says whether there is such an isolation level.
func knownIsolation(level int8) bool {
	return level == int8(replica.ReadUncommitted) || level == int8(replica.ReadCommitted)
}

// fetchingReplica is the id of the broker that fetches, negative for consumers.
func fetchingReplica(req *kmsg.FetchRequest) kafka.BrokerID {
	if req.Version >= 15 {
		return kafka.BrokerID(req.ReplicaState.ID)
	}
	return kafka.BrokerID(req.ReplicaID)
}

// fetchTopic adds a topic to the answer, and those of its partitions that can
// be fetched to what the room is asked for.
func (c *call) fetchTopic(t *kmsg.FetchRequestTopic, room *replica.FetchRequest, answer *fetchAnswer) {
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID = t.Topic, t.TopicID
	topic.Partitions = make([]kmsg.FetchResponseTopicPartition, len(t.Partitions))
	name, topicErr := c.topicName(t.Topic, t.TopicID, answer.version >= 13)
	for i := range t.Partitions {
		p := &t.Partitions[i]
		tp := kafka.TopicPartition{Topic: name, Partition: p.Partition}
		err := topicErr
		if err == nil {
			err = c.checkFetch(room.ReplicaID, tp)
		}
		if err != nil {
			topic.Partitions[i] = unfetchedPartition(p.Partition, codeOf(err))
			topic.Partitions[i].AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{} // not null, as Kafka has it
			continue
		}
		room.Partitions = append(room.Partitions, fetchPosition(tp, t.TopicID, p))
		answer.asked = append(answer.asked, place{len(answer.resp.Topics), i})
	}
	answer.resp.Topics = append(answer.resp.Topics, topic)
}

// checkFetch is the error for a partition that cannot be fetched by a consumer
// or, with a broker's id, by a replica.
func (c *call) checkFetch(replicaID kafka.BrokerID, tp kafka.TopicPartition) error {
	if replicaID < 0 {
		return c.checkPartition(acl.Read, tp)
	}
	if !c.mayCluster(acl.ClusterAction) {
		return kafka.ErrTopicAuthorizationFailed
	}
	if _, ok := c.image().Partition(tp); !ok {
		return kafka.ErrUnknownTopicOrPartition
	}
	return nil
}

func fetchPosition(tp kafka.TopicPartition, id kafka.TopicID, p *kmsg.FetchRequestTopicPartition) replica.FetchPartition {
	return replica.FetchPartition{
		Partition:          tp,
		TopicID:            id,
		Offset:             kafka.Offset(p.FetchOffset),
		MaxBytes:           int(p.PartitionMaxBytes),
		CurrentLeaderEpoch: kafka.LeaderEpoch(max(p.CurrentLeaderEpoch, -1)),
		LastFetchedEpoch:   kafka.LeaderEpoch(max(p.LastFetchedEpoch, -1)),
		LogStartOffset:     kafka.Offset(p.LogStartOffset),
	}
}

// fetchAnswer is a response to Fetch as it comes together.
type fetchAnswer struct {
	version int16
	resp    *kmsg.FetchResponse
	asked   []place // of the partitions that the room was asked for
	// leaders are those whose addresses the client needs.
	leaders []kafka.BrokerID
}

func (a *fetchAnswer) set(at place, p *replica.FetchedPartition) {
	answer := unfetchedPartition(p.Partition.Partition, codeOf(p.Err))
	switch domainError(p.Err) {
	case "":
		answer.HighWatermark, answer.LastStableOffset = int64(p.HighWatermark), int64(p.LastStableOffset)
		answer.LogStartOffset, answer.PreferredReadReplica = int64(p.LogStartOffset), int32(p.Preferred)
		answer.RecordBatches = p.Records.Bytes()
		answer.AbortedTransactions = abortedTransactions(p)
		if answer.RecordBatches == nil {
			answer.RecordBatches = []byte{}
		}
		if p.Diverging != nil {
			answer.DivergingEpoch.Epoch, answer.DivergingEpoch.EndOffset = int32(p.Diverging.Epoch), int64(p.Diverging.EndOffset)
		}
	case kafka.ErrKafkaStorageError:
		if a.version <= 5 { // which does not know it
			answer.ErrorCode = codeOf(kafka.ErrNotLeaderOrFollower)
		}
	}
	a.resp.Topics[at.topic].Partitions[at.partition] = answer
}

// name tells the client where a partition's leader is.
func (a *fetchAnswer) name(at place, leader leadership) {
	p := &a.resp.Topics[at.topic].Partitions[at.partition]
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(leader.id), int32(leader.epoch)
	a.leaders = append(a.leaders, leader.id)
}

// leaderMoved says whether an error is one after which a client looks for
// another leader.
func leaderMoved(err error) bool {
	domain := domainError(err)
	return domain == kafka.ErrNotLeaderOrFollower || domain == kafka.ErrFencedLeaderEpoch
}

// abortedTransactions keeps null (read_uncommitted) and none apart (rule D4).
func abortedTransactions(p *replica.FetchedPartition) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	if p.Aborted == nil {
		return nil
	}
	aborted := make([]kmsg.FetchResponseTopicPartitionAbortedTransaction, len(p.Aborted))
	for i, t := range p.Aborted {
		aborted[i].ProducerID, aborted[i].FirstOffset = int64(t.ProducerID), int64(t.FirstOffset)
	}
	return aborted
}

// unfetchedPartition has no records: every offset is -1 (rule D4).
func unfetchedPartition(number int32, code int16) kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode = number, code
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset, p.PreferredReadReplica = -1, -1, -1, -1
	p.RecordBatches = []byte{}
	return p
}

// refuseFetch puts an error beside the topics (v7+) and into every partition.
func refuseFetch(req *kmsg.FetchRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrFetchResponse()
	resp.ErrorCode = code
	switch code {
	case codeOf(kafka.ErrFetchSessionIDNotFound), codeOf(errInvalidFetchSessionEpoch), codeOf(kafka.ErrFetchSessionTopicIDError):
		return resp // no session, no partitions
	}
	for i := range req.Topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
		for _, p := range req.Topics[i].Partitions {
			topic.Partitions = append(topic.Partitions, unfetchedPartition(p.Partition, code))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
