package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// describeACLs serves DescribeAcls, from the broker's image. It needs DESCRIBE
// on the cluster, and an authorizer: else SECURITY_DISABLED.
func (c *call) describeACLs(req *kmsg.DescribeACLsRequest) {
	if err := c.checkACLs(acl.Describe); err != nil {
		resp := kmsg.NewPtrDescribeACLsResponse()
		resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
		if domainError(err) == kafka.ErrSecurityDisabled {
			text := "No Authorizer is configured on the broker"
			resp.ErrorMessage = &text
		}
		c.send(resp)
		return
	}
	words, ok := aclWords(req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType)
	if !ok {
		c.hangUp()
		return
	}
	f := filterOf(words, req.ResourceName, req.Principal, req.Host)
	resp := kmsg.NewPtrDescribeACLsResponse()
	for _, b := range c.image().ACLs() { // sorted, hence by resource
		if !f.Matches(b) {
			continue
		}
		last := len(resp.Resources) - 1
		if last < 0 || !isAbout(&resp.Resources[last], b) {
			resource := kmsg.NewDescribeACLsResponseResource()
			resource.ResourceType, resource.ResourceName = aclResourceCodes[b.ResourceType], b.Name
			resource.ResourcePatternType = patternCodes[b.PatternType]
			resp.Resources = append(resp.Resources, resource)
			last++
		}
		entry := kmsg.NewDescribeACLsResponseResourceACL()
		entry.Principal, entry.Host = b.Principal, b.Host
		entry.Operation, entry.PermissionType = operationCodes[b.Operation], permissionCodes[b.Permission]
		resp.Resources[last].ACLs = append(resp.Resources[last].ACLs, entry)
	}
	c.send(resp)
}

// filterOf is a filter with these texts and a binding's words.
func filterOf(words acl.Binding, name, principal, host *string) acl.Filter {
	return acl.Filter{
		ResourceType: words.ResourceType, Name: name, PatternType: words.PatternType,
		Principal: principal, Host: host,
		Operation: words.Operation, Permission: words.Permission,
	}
}

func isAbout(r *kmsg.DescribeACLsResponseResource, b acl.Binding) bool {
	return r.ResourceType == aclResourceCodes[b.ResourceType] && r.ResourceName == b.Name && r.ResourcePatternType == patternCodes[b.PatternType]
}

func refuseDescribeACLs(_ *kmsg.DescribeACLsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.ErrorCode = code
	return resp
}
