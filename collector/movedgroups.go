package collector

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// offsetSteps is how many requests a broker's offsets still need once log starts
// and commits were read: high watermarks, last stable and log end offsets.
const offsetSteps = 3

// readMovedGroups asks once more, at their present coordinators, for the
// commits of groups that moved, and of those that were there in the sweep
// before and that nobody lists now: a group that was deleted is not known to
// its coordinator either, while one whose coordinator fails over is listed by
// nobody for a moment, without an error anywhere. unlisted are the brokers that
// did not list their groups; those they had were asked for by name.
func (w *sweep) readMovedGroups(ctx context.Context, moved []string, unlisted map[int32]bool) {
	w.sortGroups()
	open := make(map[string]lag.Group) // the groups that are looked for
	for _, name := range moved {
		switch i, ok := w.findGroup(name); {
		case !ok:
			g := w.known[name].group(name)
			g.Coordinator = lag.BrokerID(w.known[name].coordinator)
			open[name] = g
		case !w.groups[i].CommitsRead:
			open[name] = w.groups[i]
		}
	}
	for name, k := range w.known {
		if _, ok := w.findGroup(name); !ok && !unlisted[k.coordinator] && !w.down[k.coordinator] && k.groupType != lag.ShareGroup && !w.outside[name] {
			open[name] = k.group(name)
		}
	}
	if len(open) == 0 {
		return
	}
	coordinators := w.findCoordinators(ctx, open)
	// Groups that moved get what the offsets of the brokers that answer leave.
	ids := slices.Sorted(maps.Keys(coordinators))
	steps := offsetSteps
	if w.options.narrow() {
		steps++ // log starts come later, too
	}
	ids = ids[:min(len(ids), w.budget.beyond(steps*(len(w.brokers)-len(w.down))))]
	fanOut(ctx, w.options.Serial, ids, always, 0,
		func(id int32) *stepOne {
			r := &stepOne{line: &line{sweep: w, id: id}, groups: coordinators[id], misses: newMisses()}
			if w.options.Assigned != nil {
				w.keepAssigned(r)
			}
			w.fetchCommits(ctx, r)
			return r
		},
		func(id int32, r *stepOne) { w.mergeMovedGroups(open, id, r) })
	for name := range open {
		if subject := "group " + name; !w.misses.has(lag.MissNoCoordinator, subject) {
			w.misses.add(lag.MissNoCoordinator, subject, 1, "", Groups)
		}
	}
}

// findCoordinators returns the open groups by the broker that coordinates
// them, each broker's by name, as far as it can be asked and is not the one that
// has just refused to tell. Groups that this principal may not see any more are
// forgotten, and so are vanished ones if the broker cannot say where they are. Those
// that it was not asked for are left out of the open ones.
func (w *sweep) findCoordinators(ctx context.Context, open map[string]lag.Group) map[int32][]lag.Group {
	names := slices.Sorted(maps.Keys(open))
	l := &line{sweep: w, id: w.asked}
	a, miss := l.ask(ctx, findRequestFor(names))
	if miss != "" {
		w.markDown(l)
		if miss == lag.MissAPIMissing {
			for name := range open {
				w.forget(open, name)
			}
		}
		return nil
	}
	resp := a.resp.(*kmsg.FindCoordinatorResponse)
	found := foundCoordinators(resp, names[0])
	if resp.Version < manyKeysVersion {
		others, unasked := w.findSingly(ctx, l, names[1:])
		found = append(found, others...)
		for _, name := range unasked {
			delete(open, name) // counted, but not forgotten
		}
		if l.failure != "" {
			w.markDown(l)
		}
	}
	coordinators := make(map[int32][]lag.Group)
	for _, c := range found {
		g, ok := open[c.Key]
		switch _, known := slices.BinarySearch(w.brokers, c.NodeID); {
		case !ok:
		case kerr.ErrorForCode(c.ErrorCode) == kerr.GroupAuthorizationFailed:
			w.forget(open, c.Key)
		case c.ErrorCode == 0 && known && !w.down[c.NodeID] && c.NodeID != int32(g.Coordinator):
			g.Coordinator = lag.BrokerID(c.NodeID)
			coordinators[c.NodeID] = append(coordinators[c.NodeID], g)
		}
	}
	for _, groups := range coordinators {
		sortByName(groups)
	}
	return coordinators
}

// mergeMovedGroups takes over what a coordinator answered about open groups.
func (w *sweep) mergeMovedGroups(open map[string]lag.Group, id int32, r *stepOne) {
	w.misses.merge(r.misses)
	w.fetches[id] = max(w.fetches[id], r.fetches)
	if r.line.failure != "" {
		w.markDown(r.line)
		w.failBroker(id)
	}
	maps.Copy(w.own, r.own)
	for _, g := range r.groups {
		i, listed := w.findGroup(g.Name)
		switch {
		case r.gone[g.Name], g.CommitsRead && len(g.Commits) == 0 && !listed:
			w.forget(open, g.Name)
		case !g.CommitsRead:
		case listed:
			w.groups[i] = g
			delete(open, g.Name)
		default:
			w.groups = slices.Insert(w.groups, i, g)
			delete(open, g.Name)
		}
	}
}

// forget drops a group of an earlier sweep that does not exist any more.
func (w *sweep) forget(open map[string]lag.Group, name string) {
	delete(open, name)
	w.forgotten = append(w.forgotten, name)
}

// sortGroups brings the groups in order, each once. If two brokers list a
// group, the one that told its commits is right: the other was its coordinator.
func (w *sweep) sortGroups() {
	slices.SortStableFunc(w.groups, func(a, b lag.Group) int {
		switch c := strings.Compare(a.Name, b.Name); {
		case c != 0 || a.CommitsRead == b.CommitsRead:
			return c
		case a.CommitsRead:
			return -1
		default:
			return 1
		}
	})
	w.groups = slices.CompactFunc(w.groups, func(a, b lag.Group) bool { return a.Name == b.Name })
}

// findGroup returns where a group stands, or would stand, in w.groups, and
// whether it is there.
func (w *sweep) findGroup(name string) (int, bool) {
	return slices.BinarySearchFunc(w.groups, name,
		func(g lag.Group, name string) int { return strings.Compare(g.Name, name) })
}

// rememberGroups notes the groups of this sweep for the next one.
func (w *sweep) rememberGroups() {
	next := maps.Clone(w.known)
	for _, name := range w.forgotten {
		delete(next, name)
	}
	for name := range w.outside {
		delete(next, name)
	}
	for i := range w.groups {
		g := &w.groups[i]
		k := next[g.Name]
		k.groupType, k.protocolType, k.coordinator = g.Type, g.ProtocolType, int32(g.Coordinator)
		if n, ok := g.Members.Get(); ok {
			k.members = n
		}
		if g.CommitsRead {
			k.commits = 0
			for _, t := range g.Commits {
				k.commits += len(t.Partitions)
			}
		}
		k.own = w.own[g.Name]
		next[g.Name] = k
	}
	w.remembered = next
}
