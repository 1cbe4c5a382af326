package wire

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// resourceTypes are the kinds of configuration that can be altered, by Kafka's
// number. There are no loggers, and client metrics have their defaults.
var resourceTypes = map[kmsg.ConfigResourceType]property.Resource{
	kmsg.ConfigResourceTypeTopic:       property.Topic,
	kmsg.ConfigResourceTypeBroker:      property.Broker,
	kmsg.ConfigResourceTypeGroupConfig: property.Group,
}

// checkConfigs is the error for lack of a right on the configuration of a
// resource.
func (c *call) checkConfigs(op acl.Operation, kind property.Resource, name string) error {
	switch {
	case kind == property.Topic && !c.may(op, acl.Topic, name):
		return denied(kafka.ErrTopicAuthorizationFailed)
	case kind == property.Group && !c.may(op, acl.Group, name):
		return denied(kafka.ErrGroupAuthorizationFailed)
	case kind == property.Broker && !c.mayCluster(op):
		return denied(kafka.ErrClusterAuthorizationFailed)
	}
	return nil
}

// checkOwnBroker refuses the configuration of another broker: each is altered
// by itself.
func (c *call) checkOwnBroker(kind property.Resource, name string) error {
	if kind != property.Broker || name == "" {
		return nil
	}
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return invalidRequest("Node id must be an integer, but it is: " + name)
	}
	if own := c.broker.ID; int64(own) != id {
		return invalidRequest(fmt.Sprintf("Unexpected broker id, expected %d, but received %s", own, name))
	}
	return nil
}

func configChange(name string, op controller.ConfigOp, value *string) controller.ConfigChange {
	return controller.ConfigChange{Name: name, Op: op, Value: stringOf(value), Null: value == nil}
}
