package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// describeGroups serves DescribeGroups, of classic groups.
//
// v3: authorized operations, if asked for. v4: instance ids. v6: a
// group that does not exist is GROUP_ID_NOT_FOUND with a message; before, it
// was Dead and no error (rule H10).
func (c *call) describeGroups(req *kmsg.DescribeGroupsRequest) {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	var allowed []string
	for _, id := range req.Groups {
		if c.may(acl.Describe, acl.Group, id) {
			allowed = append(allowed, id)
		} else {
			resp.Groups = append(resp.Groups, describedGroupError(id, codeOf(kafka.ErrGroupAuthorizationFailed)))
		}
	}
	for _, d := range c.broker.Groups.Describe(allowed) {
		g := describedGroup(d, req.Version)
		if req.IncludeAuthorizedOperations && req.Version >= 3 && g.ErrorCode == 0 {
			g.AuthorizedOperations = c.authorizedOperations(acl.Group, g.Group)
		}
		resp.Groups = append(resp.Groups, g)
	}
	c.send(resp)
}

func describedGroup(d group.Description, version int16) kmsg.DescribeGroupsResponseGroup {
	if d.Err != nil {
		if domainError(d.Err) != kafka.ErrGroupIDNotFound {
			return describedGroupError(d.GroupID, codeOf(d.Err))
		}
		g := describedGroupError(d.GroupID, 0)
		g.State = d.State.String()
		if version >= 6 {
			g.ErrorCode = codeOf(d.Err)
			g.ErrorMessage = messageOf(d.Err)
		}
		return g
	}
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group, g.State, g.ProtocolType, g.Protocol = d.GroupID, d.State.String(), d.ProtocolType, d.Protocol
	for _, m := range d.Members {
		member := kmsg.NewDescribeGroupsResponseGroupMember()
		member.MemberID, member.InstanceID = m.MemberID, m.InstanceID
		member.ClientID, member.ClientHost = m.ClientID, m.ClientHost
		member.ProtocolMetadata, member.MemberAssignment = m.Metadata, m.Assignment
		g.Members = append(g.Members, member)
	}
	return g
}

func describedGroupError(id string, code int16) kmsg.DescribeGroupsResponseGroup {
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group, g.ErrorCode = id, code
	return g
}

func refuseDescribeGroups(req *kmsg.DescribeGroupsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	for _, id := range req.Groups {
		resp.Groups = append(resp.Groups, describedGroupError(id, code))
	}
	return resp
}
