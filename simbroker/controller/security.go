package controller

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// credentialKey names a credential: a user has one for each mechanism.
type credentialKey struct {
	user      string
	mechanism sasl.Mechanism
}

// CredentialChange is a user's new credential for a mechanism, or that there is
// none any more.
type CredentialChange struct {
	User       string
	Mechanism  sasl.Mechanism
	Credential *sasl.Credential // nil removes it
}

// ACLs lists the bindings in order. The slice must not be changed.
func (i *Image) ACLs() []acl.Binding {
	if i.sortedACLs == nil {
		i.sortedACLs = slices.SortedFunc(maps.Keys(i.acls), acl.Compare)
	}
	return i.sortedACLs
}

// Credential is what is kept of a user's password for a mechanism.
func (i *Image) Credential(m sasl.Mechanism, user string) (sasl.Credential, bool) {
	c, ok := i.credentials[credentialKey{user, m}]
	return c, ok
}

// Credentials lists the users that have a credential, by name, each with its
// mechanisms.
func (i *Image) Credentials() []CredentialChange {
	keys := slices.SortedFunc(maps.Keys(i.credentials), func(a, b credentialKey) int {
		return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.mechanism, b.mechanism))
	})
	list := make([]CredentialChange, len(keys))
	for n, k := range keys {
		c := i.credentials[k]
		list[n] = CredentialChange{User: k.user, Mechanism: k.mechanism, Credential: &c}
	}
	return list
}

// applySecurity brings rights and credentials up to date.
func (i *Image) applySecurity(u *Update) {
	if len(u.NewACLs)+len(u.DeletedACLs) > 0 {
		i.sortedACLs = nil
	}
	for _, b := range u.DeletedACLs {
		delete(i.acls, b)
	}
	for _, b := range u.NewACLs {
		i.acls[b] = struct{}{}
	}
	for _, c := range u.Credentials {
		if c.Credential == nil {
			delete(i.credentials, credentialKey{c.User, c.Mechanism})
		} else {
			i.credentials[credentialKey{c.User, c.Mechanism}] = *c.Credential
		}
	}
}

// CreateACLs adds bindings, one error each in their order; nil is for those
// that were there before, too. Errors: ErrInvalidRequest.
func (c *Controller) CreateACLs(bindings []acl.Binding) []error {
	errs := make([]error, len(bindings))
	for n, b := range bindings {
		if err := b.Check(); err != nil {
			errs[n] = refuse(kafka.ErrInvalidRequest, "%s", err)
			continue
		}
		if _, ok := c.image.acls[b]; !ok {
			c.change().NewACLs = append(c.change().NewACLs, b)
			c.image.applySecurity(&Update{NewACLs: []acl.Binding{b}})
		}
	}
	c.commit()
	return errs
}

// DeleteACLs removes the bindings that each filter chooses, and lists them. All
// filters see the bindings of before.
func (c *Controller) DeleteACLs(filters []acl.Filter) [][]acl.Binding {
	chosen := make([][]acl.Binding, len(filters))
	deleted := make(map[acl.Binding]bool)
	for n, f := range filters {
		for _, b := range c.image.ACLs() {
			if !f.Matches(b) {
				continue
			}
			chosen[n] = append(chosen[n], b)
			if !deleted[b] {
				deleted[b] = true
				c.change().DeletedACLs = append(c.change().DeletedACLs, b)
			}
		}
	}
	if c.pending != nil {
		c.image.applySecurity(&Update{DeletedACLs: c.pending.DeletedACLs})
	}
	c.commit()
	return chosen
}

// CredentialResult answers a CredentialChange; each user has one.
type CredentialResult struct {
	User string
	Err  error
}

// AlterCredentials changes what is kept of users' passwords (KIP-554), with one
// result a user, in the order of their first change. A user may be changed once
// only, else nothing is. Errors: ErrDuplicateResource, ErrResourceNotFound,
// ErrUnacceptableCredential, ErrUnsupportedSASLMechanism.
func (c *Controller) AlterCredentials(changes []CredentialChange) []CredentialResult {
	var users []string
	byUser := make(map[string][]CredentialChange)
	for _, change := range changes {
		if byUser[change.User] == nil {
			users = append(users, change.User)
		}
		byUser[change.User] = append(byUser[change.User], change)
	}
	results := make([]CredentialResult, len(users))
	for n, user := range users {
		results[n] = CredentialResult{user, c.checkCredential(byUser[user])}
		if results[n].Err == nil {
			c.change().Credentials = append(c.change().Credentials, byUser[user][0])
			c.image.applySecurity(&Update{Credentials: byUser[user][:1]})
		}
	}
	c.commit()
	return results
}

func (c *Controller) checkCredential(changes []CredentialChange) error {
	change := changes[0]
	switch {
	case len(changes) > 1:
		return refuse(kafka.ErrDuplicateResource, "A user credential cannot be altered twice in the same request")
	case change.User == "":
		return refuse(kafka.ErrUnacceptableCredential, "Username must not be empty")
	case !change.Mechanism.IsScram():
		return refuse(kafka.ErrUnsupportedSASLMechanism, "Unknown SCRAM mechanism")
	case change.Credential == nil:
		if _, ok := c.image.Credential(change.Mechanism, change.User); !ok {
			return refuse(kafka.ErrResourceNotFound, "Attempt to delete a user credential that does not exist")
		}
		return nil
	case change.Credential.Iterations < sasl.MinIterations:
		return refuse(kafka.ErrUnacceptableCredential, "Too few iterations")
	case change.Credential.Iterations > sasl.MaxIterations:
		return refuse(kafka.ErrUnacceptableCredential, "Too many iterations")
	}
	return nil
}
