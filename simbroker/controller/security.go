package controller

import (
	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// securityControl changes rights and credentials.
type securityControl struct{ *metadata }

// CreateACLs adds bindings, one error each in their order; nil is for those
// that were there before, too. Errors: ErrInvalidRequest.
func (c *securityControl) CreateACLs(bindings []acl.Binding) []error {
	errs := make([]error, len(bindings))
	for n, b := range bindings {
		if err := b.Check(); err != nil {
			errs[n] = refuse(kafka.ErrInvalidRequest, "%s", err)
			continue
		}
		if _, ok := c.image.acls[b]; !ok {
			c.createACL(b)
		}
	}
	c.commit()
	return errs
}

// DeleteACLs removes the bindings that each filter chooses, and lists them. All
// filters see the bindings of before.
func (c *securityControl) DeleteACLs(filters []acl.Filter) [][]acl.Binding {
	chosen := make([][]acl.Binding, len(filters))
	bindings := c.image.ACLs()
	for n, f := range filters {
		for _, b := range bindings {
			if !f.Matches(b) {
				continue
			}
			chosen[n] = append(chosen[n], b)
			if _, ok := c.image.acls[b]; ok {
				c.deleteACL(b)
			}
		}
	}
	c.commit()
	return chosen
}

// AlterCredentials changes what is kept of users' passwords (KIP-554), with one
// result a user, in the order of their first change. A user may be changed once
// only, else nothing is. Errors: ErrDuplicateResource, ErrResourceNotFound,
// ErrUnacceptableCredential, ErrUnsupportedSASLMechanism.
func (c *securityControl) AlterCredentials(changes []CredentialChange) []CredentialResult {
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
			c.setCredential(byUser[user][0])
		}
	}
	c.commit()
	return results
}

func (c *securityControl) checkCredential(changes []CredentialChange) error {
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
