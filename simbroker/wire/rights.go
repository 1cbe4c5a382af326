package wire

import (
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// client is who makes the request, as the authorizer knows it.
func (c *call) client() acl.Client {
	return acl.Client{Principal: c.conn.Principal, Host: strings.TrimPrefix(c.conn.ClientHost, "/")}
}

// may says whether the client has a right.
func (c *call) may(op acl.Operation, kind acl.ResourceType, name string) bool {
	authorizer := c.broker.Authorizer
	return authorizer == nil || authorizer.Allows(c.client(), op, kind, name)
}

// mayCluster says whether the client has a right on the cluster.
func (c *call) mayCluster(op acl.Operation) bool { return c.may(op, acl.Cluster, acl.ClusterName) }

// maySome says whether the client has a right on some resource of a type.
func (c *call) maySome(op acl.Operation, kind acl.ResourceType) bool {
	authorizer := c.broker.Authorizer
	return authorizer == nil || authorizer.AllowsAny(c.client(), op, kind)
}

// authorizedOperations is what the client may do with a resource, as responses
// tell it: the bit of each operation's code is set (KIP-430).
func (c *call) authorizedOperations(kind acl.ResourceType, name string) int32 {
	operations := acl.Supported(kind)
	if authorizer := c.broker.Authorizer; authorizer != nil {
		operations = authorizer.Operations(c.client(), kind, name)
	}
	var bits int32
	for _, op := range operations {
		bits |= 1 << operationCodes[op]
	}
	return bits
}

// clusterOperations is authorizedOperations of the cluster: none without the
// right to describe it.
func (c *call) clusterOperations() int32 {
	if !c.mayCluster(acl.Describe) {
		return 0
	}
	return c.authorizedOperations(acl.Cluster, acl.ClusterName)
}

// checkTopic is TOPIC_AUTHORIZATION_FAILED without a right on a topic,
// UNKNOWN_TOPIC_OR_PARTITION for one that does not exist, otherwise nil.
func (c *call) checkTopic(op acl.Operation, topic string) error {
	if !c.may(op, acl.Topic, topic) {
		return kafka.ErrTopicAuthorizationFailed
	}
	if _, ok := c.image().Topic(topic); !ok {
		return kafka.ErrUnknownTopicOrPartition
	}
	return nil
}

// checkPartition is checkTopic, for one partition.
func (c *call) checkPartition(op acl.Operation, tp kafka.TopicPartition) error {
	if err := c.checkTopic(op, tp.Topic); err != nil {
		return err
	}
	if _, ok := c.image().Partition(tp); !ok {
		return kafka.ErrUnknownTopicOrPartition
	}
	return nil
}

// checkACLs is the error of who may not look at ACLs, or change them.
func (c *call) checkACLs(op acl.Operation) error {
	if !c.mayCluster(op) {
		return denied(kafka.ErrClusterAuthorizationFailed)
	}
	if c.broker.Authorizer == nil {
		return &controller.Refusal{Err: kafka.ErrSecurityDisabled, Message: "No Authorizer is configured."}
	}
	return nil
}
