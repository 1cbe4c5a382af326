package wire

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
)

// shareAcknowledge serves ShareAcknowledge (KIP-932).
//
// v2: renewed locks, and how long they are (KIP-1222).
func (c *call) shareAcknowledge(req *kmsg.ShareAcknowledgeRequest) {
	member, err := c.sharingMember(req.GroupID, req.MemberID, req.ShareSessionEpoch)
	if err != nil {
		c.refuse(err)
		return
	}
	room := share.AckRequest{Member: member, AckRules: share.AckRules{KnowsRenew: req.Version >= 2, Renews: req.Version >= 2 && req.IsRenewAck}}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			ack := share.Ack{TopicID: t.TopicID, Partition: p.Partition}
			for _, b := range p.AcknowledgementBatches {
				ack.Batches = append(ack.Batches, ackBatch(b.FirstOffset, b.LastOffset, b.AcknowledgeTypes))
			}
			room.Acks = append(room.Acks, ack)
		}
	}
	results, lock, err := c.broker.Shares.Acknowledge(room)
	if err != nil {
		c.refuse(err)
		return
	}
	resp := kmsg.NewPtrShareAcknowledgeResponse()
	resp.AcquisitionLockTimeoutMillis = int32(lock / time.Millisecond)
	var leaders []kafka.BrokerID
	for _, r := range results {
		p := kmsg.NewShareAcknowledgeResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = r.Partition, codeOf(r.Err), messageOf(r.Err)
		if leaderMoved(r.Err) {
			leader := c.leaderOf(r.TopicPartition)
			p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(leader.id), int32(leader.epoch)
			leaders = append(leaders, leader.id)
		}
		at := slices.IndexFunc(resp.Topics, func(t kmsg.ShareAcknowledgeResponseTopic) bool { return t.TopicID == r.TopicID })
		if at < 0 {
			at = len(resp.Topics)
			topic := kmsg.NewShareAcknowledgeResponseTopic()
			topic.TopicID = r.TopicID
			resp.Topics = append(resp.Topics, topic)
		}
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, p)
	}
	for _, b := range c.endpoints(leaders) {
		resp.NodeEndpoints = append(resp.NodeEndpoints, kmsg.ShareAcknowledgeResponseNodeEndpoint(b))
	}
	c.send(resp)
}

func refuseShareAcknowledge(_ *kmsg.ShareAcknowledgeRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrShareAcknowledgeResponse()
	resp.ErrorCode = code
	return resp
}
