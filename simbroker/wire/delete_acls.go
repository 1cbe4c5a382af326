package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
)

// deleteACLs serves DeleteAcls: for each filter the bindings that it chose, and
// that are gone. Any broker forwards it to the controller. It needs ALTER on
// the cluster, and an authorizer: else SECURITY_DISABLED.
func (c *call) deleteACLs(req *kmsg.DeleteACLsRequest) {
	if err := c.checkACLs(acl.Alter); err != nil {
		c.send(undeletedACLs(req, codeOf(err), messageOf(err)))
		return
	}
	resp := kmsg.NewPtrDeleteACLsResponse()
	resp.Results = make([]kmsg.DeleteACLsResponseResult, len(req.Filters))
	var filters []acl.Filter
	var asked []int // their places in the request
	for i, f := range req.Filters {
		words, ok := aclWords(f.ResourceType, f.ResourcePatternType, f.Operation, f.PermissionType)
		if !ok {
			c.hangUp()
			return
		}
		if err := checkFilter(words); err != nil {
			resp.Results[i].ErrorCode, resp.Results[i].ErrorMessage = codeOf(err), messageOf(err)
			continue
		}
		filters, asked = append(filters, filterOf(words, f.ResourceName, f.Principal, f.Host)), append(asked, i)
	}
	c.cluster().DeleteACLs(filters, func(deleted [][]acl.Binding) {
		for i, bindings := range deleted {
			resp.Results[asked[i]].MatchingACLs = matchingACLs(bindings)
		}
		c.send(resp)
	})
}

// checkFilter refuses words that are none.
func checkFilter(words acl.Binding) error {
	switch {
	case words.ResourceType == "UNKNOWN" || words.PatternType == "UNKNOWN":
		return invalidRequest("Unknown patternFilter.")
	case words.Operation == "UNKNOWN" || words.Permission == "UNKNOWN":
		return invalidRequest("Unknown entryFilter.")
	}
	return nil
}

func matchingACLs(bindings []acl.Binding) []kmsg.DeleteACLsResponseResultMatchingACL {
	matching := make([]kmsg.DeleteACLsResponseResultMatchingACL, len(bindings))
	for i, b := range bindings {
		m := kmsg.NewDeleteACLsResponseResultMatchingACL()
		m.ResourceType, m.ResourceName, m.ResourcePatternType = aclResourceCodes[b.ResourceType], b.Name, patternCodes[b.PatternType]
		m.Principal, m.Host = b.Principal, b.Host
		m.Operation, m.PermissionType = operationCodes[b.Operation], permissionCodes[b.Permission]
		matching[i] = m
	}
	return matching
}

func undeletedACLs(req *kmsg.DeleteACLsRequest, code int16, message *string) kmsg.Response {
	resp := kmsg.NewPtrDeleteACLsResponse()
	for range req.Filters {
		result := kmsg.NewDeleteACLsResponseResult()
		result.ErrorCode, result.ErrorMessage = code, message
		resp.Results = append(resp.Results, result)
	}
	return resp
}

func refuseDeleteACLs(req *kmsg.DeleteACLsRequest, code int16) kmsg.Response {
	return undeletedACLs(req, code, nil)
}
