package wire

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// finalized says whether a protocol of groups is switched on: by a finalised
// feature, and by group.coordinator.rebalance.protocols unless protocol is
// empty.
func (c *call) finalized(feature, protocol string) bool {
	protocols := c.cluster().Config().List("group.coordinator.rebalance.protocols")
	return c.image().Features().Levels[feature] >= 1 && (protocol == "" || slices.Contains(protocols, protocol))
}

// mayDescribeAll says whether the client may know of all topics that it names.
func (c *call) mayDescribeAll(topics []string) bool {
	return !slices.ContainsFunc(topics, func(t string) bool { return !c.may(acl.Describe, acl.Topic, t) })
}

// describableGroups separates the groups that the client may describe from
// those that it may not.
func (c *call) describableGroups(ids []string) (allowed, forbidden []string) {
	for _, id := range ids {
		if c.may(acl.Describe, acl.Group, id) {
			allowed = append(allowed, id)
		} else {
			forbidden = append(forbidden, id)
		}
	}
	return allowed, forbidden
}

// errHiddenTopic refuses the description of a group that has topics which the
// client may not describe.
var errHiddenTopic = &group.Refusal{
	Err:     kafka.ErrTopicAuthorizationFailed,
	Message: "The group has described topic(s) that the client is not authorized to describe.",
}

// mayDescribeAssigned says whether the client may know of all topics in
// assignments.
func (c *call) mayDescribeAssigned(assignments ...[]group.AssignedTopic) bool {
	return !slices.ContainsFunc(slices.Concat(assignments...), func(t group.AssignedTopic) bool {
		return !c.may(acl.Describe, acl.Topic, t.Topic)
	})
}
