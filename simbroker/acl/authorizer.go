package acl

import "strings"

// Config is what a broker's properties say of its authorizer.
type Config struct {
	// SuperUsers are principals that may do everything (super.users).
	SuperUsers []string
	// AllowIfNoACL allows what no binding's pattern names
	// (allow.everyone.if.no.acl.found).
	AllowIfNoACL bool
}

// Client is who asks: a principal, User:alice, and the IP address it comes
// from.
type Client struct{ Principal, Host string }

// Authorizer answers for one broker, from the bindings that it was given last.
type Authorizer struct {
	cfg    Config
	byType map[ResourceType]*section
}

// section is the bindings on the resources of one type, by the names of their
// patterns. Wildcards are literals here.
type section struct {
	literal, prefixed map[string][]Binding
}

// NewAuthorizer returns an authorizer without bindings.
func NewAuthorizer(cfg Config) *Authorizer { return &Authorizer{cfg: cfg} }

// Load replaces the bindings.
func (a *Authorizer) Load(bindings []Binding) {
	a.byType = make(map[ResourceType]*section)
	for _, b := range bindings {
		s := a.byType[b.ResourceType]
		if s == nil {
			s = &section{literal: make(map[string][]Binding), prefixed: make(map[string][]Binding)}
			a.byType[b.ResourceType] = s
		}
		if b.PatternType == Prefixed {
			s.prefixed[b.Name] = append(s.prefixed[b.Name], b)
		} else {
			s.literal[b.Name] = append(s.literal[b.Name], b)
		}
	}
}

// Allows says whether a client may do op with one resource. Super users may do
// everything; otherwise a denial outweighs permissions, and without either the
// answer is no, or AllowIfNoACL's where no pattern names the resource at all.
func (a *Authorizer) Allows(c Client, op Operation, kind ResourceType, name string) bool {
	if a.isSuper(c.Principal) {
		return true
	}
	named, allowed := false, false
	for b := range a.about(kind, name) {
		named = true
		if !b.speaksOf(c, op) {
			continue
		}
		if b.Permission == Deny {
			return false
		}
		allowed = true
	}
	return allowed || !named && a.cfg.AllowIfNoACL
}

func (a *Authorizer) isSuper(principal string) bool {
	for _, super := range a.cfg.SuperUsers {
		if super == principal {
			return true
		}
	}
	return false
}

// about yields the bindings whose patterns name a resource.
func (a *Authorizer) about(kind ResourceType, name string) func(yield func(Binding) bool) {
	return func(yield func(Binding) bool) {
		s := a.byType[kind]
		if s == nil {
			return
		}
		each := func(bindings []Binding) bool {
			for _, b := range bindings {
				if !yield(b) {
					return false
				}
			}
			return true
		}
		if !each(s.literal[name]) || name != Wildcard && !each(s.literal[Wildcard]) || len(s.prefixed) == 0 {
			return
		}
		for end := 1; end <= len(name); end++ {
			if !each(s.prefixed[name[:end]]) {
				return
			}
		}
	}
}

// speaksOf says whether a binding is about a client's doing op. A permission
// implies others, a denial does not: who may read, write, delete or alter a
// thing may describe it, who may alter its configuration may describe that.
func (b Binding) speaksOf(c Client, op Operation) bool {
	if b.Principal != c.Principal && b.Principal != everybody || b.Host != c.Host && b.Host != Wildcard {
		return false
	}
	return b.Operation == AllOperations || b.Operation == op || b.Permission == Allow && b.Operation.implies(op)
}

func (o Operation) implies(op Operation) bool {
	switch op {
	case Describe:
		return o == Read || o == Write || o == Delete || o == Alter
	case DescribeConfigs:
		return o == AlterConfigs
	}
	return false
}

// AllowsAny says whether a client may do op with at least one resource of a
// type, existing or not: what Kafka asks of an idempotent producer, which needs
// no right of its own since KIP-679. Here an operation implies no other.
func (a *Authorizer) AllowsAny(c Client, op Operation, kind ResourceType) bool {
	if a.Allows(c, op, kind, "hardcode") { // Kafka's own probe, so that both agree on a topic of that name
		return true
	}
	s := a.byType[kind]
	if s == nil {
		return false
	}
	says := func(bindings []Binding, p Permission) bool {
		for _, b := range bindings {
			if b.Permission == p && (b.Operation == op || b.Operation == AllOperations) && b.speaksOf(c, op) {
				return true
			}
		}
		return false
	}
	if says(s.literal[Wildcard], Deny) {
		return false
	}
	if says(s.literal[Wildcard], Allow) {
		return true
	}
	prefixDenied := func(name string) bool {
		for end := 1; end <= len(name); end++ {
			if says(s.prefixed[name[:end]], Deny) {
				return true
			}
		}
		return false
	}
	for name, bindings := range s.literal {
		if says(bindings, Allow) && !says(bindings, Deny) && !prefixDenied(name) {
			return true
		}
	}
	for name, bindings := range s.prefixed {
		if says(bindings, Allow) && !prefixDenied(name) {
			return true
		}
	}
	return false
}

// Operations lists what a client may do with one resource, of the operations
// that make sense on it.
func (a *Authorizer) Operations(c Client, kind ResourceType, name string) []Operation {
	var allowed []Operation
	for _, op := range supported[kind] {
		if a.Allows(c, op, kind, name) {
			allowed = append(allowed, op)
		}
	}
	return allowed
}

// ParseSuperUsers reads the value of super.users: principals with semicolons
// between them. The error names the one that is none.
func ParseSuperUsers(value string) ([]string, error) {
	var users []string
	for _, user := range strings.Split(value, ";") {
		if user = strings.TrimSpace(user); user == "" {
			continue
		}
		if kind, name, ok := strings.Cut(user, ":"); !ok || kind == "" || name == "" {
			return nil, invalidError("expected a string in format principalType:principalName but got " + user)
		}
		users = append(users, user)
	}
	return users, nil
}
