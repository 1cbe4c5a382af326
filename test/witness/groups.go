package witness

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

func (x exchange) offsetCommit(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	codes := map[topicPartition]int16{}
	if resp != nil {
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				codes[topicPartition{x.topic(t.Topic, t.TopicID), p.Partition}] = p.ErrorCode
			}
		}
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			at := topicPartition{x.topic(t.Topic, t.TopicID), p.Partition}
			x.commit(oracle.Act{Kind: oracle.CommitOffset, Group: req.Group, Offset: p.Offset}, at, codes)
		}
	}
}

func (x exchange) txnOffsetCommit(req *kmsg.TxnOffsetCommitRequest, resp *kmsg.TxnOffsetCommitResponse) {
	codes := map[topicPartition]int16{}
	if resp != nil {
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				codes[topicPartition{t.Topic, p.Partition}] = p.ErrorCode
			}
		}
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			x.commit(oracle.Act{Kind: oracle.CommitOffset, Group: req.Group, Offset: p.Offset, TransactionalID: ProducerKey(req.ProducerID)},
				topicPartition{t.Topic, p.Partition}, codes)
		}
	}
	if len(codes) > 0 {
		x.register(req.ProducerID, topicPartition{kafka.ConsumerOffsetsTopic, 0}) // whichever partition it is
	}
}

// Error codes of commits that may have been written (rule H4).
const (
	coordinatorNotAvailable = 15 // not replicated in time
	notCoordinator          = 16 // the coordinator lost its partition before it was replicated
)

// commit records a commit that was granted, or not answered, or whose answer leaves
// open whether it was written.
func (x exchange) commit(act oracle.Act, at topicPartition, codes map[topicPartition]int16) {
	code, answered := codes[at]
	act.Maybe = code == coordinatorNotAvailable || code == notCoordinator
	if !x.silent() && (!answered || code != 0 && !act.Maybe) {
		return
	}
	act.Topic, act.Partition = at.topic, at.partition
	x.record(act)
}

func (x exchange) offsetDelete(req *kmsg.OffsetDeleteRequest, resp *kmsg.OffsetDeleteResponse) {
	if resp == nil || resp.ErrorCode != 0 {
		return
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 {
				x.record(oracle.Act{Kind: oracle.DeleteOffset, Group: req.Group, Topic: t.Topic, Partition: p.Partition})
			}
		}
	}
}

// alterShareGroupOffsets records a share group that is made by its offsets.
func (x exchange) alterShareGroupOffsets(req *kmsg.AlterShareGroupOffsetsRequest, resp *kmsg.AlterShareGroupOffsetsResponse) {
	if resp == nil || resp.ErrorCode != 0 {
		return
	}
	x.record(oracle.Act{Kind: oracle.MakeGroup, Group: req.GroupID})
}

func (x exchange) deleteGroups(req *kmsg.DeleteGroupsRequest, resp *kmsg.DeleteGroupsResponse) {
	if resp == nil {
		for _, g := range req.Groups {
			x.record(oracle.Act{Kind: oracle.DeleteGroup, Group: g})
		}
		return
	}
	for _, g := range resp.Groups {
		if g.ErrorCode == 0 {
			x.record(oracle.Act{Kind: oracle.DeleteGroup, Group: g.Group})
		}
	}
}

// memberIDRequired tells who joins a group to do it by the id that comes with it.
const memberIDRequired = 79

func (x exchange) joinGroup(req *kmsg.JoinGroupRequest, resp *kmsg.JoinGroupResponse) {
	if resp == nil || resp.ErrorCode != 0 && resp.ErrorCode != memberIDRequired {
		return
	}
	act := oracle.Act{Kind: oracle.JoinGroup, Group: req.Group, Member: resp.MemberID}
	for _, p := range req.Protocols {
		var meta kmsg.ConsumerMemberMetadata
		if meta.ReadFrom(p.Metadata) == nil {
			act.Topics = append(act.Topics, meta.Topics...)
			break
		}
	}
	i := x.record(act)
	if resp.ErrorCode != 0 { // the group is there, and the member is still to come
		x.acts[i].Answered = time.Time{}
	}
}

func (x exchange) leaveGroup(req *kmsg.LeaveGroupRequest, resp *kmsg.LeaveGroupResponse) {
	if resp != nil && resp.ErrorCode != 0 {
		return
	}
	if req.Version < 3 {
		x.record(oracle.Act{Kind: oracle.LeaveGroup, Group: req.Group, Member: req.MemberID})
		return
	}
	for i, m := range req.Members {
		if resp != nil && i < len(resp.Members) && resp.Members[i].ErrorCode != 0 {
			continue
		}
		x.record(oracle.Act{Kind: oracle.LeaveGroup, Group: req.Group, Member: m.MemberID})
	}
}

func (x exchange) findCoordinator(req *kmsg.FindCoordinatorRequest, resp *kmsg.FindCoordinatorResponse) {
	const ofGroup = 0
	if resp == nil || req.CoordinatorType != ofGroup {
		return
	}
	if req.Version < 4 && resp.ErrorCode == 0 {
		x.record(oracle.Act{Kind: oracle.Coordinator, Group: req.CoordinatorKey, Broker: resp.NodeID})
	}
	for _, c := range resp.Coordinators {
		if c.ErrorCode == 0 {
			x.record(oracle.Act{Kind: oracle.Coordinator, Group: c.Key, Broker: c.NodeID})
		}
	}
}
