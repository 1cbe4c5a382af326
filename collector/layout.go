package collector

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// maxPartitionsPerRequest bounds the partitions of one ListOffsets request and
// the commits of one OffsetFetch answer, so that no message grows much above
// 4 MB (a partition takes about 20 bytes to ask and 27 to answer, a commit
// about 30). What goes beyond is split, at the price of a request each.
const maxPartitionsPerRequest = 100_000

// layout is a cluster as one Metadata answer describes it, in the order in
// which samples hold it, together with the requests that follow from it.
type layout struct {
	cluster    lag.Cluster
	topics     []topicLayout   // by name
	index      map[string]int  // topic → its place in topics
	partitions []lag.Partition // of all topics, one after the other; without readings
	plans      map[int32]*plan // by leader
	wants      func(topic string) bool

	// transactionState is who leads the partitions of __transaction_state,
	// NoBroker for none, whether the topic is wanted or not; empty where the
	// answer does not list it.
	transactionState []lag.Term

	// consumerOffsets says that the answer lists __consumer_offsets, wanted or not.
	consumerOffsets bool

	// describesCluster says that this principal may describe the cluster; false
	// where the broker does not tell.
	describesCluster bool

	// stale says that partitions were brought up to date after the plans were
	// made.
	stale bool
}

// topicLayout is one topic of a layout.
type topicLayout struct {
	name       string
	id         lag.TopicID
	internal   bool
	errorCode  int16
	first, end int // its partitions are layout.partitions[first:end]
}

// plan holds what there is to ask one leader.
type plan struct {
	chunks []chunk

	// withLogStart says that step 1 is to be read with steps 2 to 4.
	withLogStart bool
}

// chunk is a set of partitions that one ListOffsets request asks for. Its
// slices are shared by all requests made of it and are never changed.
type chunk struct {
	size     int
	earliest []kmsg.ListOffsetsRequestTopic
	latest   []kmsg.ListOffsetsRequestTopic
}

// newLayout returns the layout of those topics of a Metadata answer that wants
// accepts. Where nothing that requests depend on has changed since the layout
// before, which may be nil, the requests of that one are taken over.
func newLayout(resp *kmsg.MetadataResponse, before *layout, wants func(topic string) bool) *layout {
	l := &layout{cluster: clusterOf(resp), wants: wants, describesCluster: resp.AuthorizedOperations&describeBit != 0}
	listed := resp.Topics
	slices.SortFunc(listed, func(a, b kmsg.MetadataResponseTopic) int { return strings.Compare(nameOf(a), nameOf(b)) })
	n := 0
	for i := range listed {
		n += len(listed[i].Partitions)
	}
	l.partitions = make([]lag.Partition, 0, n)
	l.topics = make([]topicLayout, 0, len(listed))
	for i := range listed {
		l.add(&listed[i])
	}
	if before != nil && l.sameRequests(before) {
		l.index, l.plans = before.index, before.plans
		for i := range l.topics {
			l.topics[i].name = before.topics[i].name // lets go of the answer's strings
		}
		return l
	}
	l.index = make(map[string]int, len(l.topics))
	for i := range l.topics {
		l.index[l.topics[i].name] = i
	}
	l.plans = l.planFor(func(int) bool { return true })
	return l
}

// nameOf returns a topic's name; it is null only in answers by topic id.
func nameOf(t kmsg.MetadataResponseTopic) string {
	if t.Topic == nil {
		return ""
	}
	return *t.Topic
}

// clusterOf returns the cluster of a Metadata answer.
func clusterOf(resp *kmsg.MetadataResponse) lag.Cluster {
	c := lag.Cluster{Controller: lag.BrokerID(resp.ControllerID)}
	if resp.ClusterID != nil {
		c.ID = *resp.ClusterID
	}
	for _, b := range resp.Brokers {
		broker := lag.Broker{ID: lag.BrokerID(b.NodeID), Host: b.Host, Port: b.Port}
		if b.Rack != nil {
			broker.Rack = *b.Rack
		}
		c.Brokers = append(c.Brokers, broker)
	}
	slices.SortFunc(c.Brokers, func(a, b lag.Broker) int { return int(a.ID) - int(b.ID) })
	return c
}

// add appends a topic, if it is wanted. A topic or partition that the answer
// names twice counts once.
func (l *layout) add(t *kmsg.MetadataResponseTopic) {
	switch name := nameOf(*t); {
	case t.ErrorCode != 0:
	case name == transactionStateTopic:
		l.setTransactionState(t.Partitions)
	case name == consumerOffsetsTopic:
		l.consumerOffsets = true
	}
	topic := topicLayout{
		name: nameOf(*t), id: t.TopicID, internal: t.IsInternal, errorCode: t.ErrorCode, first: len(l.partitions),
	}
	if n := len(l.topics); topic.name == "" || !l.wants(topic.name) || n > 0 && l.topics[n-1].name == topic.name {
		return
	}
	if t.ErrorCode != 0 {
		t.Partitions = nil // there should be none, and they would be of no use
	}
	slices.SortFunc(t.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition) - int(b.Partition) })
	for i := range t.Partitions {
		p := partitionOf(&t.Partitions[i])
		if n := len(l.partitions); n > topic.first && l.partitions[n-1].Number == p.Number {
			continue
		}
		l.partitions = append(l.partitions, p)
	}
	topic.end = len(l.partitions)
	l.topics = append(l.topics, topic)
}

// setTransactionState notes who leads the partitions of __transaction_state.
func (l *layout) setTransactionState(partitions []kmsg.MetadataResponseTopicPartition) {
	l.transactionState = make([]lag.Term, len(partitions))
	for i := range l.transactionState {
		l.transactionState[i].Leader = lag.NoBroker
	}
	for i := range partitions {
		if n := int(partitions[i].Partition); n >= 0 && n < len(partitions) {
			p := partitionOf(&partitions[i])
			l.transactionState[n] = lag.Term{Leader: p.Leader, Epoch: p.LeaderEpoch}
		}
	}
}

// coordinating is how many of the topics are listed that keep what coordinators
// know.
func (l *layout) coordinating() int {
	n := 0
	if len(l.transactionState) > 0 {
		n++
	}
	if l.consumerOffsets {
		n++
	}
	return n
}

// partitionOf returns a partition without readings.
func partitionOf(p *kmsg.MetadataResponseTopicPartition) lag.Partition {
	leader := lag.BrokerID(p.Leader)
	if leader < 0 {
		leader = lag.NoBroker
	}
	preferred := lag.NoBroker
	if len(p.Replicas) > 0 {
		preferred = lag.BrokerID(p.Replicas[0])
	}
	return lag.Partition{
		Number: p.Partition, Leader: leader, LeaderEpoch: lag.LeaderEpoch(p.LeaderEpoch),
		Replicas: len(p.Replicas), InSync: len(p.ISR), Preferred: preferred,
	}
}

// sameRequests says whether the requests of another layout are right for this
// one: the same partitions with the same leaders in the same epochs.
func (l *layout) sameRequests(other *layout) bool {
	return !other.stale && slices.EqualFunc(l.topics, other.topics, func(a, b topicLayout) bool {
		return a.name == b.name && a.first == b.first && a.end == b.end
	}) && slices.EqualFunc(l.partitions, other.partitions, func(a, b lag.Partition) bool {
		return a.Number == b.Number && a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch
	})
}

// planFor prepares the requests for the partitions that want accepts, given by
// their place in l.partitions, and that have a leader.
func (l *layout) planFor(want func(place int) bool) map[int32]*plan {
	plans := make(map[int32]*plan)
	for i := range l.topics {
		topic := &l.topics[i]
		for place := topic.first; place < topic.end; place++ {
			p := &l.partitions[place]
			if p.Leader == lag.NoBroker || !want(place) {
				continue
			}
			leader := int32(p.Leader)
			if plans[leader] == nil {
				plans[leader] = &plan{}
			}
			plans[leader].add(topic.name, p)
		}
	}
	return plans
}

// add appends a partition. Partitions of one topic must come one after the
// other.
func (p *plan) add(topic string, partition *lag.Partition) {
	n := len(p.chunks)
	if n == 0 || p.chunks[n-1].size == maxPartitionsPerRequest {
		p.chunks = append(p.chunks, chunk{})
		n++
	}
	c := &p.chunks[n-1]
	c.size++
	c.earliest = addToTopic(c.earliest, topic, partition, timestampEarliest)
	c.latest = addToTopic(c.latest, topic, partition, timestampLatest)
}

// addToTopic appends a partition to the last topic if it is that one, else to
// a new one.
func addToTopic(topics []kmsg.ListOffsetsRequestTopic, name string, partition *lag.Partition, timestamp int64) []kmsg.ListOffsetsRequestTopic {
	if n := len(topics); n == 0 || topics[n-1].Topic != name {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		topics = append(topics, topic)
	}
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.Timestamp = partition.Number, int32(partition.LeaderEpoch), timestamp
	last := &topics[len(topics)-1]
	last.Partitions = append(last.Partitions, p)
	return topics
}

// place returns where a partition stands in l.partitions.
func (l *layout) place(topic string, number int32) (int, bool) {
	i, ok := l.index[topic]
	if !ok {
		return 0, false
	}
	t := &l.topics[i]
	if place := t.first + int(number); number >= 0 && place < t.end && l.partitions[place].Number == number {
		return place, true
	}
	i, ok = slices.BinarySearchFunc(l.partitions[t.first:t.end], number,
		func(p lag.Partition, number int32) int { return int(p.Number) - int(number) })
	return t.first + i, ok
}

// topicsOf returns the topics of a sample with the given partitions, which
// stand in the layout's order.
func (l *layout) topicsOf(partitions []lag.Partition) []lag.Topic {
	topics := make([]lag.Topic, len(l.topics))
	for i := range l.topics {
		t := &l.topics[i]
		topics[i] = lag.Topic{
			Name: t.name, ID: t.id, Internal: t.internal, Unreadable: t.errorCode != 0,
			Partitions: partitions[t.first:t.end:t.end],
		}
	}
	return topics
}

// chunks returns what there is to ask a leader; none if it leads nothing.
func (l *layout) chunks(leader int32) []chunk {
	if p := l.plans[leader]; p != nil {
		return p.chunks
	}
	return nil
}

// intern returns the layout's own copy of a topic's name, so that answers can
// be let go of, and whether the topic is wanted.
func (l *layout) intern(topic string) (name string, wanted bool) {
	if i, ok := l.index[topic]; ok {
		return l.topics[i].name, true
	}
	return topic, l.wants(topic)
}
