package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// deleteGroups serves DeleteGroups (rule H11), each group with its own error. A
// group that is named twice is answered once.
func (c *call) deleteGroups(req *kmsg.DeleteGroupsRequest) {
	var allowed, forbidden []string
	for _, id := range req.Groups {
		switch {
		case slices.Contains(allowed, id) || slices.Contains(forbidden, id):
		case c.may(acl.Delete, acl.Group, id):
			allowed = append(allowed, id)
		default:
			forbidden = append(forbidden, id)
		}
	}
	c.broker.Groups.DeleteGroups(allowed, func(errs []error) {
		resp := kmsg.NewPtrDeleteGroupsResponse()
		for i, id := range allowed {
			resp.Groups = append(resp.Groups, deletedGroup(id, codeOf(errs[i])))
		}
		for _, id := range forbidden {
			resp.Groups = append(resp.Groups, deletedGroup(id, codeOf(kafka.ErrGroupAuthorizationFailed)))
		}
		c.send(resp)
	})
}

func deletedGroup(id string, code int16) kmsg.DeleteGroupsResponseGroup {
	g := kmsg.NewDeleteGroupsResponseGroup()
	g.Group, g.ErrorCode = id, code
	return g
}

func refuseDeleteGroups(req *kmsg.DeleteGroupsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDeleteGroupsResponse()
	for _, id := range req.Groups {
		resp.Groups = append(resp.Groups, deletedGroup(id, code))
	}
	return resp
}
