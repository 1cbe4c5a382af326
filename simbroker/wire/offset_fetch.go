package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// offsetFetch serves OffsetFetch (rules H7 to H9).
//
// v2: null topics ask for all, errors of the whole group stand beside the
// topics; in v1 they stand in each partition. v7: require stable. v8: many
// groups a request. v9: the consumer protocol's member. v10: topic ids in place
// of names; an unknown one is UNKNOWN_TOPIC_ID, and all topics leave out those
// that no longer exist.
//
// Answers to several groups are collected: each coordinator reads its own, and
// a group that another broker coordinates has NOT_COORDINATOR of its own.
func (c *call) offsetFetch(req *kmsg.OffsetFetchRequest) {
	groups := req.Groups
	if req.Version < 8 {
		groups = []kmsg.OffsetFetchRequestGroup{singleGroup(req)}
	}
	answers := make([]kmsg.OffsetFetchResponseGroup, len(groups))
	outstanding := len(groups)
	if outstanding == 0 {
		c.send(kmsg.NewPtrOffsetFetchResponse())
	}
	for i := range groups {
		c.fetchGroup(&groups[i], req, func(answer kmsg.OffsetFetchResponseGroup) {
			answers[i] = answer
			if outstanding--; outstanding == 0 {
				c.send(offsetFetchResponse(answers, req.Version))
			}
		})
	}
}

// singleGroup is a request of one group in the form of v8.
func singleGroup(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = req.Group
	if req.Topics == nil {
		return g
	}
	g.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
	for i, t := range req.Topics {
		g.Topics[i].Topic, g.Topics[i].Partitions = t.Topic, t.Partitions
	}
	return g
}

// fetchGroup answers for one group. Named topics that cannot be asked for come
// last.
func (c *call) fetchGroup(g *kmsg.OffsetFetchRequestGroup, req *kmsg.OffsetFetchRequest, done func(kmsg.OffsetFetchResponseGroup)) {
	if !c.may(acl.Describe, acl.Group, g.Group) {
		done(fetchedGroupError(g, codeOf(kafka.ErrGroupAuthorizationFailed), req.Version))
		return
	}
	fetch := group.FetchRequest{
		GroupID:       g.Group,
		MemberID:      g.MemberID,
		MemberEpoch:   g.MemberEpoch,
		RequireStable: req.RequireStable,
	}
	var refused []kmsg.OffsetFetchResponseGroupTopic
	if g.Topics != nil {
		fetch.Topics = make([]group.FetchTopic, 0, len(g.Topics))
	}
	for _, t := range g.Topics {
		topic, err := c.fetchableTopic(t, req.Version)
		if err != nil {
			refused = append(refused, fetchedTopicError(t, codeOf(err)))
			continue
		}
		fetch.Topics = append(fetch.Topics, topic)
	}
	c.broker.Groups.FetchOffsets(fetch, func(topics []group.FetchedTopic, err error) {
		if err != nil {
			done(fetchedGroupError(g, codeOf(err), req.Version))
			return
		}
		answer := kmsg.NewOffsetFetchResponseGroup()
		answer.Group = g.Group
		for _, t := range topics {
			if id, ok := c.visibleCommit(t, g.Topics == nil, req.Version); ok {
				answer.Topics = append(answer.Topics, fetchedTopic(t, id))
			}
		}
		answer.Topics = append(answer.Topics, refused...)
		done(answer)
	})
}

func (c *call) fetchableTopic(t kmsg.OffsetFetchRequestGroupTopic, version int16) (group.FetchTopic, error) {
	topic := group.FetchTopic{Topic: t.Topic, TopicID: t.TopicID, Partitions: t.Partitions}
	if version >= 10 {
		known, ok := c.image().TopicByID(t.TopicID)
		if !ok {
			return topic, kafka.ErrUnknownTopicID
		}
		topic.Topic = known.Name
	}
	if !c.may(acl.Describe, acl.Topic, topic.Topic) {
		return topic, kafka.ErrTopicAuthorizationFailed
	}
	return topic, nil
}

// visibleCommit says whether a topic's commits are shown, and under which id.
func (c *call) visibleCommit(t group.FetchedTopic, all bool, version int16) (kafka.TopicID, bool) {
	if !all {
		return t.TopicID, true
	}
	if !c.may(acl.Describe, acl.Topic, t.Topic) {
		return t.TopicID, false
	}
	if t.TopicID == (kafka.TopicID{}) {
		if known, ok := c.image().Topic(t.Topic); ok {
			return known.ID, true
		}
	}
	return t.TopicID, version < 10 || t.TopicID != kafka.TopicID{}
}

func fetchedTopic(t group.FetchedTopic, id kafka.TopicID) kmsg.OffsetFetchResponseGroupTopic {
	topic := kmsg.NewOffsetFetchResponseGroupTopic()
	topic.Topic, topic.TopicID = t.Topic, id
	for _, p := range t.Partitions {
		partition := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		partition.Partition, partition.Offset, partition.LeaderEpoch = p.Partition, int64(p.Offset), int32(p.LeaderEpoch)
		partition.Metadata, partition.ErrorCode = &p.Metadata, codeOf(p.Err)
		topic.Partitions = append(topic.Partitions, partition)
	}
	return topic
}

func fetchedTopicError(t kmsg.OffsetFetchRequestGroupTopic, code int16) kmsg.OffsetFetchResponseGroupTopic {
	topic := kmsg.NewOffsetFetchResponseGroupTopic()
	topic.Topic, topic.TopicID = t.Topic, t.TopicID
	for _, number := range t.Partitions {
		partition := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		partition.Partition, partition.Offset, partition.LeaderEpoch = number, -1, -1
		partition.Metadata, partition.ErrorCode = new(string), code
		topic.Partitions = append(topic.Partitions, partition)
	}
	return topic
}

// fetchedGroupError is an error for a group as a whole.
func fetchedGroupError(g *kmsg.OffsetFetchRequestGroup, code int16, version int16) kmsg.OffsetFetchResponseGroup {
	answer := kmsg.NewOffsetFetchResponseGroup()
	answer.Group, answer.ErrorCode = g.Group, code
	if version < 2 {
		for _, t := range g.Topics {
			answer.Topics = append(answer.Topics, fetchedTopicError(t, code))
		}
	}
	return answer
}

func offsetFetchResponse(groups []kmsg.OffsetFetchResponseGroup, version int16) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	if version >= 8 {
		resp.Groups = groups
		return resp
	}
	resp.ErrorCode = groups[0].ErrorCode
	for _, t := range groups[0].Topics {
		topic := kmsg.NewOffsetFetchResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.OffsetFetchResponseTopicPartition(p))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func refuseOffsetFetch(req *kmsg.OffsetFetchRequest, code int16) kmsg.Response {
	groups := req.Groups
	if req.Version < 8 {
		groups = []kmsg.OffsetFetchRequestGroup{singleGroup(req)}
	}
	answers := make([]kmsg.OffsetFetchResponseGroup, len(groups))
	for i := range groups {
		answers[i] = fetchedGroupError(&groups[i], code, req.Version)
	}
	return offsetFetchResponse(answers, req.Version)
}
