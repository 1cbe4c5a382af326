package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// createPartitions serves CreatePartitions; any broker forwards it to the
// controller. A topic that stands there twice is INVALID_REQUEST, once.
func (c *call) createPartitions(req *kmsg.CreatePartitionsRequest) {
	times := make(map[string]int)
	for _, t := range req.Topics {
		times[t.Topic]++
	}
	resp := kmsg.NewPtrCreatePartitionsResponse()
	var topics []controller.MorePartitions
	for _, t := range req.Topics {
		switch {
		case times[t.Topic] > 1:
			times[t.Topic] = -1 // answered
			resp.Topics = append(resp.Topics, morePartitionsResult(t.Topic, invalidRequest("Duplicate topic name.")))
		case times[t.Topic] < 0:
		case !c.may(acl.Alter, acl.Topic, t.Topic):
			resp.Topics = append(resp.Topics, morePartitionsResult(t.Topic, kafka.ErrTopicAuthorizationFailed))
		default:
			topics = append(topics, morePartitions(t))
		}
	}
	c.cluster().CreatePartitions(topics, req.ValidateOnly, func(results []controller.TopicResult) {
		for i, r := range results {
			resp.Topics = append(resp.Topics, morePartitionsResult(topics[i].Topic, r.Err))
		}
		c.send(resp)
	})
}

func morePartitions(t kmsg.CreatePartitionsRequestTopic) controller.MorePartitions {
	more := controller.MorePartitions{Topic: t.Topic, Count: t.Count}
	for _, a := range t.Assignment {
		more.Assignments = append(more.Assignments, brokerIDs(a.Replicas))
	}
	return more
}

func morePartitionsResult(topic string, err error) kmsg.CreatePartitionsResponseTopic {
	result := kmsg.NewCreatePartitionsResponseTopic()
	result.Topic, result.ErrorCode, result.ErrorMessage = topic, codeOf(err), messageOf(err)
	return result
}

func refuseCreatePartitions(req *kmsg.CreatePartitionsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	for _, t := range req.Topics {
		result := morePartitionsResult(t.Topic, nil)
		result.ErrorCode = code
		resp.Topics = append(resp.Topics, result)
	}
	return resp
}
