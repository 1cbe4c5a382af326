package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// shareGroupDescribe serves ShareGroupDescribe, of share groups; others are
// GROUP_ID_NOT_FOUND. A group with a topic that the client may not describe is
// refused as a whole.
func (c *call) shareGroupDescribe(req *kmsg.ShareGroupDescribeRequest) {
	if !c.finalized("share.version", "") {
		c.refuse(kafka.ErrUnsupportedVersion)
		return
	}
	resp := kmsg.NewPtrShareGroupDescribeResponse()
	allowed, forbidden := c.describableGroups(req.GroupIDs)
	for _, id := range forbidden {
		resp.Groups = append(resp.Groups, describedShareError(id, kafka.ErrGroupAuthorizationFailed))
	}
	for _, d := range c.broker.Groups.DescribeShares(allowed) {
		resp.Groups = append(resp.Groups, c.describedShare(d, req.IncludeAuthorizedOperations))
	}
	c.send(resp)
}

func (c *call) describedShare(d group.ShareDescription, operations bool) kmsg.ShareGroupDescribeResponseGroup {
	if d.Err != nil {
		return describedShareError(d.GroupID, d.Err)
	}
	g := kmsg.NewShareGroupDescribeResponseGroup()
	g.GroupID, g.GroupState = d.GroupID, d.State.String()
	g.GroupEpoch, g.AssignmentEpoch, g.Assignor = d.Epoch, d.AssignmentEpoch, d.Assignor
	for _, m := range d.Members {
		if !c.mayDescribeAssigned(m.Assignment) {
			return describedShareError(d.GroupID, errHiddenTopic)
		}
		member := kmsg.NewShareGroupDescribeResponseGroupMember()
		member.MemberID, member.RackID, member.MemberEpoch = m.MemberID, m.RackID, m.MemberEpoch
		member.ClientID, member.ClientHost, member.SubscribedTopicNames = m.ClientID, m.ClientHost, m.SubscribedTopics
		for _, t := range m.Assignment {
			topic := kmsg.NewShareGroupDescribeResponseGroupMemberAssignmentTopicPartition()
			topic.TopicID, topic.Topic, topic.Partitions = t.TopicID, t.Topic, t.Partitions
			member.Assignment.TopicPartitions = append(member.Assignment.TopicPartitions, topic)
		}
		g.Members = append(g.Members, member)
	}
	if operations {
		g.AuthorizedOperations = c.authorizedOperations(acl.Group, d.GroupID)
	}
	return g
}

func describedShareError(id string, err error) kmsg.ShareGroupDescribeResponseGroup {
	g := kmsg.NewShareGroupDescribeResponseGroup()
	g.GroupID, g.ErrorCode, g.ErrorMessage = id, codeOf(err), messageOf(err)
	return g
}

func refuseShareGroupDescribe(req *kmsg.ShareGroupDescribeRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrShareGroupDescribeResponse()
	for _, id := range req.GroupIDs {
		g := kmsg.NewShareGroupDescribeResponseGroup()
		g.GroupID, g.ErrorCode = id, code
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
