package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// operationCodes are the operations of rights, by Kafka's number.
var operationCodes = map[acl.Operation]kmsg.ACLOperation{
	acl.AnyOperation:    1,
	acl.AllOperations:   2,
	acl.Read:            3,
	acl.Write:           4,
	acl.Create:          5,
	acl.Delete:          6,
	acl.Alter:           7,
	acl.Describe:        8,
	acl.ClusterAction:   9,
	acl.DescribeConfigs: 10,
	acl.AlterConfigs:    11,
	acl.IdempotentWrite: 12,
	acl.CreateTokens:    13,
	acl.DescribeTokens:  14,
	acl.TwoPhaseCommit:  15,
}

var aclResourceCodes = map[acl.ResourceType]kmsg.ACLResourceType{
	acl.AnyResource:     1,
	acl.Topic:           2,
	acl.Group:           3,
	acl.Cluster:         4,
	acl.TransactionalID: 5,
	acl.DelegationToken: 6,
	acl.User:            7,
}

var patternCodes = map[acl.PatternType]kmsg.ACLResourcePatternType{
	acl.AnyPattern: 1, acl.Match: 2, acl.Literal: 3, acl.Prefixed: 4,
}

var permissionCodes = map[acl.Permission]kmsg.ACLPermissionType{
	acl.AnyPermission: 1, acl.Deny: 2, acl.Allow: 3,
}

// wordOf is the word that has a code, UNKNOWN for a code without one; ok is
// false for the code 0, with which Kafka cannot read the request.
func wordOf[W ~string, C ~int8](codes map[W]C, code C) (word W, ok bool) {
	for word, c := range codes {
		if c == code {
			return word, true
		}
	}
	return "UNKNOWN", code != 0
}

// aclWords are what bindings and filters have in common, decoded; ok is false
// where the request cannot be read.
func aclWords(kind kmsg.ACLResourceType, pattern kmsg.ACLResourcePatternType, op kmsg.ACLOperation, permission kmsg.ACLPermissionType) (b acl.Binding, ok bool) {
	var known [4]bool
	b.ResourceType, known[0] = wordOf(aclResourceCodes, kind)
	b.PatternType, known[1] = wordOf(patternCodes, pattern)
	b.Operation, known[2] = wordOf(operationCodes, op)
	b.Permission, known[3] = wordOf(permissionCodes, permission)
	return b, !slices.Contains(known[:], false)
}

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

// checkACLs is the error of who may not look at ACLs, or change them.
func (c *call) checkACLs(op acl.Operation) error {
	if !c.mayCluster(op) {
		return denied(kafka.ErrClusterAuthorizationFailed)
	}
	if c.broker().Authorizer == nil {
		return &controller.Refusal{Err: kafka.ErrSecurityDisabled, Message: "No Authorizer is configured."}
	}
	return nil
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
