package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// deleteShareGroupOffsets serves DeleteShareGroupOffsets. Topics that the client
// may not read or that there are not get their errors, after the others.
func (c *call) deleteShareGroupOffsets(req *kmsg.DeleteShareGroupOffsetsRequest) {
	switch {
	case !c.finalized("share.version", ""):
		c.refuse(kafka.ErrUnsupportedVersion)
		return
	case !c.may(acl.Delete, acl.Group, req.GroupID):
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrDeleteShareGroupOffsetsResponse()
	var topics []string
	var refused []kmsg.DeleteShareGroupOffsetsResponseTopic
	for _, t := range req.Topics {
		if err := c.checkTopic(acl.Read, t.Topic); err != nil {
			refused = append(refused, deletedShareOffsets(group.ShareTopicResult{Topic: t.Topic, Err: err}))
		} else {
			topics = append(topics, t.Topic)
		}
	}
	c.broker.Groups.DeleteShareOffsets(req.GroupID, topics, func(results []group.ShareTopicResult, err error) {
		if err != nil {
			failed := kmsg.NewPtrDeleteShareGroupOffsetsResponse()
			failed.ErrorCode, failed.ErrorMessage = codeOf(err), fullMessageOf(err)
			c.send(failed)
			return
		}
		for _, r := range results {
			resp.Topics = append(resp.Topics, deletedShareOffsets(r))
		}
		resp.Topics = append(resp.Topics, refused...)
		c.send(resp)
	})
}

func deletedShareOffsets(result group.ShareTopicResult) kmsg.DeleteShareGroupOffsetsResponseTopic {
	t := kmsg.NewDeleteShareGroupOffsetsResponseTopic()
	t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = result.Topic, result.TopicID, codeOf(result.Err), fullMessageOf(result.Err)
	return t
}

func refuseDeleteShareGroupOffsets(_ *kmsg.DeleteShareGroupOffsetsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDeleteShareGroupOffsetsResponse()
	resp.ErrorCode = code
	return resp
}
