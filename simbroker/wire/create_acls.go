package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// createACLs serves CreateAcls, each binding with its own error; any broker
// forwards it to the controller. It needs ALTER on the cluster, and an
// authorizer: else SECURITY_DISABLED. Where one binding has a word that only
// filters may have, all are UNKNOWN_SERVER_ERROR.
func (c *call) createACLs(req *kmsg.CreateACLsRequest) {
	if err := c.checkACLs(acl.Alter); err != nil {
		c.send(unmadeACLs(req, codeOf(err), messageOf(err)))
		return
	}
	bindings := make([]acl.Binding, len(req.Creations))
	for i, asked := range req.Creations {
		b, ok := aclWords(asked.ResourceType, asked.ResourcePatternType, asked.Operation, asked.PermissionType)
		if !ok {
			c.hangUp()
			return
		}
		if isForFilters(b) {
			c.refuse(kafka.ErrUnknownServerError)
			return
		}
		b.Name, b.Principal, b.Host = asked.ResourceName, asked.Principal, asked.Host
		bindings[i] = b
	}
	c.cluster().CreateACLs(bindings, func(errs []error) {
		resp := kmsg.NewPtrCreateACLsResponse()
		for _, err := range errs {
			result := kmsg.NewCreateACLsResponseResult()
			result.ErrorCode, result.ErrorMessage = codeOf(err), messageOf(err)
			resp.Results = append(resp.Results, result)
		}
		c.send(resp)
	})
}

// isForFilters says whether a binding has a word that only filters may have,
// over which Kafka stumbles.
func isForFilters(b acl.Binding) bool {
	return b.ResourceType == acl.AnyResource || b.Operation == acl.AnyOperation || b.Permission == acl.AnyPermission ||
		b.PatternType == acl.AnyPattern || b.PatternType == acl.Match
}

func unmadeACLs(req *kmsg.CreateACLsRequest, code int16, message *string) kmsg.Response {
	resp := kmsg.NewPtrCreateACLsResponse()
	for range req.Creations {
		result := kmsg.NewCreateACLsResponseResult()
		result.ErrorCode, result.ErrorMessage = code, message
		resp.Results = append(resp.Results, result)
	}
	return resp
}

func refuseCreateACLs(req *kmsg.CreateACLsRequest, code int16) kmsg.Response {
	return unmadeACLs(req, code, nil)
}
