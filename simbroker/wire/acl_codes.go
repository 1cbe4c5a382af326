package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
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
