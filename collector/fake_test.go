package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// fake is a cluster that answers what it is told to: a Client. It follows
// Kafka's rules for what a sweep asks as far as the tests need them: leaders,
// leader epochs, which broker coordinates a group.
type fake struct {
	mu      sync.Mutex
	brokers []int32
	topics  []*fakeTopic
	groups  []*fakeGroup

	transactions []*fakeTransaction
	coordinators map[int32]int16 // what ListTransactions answers in place of a list
	oldLists     bool            // ListTransactions knows no expressions
	onlyIDs      string          // what ids begin with that the principal may describe
	hidesIDs     bool            // the principal may describe no transactional id
	unaware      map[int32]bool  // brokers that do not know yet that they coordinate
	scanPeriod   string          // empty: it may not be read
	denials      []fakeDenial    // the ACLs on transactional ids
	aclsError    int16           // of DescribeAcls

	highest map[kmsg.Key]int16 // versions that are lower than what is asked

	// The principal may describe no topics, or groups, but those that begin so.
	refusesTopics, refusesGroups bool
	mayDescribe                  string

	// before is called, without the lock, before a request is answered; a
	// response or an error that it returns is the answer.
	before func(broker int32, req kmsg.Request) (kmsg.Response, error)

	oneAddress bool           // the seeds' is none of the brokers'
	latency    time.Duration  // of every answer
	hung       map[int32]bool // brokers that never answer
	dead       map[int32]bool // brokers that refuse connections

	calls []call
}

// call is a request that was sent.
type call struct {
	broker int32
	name   string // with the step, for ListOffsets
}

type fakeTopic struct {
	name       string
	id         byte
	errorCode  int16
	partitions []*fakePartition
}

type fakePartition struct {
	leader, epoch        int32
	start, lso, hwm, leo int64
	errors               map[step]int16

	producers      []fakeProducer
	producersError int16 // of DescribeProducers

	fakeLog
}

// fakeProducer is one row of DescribeProducers.
type fakeProducer struct {
	id        int64
	epoch     int32
	start     int64 // −1: no open transaction
	timestamp int64
}

// fakeTransaction is a transactional id.
type fakeTransaction struct {
	id          string
	coordinator int32
	producer    int64
	state       string
	start       int64
	timeout     int32
	topics      map[string][]int32
}

// fakeDenial is an ACL that denies DESCRIBE on transactional ids.
type fakeDenial struct {
	name   string
	prefix bool
}

type fakeGroup struct {
	name        string
	coordinator int32
	groupType   string // as ListGroups says it
	protocol    string
	state       string
	members     int
	assigned    []string
	commits     map[string]map[int32]int64

	fakeGroupMore
	errorCode int16 // of OffsetFetch
	hidden    bool  // not listed
}

var errRefused = errors.New("connection refused")

// newFake returns a cluster of brokers 1 to n without topics.
func newFake(n int) *fake {
	f := &fake{hung: make(map[int32]bool), dead: make(map[int32]bool)}
	for id := range n {
		f.brokers = append(f.brokers, int32(id+1))
	}
	return f
}

// topic adds a topic whose partitions are led by brokers 1, 2, … in turn, each
// with log start 0, last stable 5, high watermark 7 and log end 9.
func (f *fake) topic(name string, partitions int) *fakeTopic {
	t := &fakeTopic{name: name, id: byte(len(f.topics) + 1)}
	for i := range partitions {
		t.partitions = append(t.partitions, &fakePartition{
			leader: f.brokers[i%len(f.brokers)], lso: 5, hwm: 7, leo: 9, errors: make(map[step]int16),
		})
	}
	f.topics = append(f.topics, t)
	return t
}

// group adds a Stable classic group of one member, without commits.
func (f *fake) group(name string, coordinator int32) *fakeGroup {
	g := &fakeGroup{
		name: name, coordinator: coordinator, groupType: "classic", protocol: "consumer", state: "Stable",
		members: 1, commits: make(map[string]map[int32]int64),
	}
	f.groups = append(f.groups, g)
	return g
}

// commit sets a group's commit on one partition.
func (g *fakeGroup) commit(topic string, partition int32, offset int64) *fakeGroup {
	if g.commits[topic] == nil {
		g.commits[topic] = make(map[int32]int64)
	}
	g.commits[topic][partition] = offset
	return g
}

// Seeds implements Client: a seed's id is below 0 and reaches the broker of
// the same place.
func (f *fake) Seeds() []int32 {
	seeds := make([]int32, len(f.brokers))
	for i := range seeds {
		seeds[i] = -int32(100 - i)
	}
	return seeds
}

// seedAddress is the address of the broker that a seed reaches; empty for the
// seeds of a cluster behind one address.
func (f *fake) seedAddress(id int32) string {
	if f.oneAddress {
		return ""
	}
	return fmt.Sprint("127.0.0.1:", 9000+f.brokers[id+100])
}

// Request implements Client.
func (f *fake) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	asked := broker
	if broker < 0 {
		asked = f.brokers[broker+100]
	}
	f.mu.Lock()
	f.calls = append(f.calls, call{broker, callName(req)})
	before, latency, hung, dead := f.before, f.latency, f.hung[asked], f.dead[asked]
	f.mu.Unlock()
	if dead {
		return nil, errRefused
	}
	if before != nil {
		if resp, err := before(broker, req); resp != nil || err != nil {
			return resp, err
		}
	}
	if hung {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if latency > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(latency):
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, older := f.highest[kmsg.Key(req.Key())]; older {
		req.SetVersion(min(v, req.GetVersion()))
	}
	resp := f.answer(asked, req)
	resp.SetVersion(req.GetVersion())
	return resp, nil
}

// callName names a request, and the step of a ListOffsets.
func callName(req kmsg.Request) string {
	switch r := req.(type) {
	case *kmsg.ListOffsetsRequest:
		if s := stepOf(r); s != timeIndex {
			return s.String()
		}
		return askDates
	case *kmsg.OffsetFetchRequest:
		if r.RequireStable {
			return askPending
		}
	}
	return kmsg.NameForKey(req.Key())
}

// stepOf returns what a ListOffsets request asks for, by Kafka's rules.
func stepOf(r *kmsg.ListOffsetsRequest) step {
	switch {
	case r.Topics[0].Partitions[0].Timestamp == timestampEarliest:
		return logStart
	case r.Topics[0].Partitions[0].Timestamp != timestampLatest:
		return timeIndex
	case r.ReplicaID != replicaConsumer:
		return logEnd
	case r.IsolationLevel == 1:
		return lastStable
	default:
		return highWatermark
	}
}

// answer answers a request as a broker.
func (f *fake) answer(broker int32, req kmsg.Request) kmsg.Response {
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		if r.Topics != nil {
			return f.metadataOf(r.Topics)
		}
		return f.metadata()
	case *kmsg.ListOffsetsRequest:
		return f.listOffsets(broker, r)
	case *kmsg.ListGroupsRequest:
		resp := kmsg.NewPtrListGroupsResponse()
		for _, g := range f.groups {
			if g.coordinator == broker && !g.hidden && !f.refuses(f.refusesGroups, g.name) {
				resp.Groups = append(resp.Groups, kmsg.ListGroupsResponseGroup{
					Group: g.name, ProtocolType: g.protocol, GroupState: g.state, GroupType: g.groupType,
				})
			}
		}
		return resp
	case *kmsg.DescribeGroupsRequest:
		return f.describeClassic(broker, r)
	case *kmsg.ConsumerGroupDescribeRequest:
		return f.describeConsumer(broker, r)
	case *kmsg.FindCoordinatorRequest:
		resp := kmsg.NewPtrFindCoordinatorResponse()
		groups := f.byName()
		if g := groups[r.CoordinatorKey]; r.Version < 4 {
			if resp.NodeID = f.brokers[0]; g != nil {
				resp.NodeID = g.coordinator
			}
			return resp
		}
		for _, key := range r.CoordinatorKeys {
			c := kmsg.FindCoordinatorResponseCoordinator{Key: key, NodeID: f.brokers[0]}
			if g := groups[key]; g != nil {
				c.NodeID = g.coordinator
			}
			resp.Coordinators = append(resp.Coordinators, c)
		}
		return resp
	case *kmsg.OffsetFetchRequest:
		return f.fetchOffsets(broker, r)
	case *kmsg.DescribeProducersRequest:
		return f.describeProducers(broker, r)
	case *kmsg.ListTransactionsRequest:
		return f.listTransactions(broker, r)
	case *kmsg.DescribeTransactionsRequest:
		return f.describeTransactions(broker, r)
	case *kmsg.DescribeConfigsRequest:
		return f.describeConfigs(broker, r)
	case *kmsg.DescribeACLsRequest:
		return f.describeACLs(r)
	case *kmsg.ShareGroupDescribeRequest:
		return f.describeShare(broker, r)
	case *kmsg.StreamsGroupDescribeRequest:
		return f.describeStreams(broker, r)
	case *kmsg.DescribeShareGroupOffsetsRequest:
		return f.shareOffsets(broker, r)
	case *kmsg.FetchRequest:
		return f.fetch(broker, r)
	default:
		panic(fmt.Sprintf("the fake does not answer %T", req))
	}
}

// byName returns the groups by name.
func (f *fake) byName() map[string]*fakeGroup {
	groups := make(map[string]*fakeGroup, len(f.groups))
	for _, g := range f.groups {
		groups[g.name] = g
	}
	return groups
}

func (f *fake) metadata() kmsg.Response {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID = kmsg.StringPtr("fake")
	resp.ControllerID = f.brokers[0]
	if !f.refusesGroups {
		resp.AuthorizedOperations = describeBit
	}
	for _, id := range f.brokers {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = id, "127.0.0.1", 9000+id
		resp.Brokers = append(resp.Brokers, b)
	}
	for _, t := range f.topics {
		if f.hides(t.name) {
			continue
		}
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.TopicID, topic.ErrorCode = kmsg.StringPtr(t.name), [16]byte{15: t.id}, t.errorCode
		for i, p := range slices.Backward(t.partitions) {
			partition := kmsg.NewMetadataResponseTopicPartition()
			partition.Partition, partition.Leader, partition.LeaderEpoch = int32(i), p.leader, p.epoch
			partition.Replicas, partition.ISR = f.brokers, f.brokers[:1]
			if p.leader < 0 {
				partition.ErrorCode = 5
			}
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	slices.Reverse(resp.Topics) // the order must not matter
	return resp
}

func (f *fake) listOffsets(broker int32, r *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := kmsg.NewPtrListOffsetsResponse()
	topics := make(map[string]*fakeTopic, len(f.topics))
	for _, t := range f.topics {
		topics[t.name] = t
	}
	for _, t := range slices.Backward(r.Topics) {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			answer := kmsg.NewListOffsetsResponseTopicPartition()
			answer.Partition = p.Partition
			if stepOf(r) == timeIndex {
				answer.Offset, answer.Timestamp, answer.ErrorCode = topics[t.Topic].find(broker, p)
			} else {
				answer.Offset, answer.ErrorCode = topics[t.Topic].offset(broker, p, stepOf(r))
			}
			topic.Partitions = append(topic.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// offset answers for one partition of a topic, which may not exist.
func (t *fakeTopic) offset(broker int32, req kmsg.ListOffsetsRequestTopicPartition, s step) (int64, int16) {
	if t == nil || int(req.Partition) >= len(t.partitions) {
		return -1, 3
	}
	p := t.partitions[req.Partition]
	switch {
	case p.leader != broker:
		return -1, 6
	case req.CurrentLeaderEpoch < p.epoch:
		return -1, 74
	case req.CurrentLeaderEpoch > p.epoch:
		return -1, 75
	case p.errors[s] != 0:
		return -1, p.errors[s]
	}
	return [...]int64{p.start, p.hwm, p.lso, p.leo}[s], 0
}

func (f *fake) describeClassic(broker int32, r *kmsg.DescribeGroupsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	groups := f.byName()
	for _, name := range r.Groups {
		d := kmsg.NewDescribeGroupsResponseGroup()
		d.Group, d.State = name, "Dead"
		switch g := groups[name]; {
		case f.refuses(f.refusesGroups, name):
			d.ErrorCode = 30
		case g == nil, g.groupType != "classic" && g.groupType != "":
			d.ErrorCode = 69
		case g.coordinator != broker:
			d.ErrorCode = 16
		case g.describeError != 0:
			d.ErrorCode = g.describeError
		default:
			d.State, d.ProtocolType = g.state, g.protocol
			for i := range g.members {
				m := kmsg.NewDescribeGroupsResponseGroupMember()
				m.MemberID, m.ClientID, m.ClientHost = fakeMember(i), "client", "/127.0.0.1"
				if g.state == "Stable" {
					m.MemberAssignment = classicAssignment(g.assigned)
				}
				d.Members = append(d.Members, m)
			}
		}
		resp.Groups = append(resp.Groups, d)
	}
	return resp
}

// classicAssignment encodes an assignment of partition 0 of each topic.
func classicAssignment(topics []string) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	for _, name := range topics {
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: name, Partitions: []int32{0}})
	}
	return a.AppendTo(nil)
}

func (f *fake) describeConsumer(broker int32, r *kmsg.ConsumerGroupDescribeRequest) kmsg.Response {
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	groups := f.byName()
	for _, name := range r.Groups {
		d := kmsg.NewConsumerGroupDescribeResponseGroup()
		d.Group, d.State = name, "Dead"
		switch g := groups[name]; {
		case g == nil, g.groupType != "consumer":
			d.ErrorCode = 69
		case g.coordinator != broker:
			d.ErrorCode = 16
		default:
			d.State, d.ErrorCode = g.state, g.describeError
			if d.ErrorCode != 0 {
				break
			}
			for i := range g.members {
				m := kmsg.NewConsumerGroupDescribeResponseGroupMember()
				m.MemberID, m.ClientID, m.ClientHost = fakeMember(i), "client", "/127.0.0.1"
				m.Assignment.TopicPartitions = fakeAssignment(g.assigned)
				m.TargetAssignment.TopicPartitions = fakeAssignment(g.target)
				d.Members = append(d.Members, m)
			}
		}
		resp.Groups = append(resp.Groups, d)
	}
	return resp
}

func (f *fake) fetchOffsets(broker int32, r *kmsg.OffsetFetchRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetFetchResponse()
	groups := f.byName()
	if r.Version < 8 {
		r.Groups = []kmsg.OffsetFetchRequestGroup{f.onlyGroup(r)}
		defer f.answerOnlyGroup(resp)
	}
	for _, asked := range r.Groups {
		answer := kmsg.NewOffsetFetchResponseGroup()
		answer.Group = asked.Group
		switch g := groups[asked.Group]; {
		case g == nil:
		case g.coordinator != broker:
			answer.ErrorCode = 16
		case g.errorCode != 0:
			answer.ErrorCode = g.errorCode
		default:
			if r.RequireStable {
				answer.Topics = g.stable(asked.Topics)
				break
			}
			for name, commits := range g.commits {
				if f.hides(name) {
					continue
				}
				topic := kmsg.NewOffsetFetchResponseGroupTopic()
				topic.Topic = name
				for number, offset := range commits {
					if asked.Topics != nil && !named(asked.Topics, name, number) {
						continue
					}
					p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
					p.Partition, p.Offset = number, offset
					topic.Partitions = append(topic.Partitions, p)
				}
				answer.Topics = append(answer.Topics, topic)
			}
		}
		resp.Groups = append(resp.Groups, answer)
	}
	return resp
}

// onlyGroup is the one group of an old request, which names it elsewhere.
func (f *fake) onlyGroup(r *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = r.Group
	for _, t := range r.Topics {
		topic := kmsg.NewOffsetFetchRequestGroupTopic()
		topic.Topic, topic.Partitions = t.Topic, t.Partitions
		g.Topics = append(g.Topics, topic)
	}
	return g
}

// answerOnlyGroup brings an answer into the form of old versions.
func (f *fake) answerOnlyGroup(resp *kmsg.OffsetFetchResponse) {
	g := resp.Groups[0]
	resp.Groups, resp.ErrorCode = nil, g.ErrorCode
	for _, t := range g.Topics {
		topic := kmsg.NewOffsetFetchResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.OffsetFetchResponseTopicPartition(p))
		}
		resp.Topics = append(resp.Topics, topic)
	}
}

// take returns the requests that were sent since the last time.
func (f *fake) take() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// set changes the cluster.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// partition returns a sample's partition, failing the test if there is none.
func partition(t *testing.T, s lag.Sample, topic string, number int) *lag.Partition {
	t.Helper()
	i := slices.IndexFunc(s.Topics, func(t lag.Topic) bool { return t.Name == topic })
	if i < 0 || number >= len(s.Topics[i].Partitions) {
		t.Fatalf("the sample has no partition %s-%d", topic, number)
	}
	return &s.Topics[i].Partitions[number]
}

// offsets renders a partition's readings: log start, last stable, high
// watermark, log end; - for those that were not read.
func offsets(p *lag.Partition) string {
	text := ""
	for _, r := range []lag.Reading{p.LogStart, p.LastStable, p.HighWatermark, p.LogEnd} {
		if text != "" {
			text += " "
		}
		if r.OK() {
			text += fmt.Sprint(r.Offset)
		} else {
			text += "-"
		}
	}
	return text
}

// groupNamed returns a sample's group; nil if there is none.
func groupNamed(s lag.Sample, name string) *lag.Group {
	i := slices.IndexFunc(s.Groups, func(g lag.Group) bool { return g.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Groups[i]
}

// missed renders what a sample lacks, without details.
func missed(s lag.Sample) string {
	var list []string
	for _, m := range s.Missed {
		list = append(list, fmt.Sprintf("%s: %s %d", m.Subject, m.Kind, m.Count))
	}
	return fmt.Sprint(list)
}
