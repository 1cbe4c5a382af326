package witness

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// consumerHeartbeat records who joins and leaves a group of the consumer
// protocol (KIP-848): epoch 0 joins, −1 leaves. With −2 a static member leaves
// that may come back, and is still listed for a while.
func (x exchange) consumerHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	if resp != nil && resp.ErrorCode == 0 {
		id := req.MemberID
		if resp.MemberID != nil && id == "" {
			id = *resp.MemberID
		}
		topics := req.SubscribedTopicNames
		if req.SubscribedTopicRegex != nil && *req.SubscribedTopicRegex != "" {
			topics = append(topics, "*")
		}
		x.heartbeat(req.Group, id, req.MemberEpoch, topics)
	}
}

// shareHeartbeat records who joins and leaves a share group (KIP-932).
func (x exchange) shareHeartbeat(req *kmsg.ShareGroupHeartbeatRequest, resp *kmsg.ShareGroupHeartbeatResponse) {
	if resp != nil && resp.ErrorCode == 0 {
		x.heartbeat(req.GroupID, req.MemberID, req.MemberEpoch, req.SubscribedTopicNames)
	}
}

// streamsHeartbeat records who joins and leaves a streams group (KIP-1071).
func (x exchange) streamsHeartbeat(req *kmsg.StreamsGroupHeartbeatRequest, resp *kmsg.StreamsGroupHeartbeatResponse) {
	if resp == nil || resp.ErrorCode != 0 {
		return
	}
	var topics []string
	if req.Topology != nil {
		for i := range req.Topology.Subtopologies {
			topics = append(topics, req.Topology.Subtopologies[i].SourceTopics...)
		}
	}
	x.heartbeat(req.Group, req.MemberID, req.MemberEpoch, topics)
}

// heartbeat records what a heartbeat that was granted says of a member. One that
// names topics later on changes its subscription.
func (x exchange) heartbeat(group, member string, epoch int32, topics []string) {
	switch {
	case epoch < -1:
		i := x.record(oracle.Act{Kind: oracle.LeaveGroup, Group: group, Member: member})
		x.acts[i].Answered = time.Time{}
	case epoch < 0:
		x.record(oracle.Act{Kind: oracle.LeaveGroup, Group: group, Member: member})
	case epoch == 0 || len(topics) > 0:
		x.record(oracle.Act{Kind: oracle.JoinGroup, Group: group, Member: member, Topics: topics})
	}
}
