package collector

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// knownGroup is what is remembered of a group from sweep to sweep.
type knownGroup struct {
	groupType    lag.GroupType
	protocolType string
	coordinator  int32
	commits      int
	members      int
	own          []lag.TopicPartitions // in a scope; see ownOf
}

// askGroups asks a broker for the groups it coordinates, their members and
// their commits.
func (w *sweep) askGroups(ctx context.Context, r *stepOne) {
	a, miss := r.line.ask(ctx, kmsg.NewPtrListGroupsRequest())
	if miss != "" {
		r.lack(miss, "ListGroups")
		return
	}
	resp := a.resp.(*kmsg.ListGroupsResponse)
	if resp.ErrorCode != 0 {
		r.misses.add(missOfCode(resp.ErrorCode), r.line.subject(), 1, "ListGroups: "+codeText(resp.ErrorCode), Groups)
	}
	r.listed = resp.ErrorCode == 0
	r.groups = groupsOf(resp, r.line.id, w.options.Groups)
	if !r.listed {
		w.addUnlisted(r)
	}

	for _, d := range descriptions {
		w.describe(ctx, r, d)
	}
	if w.options.Assigned != nil {
		w.keepAssigned(r)
	}
	w.fetchCommits(ctx, r)
	r.groups = slices.DeleteFunc(r.groups, func(g lag.Group) bool {
		return r.gone[g.Name] || r.unlisted[g.Name] && !seen(&g)
	})
}

// addUnlisted adds the groups that the broker coordinated in the sweep before
// to those that it lists: while it loads one partition of __consumer_offsets, a
// broker answers COORDINATOR_LOAD_IN_PROGRESS in place of all its groups, and
// tells of those that it has loaded when it is asked by name.
func (w *sweep) addUnlisted(r *stepOne) {
	r.unlisted = make(map[string]bool)
	var groups []lag.Group
	for name, k := range w.known {
		if k.coordinator == r.line.id && r.group(name) == nil {
			g := k.group(name)
			g.Coordinator = lag.BrokerID(r.line.id)
			groups = append(groups, g)
			r.unlisted[name] = true
		}
	}
	r.groups = append(r.groups, groups...)
	sortByName(r.groups)
}

// group returns a remembered group, of which no more is known than its kind.
func (k knownGroup) group(name string) lag.Group {
	return lag.Group{Name: name, Type: k.groupType, ProtocolType: k.protocolType, Coordinator: lag.NoBroker}
}

// seen says whether answers show that a group exists which was not listed. A
// coordinator describes one that it does not know as Dead, and tells no commits
// of it.
func seen(g *lag.Group) bool {
	return len(g.Commits) > 0 || g.Members.IsKnown() && g.State != "Dead"
}

// lack notes that a request had no answer, unless the line has failed: then
// the broker is one miss as a whole.
func (r *stepOne) lack(miss lag.MissKind, request string) {
	if r.line.failure == "" {
		r.misses.add(miss, r.line.subject(), 1, request, Groups)
	}
}

// groupsOf returns the groups of a listing that wants accepts, by name.
func groupsOf(resp *kmsg.ListGroupsResponse, coordinator int32, wants func(group string) bool) []lag.Group {
	groups := make([]lag.Group, 0, len(resp.Groups))
	for i := range resp.Groups {
		g := &resp.Groups[i]
		if !wants(g.Group) {
			continue
		}
		groups = append(groups, lag.Group{
			Name:         g.Group,
			Type:         lag.GroupType(strings.ToLower(g.GroupType)),
			ProtocolType: g.ProtocolType,
			Coordinator:  lag.BrokerID(coordinator),
			State:        g.GroupState,
		})
	}
	sortByName(groups)
	return slices.CompactFunc(groups, func(a, b lag.Group) bool { return a.Name == b.Name })
}

// sortByName brings groups in the order in which samples have them.
func sortByName(groups []lag.Group) {
	slices.SortFunc(groups, func(a, b lag.Group) int { return strings.Compare(a.Name, b.Name) })
}

// group returns a listed group by name; nil if it was not listed.
func (r *stepOne) group(name string) *lag.Group {
	i, ok := slices.BinarySearchFunc(r.groups, name,
		func(g lag.Group, name string) int { return strings.Compare(g.Name, name) })
	if !ok {
		return nil
	}
	return &r.groups[i]
}

// refused notes the error that a broker answered for one group.
func (r *stepOne) refused(group string, code int16, request string) {
	if kerr.ErrorForCode(code) == kerr.GroupIDNotFound {
		if r.gone == nil {
			r.gone = make(map[string]bool)
		}
		r.gone[group] = true // deleted since it was listed
		return
	}
	r.misses.add(missOfCode(code), "group "+group, 1, request+": "+codeText(code), Groups)
}

// fetchCommits asks for the commits of the listed groups, but for share groups,
// which have none.
func (w *sweep) fetchCommits(ctx context.Context, r *stepOne) {
	var names []string
	for i := range r.groups {
		if r.groups[i].Type != lag.ShareGroup {
			names = append(names, r.groups[i].Name)
		}
	}
	parts := split(names, maxPartitionsPerRequest, func(name string) int { return w.known[name].commits })
	for i, part := range parts {
		a, miss := r.line.askPart(ctx, i, offsetFetchRequest(part, r.own))
		if miss != "" {
			r.lack(miss, "OffsetFetch")
			return
		}
		resp := a.resp.(*kmsg.OffsetFetchResponse)
		r.takeCommits(resp, part[0], w.layout)
		if r.fetches = resp.Version; resp.Version < manyGroupsVersion {
			w.fetchSingly(ctx, r, names[1:])
			return
		}
	}
}

// takeCommits takes over the commits of an answer, of which the first group was asked
// for in the older form, too.
func (r *stepOne) takeCommits(resp *kmsg.OffsetFetchResponse, first string, l *layout) {
	groups := fetchedGroups(resp, first)
	for i := range groups {
		r.setCommits(&groups[i], l)
	}
}

// offsetFetchRequest returns the request for all commits of groups, or for those
// on their own partitions if own is not nil. It does
// not require stable offsets: with them a pending transactional commit would
// hide the last one (measurements.md 2).
func offsetFetchRequest(groups []string, own map[string][]lag.TopicPartitions) *kmsg.OffsetFetchRequest {
	asked := make([]kmsg.OffsetFetchRequestGroup, len(groups))
	for i, name := range groups {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = name // null topics: all
		if own != nil {
			g.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, 0, len(own[name]))
		}
		for _, t := range own[name] {
			topic := kmsg.NewOffsetFetchRequestGroupTopic()
			topic.Topic, topic.Partitions = t.Topic, t.Partitions
			g.Topics = append(g.Topics, topic)
		}
		asked[i] = g
	}
	req := fetchRequestFor(asked)
	req.RequireStable = false
	return req
}

// setCommits takes over the commits of a group.
func (r *stepOne) setCommits(f *kmsg.OffsetFetchResponseGroup, l *layout) {
	g := r.group(f.Group)
	if g == nil {
		return
	}
	switch kerr.ErrorForCode(f.ErrorCode) {
	case nil:
		g.CommitsRead = true
		g.Commits = r.commitsOf(f, l)
	case kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress:
		r.moved = append(r.moved, f.Group)
	default:
		r.refused(f.Group, f.ErrorCode, "OffsetFetch")
	}
}

// commitsOf returns the commits of an answer on wanted topics, by topic and
// partition. Negative offsets are none. A Kafka 4.3.1 that is asked for all commits
// of a group may name a partition twice that is committed to meanwhile.
func (r *stepOne) commitsOf(f *kmsg.OffsetFetchResponseGroup, l *layout) []lag.TopicCommits {
	topics := make([]lag.TopicCommits, 0, len(f.Topics))
	for i := range f.Topics {
		name, wanted := l.intern(f.Topics[i].Topic)
		if !wanted {
			continue
		}
		t := lag.TopicCommits{
			Topic:      name,
			Partitions: make([]lag.Commit, 0, len(f.Topics[i].Partitions)),
		}
		for _, p := range f.Topics[i].Partitions {
			c := lag.Commit{Partition: p.Partition}
			switch {
			case p.ErrorCode != 0:
				r.refused(f.Group, p.ErrorCode, "OffsetFetch topic="+t.Topic)
			case p.Offset < 0:
				continue
			default:
				c.Offset = lag.Known(lag.Offset(p.Offset))
			}
			t.Partitions = append(t.Partitions, c)
		}
		if len(t.Partitions) == 0 {
			continue
		}
		topics = append(topics, t)
	}
	slices.SortStableFunc(topics, func(a, b lag.TopicCommits) int { return strings.Compare(a.Topic, b.Topic) })
	merged := topics[:0]
	for _, t := range topics {
		if last := len(merged) - 1; last >= 0 && merged[last].Topic == t.Topic {
			merged[last].Partitions = append(merged[last].Partitions, t.Partitions...)
		} else {
			merged = append(merged, t)
		}
	}
	for i := range merged {
		merged[i].Partitions = eachOnce(merged[i].Partitions)
	}
	return merged
}

// eachOnce sorts commits by partition and leaves one of each: of several the
// highest, as commits seldom go back, and an offset rather than a refusal.
func eachOnce(commits []lag.Commit) []lag.Commit {
	height := func(c lag.Commit) lag.Offset {
		if offset, ok := c.Offset.Get(); ok {
			return offset
		}
		return -1
	}
	slices.SortFunc(commits, func(a, b lag.Commit) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(height(b), height(a)))
	})
	return slices.CompactFunc(commits, func(a, b lag.Commit) bool { return a.Partition == b.Partition })
}

// split cuts names into parts of which each weighs at most limit, or is a
// single one. A name weighs at least 1.
func split(names []string, limit int, weight func(string) int) [][]string {
	var parts [][]string
	begin, sum := 0, 0
	for i, name := range names {
		n := max(1, weight(name))
		if sum+n > limit && i > begin {
			parts = append(parts, names[begin:i])
			begin, sum = i, 0
		}
		sum += n
	}
	if begin < len(names) {
		parts = append(parts, names[begin:])
	}
	return parts
}
