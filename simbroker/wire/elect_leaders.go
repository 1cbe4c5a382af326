package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The kinds of election, by Kafka's number.
const (
	preferredElection = 0
	uncleanElection   = 1
)

// electLeaders serves ElectLeaders; any broker forwards it to the controller.
// Null topics mean all partitions, of which only those with a new leader, or
// without one, are answered.
//
// v0: the preferred leader. v1: unclean elections, an error for the request as
// a whole.
func (c *call) electLeaders(req *kmsg.ElectLeadersRequest) {
	kind := controller.PreferredElection
	switch {
	case !c.mayCluster(acl.Alter):
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	case req.Version == 0 || req.ElectionType == preferredElection:
	case req.ElectionType == uncleanElection:
		kind = controller.UncleanElection
	default:
		c.refuse(kafka.ErrInvalidRequest)
		return
	}
	var partitions []kafka.TopicPartition
	if req.Topics != nil {
		partitions = []kafka.TopicPartition{}
	}
	for _, t := range req.Topics {
		for _, number := range t.Partitions {
			partitions = append(partitions, kafka.TopicPartition{Topic: t.Topic, Partition: number})
		}
	}
	c.cluster().ElectLeaders(kind, partitions, func(results []controller.PartitionResult) {
		resp := kmsg.NewPtrElectLeadersResponse()
		if req.Topics == nil { // Kafka names them all, with what was elected in them
			for _, t := range c.image().Topics() {
				electedTopic(resp, t.Name)
			}
		}
		for _, r := range results {
			topic := electedTopic(resp, r.TopicPartition.Topic)
			topic.Partitions = append(topic.Partitions, electedPartition(r.TopicPartition.Partition, r.Err))
		}
		c.send(resp)
	})
}

// electedTopic is the place of a topic in a response.
func electedTopic(resp *kmsg.ElectLeadersResponse, name string) *kmsg.ElectLeadersResponseTopic {
	at := slices.IndexFunc(resp.Topics, func(t kmsg.ElectLeadersResponseTopic) bool { return t.Topic == name })
	if at < 0 {
		topic := kmsg.NewElectLeadersResponseTopic()
		topic.Topic = name
		resp.Topics = append(resp.Topics, topic)
		at = len(resp.Topics) - 1
	}
	return &resp.Topics[at]
}

func electedPartition(number int32, err error) kmsg.ElectLeadersResponseTopicPartition {
	p := kmsg.NewElectLeadersResponseTopicPartition()
	p.Partition, p.ErrorCode, p.ErrorMessage = number, codeOf(err), fullMessageOf(err)
	return p
}

func refuseElectLeaders(req *kmsg.ElectLeadersRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrElectLeadersResponse()
	resp.ErrorCode = code
	for _, t := range req.Topics {
		topic := kmsg.NewElectLeadersResponseTopic()
		topic.Topic = t.Topic
		for _, number := range t.Partitions {
			partition := electedPartition(number, nil)
			partition.ErrorCode = code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
