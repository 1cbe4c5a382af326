package collector

import (
	"context"
	"maps"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// stepOne is what one broker answered in step 1: the groups it coordinates
// with their commits, and the log start of the partitions it leads.
type stepOne struct {
	line   *line
	listed bool // it listed its groups
	groups []lag.Group
	gone   map[string]bool // groups that were deleted since they were listed
	// unlisted are the groups that it was asked for by name, as it did not list
	// its groups.
	unlisted map[string]bool
	// own are, in a scope, the partitions of its groups that are shown, and
	// outside the groups that have none.
	own     map[string][]lag.TopicPartitions
	outside []string
	moved   []string // groups of which it says that it is not the coordinator
	ids     *ownIDs  // in a scope of transactional ids, those that it listed; nil if it did not
	misses  misses
	fetches int16      // the version in which it answered OffsetFetch
	starts  []answered // one for each chunk of the plan; without answer where there was none
}

// graceShare is the part of Options.BrokerTimeout, one in so many, for which a
// suspended broker is waited for when the others are done: long enough for one
// that is back, too short to make a sweep late.
const graceShare = 20

// readStepOne reads commits and log starts. It ends when every broker that is
// not suspended has answered or failed, and at the latest after half of the
// sweep's deadline: what is not there by then is left out, as a commit that is
// read after the high watermark may lie above it.
func (w *sweep) readStepOne(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, w.options.Deadline/2)
	defer cancel()

	var ids []int32
	suspended := make(map[int32]bool)
	for _, id := range w.brokers {
		switch {
		case w.down[id]:
			w.failBroker(id)
		case !w.isSuspended(id):
			ids = append(ids, id)
		case w.beginProbe(id):
			suspended[id] = true
			ids = append(ids, id)
		default:
			w.silent(id)
		}
	}
	var moved []string
	unlisted := make(map[int32]bool)
	ended := make(map[int32]bool)
	late := maps.Clone(w.late) // w.late may change under those that outlive step 1
	w.pending.Add(len(ids))
	fanOut(limited, w.options.Serial, ids, func(id int32) bool { return !suspended[id] }, w.options.BrokerTimeout/graceShare,
		func(id int32) *stepOne {
			defer w.pending.Done()
			return w.askStepOne(limited, id, suspended[id], late[id])
		},
		func(id int32, r *stepOne) {
			ended[id] = true
			unlisted[id] = !r.listed
			moved = append(moved, r.moved...)
			w.mergeStepOne(id, r)
		})
	for _, id := range ids {
		switch {
		case ended[id]:
		case suspended[id]:
			unlisted[id] = true
			w.silent(id)
		default:
			unlisted[id] = true
			w.endedBy(id, "commits and log starts", Offsets, Groups)
			w.failIDs()
		}
	}
	if w.options.enabled(Groups) {
		w.readMovedGroups(limited, moved, unlisted)
		w.rememberGroups()
		w.dropNewcomers(limited)
		w.readHidden(limited)
	}
	w.followIDs()
}

// silent leaves out a suspended broker that has not answered this time either.
func (w *sweep) silent(id int32) {
	w.down[id] = true
	w.misses.add(lag.MissSuspended, brokerSubject(id), 1, "no answer since an earlier sweep")
	w.failBroker(id)
}

// failBroker marks the collectors as failed that lack what a broker has.
func (w *sweep) failBroker(id int32) {
	w.misses.fail(Groups)
	w.failIDs()
	if w.layout.plans[id] != nil {
		w.misses.fail(Offsets)
	}
}

// askStepOne sends one broker its requests of step 1; late is as in line.
func (w *sweep) askStepOne(ctx context.Context, id int32, suspended bool, late time.Duration) *stepOne {
	r := &stepOne{line: &line{sweep: w, id: id, probe: suspended, late: late}, misses: newMisses()}
	if w.options.enabled(Groups) {
		w.askGroups(ctx, r)
	}
	if w.options.TransactionalIDs != nil {
		w.askIDs(ctx, r)
	}
	if w.options.readsOffsets() && !w.options.narrow() {
		for i, c := range w.layout.chunks(id) {
			a, _ := r.line.askPart(ctx, i, c.request(logStart))
			r.starts = append(r.starts, a)
		}
	}
	if r.line.probe {
		w.endProbe(id, false)
	}
	return r
}

// mergeStepOne takes over what a broker answered in step 1, whole or not.
func (w *sweep) mergeStepOne(id int32, r *stepOne) {
	w.groups = append(w.groups, r.groups...)
	maps.Copy(w.own, r.own)
	for _, name := range r.outside {
		w.outside[name] = true
	}
	w.ids[id], w.fetches[id] = r.ids, r.fetches
	w.misses.merge(r.misses)
	for _, a := range r.starts {
		w.apply(id, logStart, a)
	}
	switch r.line.failure {
	case "":
	case lag.MissDeadline:
		w.endedBy(id, "commits and log starts", Groups, Offsets)
		w.failIDs()
	default:
		w.markDown(r.line)
		w.failBroker(id)
	}
}
