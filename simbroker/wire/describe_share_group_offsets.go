package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
)

// describeShareGroupOffsets serves DescribeShareGroupOffsets: how far share
// groups are, by what was written of them. A group that is no share group, or
// none at all, has no topics and no error. Without topics in the request it is
// all that the group shares and the client may describe.
//
// v1: the lag.
func (c *call) describeShareGroupOffsets(req *kmsg.DescribeShareGroupOffsetsRequest) {
	resp := kmsg.NewPtrDescribeShareGroupOffsetsResponse()
	resp.Groups = make([]kmsg.DescribeShareGroupOffsetsResponseGroup, len(req.Groups))
	left := len(req.Groups)
	if left == 0 {
		c.send(resp)
	}
	for i := range req.Groups {
		c.describeShareOffsets(&req.Groups[i], func(g kmsg.DescribeShareGroupOffsetsResponseGroup) {
			resp.Groups[i] = g
			if left--; left == 0 {
				c.send(resp)
			}
		})
	}
}

// describeShareOffsets describes one group.
func (c *call) describeShareOffsets(asked *kmsg.DescribeShareGroupOffsetsRequestGroup, done func(kmsg.DescribeShareGroupOffsetsResponseGroup)) {
	g := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
	g.GroupID = asked.GroupID
	shared, err := c.describableShared(asked)
	if err != nil {
		g.ErrorCode, g.ErrorMessage = codeOf(err), messageOf(err)
		done(g)
		return
	}
	for _, t := range shared {
		topic := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, n := range t.Partitions {
			p := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopicPartition()
			p.Partition, p.StartOffset, p.Lag = n, -1, -1
			topic.Partitions = append(topic.Partitions, p)
		}
		g.Topics = append(g.Topics, topic)
	}
	c.fillShareOffsets(g, done)
}

// describableShared is the partitions of a group to describe: those that the
// client names or, if it names none, all that it may know of.
func (c *call) describableShared(asked *kmsg.DescribeShareGroupOffsetsRequestGroup) ([]group.AssignedTopic, error) {
	switch {
	case !c.finalized("share.version", ""):
		return nil, kafka.ErrUnsupportedVersion
	case !c.may(acl.Describe, acl.Group, asked.GroupID):
		return nil, kafka.ErrGroupAuthorizationFailed
	case asked.Topics != nil: // which needs no coordinator
		return c.namedShared(asked.Topics), nil
	}
	shared, err := c.broker.Groups.SharedPartitions(asked.GroupID)
	return slices.DeleteFunc(shared, func(t group.AssignedTopic) bool { return !c.may(acl.Describe, acl.Topic, t.Topic) }), err
}

// namedShared is the partitions that a client asks about. Topics that there are
// not have no id.
func (c *call) namedShared(topics []kmsg.DescribeShareGroupOffsetsRequestGroupTopic) []group.AssignedTopic {
	var named []group.AssignedTopic
	for _, t := range topics {
		topic := group.AssignedTopic{Topic: t.Topic, Partitions: t.Partitions}
		if known, ok := c.image().Topic(t.Topic); ok && c.may(acl.Describe, acl.Topic, t.Topic) {
			topic.TopicID = known.ID
		}
		named = append(named, topic)
	}
	return named
}

// fillShareOffsets asks how far the group is in each partition.
func (c *call) fillShareOffsets(g kmsg.DescribeShareGroupOffsetsResponseGroup, done func(kmsg.DescribeShareGroupOffsetsResponseGroup)) {
	left := 1
	finish := func() {
		if left--; left == 0 {
			done(g)
		}
	}
	for i := range g.Topics {
		t := &g.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			switch {
			case !c.may(acl.Describe, acl.Topic, t.Topic):
				p.ErrorCode, p.ErrorMessage = codeOf(kafka.ErrTopicAuthorizationFailed), fullMessageOf(kafka.ErrTopicAuthorizationFailed)
				continue
			case t.TopicID == kafka.TopicID{}:
				continue
			}
			left++
			key := share.Key{Group: g.GroupID, TopicID: t.TopicID, Partition: p.Partition}
			c.broker.Shares.Offsets(key, kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}, func(o share.Offsets) {
				p.StartOffset, p.LeaderEpoch, p.Lag = int64(o.Start), int32(o.LeaderEpoch), o.Lag
				p.ErrorCode, p.ErrorMessage = codeOf(o.Err), fullMessageOf(o.Err)
				finish()
			})
		}
	}
	finish()
}

func refuseDescribeShareGroupOffsets(req *kmsg.DescribeShareGroupOffsetsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeShareGroupOffsetsResponse()
	for i := range req.Groups {
		g := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
		g.GroupID, g.ErrorCode = req.Groups[i].GroupID, code
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
