package wire

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
)

// longestMemberID is how long the id of a share group's member may be: that of a
// UUID's text.
const longestMemberID = 36

// shareFetch serves ShareFetch (KIP-932), and the long poll in it.
//
// v2: as many records as were asked for and no more, renewed locks (KIP-1222).
func (c *call) shareFetch(req *kmsg.ShareFetchRequest) {
	member, err := c.sharingMember(req.GroupID, req.MemberID, req.ShareSessionEpoch)
	renews := req.Version >= 2 && req.IsRenewAck
	if err == nil && renews && (req.MaxWaitMillis != 0 || req.MinBytes != 0 || req.MaxBytes != 0 || req.MaxRecords != 0) {
		err = kafka.ErrInvalidRequest // such a request acquires nothing
	}
	if err != nil {
		c.refuse(err)
		return
	}
	room := share.FetchRequest{
		Member:     member,
		MaxWait:    milliseconds(req.MaxWaitMillis),
		MinBytes:   int(req.MinBytes),
		MaxBytes:   int(req.MaxBytes),
		MaxRecords: int(req.MaxRecords),
		BatchSize:  int(req.BatchSize),
		Exact:      req.Version >= 2 && req.ShareAcquireMode == 1,
		AckRules:   share.AckRules{KnowsRenew: req.Version >= 2, Renews: renews},
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			room.Add = append(room.Add, share.TopicPartition{TopicID: t.TopicID, Partition: p.Partition})
			ack := share.Ack{TopicID: t.TopicID, Partition: p.Partition}
			for _, b := range p.AcknowledgementBatches {
				ack.Batches = append(ack.Batches, ackBatch(b.FirstOffset, b.LastOffset, b.AcknowledgeTypes))
			}
			room.Acks = append(room.Acks, ack)
		}
	}
	for _, t := range req.ForgottenTopicsData {
		for _, n := range t.Partitions {
			room.Forget = append(room.Forget, share.TopicPartition{TopicID: t.TopicID, Partition: n})
		}
	}
	c.broker.Shares.Fetch(room, func(r share.FetchResult, err error) {
		if err != nil {
			c.refuse(err)
			return
		}
		c.send(c.shareFetched(r))
	})
}

// sharingMember checks who wants to fetch from a share group.
func (c *call) sharingMember(groupID, memberID *string, epoch int32) (share.Member, error) {
	switch id := stringOf(memberID); {
	case !c.finalized("share.version", ""):
		return share.Member{}, kafka.ErrUnsupportedVersion
	case groupID == nil:
		return share.Member{}, kafka.ErrInvalidRequest
	case !c.may(acl.Read, acl.Group, *groupID):
		return share.Member{}, kafka.ErrGroupAuthorizationFailed
	case id == "" || len(id) > longestMemberID:
		return share.Member{}, kafka.ErrInvalidRequest
	}
	return share.Member{
		GroupID: *groupID, MemberID: *memberID, Epoch: epoch, Client: c.sharer(),
		Check: func(tp kafka.TopicPartition) error { return c.checkPartition(acl.Read, tp) },
	}, nil
}

// sharer is the client whose end closes share sessions, nil in process.
func (c *call) sharer() any {
	if c.socket == nil {
		return nil
	}
	return c.socket
}

func ackBatch(first, last int64, types []int8) share.AckBatch {
	b := share.AckBatch{First: kafka.Offset(first), Last: kafka.Offset(last)}
	for _, t := range types {
		b.Types = append(b.Types, share.AckType(t))
	}
	return b
}

func (c *call) shareFetched(r share.FetchResult) *kmsg.ShareFetchResponse {
	resp := kmsg.NewPtrShareFetchResponse()
	resp.AcquisitionLockTimeoutMillis = int32(r.LockDuration / time.Millisecond)
	var leaders []kafka.BrokerID
	for i := range r.Partitions {
		got := &r.Partitions[i]
		p := kmsg.NewShareFetchResponseTopicPartition()
		p.Partition = got.Partition
		p.ErrorCode, p.ErrorMessage = codeOf(got.Err), messageOf(got.Err)
		p.AcknowledgeErrorCode, p.AcknowledgeErrorMessage = codeOf(got.AckErr), messageOf(got.AckErr)
		if p.Records = got.Records.Bytes(); p.Records == nil {
			p.Records = []byte{}
		}
		for _, run := range got.Acquired {
			p.AcquiredRecords = append(p.AcquiredRecords, kmsg.ShareFetchResponseTopicPartitionAcquiredRecord{
				FirstOffset: int64(run.First), LastOffset: int64(run.Last), DeliveryCount: int16(run.Deliveries),
			})
		}
		if leaderMoved(got.Err) {
			leader := c.leaderOf(got.TopicPartition)
			p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(leader.id), int32(leader.epoch)
			leaders = append(leaders, leader.id)
		}
		at := slices.IndexFunc(resp.Topics, func(t kmsg.ShareFetchResponseTopic) bool { return t.TopicID == got.TopicID })
		if at < 0 {
			at = len(resp.Topics)
			topic := kmsg.NewShareFetchResponseTopic()
			topic.TopicID = got.TopicID
			resp.Topics = append(resp.Topics, topic)
		}
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, p)
	}
	for _, b := range c.endpoints(leaders) {
		resp.NodeEndpoints = append(resp.NodeEndpoints, kmsg.ShareFetchResponseNodeEndpoint(b))
	}
	return resp
}

func refuseShareFetch(_ *kmsg.ShareFetchRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrShareFetchResponse()
	resp.ErrorCode = code
	return resp
}
