package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// listGroups serves ListGroups: the groups that this broker coordinates (rule
// H10). Those that the client may not describe are left out, unless it may
// describe the cluster.
//
// v4: states, and a filter on them. v5: types, and a filter on them.
func (c *call) listGroups(req *kmsg.ListGroupsRequest) {
	listings, err := c.broker.Groups.List(group.ListRequest{States: req.StatesFilter, Types: req.TypesFilter})
	if err != nil {
		c.refuse(err)
		return
	}
	all := c.mayCluster(acl.Describe)
	resp := kmsg.NewPtrListGroupsResponse()
	for _, l := range listings {
		if !all && !c.may(acl.Describe, acl.Group, l.GroupID) {
			continue
		}
		g := kmsg.NewListGroupsResponseGroup()
		g.Group, g.ProtocolType = l.GroupID, l.ProtocolType
		g.GroupState, g.GroupType = l.State.String(), l.Kind.String()
		resp.Groups = append(resp.Groups, g)
	}
	c.send(resp)
}

func refuseListGroups(_ *kmsg.ListGroupsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrListGroupsResponse()
	resp.ErrorCode = code
	return resp
}
