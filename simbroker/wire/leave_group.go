package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// leaveGroup serves LeaveGroup (rule H2).
//
// v0 to v2: one member, by its member id, whose error is the response's. v3:
// many members, static ones by their instance id, each with its own error. v5:
// reasons.
func (c *call) leaveGroup(req *kmsg.LeaveGroupRequest) {
	if !c.may(acl.Read, acl.Group, req.Group) {
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	leaving := group.LeaveRequest{GroupID: req.Group}
	for _, m := range req.Members {
		leaving.Members = append(leaving.Members, group.LeavingMember{
			MemberID: m.MemberID, InstanceID: m.InstanceID, Reason: stringOf(m.Reason),
		})
	}
	if req.Version < 3 {
		leaving.Members = []group.LeavingMember{{MemberID: req.MemberID}}
	}
	c.broker.Groups.Leave(leaving, func(left []group.LeftMember, err error) {
		if err != nil {
			c.refuse(err)
			return
		}
		if req.Version < 3 {
			c.refuse(left[0].Err) // nil is success
			return
		}
		resp := kmsg.NewPtrLeaveGroupResponse()
		for _, m := range left {
			member := kmsg.NewLeaveGroupResponseMember()
			member.MemberID, member.InstanceID, member.ErrorCode = m.MemberID, m.InstanceID, codeOf(m.Err)
			resp.Members = append(resp.Members, member)
		}
		c.send(resp)
	})
}

func refuseLeaveGroup(_ *kmsg.LeaveGroupRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.ErrorCode = code
	return resp
}
