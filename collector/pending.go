package collector

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// offsetsTopic keeps the commits of all groups.
const offsetsTopic = "__consumer_offsets"

// readPending asks coordinators for the commits that wait for the end of a
// transaction. A pending commit holds the last stable offset of the partition of
// __consumer_offsets that keeps the group, so only groups of which that
// partition is below are asked about; of the others it is proven that they have
// none.
func (w *sweep) readPending(ctx context.Context) {
	groups := make(map[int32][]kmsg.OffsetFetchRequestGroup)
	sizes := make(map[int32]int)
	asked := make(map[string]*lag.Group)
	for i := range w.groups {
		g := &w.groups[i]
		number, ok := w.offsetsPartition(g.Name)
		if !ok || !g.CommitsRead {
			continue
		}
		g.OffsetsPartition = lag.Known(number)
		place, ok := w.layout.place(offsetsTopic, number)
		if !ok {
			continue
		}
		switch _, _, below, known := w.partitions[place].Pinned(); {
		case !known:
			continue
		case !below:
			g.Pending = lag.Known[[]lag.TopicPartitions](nil)
			continue
		}
		coordinator := int32(g.Coordinator)
		topics, n := w.pendable(g)
		if n == 0 || w.options.NoPendingCommits || sizes[coordinator]+n > maxPartitionsPerRequest && sizes[coordinator] > 0 {
			continue
		}
		if v := w.fetches[coordinator]; v < stableVersion || v < manyGroupsVersion && len(groups[coordinator]) == maxSingly {
			w.missPending(coordinator, v)
			continue
		}
		sizes[coordinator] += n
		group := kmsg.NewOffsetFetchRequestGroup()
		group.Group, group.Topics = g.Name, topics
		groups[coordinator] = append(groups[coordinator], group)
		asked[g.Name] = g
	}
	requests := make(map[int32][]kmsg.Request)
	for coordinator, all := range groups {
		size := len(all)
		if w.fetches[coordinator] < manyGroupsVersion {
			size = 1
		}
		for part := range slices.Chunk(all, size) {
			req := fetchRequestFor(part)
			req.RequireStable = true
			requests[coordinator] = append(requests[coordinator], req)
		}
	}
	w.askOptionals(ctx, Groups, askPending, requests, func(id int32, i int, a answered) {
		told := fetchedGroups(a.resp.(*kmsg.OffsetFetchResponse), requests[id][i].(*kmsg.OffsetFetchRequest).Group)
		for i := range told {
			if g := asked[told[i].Group]; g != nil {
				w.setPending(g, &told[i])
			}
		}
	})
}

// missPending notes that a group is not asked about, as its coordinator answers
// OffsetFetch in a version that knows no stable offsets, or of one group a request.
func (w *sweep) missPending(coordinator int32, version int16) {
	switch subject := brokerSubject(coordinator); {
	case version >= stableVersion:
		w.misses.add(lag.MissDeadline, subject, 1, tooManySingly(askPending), Groups)
	case !w.misses.hasAPI(subject, askPending):
		w.misses.add(lag.MissAPIMissing, subject, 1, askPending)
	}
}

// offsetsPartition returns the partition of __consumer_offsets that keeps a
// group, as far as the sweep reads that topic (rule H1).
func (w *sweep) offsetsPartition(group string) (int32, bool) {
	i, ok := w.layout.index[offsetsTopic]
	if !ok {
		return 0, false
	}
	t := &w.layout.topics[i]
	if t.end == t.first {
		return 0, false
	}
	return lag.Keeper(group, t.end-t.first), true
}

// pendable returns the partitions for which a group may have a pending commit:
// all of the topics on which it has a commit or an assignment. They are named
// one by one, as the form for all topics leaves out a partition that has no
// other commit (rule H7).
func (w *sweep) pendable(g *lag.Group) (topics []kmsg.OffsetFetchRequestGroupTopic, partitions int) {
	var names []string
	for i := range g.Commits {
		names = append(names, g.Commits[i].Topic)
	}
	assignment, _ := g.Assignment.Get()
	for i := range assignment {
		names = append(names, assignment[i].Topic)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		i, ok := w.layout.index[name]
		if !ok {
			continue
		}
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic = name
		for place := w.layout.topics[i].first; place < w.layout.topics[i].end; place++ {
			if n := w.partitions[place].Number; w.options.Assigned == nil || owns(w.own[g.Name], name, n) {
				t.Partitions = append(t.Partitions, n)
			}
		}
		if len(t.Partitions) == 0 {
			continue
		}
		topics, partitions = append(topics, t), partitions+len(t.Partitions)
	}
	return topics, partitions
}

// setPending takes over which commits of a group are pending. They are not known
// if the coordinator refused to tell any of them.
func (w *sweep) setPending(g *lag.Group, f *kmsg.OffsetFetchResponseGroup) {
	if f.ErrorCode != 0 {
		w.misses.add(missOfCode(f.ErrorCode), "group "+g.Name, 1, askPending+": "+codeText(f.ErrorCode), Groups)
		return
	}
	var pending []lag.TopicPartitions
	for i := range f.Topics {
		name, wanted := w.layout.intern(f.Topics[i].Topic)
		if !wanted {
			continue
		}
		t := lag.TopicPartitions{Topic: name}
		for _, p := range f.Topics[i].Partitions {
			switch kerr.ErrorForCode(p.ErrorCode) {
			case nil:
			case kerr.UnstableOffsetCommit:
				t.Partitions = append(t.Partitions, p.Partition)
			default:
				w.misses.add(missOfCode(p.ErrorCode), "group "+g.Name, 1, askPending+" topic="+name+": "+codeText(p.ErrorCode), Groups)
				return
			}
		}
		if len(t.Partitions) > 0 {
			slices.Sort(t.Partitions)
			pending = append(pending, t)
		}
	}
	slices.SortFunc(pending, func(a, b lag.TopicPartitions) int { return strings.Compare(a.Topic, b.Topic) })
	g.Pending = lag.Known(pending)
}
