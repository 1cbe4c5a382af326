package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// joinGroup serves JoinGroup (rule H2): the answer comes when the generation
// has its members.
//
// v0: the rebalance timeout is the session timeout. v4: a new dynamic member is
// first given its id, with MEMBER_ID_REQUIRED (KIP-394). v5: static members.
// v7: protocol type, null protocol on errors. v8: reasons. v9: a leader that
// rejoins a stable group may be told to leave the assignment as it is.
func (c *call) joinGroup(req *kmsg.JoinGroupRequest) {
	if !c.may(acl.Read, acl.Group, req.Group) {
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	rebalanceTimeout := req.RebalanceTimeoutMillis
	if req.Version == 0 {
		rebalanceTimeout = req.SessionTimeoutMillis
	}
	protocols := make([]group.Protocol, len(req.Protocols))
	for i, p := range req.Protocols {
		protocols[i] = group.Protocol{Name: p.Name, Metadata: p.Metadata}
	}
	c.broker.Groups.Join(group.JoinRequest{
		GroupID:                req.Group,
		MemberID:               req.MemberID,
		InstanceID:             req.InstanceID,
		ClientID:               c.conn.ClientID,
		ClientHost:             c.conn.ClientHost,
		ProtocolType:           req.ProtocolType,
		Protocols:              protocols,
		SessionTimeout:         milliseconds(req.SessionTimeoutMillis),
		RebalanceTimeout:       milliseconds(rebalanceTimeout),
		Reason:                 stringOf(req.Reason),
		RequireKnownMemberID:   req.Version >= 4,
		SupportsSkipAssignment: req.Version >= 9,
	}, func(joined group.JoinResult, err error) {
		if err != nil {
			resp := refuseJoinGroup(req, codeOf(err)).(*kmsg.JoinGroupResponse)
			resp.MemberID = joined.MemberID
			c.send(resp)
			return
		}
		c.send(joinGroupResponse(joined))
	})
}

func joinGroupResponse(joined group.JoinResult) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Generation, resp.LeaderID, resp.MemberID = joined.GenerationID, joined.Leader, joined.MemberID
	resp.ProtocolType, resp.Protocol = joined.ProtocolType, joined.ProtocolName
	resp.SkipAssignment = joined.SkipAssignment
	for _, m := range joined.Members {
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID, member.InstanceID, member.ProtocolMetadata = m.MemberID, m.InstanceID, m.Metadata
		resp.Members = append(resp.Members, member)
	}
	return resp
}

func refuseJoinGroup(_ *kmsg.JoinGroupRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode, resp.Generation = code, -1
	return resp
}
