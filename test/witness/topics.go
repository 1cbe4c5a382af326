package witness

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

func (x exchange) createTopics(req *kmsg.CreateTopicsRequest, resp *kmsg.CreateTopicsResponse) {
	if resp == nil || req.ValidateOnly {
		return // who asks again is told that it exists, and metadata places it
	}
	for _, t := range resp.Topics {
		if t.ErrorCode != 0 {
			continue
		}
		x.names[t.TopicID] = t.Topic
		ofBefore := func(at topicPartition) bool { return at.topic == t.Topic }
		maps.DeleteFunc(x.starts, func(at topicPartition, _ start) bool { return ofBefore(at) })
		maps.DeleteFunc(x.highest, func(at topicPartition, _ int64) bool { return ofBefore(at) })
		x.partCount[t.Topic] = 0
		delete(x.unplaced, t.Topic)
		act := oracle.Act{Kind: oracle.CreateTopic, Topic: t.Topic}
		for _, asked := range req.Topics {
			if asked.Topic == t.Topic {
				act.Replicas = assignments(asked.ReplicaAssignment)
				act.MinInSync = minInSync(asked.Configs)
			}
		}
		act.Sent, act.Answered = x.sent, x.answered
		x.place(act)
	}
}

// place records a topic's partitions, at once if it is known where they are,
// else when metadata tells.
func (x exchange) place(act oracle.Act) {
	if len(act.Replicas) == 0 {
		x.unplaced[act.Topic] = append(x.unplaced[act.Topic], act)
		return
	}
	x.partCount[act.Topic] += len(act.Replicas)
	x.acts = append(x.acts, act)
}

func assignments(list []kmsg.CreateTopicsRequestTopicReplicaAssignment) [][]int32 {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b kmsg.CreateTopicsRequestTopicReplicaAssignment) int {
		return cmp.Compare(a.Partition, b.Partition)
	})
	var out [][]int32
	for _, a := range list {
		out = append(out, a.Replicas)
	}
	return out
}

func minInSync(configs []kmsg.CreateTopicsRequestTopicConfig) int {
	for _, c := range configs {
		if c.Name == "min.insync.replicas" && c.Value != nil {
			n := 0
			for _, d := range *c.Value {
				n = 10*n + int(d-'0')
			}
			return n
		}
	}
	return 0
}

func (x exchange) createPartitions(req *kmsg.CreatePartitionsRequest, resp *kmsg.CreatePartitionsResponse) {
	if resp == nil || req.ValidateOnly {
		return
	}
	for _, t := range resp.Topics {
		if t.ErrorCode != 0 {
			continue
		}
		act := oracle.Act{Kind: oracle.CreatePartitions, Topic: t.Topic, Sent: x.sent, Answered: x.answered}
		for _, asked := range req.Topics {
			if asked.Topic == t.Topic {
				for _, a := range asked.Assignment {
					act.Replicas = append(act.Replicas, a.Replicas)
				}
			}
		}
		x.place(act)
	}
}

// metadata tells the ids of topics, and the replicas of those that were created
// without saying where.
func (x exchange) metadata(resp *kmsg.MetadataResponse) {
	if resp == nil {
		return
	}
	for _, t := range resp.Topics {
		if t.Topic == nil || t.ErrorCode != 0 {
			continue
		}
		x.names[t.TopicID] = *t.Topic
		for _, act := range x.unplaced[*t.Topic] {
			parts := slices.Clone(t.Partitions)
			slices.SortFunc(parts, func(a, b kmsg.MetadataResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
			if len(parts) <= x.partCount[*t.Topic] {
				continue // the answer is older than the partitions
			}
			for _, p := range parts[x.partCount[*t.Topic]:] {
				act.Replicas = append(act.Replicas, p.Replicas)
			}
			delete(x.unplaced, *t.Topic)
			x.place(act)
		}
	}
}

func (x exchange) deleteTopics(req *kmsg.DeleteTopicsRequest, resp *kmsg.DeleteTopicsResponse) {
	if resp == nil {
		for _, name := range req.TopicNames {
			x.record(oracle.Act{Kind: oracle.DeleteTopic, Topic: name})
		}
		for _, t := range req.Topics {
			if t.Topic != nil {
				x.record(oracle.Act{Kind: oracle.DeleteTopic, Topic: *t.Topic})
			}
		}
		return
	}
	for _, t := range resp.Topics {
		name := x.names[t.TopicID]
		if t.Topic != nil {
			name = *t.Topic
		}
		if t.ErrorCode == 0 && name != "" {
			x.record(oracle.Act{Kind: oracle.DeleteTopic, Topic: name})
		}
	}
}

// deleteRecords records what was deleted (rule B8). A leader whose followers did not
// come along in time has done it alone; one that has lost the partition meanwhile, or
// did not answer, may have.
func (x exchange) deleteRecords(req *kmsg.DeleteRecordsRequest, resp *kmsg.DeleteRecordsResponse) {
	answers := map[topicPartition]kmsg.DeleteRecordsResponseTopicPartition{}
	if resp != nil {
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				answers[topicPartition{t.Topic, p.Partition}] = p
			}
		}
	}
	const toHighWatermark = -1
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			at := topicPartition{t.Topic, p.Partition}
			act := oracle.Act{Kind: oracle.DeleteRecords, Topic: at.topic, Partition: at.partition, Offset: p.Offset}
			answer, answered := answers[at]
			switch {
			case answered && answer.ErrorCode == 0 && (p.Offset == toHighWatermark || p.Offset == answer.LowWatermark):
				act.Offset = answer.LowWatermark
				x.record(act)
				x.starts[at] = start{act.Offset, x.answered}
			case answered && answer.ErrorCode == 0: // something had moved it further before
				x.sawStart(at, answer.LowWatermark)
			case p.Offset == toHighWatermark: // a sight of it will tell
			case answered && answer.ErrorCode == requestTimedOut:
				act.Kind = oracle.LogStart
				x.record(act)
			case x.silent(), answered && answer.ErrorCode == notLeaderOrFollower:
				i := x.record(act)
				x.acts[i].Answered = time.Time{}
			}
		}
	}
}

// sawStart records the sight of a leader's log start that nobody's DeleteRecords is
// known to have made: retention moved it since the sight before.
func (x exchange) sawStart(at topicPartition, offset int64) {
	if before := x.starts[at]; offset != before.offset && !kafka.IsInternal(at.topic) {
		x.acts = append(x.acts, oracle.Act{Kind: oracle.LogStart, Sent: x.since(at), Answered: x.answered,
			Topic: at.topic, Partition: at.partition, Offset: offset})
	}
	x.starts[at] = start{offset, x.sent}
}

// sawStartSomewhere records the sight of a log start that may be that of a follower.
func (x exchange) sawStartSomewhere(at topicPartition, offset int64) {
	if offset > max(x.starts[at].offset, x.highest[at]) && !kafka.IsInternal(at.topic) {
		x.acts = append(x.acts, oracle.Act{Kind: oracle.LogStart, Sent: x.since(at), Topic: at.topic, Partition: at.partition, Offset: offset})
	}
	x.highest[at] = max(x.highest[at], offset)
}

// since is when the log start was last seen at a leader, or else when its topic was
// created.
func (x exchange) since(at topicPartition) time.Time {
	if before, known := x.starts[at]; known {
		return before.seen
	}
	for i := len(x.acts) - 1; i >= 0; i-- {
		if a := &x.acts[i]; a.Kind == oracle.CreateTopic && a.Topic == at.topic {
			return a.Sent
		}
	}
	return x.sent
}

// listOffsets takes in the log starts that leaders tell: only whoever asks as a
// consumer is answered by nobody else (rule E1).
func (x exchange) listOffsets(req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	const consumer, earliest = -1, -2
	if resp == nil || req.ReplicaID != consumer {
		return
	}
	asked := map[topicPartition]bool{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			asked[topicPartition{t.Topic, p.Partition}] = p.Timestamp == earliest
		}
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if at := (topicPartition{t.Topic, p.Partition}); p.ErrorCode == 0 && asked[at] {
				x.sawStart(at, p.Offset)
			}
		}
	}
}

// fetch takes in the log starts that an answer tells. From version 11 on any replica
// answers (rule D1).
func (x exchange) fetch(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	if resp == nil {
		return
	}
	const byAnyReplica = 11
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			at := topicPartition{x.topic(t.Topic, t.TopicID), p.Partition}
			switch {
			case p.ErrorCode != 0 || p.LogStartOffset < 0:
			case req.Version < byAnyReplica:
				x.sawStart(at, p.LogStartOffset)
			default:
				x.sawStartSomewhere(at, p.LogStartOffset)
			}
		}
	}
}

// electLeaders records the elections that were held, or may have been, and that an
// unclean one may lose records (rule F6).
func (x exchange) electLeaders(req *kmsg.ElectLeadersRequest, resp *kmsg.ElectLeadersResponse) {
	const unclean = 1
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
			if code, answered := codes[topicPartition{t.Topic, p}]; x.silent() || answered && (code == 0 || code == requestTimedOut) {
				i := x.record(oracle.Act{Kind: oracle.ElectLeader, Topic: t.Topic, Partition: p})
				if code != 0 {
					x.acts[i].Answered = time.Time{}
				}
			}
			if req.ElectionType == unclean {
				x.record(oracle.Act{Kind: oracle.LoseRecords, Topic: t.Topic, Partition: p})
			}
		}
	}
}
