package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// consumerGroupDescribe serves ConsumerGroupDescribe, of groups of the consumer
// protocol; others are GROUP_ID_NOT_FOUND (rule H10). A group with a topic that
// the client may not describe is refused as a whole.
//
// v1: the protocol of each member.
func (c *call) consumerGroupDescribe(req *kmsg.ConsumerGroupDescribeRequest) {
	if !c.finalized("group.version", "consumer") {
		c.refuse(kafka.ErrUnsupportedVersion)
		return
	}
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	allowed, forbidden := c.describableGroups(req.Groups)
	for _, id := range forbidden {
		resp.Groups = append(resp.Groups, describedConsumerError(id, kafka.ErrGroupAuthorizationFailed))
	}
	for _, d := range c.broker.Groups.DescribeConsumers(allowed) {
		resp.Groups = append(resp.Groups, c.describedConsumer(d, req.IncludeAuthorizedOperations))
	}
	c.send(resp)
}

func (c *call) describedConsumer(d group.ConsumerDescription, operations bool) kmsg.ConsumerGroupDescribeResponseGroup {
	if d.Err != nil {
		return describedConsumerError(d.GroupID, d.Err)
	}
	g := kmsg.NewConsumerGroupDescribeResponseGroup()
	g.Group, g.State = d.GroupID, d.State.String()
	g.Epoch, g.AssignmentEpoch, g.AssignorName = d.Epoch, d.AssignmentEpoch, d.Assignor
	for _, m := range d.Members {
		if !c.mayDescribeAssigned(m.Assignment, m.Target) {
			return describedConsumerError(d.GroupID, errHiddenTopic)
		}
		member := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		member.MemberID, member.InstanceID, member.RackID = m.MemberID, m.InstanceID, m.RackID
		member.MemberEpoch, member.ClientID, member.ClientHost = m.MemberEpoch, m.ClientID, m.ClientHost
		member.SubscribedTopics, member.SubscribedTopicRegex = m.SubscribedTopics, &m.SubscribedRegex
		member.Assignment, member.TargetAssignment = describedAssignment(m.Assignment), describedAssignment(m.Target)
		member.MemberType = 1
		if m.Classic {
			member.MemberType = 0
		}
		g.Members = append(g.Members, member)
	}
	if operations {
		g.AuthorizedOperations = c.authorizedOperations(acl.Group, d.GroupID)
	}
	return g
}

func describedAssignment(topics []group.AssignedTopic) kmsg.Assignment {
	a := kmsg.NewAssignment()
	for _, t := range topics {
		topic := kmsg.NewAssignmentTopicPartition()
		topic.TopicID, topic.Topic, topic.Partitions = t.TopicID, t.Topic, t.Partitions
		a.TopicPartitions = append(a.TopicPartitions, topic)
	}
	return a
}

func describedConsumerError(id string, err error) kmsg.ConsumerGroupDescribeResponseGroup {
	g := kmsg.NewConsumerGroupDescribeResponseGroup()
	g.Group, g.ErrorCode, g.ErrorMessage = id, codeOf(err), messageOf(err)
	return g
}

func refuseConsumerGroupDescribe(req *kmsg.ConsumerGroupDescribeRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	for _, id := range req.Groups {
		g := kmsg.NewConsumerGroupDescribeResponseGroup()
		g.Group, g.ErrorCode = id, code
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
