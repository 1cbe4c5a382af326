package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// metadata serves Metadata, from the broker's own image of the cluster.
//
// All topics are asked for by null (v1+) or by an empty list (v0). A topic that
// does not exist is created if the client and the broker allow it, and answered
// with UNKNOWN_TOPIC_OR_PARTITION all the same: the client asks again. A
// partition without a live leader has LEADER_NOT_AVAILABLE and leader -1. Only
// brokers that are not fenced are listed; as controller any of them (KIP-590).
//
// v0: replicas that are not alive are left out of the lists, and make the
// partition's error REPLICA_NOT_AVAILABLE. v4: auto creation can be refused.
// v5: offline replicas. v7: leader epochs. v10 shows topic ids, v12 takes them.
// v8: authorized operations; those of the cluster up to v10.
func (c *call) metadata(req *kmsg.MetadataRequest) {
	if slices.ContainsFunc(req.Topics, func(t kmsg.MetadataRequestTopic) bool {
		return req.Version < 12 && (t.Topic == nil || t.TopicID != [16]byte{})
	}) {
		c.refuse(kafka.ErrInvalidRequest)
		return
	}
	if slices.ContainsFunc(req.Topics, func(t kmsg.MetadataRequestTopic) bool { return t.Topic == nil && t.TopicID == [16]byte{} }) {
		c.refuse(kafka.ErrUnknownServerError)
		return
	}
	resp := kmsg.NewPtrMetadataResponse()
	clusterID := c.image().ClusterID()
	resp.ClusterID = &clusterID
	resp.ControllerID = int32(c.anyAlive())
	for _, b := range c.image().Alive() {
		resp.Brokers = append(resp.Brokers, c.metadataBroker(b))
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for _, t := range c.image().Topics() {
			if c.may(acl.Describe, acl.Topic, t.Name) {
				resp.Topics = append(resp.Topics, c.metadataTopic(t, req))
			}
		}
	}
	mayCreate := req.AllowAutoTopicCreation || req.Version < 4
	for _, asked := range distinctTopics(req.Topics) {
		if asked.TopicID != [16]byte{} {
			resp.Topics = append(resp.Topics, c.metadataByID(asked.TopicID, req))
		} else if asked.Topic != nil {
			resp.Topics = append(resp.Topics, c.metadataByName(*asked.Topic, mayCreate, req))
		}
	}
	if req.IncludeClusterAuthorizedOperations && req.Version >= 8 && req.Version <= 10 {
		resp.AuthorizedOperations = c.clusterOperations()
	}
	c.send(resp)
}

// distinctTopics drops topics that were asked for before: Kafka answers a set.
func distinctTopics(topics []kmsg.MetadataRequestTopic) []kmsg.MetadataRequestTopic {
	type identity struct {
		name string
		id   [16]byte
	}
	seen := make(map[identity]bool, len(topics))
	var distinct []kmsg.MetadataRequestTopic
	for _, t := range topics {
		key := identity{id: t.TopicID}
		if t.Topic != nil {
			key.name = *t.Topic
		}
		if !seen[key] {
			seen[key] = true
			distinct = append(distinct, t)
		}
	}
	return distinct
}

func (c *call) metadataByID(id kafka.TopicID, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	t, ok := c.image().TopicByID(id)
	if ok && c.may(acl.Describe, acl.Topic, t.Name) {
		return c.metadataTopic(t, req)
	}
	topic := kmsg.NewMetadataResponseTopic()
	topic.TopicID = id
	topic.ErrorCode = codeOf(kafka.ErrUnknownTopicID)
	if ok {
		topic.ErrorCode = codeOf(kafka.ErrTopicAuthorizationFailed)
	}
	return topic
}

func (c *call) metadataByName(name string, mayCreate bool, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = &name
	if !c.may(acl.Describe, acl.Topic, name) {
		topic.ErrorCode = codeOf(kafka.ErrTopicAuthorizationFailed)
		return topic
	}
	if t, ok := c.image().Topic(name); ok {
		return c.metadataTopic(t, req)
	}
	topic.IsInternal = kafka.IsInternal(name)
	mayCreate = mayCreate && c.cluster().Config().Bool("auto.create.topics.enable")
	switch {
	case mayCreate && !c.mayCluster(acl.Create) && !c.may(acl.Create, acl.Topic, name):
		topic.ErrorCode = codeOf(kafka.ErrTopicAuthorizationFailed)
	case checkTopicName(name) != nil:
		topic.ErrorCode = codeOf(kafka.ErrInvalidTopicException)
	default:
		topic.ErrorCode = codeOf(kafka.ErrUnknownTopicOrPartition)
		if mayCreate {
			c.cluster().AutoCreate(name)
		}
		c.authorizeTopic(&topic, req)
	}
	return topic
}

// authorizeTopic tells what the client may do with a topic, if it asked.
func (c *call) authorizeTopic(topic *kmsg.MetadataResponseTopic, req *kmsg.MetadataRequest) {
	if req.IncludeTopicAuthorizedOperations && req.Version >= 8 {
		topic.AuthorizedOperations = c.authorizedOperations(acl.Topic, *topic.Topic)
	}
}

func (c *call) metadataTopic(t *controller.Topic, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic, topic.TopicID, topic.IsInternal = &t.Name, t.ID, kafka.IsInternal(t.Name)
	topic.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, len(t.Partitions))
	for i, p := range t.Partitions {
		topic.Partitions = append(topic.Partitions, c.metadataPartition(int32(i), p, req.Version))
	}
	c.authorizeTopic(&topic, req)
	return topic
}

func (c *call) metadataPartition(number int32, p *controller.Partition, version int16) kmsg.MetadataResponseTopicPartition {
	partition := kmsg.NewMetadataResponseTopicPartition()
	partition.Partition, partition.LeaderEpoch = number, int32(p.LeaderEpoch)
	partition.Replicas, partition.ISR = int32s(p.Replicas), int32s(p.ISR)
	partition.OfflineReplicas = int32s(c.offline(p.Replicas))
	partition.Leader = int32(c.liveLeader(p))
	if version == 0 {
		partition.Replicas, partition.ISR = int32s(c.alive(p.Replicas)), int32s(c.alive(p.ISR))
		if len(partition.Replicas) < len(p.Replicas) || len(partition.ISR) < len(p.ISR) {
			partition.ErrorCode = codeOf(kafka.ErrReplicaNotAvailable)
		}
	}
	if partition.Leader < 0 {
		partition.ErrorCode = codeOf(kafka.ErrLeaderNotAvailable)
	}
	return partition
}

func (c *call) metadataBroker(b *controller.Broker) kmsg.MetadataResponseBroker {
	broker, at := kmsg.NewMetadataResponseBroker(), c.endpoint(b)
	broker.NodeID, broker.Host, broker.Port, broker.Rack = int32(b.ID), at.Host, at.Port, rackOf(b)
	return broker
}

func refuseMetadata(req *kmsg.MetadataRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ErrorCode = code // v13
	resp.ControllerID = int32(kafka.NoBroker)
	for _, t := range req.Topics {
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.TopicID, topic.ErrorCode = t.Topic, t.TopicID, code
		if topic.Topic == nil {
			topic.Topic = new(string) // never null
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
