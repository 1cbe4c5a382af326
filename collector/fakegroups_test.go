package collector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// timeIndex is the step of a ListOffsets that is none of a sweep's four.
const timeIndex step = -1

// fakeGroupMore is what a group of the fake may have besides.
type fakeGroupMore struct {
	target        []string         // topics of a KIP-848 group that members are to get
	describeError int16            // of ConsumerGroupDescribe and its kin
	tasks         map[string]int32 // of a streams group: subtopology → its one task
	sources       []string         // what its subtopology "0" reads
	repartition   []string
	shares        map[string][]fakeShare // of a share group, by topic
	pending       map[string][]int32     // commits in open transactions
}

// fakeShare is where a share group is in the next partition of a topic.
type fakeShare struct{ start, lag int64 }

// fakeLog is what a partition of the fake may have besides its offsets.
type fakeLog struct {
	hidden     bool // the topic is hidden from the exporter
	dated      []int64
	records    []byte
	aborted    []kmsg.FetchResponseTopicPartitionAbortedTransaction
	fetchError int16
}

// fakeMember is the id of a group's i-th member.
func fakeMember(i int) string { return fmt.Sprint("m", i) }

// refuses says whether the principal may not describe a name, where it may not
// describe all.
func (f *fake) refuses(some bool, name string) bool {
	return some && (f.mayDescribe == "" || !strings.HasPrefix(name, f.mayDescribe))
}

// hides says whether a topic is hidden.
func (f *fake) hides(topic string) bool {
	if f.refuses(f.refusesTopics, topic) {
		return true
	}
	i := slices.IndexFunc(f.topics, func(t *fakeTopic) bool { return t.name == topic })
	return i >= 0 && len(f.topics[i].partitions) > 0 && f.topics[i].partitions[0].hidden
}

// metadataOf answers for named topics: hidden ones are refused.
func (f *fake) metadataOf(asked []kmsg.MetadataRequestTopic) kmsg.Response {
	all := f.metadata().(*kmsg.MetadataResponse)
	listed := all.Topics
	all.Topics = nil
	for _, t := range asked {
		i := slices.IndexFunc(listed, func(l kmsg.MetadataResponseTopic) bool { return *l.Topic == *t.Topic })
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = t.Topic
		switch {
		case f.hides(*t.Topic):
			topic.ErrorCode = 29
		case i < 0:
			topic.ErrorCode = 3
		default:
			topic = listed[i]
		}
		all.Topics = append(all.Topics, topic)
	}
	return all
}

// fakeAssignment is the assignment of partition 0 of each topic.
func fakeAssignment(topics []string) []kmsg.AssignmentTopicPartition {
	var list []kmsg.AssignmentTopicPartition
	for _, topic := range topics {
		list = append(list, kmsg.AssignmentTopicPartition{Topic: topic, Partitions: []int32{0}})
	}
	return list
}

// find answers ListOffsets by timestamp for one partition of a topic (rule E8).
func (t *fakeTopic) find(broker int32, req kmsg.ListOffsetsRequestTopicPartition) (offset, timestamp int64, code int16) {
	if t == nil || int(req.Partition) >= len(t.partitions) {
		return -1, -1, 3
	}
	p := t.partitions[req.Partition]
	switch {
	case p.leader != broker:
		return -1, -1, 6
	case p.errors[timeIndex] != 0:
		return -1, -1, p.errors[timeIndex]
	}
	for o := p.start; o < p.hwm && o < int64(len(p.dated)); o++ {
		if p.dated[o] >= req.Timestamp {
			return o, p.dated[o], 0
		}
	}
	return -1, -1, 0
}

// refusal is the error for a group that a broker cannot describe as one of a
// type.
func (f *fake) refusal(broker int32, g *fakeGroup, groupType string) int16 {
	switch {
	case g == nil, g.groupType != groupType:
		return 69
	case g.coordinator != broker:
		return 16
	default:
		return g.describeError
	}
}

func (f *fake) describeShare(broker int32, r *kmsg.ShareGroupDescribeRequest) kmsg.Response {
	resp := kmsg.NewPtrShareGroupDescribeResponse()
	groups := f.byName()
	for _, name := range r.GroupIDs {
		d := kmsg.NewShareGroupDescribeResponseGroup()
		d.GroupID, d.GroupState = name, "Dead"
		g := groups[name]
		if d.ErrorCode = f.refusal(broker, g, "share"); d.ErrorCode == 0 {
			d.GroupState = g.state
			for i := range g.members {
				m := kmsg.NewShareGroupDescribeResponseGroupMember()
				m.MemberID, m.ClientID, m.ClientHost = fakeMember(i), "client", "/127.0.0.1"
				for _, topic := range g.assigned {
					m.Assignment.TopicPartitions = append(m.Assignment.TopicPartitions,
						kmsg.ShareGroupDescribeResponseGroupMemberAssignmentTopicPartition{Topic: topic, Partitions: []int32{0}})
				}
				d.Members = append(d.Members, m)
			}
		}
		resp.Groups = append(resp.Groups, d)
	}
	return resp
}

func (f *fake) describeStreams(broker int32, r *kmsg.StreamsGroupDescribeRequest) kmsg.Response {
	resp := kmsg.NewPtrStreamsGroupDescribeResponse()
	groups := f.byName()
	for _, name := range r.Groups {
		d := kmsg.NewStreamsGroupDescribeResponseGroup()
		d.Group, d.State = name, "Dead"
		g := groups[name]
		if d.ErrorCode = f.refusal(broker, g, "streams"); d.ErrorCode == 0 {
			d.State = g.state
			sub := kmsg.NewStreamsGroupDescribeResponseGroupTopologySubtopology()
			sub.SubtopologyID, sub.SourceTopics = "0", g.sources
			for _, topic := range g.repartition {
				sub.RepartitionSourceTopics = append(sub.RepartitionSourceTopics, kmsg.TopicInfo{Topic: topic})
			}
			topology := kmsg.NewStreamsGroupDescribeResponseGroupTopology()
			topology.Subtopologies = append(topology.Subtopologies, sub)
			d.Topology = &topology
			for i := range g.members {
				m := kmsg.NewStreamsGroupDescribeResponseGroupMember()
				m.MemberID, m.ClientID, m.ClientHost = fakeMember(i), "client", "/127.0.0.1"
				for id, task := range g.tasks {
					m.Assignment.ActiveTasks = append(m.Assignment.ActiveTasks, kmsg.TaskIDs{SubtopologyID: id, Partitions: []int32{task}})
				}
				d.Members = append(d.Members, m)
			}
		}
		resp.Groups = append(resp.Groups, d)
	}
	return resp
}

func (f *fake) shareOffsets(broker int32, r *kmsg.DescribeShareGroupOffsetsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeShareGroupOffsetsResponse()
	groups := f.byName()
	for _, asked := range r.Groups {
		answer := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
		answer.GroupID = asked.GroupID
		if g := groups[asked.GroupID]; g != nil {
			if answer.ErrorCode = f.refusal(broker, g, "share"); answer.ErrorCode == 0 {
				for name, shares := range g.shares {
					topic := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopic()
					topic.Topic = name
					for i, s := range slices.Backward(shares) {
						p := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopicPartition()
						p.Partition, p.StartOffset, p.Lag = int32(i), s.start, s.lag
						topic.Partitions = append(topic.Partitions, p)
					}
					answer.Topics = append(answer.Topics, topic)
				}
			}
		}
		resp.Groups = append(resp.Groups, answer)
	}
	return resp
}

// stable answers an OffsetFetch that names partitions and requires stable
// offsets (rule H7).
func (g *fakeGroup) stable(asked []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	var topics []kmsg.OffsetFetchResponseGroupTopic
	for _, t := range asked {
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic = t.Topic
		for _, n := range slices.Backward(t.Partitions) {
			p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			p.Partition, p.Offset = n, -1
			if offset, ok := g.commits[t.Topic][n]; ok {
				p.Offset = offset
			}
			if slices.Contains(g.pending[t.Topic], n) {
				p.Offset, p.ErrorCode = -1, 88
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		topics = append(topics, topic)
	}
	return topics
}

// named says whether an OffsetFetch names a partition.
func named(asked []kmsg.OffsetFetchRequestGroupTopic, topic string, partition int32) bool {
	return slices.ContainsFunc(asked, func(t kmsg.OffsetFetchRequestGroupTopic) bool {
		return t.Topic == topic && slices.Contains(t.Partitions, partition)
	})
}

// fetch answers with whole batches up to the last stable offset; the log of a
// partition holds no more.
func (f *fake) fetch(broker int32, r *kmsg.FetchRequest) kmsg.Response {
	resp := kmsg.NewPtrFetchResponse()
	for _, t := range r.Topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = t.Topic
		i := slices.IndexFunc(f.topics, func(other *fakeTopic) bool { return other.name == t.Topic })
		for _, asked := range t.Partitions {
			p := f.topics[i].partitions[asked.Partition]
			answer := kmsg.NewFetchResponseTopicPartition()
			answer.Partition = asked.Partition
			answer.LastStableOffset, answer.HighWatermark, answer.LogStartOffset = p.lso, p.hwm, p.start
			switch {
			case p.leader != broker:
				answer.ErrorCode = 6
			case asked.FetchOffset >= p.lso:
				panic(fmt.Sprintf("the exporter fetches %s-%d at %d, last stable offset %d", t.Topic, asked.Partition, asked.FetchOffset, p.lso))
			case p.fetchError != 0:
				answer.ErrorCode = p.fetchError
			case int32(len(p.records)) <= asked.PartitionMaxBytes || len(resp.Topics)+len(topic.Partitions) == 0:
				answer.RecordBatches, answer.AbortedTransactions = p.records, p.aborted
			}
			topic.Partitions = append(topic.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
