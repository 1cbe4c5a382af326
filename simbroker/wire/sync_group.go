package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// syncGroup serves SyncGroup (rule H2): the answer comes when the leader has
// brought the assignment.
//
// v3: static members. v5: protocol type and name, both required.
func (c *call) syncGroup(req *kmsg.SyncGroupRequest) {
	switch {
	case req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil):
		c.refuse(kafka.ErrInconsistentGroupProtocol)
		return
	case !c.may(acl.Read, acl.Group, req.Group):
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	assignments := make([]group.MemberAssignment, len(req.GroupAssignment))
	for i, a := range req.GroupAssignment {
		assignments[i] = group.MemberAssignment{MemberID: a.MemberID, Assignment: a.MemberAssignment}
	}
	c.broker.Groups.Sync(group.SyncRequest{
		GroupID:      req.Group,
		GenerationID: req.Generation,
		MemberID:     req.MemberID,
		InstanceID:   req.InstanceID,
		ProtocolType: req.ProtocolType,
		ProtocolName: req.Protocol,
		Assignments:  assignments,
	}, func(synced group.SyncResult, err error) {
		if err != nil {
			c.refuse(err)
			return
		}
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.ProtocolType, resp.Protocol, resp.MemberAssignment = synced.ProtocolType, synced.ProtocolName, synced.Assignment
		c.send(resp)
	})
}

func refuseSyncGroup(_ *kmsg.SyncGroupRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode = code
	return resp
}
