package collector

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// maxMembersPerRequest bounds the members in one answer that describes groups,
// of which a member takes some hundred bytes: so that no answer grows much
// above 10 MB. What goes beyond is split, at the price of a request each.
const maxMembersPerRequest = 20_000

// description is how groups of some types are described. A broker answers
// GROUP_ID_NOT_FOUND for a group of another type (KIP-1043), so groups are
// sorted by the type that ListGroups tells.
type description struct {
	api   kmsg.Key
	types []lag.GroupType
	// more says that the request comes on top of a sweep's 2 + 8 B: it is made
	// only where such groups exist.
	more    bool
	request func(groups []string) kmsg.Request
	take    func(r *stepOne, resp kmsg.Response, l *layout)
}

// descriptions are the requests that describe groups, in the order in which
// they are made.
var descriptions = []description{
	{
		api: kmsg.DescribeGroups, types: []lag.GroupType{lag.Classic, lag.UnknownGroup},
		request: func(groups []string) kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups = groups
			return req
		},
		take: func(r *stepOne, resp kmsg.Response, l *layout) {
			groups := resp.(*kmsg.DescribeGroupsResponse).Groups
			for i := range groups {
				r.setClassic(&groups[i], l)
			}
		},
	},
	{
		api: kmsg.ConsumerGroupDescribe, types: []lag.GroupType{lag.ConsumerGroup},
		request: func(groups []string) kmsg.Request {
			req := kmsg.NewPtrConsumerGroupDescribeRequest()
			req.Groups = groups
			return req
		},
		take: func(r *stepOne, resp kmsg.Response, l *layout) {
			groups := resp.(*kmsg.ConsumerGroupDescribeResponse).Groups
			for i := range groups {
				r.setConsumer(&groups[i], l)
			}
		},
	},
	{
		api: kmsg.ShareGroupDescribe, types: []lag.GroupType{lag.ShareGroup}, more: true,
		request: func(groups []string) kmsg.Request {
			req := kmsg.NewPtrShareGroupDescribeRequest()
			req.GroupIDs = groups
			return req
		},
		take: func(r *stepOne, resp kmsg.Response, l *layout) {
			groups := resp.(*kmsg.ShareGroupDescribeResponse).Groups
			for i := range groups {
				r.setShare(&groups[i], l)
			}
		},
	},
	{
		api: kmsg.StreamsGroupDescribe, types: []lag.GroupType{lag.StreamsGroup}, more: true,
		request: func(groups []string) kmsg.Request {
			req := kmsg.NewPtrStreamsGroupDescribeRequest()
			req.Groups = groups
			return req
		},
		take: func(r *stepOne, resp kmsg.Response, l *layout) {
			groups := resp.(*kmsg.StreamsGroupDescribeResponse).Groups
			for i := range groups {
				r.setStreams(&groups[i], l)
			}
		},
	},
}

// describe asks for the members of the listed groups of some types.
func (w *sweep) describe(ctx context.Context, r *stepOne, d description) {
	names := r.namesOf(d.types...)
	parts := split(names, maxMembersPerRequest, func(name string) int { return w.known[name].members })
	for i, part := range parts {
		ask := r.line.ask
		if d.more || i > 0 {
			ask = r.line.send
		}
		a, miss := ask(ctx, d.request(part))
		if miss != "" {
			r.lack(miss, d.api.Name())
			return
		}
		d.take(r, a.resp, w.layout)
	}
}

// namesOf returns the names of the listed groups of some types, in order.
func (r *stepOne) namesOf(types ...lag.GroupType) []string {
	var names []string
	for i := range r.groups {
		if slices.Contains(types, r.groups[i].Type) {
			names = append(names, r.groups[i].Name)
		}
	}
	return names
}

// assignments adds up which partitions the members of a group are assigned, by
// topic.
type assignments struct {
	layout *layout
	owners map[string][]lag.AssignedPartition
}

// newAssignments returns an empty sum.
func newAssignments(l *layout) *assignments {
	return &assignments{layout: l, owners: make(map[string][]lag.AssignedPartition)}
}

// add adds partitions of a topic, unless it is left out.
func (a *assignments) add(topic string, partitions []int32, member int) {
	name, wanted := a.layout.intern(topic)
	if !wanted {
		return
	}
	for _, n := range partitions {
		a.owners[name] = append(a.owners[name], lag.AssignedPartition{Partition: n, Member: member})
	}
}

// list returns the sum. A partition that two members name belongs to the one who
// has it; between two of those, to the first.
func (a *assignments) list() lag.Optional[[]lag.TopicAssignment] {
	var topics []lag.TopicAssignment
	for name, owners := range a.owners {
		slices.SortStableFunc(owners, func(a, b lag.AssignedPartition) int {
			return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(min(b.Member, 0), min(a.Member, 0)))
		})
		owners = slices.CompactFunc(owners, func(a, b lag.AssignedPartition) bool { return a.Partition == b.Partition })
		topics = append(topics, lag.TopicAssignment{Topic: name, Partitions: owners})
	}
	slices.SortFunc(topics, func(a, b lag.TopicAssignment) int { return strings.Compare(a.Topic, b.Topic) })
	return lag.Known(topics)
}

// onItsWay stands in place of the owner of a partition that a member is to get
// and has not got yet.
func onItsWay(member int) int { return ^member }

// toMember returns the member for which onItsWay stands.
func toMember(owner int) int { return ^owner }

// setMembers takes over who the members are.
func setMembers[T any](g *lag.Group, members []T, member func(*T) lag.Member) {
	g.Members = lag.Known(len(members))
	g.MemberList = make([]lag.Member, len(members))
	for i := range members {
		g.MemberList[i] = member(&members[i])
	}
}

// orEmpty is a text that may be null.
func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// setClassic takes over the description of a classic group.
func (r *stepOne) setClassic(d *kmsg.DescribeGroupsResponseGroup, l *layout) {
	g := r.group(d.Group)
	if g == nil {
		return
	}
	if d.ErrorCode != 0 {
		r.refused(d.Group, d.ErrorCode, "DescribeGroups")
		return
	}
	g.State, g.ProtocolType = d.State, d.ProtocolType
	setMembers(g, d.Members, func(m *kmsg.DescribeGroupsResponseGroupMember) lag.Member {
		return lag.Member{ID: m.MemberID, InstanceID: orEmpty(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost}
	})
	g.Assignment = consumerAssignment(d, l)
}

// consumerAssignment returns what a classic group's members are assigned. That
// is not known while it rebalances, as the coordinator holds no assignment
// then. Only the consumers' protocol assigns partitions in a form that can be
// read: the assignment of another one (Connect: connectors) is never decoded.
func consumerAssignment(d *kmsg.DescribeGroupsResponseGroup, l *layout) lag.Optional[[]lag.TopicAssignment] {
	if d.ProtocolType != "consumer" || len(d.Members) == 0 {
		return lag.Known[[]lag.TopicAssignment](nil)
	}
	if d.State != "Stable" {
		return lag.Optional[[]lag.TopicAssignment]{}
	}
	sum := newAssignments(l)
	for i := range d.Members {
		var a kmsg.ConsumerMemberAssignment
		if len(d.Members[i].MemberAssignment) == 0 {
			continue // a member without an assignment
		}
		if err := a.ReadFrom(d.Members[i].MemberAssignment); err != nil {
			return lag.Optional[[]lag.TopicAssignment]{}
		}
		for _, t := range a.Topics {
			sum.add(t.Topic, t.Partitions, i)
		}
	}
	return sum.list()
}

// setConsumer takes over the description of a KIP-848 group. What a member is
// to get counts as assigned, so that a partition on its way from one member to
// the next does not look abandoned.
func (r *stepOne) setConsumer(d *kmsg.ConsumerGroupDescribeResponseGroup, l *layout) {
	g := r.group(d.Group)
	if g == nil {
		return
	}
	if d.ErrorCode != 0 {
		r.refused(d.Group, d.ErrorCode, "ConsumerGroupDescribe")
		return
	}
	g.State = d.State
	setMembers(g, d.Members, func(m *kmsg.ConsumerGroupDescribeResponseGroupMember) lag.Member {
		return lag.Member{ID: m.MemberID, InstanceID: orEmpty(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost}
	})
	sum := newAssignments(l)
	for i := range d.Members {
		for _, t := range d.Members[i].Assignment.TopicPartitions {
			sum.add(t.Topic, t.Partitions, i)
		}
		for _, t := range d.Members[i].TargetAssignment.TopicPartitions {
			sum.add(t.Topic, t.Partitions, onItsWay(i))
		}
	}
	g.Assignment = sum.list()
}

// setShare takes over the description of a share group, whose members share
// partitions: the first one counts as the owner.
func (r *stepOne) setShare(d *kmsg.ShareGroupDescribeResponseGroup, l *layout) {
	g := r.group(d.GroupID)
	if g == nil {
		return
	}
	if d.ErrorCode != 0 {
		r.refused(d.GroupID, d.ErrorCode, "ShareGroupDescribe")
		return
	}
	g.State = d.GroupState
	setMembers(g, d.Members, func(m *kmsg.ShareGroupDescribeResponseGroupMember) lag.Member {
		return lag.Member{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
	})
	sum := newAssignments(l)
	for i := range d.Members {
		for _, t := range d.Members[i].Assignment.TopicPartitions {
			sum.add(t.Topic, t.Partitions, i)
		}
	}
	g.Assignment = sum.list()
}

// setStreams takes over the description of a streams group (KIP-1071). Its
// members are assigned tasks: a partition number of a subtopology, which stands
// for this partition of each of its source topics.
func (r *stepOne) setStreams(d *kmsg.StreamsGroupDescribeResponseGroup, l *layout) {
	g := r.group(d.Group)
	if g == nil {
		return
	}
	if d.ErrorCode != 0 {
		r.refused(d.Group, d.ErrorCode, "StreamsGroupDescribe")
		return
	}
	g.State = d.State
	setMembers(g, d.Members, func(m *kmsg.StreamsGroupDescribeResponseGroupMember) lag.Member {
		return lag.Member{ID: m.MemberID, InstanceID: orEmpty(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost}
	})
	sources := sourceTopics(d.Topology)
	sum := newAssignments(l)
	for i := range d.Members {
		sum.addTasks(d.Members[i].Assignment.ActiveTasks, sources, i)
		sum.addTasks(d.Members[i].TargetAssignment.ActiveTasks, sources, onItsWay(i))
	}
	g.Assignment = sum.list()
}

// sourceTopics returns the topics that each subtopology reads.
func sourceTopics(topology *kmsg.StreamsGroupDescribeResponseGroupTopology) map[string][]string {
	sources := make(map[string][]string)
	if topology == nil {
		return sources
	}
	for i := range topology.Subtopologies {
		s := &topology.Subtopologies[i]
		topics := slices.Clone(s.SourceTopics)
		for _, t := range s.RepartitionSourceTopics {
			topics = append(topics, t.Topic)
		}
		sources[s.SubtopologyID] = topics
	}
	return sources
}

// addTasks adds the partitions of tasks. A source topic may have fewer
// partitions than its subtopology has tasks.
func (a *assignments) addTasks(tasks []kmsg.TaskIDs, sources map[string][]string, member int) {
	for i := range tasks {
		for _, topic := range sources[tasks[i].SubtopologyID] {
			exist := slices.DeleteFunc(slices.Clone(tasks[i].Partitions), func(n int32) bool {
				_, listed := a.layout.index[topic]
				_, ok := a.layout.place(topic, n)
				return listed && !ok
			})
			a.add(topic, exist, member)
		}
	}
}
