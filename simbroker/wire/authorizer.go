package wire

import (
	"github.com/lso-exporter/lso-exporter/simbroker/acl"
)

// Authorizer decides who may do what; an acl.Authorizer is one. It must answer
// at once and must not change anything.
type Authorizer interface {
	// Allows says whether a client may do op with one resource.
	Allows(c acl.Client, op acl.Operation, kind acl.ResourceType, name string) bool
	// AllowsAny says whether a client may do op with some resource of a type.
	AllowsAny(c acl.Client, op acl.Operation, kind acl.ResourceType) bool
	// Operations lists what a client may do with one resource.
	Operations(c acl.Client, kind acl.ResourceType, name string) []acl.Operation
}

var _ Authorizer = (*acl.Authorizer)(nil)
