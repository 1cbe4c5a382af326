package acl

import "strings"

// Filter chooses bindings. Its words may be the Any of their kind; a nil text
// matches every text.
type Filter struct {
	ResourceType ResourceType
	Name         *string
	PatternType  PatternType
	Principal    *string
	Host         *string
	Operation    Operation
	Permission   Permission
}

// Everything is the filter that matches every binding.
func Everything() Filter {
	return Filter{ResourceType: AnyResource, PatternType: AnyPattern, Operation: AnyOperation, Permission: AnyPermission}
}

// Matches says whether the filter chooses a binding.
func (f Filter) Matches(b Binding) bool {
	return (f.ResourceType == AnyResource || f.ResourceType == b.ResourceType) &&
		f.matchesPattern(b) &&
		(f.Principal == nil || *f.Principal == b.Principal) &&
		(f.Host == nil || *f.Host == b.Host) &&
		(f.Operation == AnyOperation || f.Operation == b.Operation) &&
		(f.Permission == AnyPermission || f.Permission == b.Permission)
}

func (f Filter) matchesPattern(b Binding) bool {
	kindOpen := f.PatternType == AnyPattern || f.PatternType == Match
	switch {
	case !kindOpen && f.PatternType != b.PatternType:
		return false
	case f.Name == nil:
		return true
	case f.PatternType != Match:
		return *f.Name == b.Name
	}
	return b.applies(*f.Name)
}

// applies says whether the binding's pattern names a resource.
func (b Binding) applies(name string) bool {
	if b.PatternType == Prefixed {
		return strings.HasPrefix(name, b.Name)
	}
	return b.Name == name || b.Name == Wildcard
}
