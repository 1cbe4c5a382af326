package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// heartbeat serves Heartbeat (rule H2). v3: static members.
func (c *call) heartbeat(req *kmsg.HeartbeatRequest) {
	if !c.may(acl.Read, acl.Group, req.Group) {
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	c.refuse(c.broker.Groups.Heartbeat(group.HeartbeatRequest{
		GroupID:      req.Group,
		GenerationID: req.Generation,
		MemberID:     req.MemberID,
		InstanceID:   req.InstanceID,
	})) // an error of nil is success
}

func refuseHeartbeat(_ *kmsg.HeartbeatRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.ErrorCode = code
	return resp
}
