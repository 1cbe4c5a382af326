package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// consumerGroupHeartbeat serves ConsumerGroupHeartbeat (KIP-848, rule H3). It
// needs group.version 1, and the right to describe every topic that the member
// subscribes to by name.
//
// v1: regular expressions; member ids are the members' own.
func (c *call) consumerGroupHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) {
	switch {
	case !c.finalized("group.version", "consumer"):
		c.refuse(kafka.ErrUnsupportedVersion)
		return
	case !c.may(acl.Read, acl.Group, req.Group):
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	case !c.mayDescribeAll(req.SubscribedTopicNames):
		c.refuse(kafka.ErrTopicAuthorizationFailed)
		return
	}
	c.broker.Groups.ConsumerHeartbeat(group.ConsumerHeartbeatRequest{
		GroupID:          req.Group,
		MemberID:         req.MemberID,
		MemberEpoch:      req.MemberEpoch,
		InstanceID:       req.InstanceID,
		RackID:           req.RackID,
		ClientID:         c.conn.ClientID,
		ClientHost:       c.conn.ClientHost,
		RebalanceTimeout: milliseconds(req.RebalanceTimeoutMillis),
		SubscribedTopics: req.SubscribedTopicNames,
		SubscribedRegex:  req.SubscribedTopicRegex,
		ServerAssignor:   req.ServerAssignor,
		Owned:            ownedPartitions(req.Topics),
		RequireMemberID:  req.Version >= 1,
		MayDescribe:      func(topic string) bool { return c.may(acl.Describe, acl.Topic, topic) },
	}, func(r group.ConsumerHeartbeatResult, err error) {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		if err != nil {
			resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
			c.send(resp)
			return
		}
		resp.MemberID, resp.MemberEpoch = &r.MemberID, r.MemberEpoch
		resp.HeartbeatIntervalMillis = int32(r.Interval / time.Millisecond)
		if r.Assignment != nil {
			resp.Assignment = new(kmsg.ConsumerGroupHeartbeatResponseAssignment)
			for _, t := range r.Assignment {
				topic := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
				topic.TopicID, topic.Partitions = t.TopicID, t.Partitions
				resp.Assignment.Topics = append(resp.Assignment.Topics, topic)
			}
		}
		c.send(resp)
	})
}

func ownedPartitions(topics []kmsg.ConsumerGroupHeartbeatRequestTopic) []group.AssignedTopic {
	if topics == nil {
		return nil
	}
	owned := []group.AssignedTopic{}
	for _, t := range topics {
		owned = append(owned, group.AssignedTopic{TopicID: t.TopicID, Partitions: t.Partitions})
	}
	return owned
}

func refuseConsumerGroupHeartbeat(_ *kmsg.ConsumerGroupHeartbeatRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.ErrorCode = code
	return resp
}
