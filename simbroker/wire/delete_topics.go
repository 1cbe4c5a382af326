package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// deleteTopics serves DeleteTopics; any broker forwards it to the controller, who
// knows better than the broker whether an id is still that of the topic.
//
// v3: TOPIC_DELETION_DISABLED where delete.topic.enable is false, before that
// INVALID_REQUEST. v5: error messages. v6: topics by name or by id, not both.
func (c *call) deleteTopics(req *kmsg.DeleteTopicsRequest) {
	if !c.cluster().Config().Bool("delete.topic.enable") {
		if req.Version < 3 {
			c.refuse(kafka.ErrInvalidRequest)
		} else {
			c.refuse(errTopicDeletionDisabled)
		}
		return
	}
	resp := kmsg.NewPtrDeleteTopicsResponse()
	var topics []controller.TopicResult
	for _, t := range c.distinctDeletions(deletableTopics(req)) {
		if t.err != nil {
			resp.Topics = append(resp.Topics, deletedTopic(t.shown(), t.asked.TopicID, t.err))
		} else {
			topics = append(topics, t.target())
		}
	}
	c.cluster().DeleteTopics(topics, func(results []controller.TopicResult) {
		for _, r := range results {
			name := &r.Name
			if r.Name == "" { // no topic has the id
				name = nil
			}
			resp.Topics = append(resp.Topics, deletedTopic(name, r.ID, r.Err))
		}
		c.send(resp)
	})
}

// deletableTopics are the topics of a request in the form of v6.
func deletableTopics(req *kmsg.DeleteTopicsRequest) []kmsg.DeleteTopicsRequestTopic {
	if req.Version >= 6 {
		return req.Topics
	}
	topics := make([]kmsg.DeleteTopicsRequestTopic, len(req.TopicNames))
	for i := range req.TopicNames {
		topics[i].Topic = &req.TopicNames[i]
	}
	return topics
}

// deletion is what is asked of one topic.
type deletion struct {
	asked kmsg.DeleteTopicsRequestTopic
	name  string
	err   error
}

// target is the topic as it was asked for, by name or by id.
func (d *deletion) target() controller.TopicResult {
	if d.asked.Topic == nil {
		return controller.TopicResult{ID: d.asked.TopicID}
	}
	return controller.TopicResult{Name: d.name}
}

// shown is the name that an error tells: of a topic asked for by its id, only
// where the client may know it.
func (d *deletion) shown() *string {
	if d.asked.Topic == nil && d.name != "" {
		return &d.name
	}
	return d.asked.Topic
}

// distinctDeletions leaves one of the deletions that ask for the same topic,
// and makes it an error: which was meant?
func (c *call) distinctDeletions(topics []kmsg.DeleteTopicsRequestTopic) []*deletion {
	var distinct []*deletion
	first := make(map[string]*deletion)
	for _, t := range topics {
		d := &deletion{asked: t}
		d.name, d.err = c.deletableTopic(t)
		if d.err != nil {
			distinct = append(distinct, d)
			continue
		}
		if before := first[d.name]; before != nil {
			before.err = duplicateDeletion(before.asked, t)
			continue
		}
		first[d.name] = d
		distinct = append(distinct, d)
	}
	return distinct
}

func duplicateDeletion(first, second kmsg.DeleteTopicsRequestTopic) error {
	switch {
	case first.Topic != nil && second.Topic != nil:
		return invalidRequest("Duplicate topic name.")
	case first.Topic == nil && second.Topic == nil:
		return invalidRequest("Duplicate topic id.")
	}
	return invalidRequest("The provided topic name maps to an ID that was already supplied.")
}

// deletableTopic is the name of a topic that the client may delete.
func (c *call) deletableTopic(t kmsg.DeleteTopicsRequestTopic) (string, error) {
	byID := t.TopicID != [16]byte{}
	switch {
	case t.Topic == nil && !byID:
		return "", invalidRequest("Neither topic name nor id were specified.")
	case t.Topic != nil && byID:
		return "", invalidRequest("You may not specify both topic name and topic id.")
	}
	name := stringOf(t.Topic)
	if byID {
		known, ok := c.image().TopicByID(t.TopicID)
		if !ok {
			return "", &controller.Refusal{Err: kafka.ErrUnknownTopicID, Message: "This server does not host this topic ID."}
		}
		name = known.Name
	}
	if c.mayCluster(acl.Delete) || c.may(acl.Delete, acl.Topic, name) {
		return name, nil
	}
	return c.undeletableTopic(name, byID)
}

// undeletableTopic is the error for a topic that the client may not delete: who
// may describe it is told of its name, and that it does not exist.
func (c *call) undeletableTopic(name string, byID bool) (string, error) {
	_, exists := c.image().Topic(name)
	switch describable := c.may(acl.Describe, acl.Topic, name); {
	case describable && byID:
		return name, kafka.ErrTopicAuthorizationFailed
	case describable && !exists:
		return "", kafka.ErrUnknownTopicOrPartition
	}
	return "", kafka.ErrTopicAuthorizationFailed
}

func deletedTopic(name *string, id kafka.TopicID, err error) kmsg.DeleteTopicsResponseTopic {
	topic := kmsg.NewDeleteTopicsResponseTopic()
	topic.Topic, topic.TopicID, topic.ErrorCode, topic.ErrorMessage = name, id, codeOf(err), fullMessageOf(err)
	return topic
}

func refuseDeleteTopics(req *kmsg.DeleteTopicsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	for _, t := range deletableTopics(req) {
		topic := deletedTopic(t.Topic, t.TopicID, nil)
		topic.ErrorCode = code
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
