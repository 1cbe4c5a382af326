package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// createTopics serves CreateTopics; any broker forwards it to the controller.
// A name that stands there twice is INVALID_REQUEST, once.
//
// v4: partitions and replication factor may be -1, for the broker's defaults.
// v5: the response tells the new topic's partitions, replication factor and
// configuration; the last needs a right of its own. v7: the topic id.
func (c *call) createTopics(req *kmsg.CreateTopicsRequest) {
	times := make(map[string]int)
	for i := range req.Topics {
		times[req.Topics[i].Topic]++
	}
	all := c.mayCluster(acl.Create)
	resp := kmsg.NewPtrCreateTopicsResponse()
	var topics []controller.NewTopic
	for i := range req.Topics {
		name := req.Topics[i].Topic
		switch {
		case times[name] > 1:
			times[name] = -1 // answered
			resp.Topics = append(resp.Topics, createdTopicError(name, invalidRequest("Duplicate topic name.")))
		case times[name] < 0:
		case name == clusterMetadataTopic:
			resp.Topics = append(resp.Topics, createdTopicError(name, invalidRequest("Creation of internal topic "+name+" is prohibited.")))
		case !all && !c.may(acl.Create, acl.Topic, name):
			resp.Topics = append(resp.Topics, createdTopicError(name, &controller.Refusal{Err: kafka.ErrTopicAuthorizationFailed, Message: "Authorization failed."}))
		default:
			topic, err := newTopic(&req.Topics[i])
			if err != nil {
				resp.Topics = append(resp.Topics, createdTopicError(name, err))
				continue
			}
			topics = append(topics, topic)
		}
	}
	c.cluster().CreateTopics(topics, req.ValidateOnly, func(created []controller.CreatedTopic) {
		answers := make([]kmsg.CreateTopicsResponseTopic, 0, len(req.Topics))
		for i, t := range created {
			answers = append(answers, c.createdTopic(topics[i].Name, t))
		}
		resp.Topics = append(answers, resp.Topics...)
		c.send(resp)
	})
}

func newTopic(t *kmsg.CreateTopicsRequestTopic) (controller.NewTopic, error) {
	topic := controller.NewTopic{Name: t.Topic, Partitions: t.NumPartitions, ReplicationFactor: t.ReplicationFactor}
	for _, a := range t.ReplicaAssignment {
		if topic.Assignments == nil {
			topic.Assignments = make(map[int32][]kafka.BrokerID)
		}
		if _, twice := topic.Assignments[a.Partition]; twice {
			return topic, &controller.Refusal{
				Err:     kafka.ErrInvalidReplicaAssignment,
				Message: fmt.Sprintf("Found multiple manual partition assignments for partition %d", a.Partition),
			}
		}
		topic.Assignments[a.Partition] = brokerIDs(a.Replicas)
	}
	for _, config := range t.Configs {
		topic.Configs = append(topic.Configs, configChange(config.Name, controller.SetConfig, config.Value))
	}
	return topic, nil
}

func (c *call) createdTopic(name string, t controller.CreatedTopic) kmsg.CreateTopicsResponseTopic {
	if t.Err != nil {
		return createdTopicError(name, t.Err)
	}
	topic := kmsg.NewCreateTopicsResponseTopic()
	topic.Topic, topic.TopicID = name, t.ID
	if !c.may(acl.DescribeConfigs, acl.Topic, name) {
		topic.ConfigErrorCode = codeOf(kafka.ErrTopicAuthorizationFailed)
		return topic
	}
	topic.NumPartitions, topic.ReplicationFactor = t.Partitions, t.ReplicationFactor
	for _, e := range t.Config {
		topic.Configs = append(topic.Configs, createdConfig(e))
	}
	return topic
}

func createdConfig(e property.Entry) kmsg.CreateTopicsResponseTopicConfig {
	config := kmsg.NewCreateTopicsResponseTopicConfig()
	config.Name, config.Value = e.Name, valueOf(e.Value, e.Null)
	config.ReadOnly, config.IsSensitive, config.Source = e.ReadOnly, e.Sensitive, int8(sourceNumbers[e.Source])
	return config
}

func createdTopicError(name string, err error) kmsg.CreateTopicsResponseTopic {
	topic := kmsg.NewCreateTopicsResponseTopic()
	topic.Topic, topic.ErrorCode, topic.ErrorMessage = name, codeOf(err), messageOf(err)
	topic.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // not null, as Kafka has it
	return topic
}

func refuseCreateTopics(req *kmsg.CreateTopicsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrCreateTopicsResponse()
	for i := range req.Topics {
		topic := createdTopicError(req.Topics[i].Topic, nil)
		topic.ErrorCode = code
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// clusterMetadataTopic is the controllers' own log, which is no topic to
// clients.
const clusterMetadataTopic = "__cluster_metadata"
