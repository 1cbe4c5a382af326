package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// shareGroupHeartbeat serves ShareGroupHeartbeat (KIP-932). It needs
// share.version 1, and the right to describe every topic that the member
// subscribes to.
func (c *call) shareGroupHeartbeat(req *kmsg.ShareGroupHeartbeatRequest) {
	switch {
	case !c.finalized("share.version", ""):
		c.refuse(kafka.ErrUnsupportedVersion)
		return
	case !c.may(acl.Read, acl.Group, req.GroupID):
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	case !c.mayDescribeAll(req.SubscribedTopicNames):
		c.refuse(kafka.ErrTopicAuthorizationFailed)
		return
	}
	c.broker.Groups.ShareHeartbeat(group.ShareHeartbeatRequest{
		GroupID:          req.GroupID,
		MemberID:         req.MemberID,
		MemberEpoch:      req.MemberEpoch,
		RackID:           req.RackID,
		ClientID:         c.conn.ClientID,
		ClientHost:       c.conn.ClientHost,
		SubscribedTopics: req.SubscribedTopicNames,
	}, func(r group.ShareHeartbeatResult, err error) {
		resp := kmsg.NewPtrShareGroupHeartbeatResponse()
		if err != nil {
			resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
			c.send(resp)
			return
		}
		resp.MemberID, resp.MemberEpoch = &r.MemberID, r.MemberEpoch
		resp.HeartbeatIntervalMillis = int32(r.Interval / time.Millisecond)
		if r.Assignment != nil {
			resp.Assignment = new(kmsg.ShareGroupHeartbeatResponseAssignment)
			for _, t := range r.Assignment {
				topic := kmsg.NewShareGroupHeartbeatResponseAssignmentTopicPartition()
				topic.TopicID, topic.Partitions = t.TopicID, t.Partitions
				resp.Assignment.TopicPartitions = append(resp.Assignment.TopicPartitions, topic)
			}
		}
		c.send(resp)
	})
}

func refuseShareGroupHeartbeat(_ *kmsg.ShareGroupHeartbeatRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrShareGroupHeartbeatResponse()
	resp.ErrorCode = code
	return resp
}
