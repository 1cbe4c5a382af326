package acl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Binding is one rule: a principal, coming from a host, is allowed or denied an
// operation on the resources that a pattern names.
type Binding struct {
	ResourceType ResourceType
	// Name is that of the resource, or what its name begins with, depending on
	// PatternType. The literal Wildcard stands for every resource of the type.
	Name        string
	PatternType PatternType
	// Principal is a user in Kafka's form, User:alice; User:* is everybody.
	Principal string
	// Host is the client's IP address, or Wildcard.
	Host       string
	Operation  Operation
	Permission Permission
}

// String prints the binding as one line: ALLOW User:alice READ on TOPIC
// LITERAL orders from *.
func (b Binding) String() string {
	return fmt.Sprintf("%s %s %s on %s %s %s from %s",
		b.Permission, b.Principal, b.Operation, b.ResourceType, b.PatternType, b.Name, b.Host)
}

// ErrInvalid is wrapped by the errors of Check.
var ErrInvalid = errors.New("invalid ACL")

// invalidError says in Kafka's words what is wrong with a binding.
type invalidError string

// Error implements error.
func (e invalidError) Error() string { return string(e) }

// Unwrap makes errors.Is find ErrInvalid.
func (e invalidError) Unwrap() error { return ErrInvalid }

// Check refuses bindings that Kafka does not take. The error's text is Kafka's
// and it wraps ErrInvalid.
func (b Binding) Check() error {
	refuse := func(format string, args ...any) error { return invalidError(fmt.Sprintf(format, args...)) }
	switch {
	case b.ResourceType == Cluster && b.Name != ClusterName:
		return refuse("The only valid name for the CLUSTER resource is %s", ClusterName)
	case b.Name == "":
		return refuse("Invalid empty resource name")
	case supported[b.ResourceType] == nil:
		return refuse("Invalid resourceType %s", b.ResourceType)
	case b.PatternType != Literal && b.PatternType != Prefixed:
		return refuse("Invalid patternType %s", b.PatternType)
	case !slices.Contains(operations, b.Operation):
		return refuse("Invalid operation %s", b.Operation)
	case b.Permission != Allow && b.Permission != Deny:
		return refuse("Invalid permissionType %s", b.Permission)
	}
	if !strings.Contains(b.Principal, ":") {
		return refuse("Could not parse principal from `%s` (no colon is present separating the principal type from the principal name)", b.Principal)
	}
	return nil
}

// Compare orders bindings by resource, then by what they say: the order in
// which they are listed.
func Compare(a, b Binding) int {
	return cmp.Or(
		cmp.Compare(a.ResourceType, b.ResourceType),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.PatternType, b.PatternType),
		cmp.Compare(a.Principal, b.Principal),
		cmp.Compare(a.Host, b.Host),
		cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Permission, b.Permission),
	)
}
