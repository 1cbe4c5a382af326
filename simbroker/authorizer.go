package simbroker

import (
	"fmt"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// standardAuthorizer is the only authorizer that there is: Kafka's own.
const standardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

// Properties that are not Kafka's but its authorizer's.
const (
	superUsersProperty   = "super.users"
	allowIfNoACLProperty = "allow.everyone.if.no.acl.found"
)

// newAuthorizer is the authorizer that a broker's properties ask for; nil if
// they ask for none.
func newAuthorizer(static property.Values) (*acl.Authorizer, error) {
	switch class := static["authorizer.class.name"]; class {
	case "":
		return nil, nil
	case standardAuthorizer:
	default:
		return nil, fmt.Errorf("authorizer.class.name=%s: there is no such authorizer; expected %s", class, standardAuthorizer)
	}
	super, err := acl.ParseSuperUsers(static[superUsersProperty])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", superUsersProperty, err)
	}
	return acl.NewAuthorizer(acl.Config{
		SuperUsers:   super,
		AllowIfNoACL: strings.EqualFold(static[allowIfNoACLProperty], "true"),
	}), nil
}
