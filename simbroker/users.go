package simbroker

import (
	"fmt"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// addUsers gives the users that the cluster is formatted with their
// credentials.
func (c *Cluster) addUsers() error {
	var changes []controller.CredentialChange
	for _, u := range c.cfg.Users {
		salt := []byte(c.chance.nonce())
		credential := sasl.NewCredential(u.Mechanism, sasl.SaltPassword(u.Mechanism, u.Password, salt, u.Iterations), salt, u.Iterations)
		changes = append(changes, controller.CredentialChange{User: u.Name, Mechanism: u.Mechanism, Credential: &credential})
	}
	for i := range changes { // one at a time: a user may have both mechanisms
		for _, r := range c.controller.AlterCredentials(changes[i : i+1]) {
			if r.Err != nil {
				return fmt.Errorf("user %s: %w", r.User, r.Err)
			}
		}
	}
	return nil
}
