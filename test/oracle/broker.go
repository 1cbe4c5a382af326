package oracle

import (
	"slices"
	"time"
)

// outage is a stretch of time in which a broker did not serve: paused, killed
// or stopped. up is {never, never} while it lasts.
type outage struct {
	down, up window
	// controlled: the broker left every ISR and gave up leadership by itself.
	controlled bool
	// killed: what it had not written to its disk is lost.
	killed bool
}

// fleet is the brokers and what befell them.
type fleet struct {
	timing  Timing
	brokers []int32
	outages map[int32][]outage
}

func (f *fleet) learn(a Act) {
	switch a.Kind {
	case PauseBroker, KillBroker, StopBroker:
		if list := f.outages[a.Broker]; len(list) > 0 && list[len(list)-1].up.early == never {
			list[len(list)-1].killed = list[len(list)-1].killed || a.Kind == KillBroker
			return // it was away before
		}
		f.outages[a.Broker] = append(f.outages[a.Broker], outage{
			down: a.window(), up: window{never, never}, controlled: a.Kind == StopBroker, killed: a.Kind == KillBroker})
	case ResumeBroker, StartBroker:
		if list := f.outages[a.Broker]; len(list) > 0 {
			list[len(list)-1].up = a.window()
		}
	}
}

// anyAway says whether a broker is down as far as the record goes.
func (f *fleet) anyAway() bool {
	for _, list := range f.outages {
		if list[len(list)-1].up.early == never {
			return true
		}
	}
	return false
}

// shrunk is when the broker of an outage left the ISR of a partition that needs
// no more than the replicas that are left: the earliest and latest moment.
func (f *fleet) shrunk(o outage) window {
	if o.controlled {
		return window{o.down.early, o.down.late.add(f.timing.Settle)}
	}
	return window{o.down.early.add(f.timing.shrinkEarliest()), o.down.late.add(f.timing.shrinkLatest())}
}

// spare says whether a partition can do without the broker of an outage: there
// is another replica, and enough of them in sync for min.insync.replicas.
func (f *fleet) spare(p *partition, broker int32, o outage) bool {
	inSync := 0
	for _, r := range p.replicas {
		if r != broker && f.surelyInSync(p, r, o.down.early) {
			inSync++
		}
	}
	return inSync >= max(1, min(p.minInSync, len(p.replicas)))
}

// relieved is the earliest moment from which on a partition may do without the broker
// of an outage: when it may have left the ISR, and as many others as are needed may be
// in it.
func (f *fleet) relieved(p *partition, broker int32, o outage) moment {
	from := f.shrunk(o).early
	moments := []moment{from}
	for _, r := range p.replicas {
		for _, x := range f.outages[r] {
			if x.up.early > from {
				moments = append(moments, x.up.early)
			}
		}
	}
	slices.Sort(moments)
	for _, t := range moments {
		up := 0
		for _, r := range p.replicas {
			if r != broker && !f.surelyDown(r, t) {
				up++
			}
		}
		if up >= max(1, min(p.minInSync, len(p.replicas))) {
			return t
		}
	}
	return never
}

// surelyDown says whether a broker was away at a moment for certain.
func (f *fleet) surelyDown(broker int32, t moment) bool {
	for _, o := range f.outages[broker] {
		if o.down.late <= t && t < o.up.early {
			return true
		}
	}
	return false
}

// surelyInSync says whether a replica was in sync at a moment for certain: it is
// up, and was back from its last outage for long enough, undisturbed by outages
// of the others, to have rejoined (rule F4).
func (f *fleet) surelyInSync(p *partition, replica int32, at moment) bool {
	for _, o := range f.outages[replica] {
		if o.down.early <= at && at <= f.rejoined(p, replica, o) {
			return false
		}
	}
	return true
}

// rejoined is when the replica of an outage was in sync again for certain.
func (f *fleet) rejoined(p *partition, replica int32, o outage) moment {
	t := o.up.late
	for again := true; again && t != never; {
		again = false
		for _, r := range p.replicas {
			for _, x := range f.outages[r] {
				if r != replica && x.down.early <= t.add(f.timing.Settle) && x.up.late > t {
					t, again = x.up.late, true
				}
			}
		}
	}
	return t.add(f.timing.Settle)
}

func (f *fleet) downAt(broker int32, t moment) bool {
	for _, o := range f.outages[broker] {
		if o.down.early <= t && t <= o.up.late {
			return true
		}
	}
	return false
}

// unblocked is the earliest moment from t on at which no replica that is in the
// ISR for certain keeps the partition's high watermark from moving (rules F1,
// F2).
func (f *fleet) unblocked(p *partition, t moment) moment {
	for again := true; again; {
		again = false
		for _, r := range p.replicas {
			for i, o := range f.outages[r] {
				if i > 0 && o.down.early < f.rejoined(p, r, f.outages[r][i-1]) {
					continue // it may not have been back in the ISR
				}
				free := min(o.up.early, f.relieved(p, r, o))
				if o.down.late < t && t < free {
					t, again = free, true
				}
			}
		}
	}
	return t
}

// killedAfter is when a replica of the partition was first killed after a moment.
// A broker writes log starts down only now and then
// (log.flush.start.offset.checkpoint.interval.ms): one that is killed may come
// back with an earlier one.
func (f *fleet) killedAfter(p *partition, t moment) moment {
	first := never
	for _, r := range p.replicas {
		for _, o := range f.outages[r] {
			if o.killed && t <= o.down.late {
				first = min(first, o.down.early)
			}
		}
	}
	return first
}

// replicatedBy bounds when what was appended within w stands below the high
// watermark.
func (f *fleet) replicatedBy(p *partition, w window) moment {
	if len(p.replicas) <= 1 || w.late == never {
		return w.late
	}
	t := w.late.add(f.timing.ReplicationDelay)
	for again := true; again; {
		again = false
		for _, r := range p.replicas {
			for _, o := range f.outages[r] {
				free := o.up.late.add(f.timing.Settle)
				if f.spare(p, r, o) {
					free = min(free, f.shrunk(o).late)
				}
				free = free.add(f.timing.ReplicationDelay)
				if o.down.early <= t && w.early <= free && free > t {
					t, again = free, true
				}
			}
		}
	}
	return t
}

// excuse is one stretch of time in which a broker may not have answered.
type excuse struct{ from, to moment }

func (x excuse) meets(s, e moment) bool { return x.from <= e && s <= x.to }

// excuses are the stretches in which an outage may cost the samples of a
// partition that the broker leads or of a group that it coordinates. moves says
// that another broker takes over.
func (f *fleet) excuses(o outage, moves bool) []excuse {
	back := o.up.late.add(f.timing.Settle)
	if !moves {
		return []excuse{{o.down.early, back}}
	}
	return []excuse{
		{o.down.early, min(back, f.shrunk(o).late.add(f.timing.Settle))},
		{o.up.early, back},
	}
}

// all says whether every broker may have been silent within [s, e].
func (f *fleet) allSilent(s, e moment) bool {
	for _, b := range f.brokers {
		silent := false
		for _, o := range f.outages[b] {
			silent = silent || (excuse{o.down.early, o.up.late.add(f.timing.Settle)}).meets(s, e)
		}
		if !silent {
			return false
		}
	}
	return len(f.brokers) > 0
}

// seat is who may hold an office (a partition's leader, a group's coordinator):
// from a moment on, one of the set; nil stands for "any broker".
type seat struct {
	from moment
	who  []int32
}

// seats is the history of an office, from the first holder and the sights of
// later ones. An outage of a holder, or an election, opens it to every candidate.
func (f *fleet) seats(first []int32, candidates []int32, from moment, sights []Act, elections []window) []seat {
	list := []seat{{always, first}}
	for _, r := range first {
		if f.downAt(r, from) {
			list[0].who = candidates
		}
	}
	next := 0
	for {
		cur := list[len(list)-1]
		at, who := never, []int32(nil)
		for _, r := range cur.who {
			for _, o := range f.outages[r] {
				if o.down.early > cur.from && o.down.early < at {
					at, who = o.down.early, candidates
				}
			}
		}
		for _, w := range elections {
			if w.early > cur.from && w.early < at {
				at, who = w.early, candidates
			}
		}
		for next < len(sights) && f.stale(sights[next], cur.from) {
			next++
		}
		if next < len(sights) {
			if t := momentOf(sights[next].Answered).add(f.timing.Settle); t < at {
				at, who = t, []int32{sights[next].Broker}
				next++
			}
		}
		if at == never {
			return list
		}
		list = append(list, seat{at, who})
	}
}

// stale says whether a sight of who holds an office tells nothing of it after a moment
// at which it fell open: it is older, or of a broker that was away then or soon after.
func (f *fleet) stale(sight Act, open moment) bool {
	t := momentOf(sight.Answered)
	if t <= open {
		return true
	}
	for _, o := range f.outages[sight.Broker] {
		if o.down.early <= t.add(f.timing.Settle) && momentOf(sight.Sent) <= o.up.late {
			return true
		}
	}
	return false
}

// justBack says whether a broker had come back shortly before a moment, and may have
// told then what it knew before.
func (f *fleet) justBack(t moment) bool {
	for _, list := range f.outages {
		for _, o := range list {
			if o.up.early <= t && t <= o.up.late.add(f.timing.Settle) {
				return true
			}
		}
	}
	return false
}

// loads says whether a broker may be loading groups within [s, e], as it takes over
// for another that is away, or comes back when nobody could.
func (f *fleet) loads(s, e moment) bool {
	for b, list := range f.outages {
		for _, o := range list {
			over, back := f.shrunk(o), excuse{o.up.early, o.up.late.add(f.timing.Settle)}
			if over.early <= o.up.late && (excuse{over.early, over.late.add(f.timing.Settle)}).meets(s, e) || f.overlapped(b, o) && back.meets(s, e) {
				return true
			}
		}
	}
	return false
}

// holders are those who may have held the office within [s, e].
func holders(list []seat, s, e moment) map[int32]bool {
	out := map[int32]bool{}
	for i, st := range list {
		until := never
		if i+1 < len(list) {
			until = list[i+1].from
		}
		if st.from <= e && s <= until {
			for _, b := range st.who {
				out[b] = true
			}
		}
	}
	return out
}

// anotherAfter is the first moment, from one on, at which somebody else may have
// held the office than before.
func anotherAfter(list []seat, from moment) moment {
	var before []int32
	for i, st := range list {
		if i+1 < len(list) && list[i+1].from <= from {
			continue
		}
		if before != nil && !slices.Equal(before, st.who) || len(st.who) != 1 {
			return max(from, st.from)
		}
		before = st.who
	}
	return never
}

// excused says whether an outage of one of the holders may have cost what the
// office answers within [s, e].
func (f *fleet) excused(who map[int32]bool, moves func(broker int32, o outage) bool, s, e moment) bool {
	for b := range who {
		for _, o := range f.outages[b] {
			list := f.excuses(o, moves(b, o))
			if f.overlapped(b, o) {
				list = append(list, excuse{o.down.early, f.calm(o).add(f.timing.Settle)})
			}
			for _, x := range list {
				if x.meets(s, e) {
					return true
				}
			}
		}
	}
	return false
}

// seenSince is the earliest moment of which a broker that takes over for one of the
// given may show the state within [s, e]: before an outage, while it lasts or others
// that overlap it, and until replicas have caught up. It is s if there was none.
func (f *fleet) seenSince(who map[int32]bool, s, e moment) moment {
	since := s
	for b := range who {
		for _, o := range f.outages[b] {
			if o.down.early <= e && s <= f.calm(o) {
				since = min(since, o.down.early.add(-f.timing.ReplicationDelay))
			}
		}
	}
	return since
}

// calm is when every broker is back from an outage, and from those that overlap it.
func (f *fleet) calm(o outage) moment {
	t := o.up.late.add(f.timing.Settle)
	for again := true; again && t != never; {
		again = false
		for _, list := range f.outages {
			for _, x := range list {
				if up := x.up.late.add(f.timing.Settle); x.down.early <= t && up > t {
					t, again = up, true
				}
			}
		}
	}
	return t
}

// overlapped says whether another broker was away at about the time of an outage.
func (f *fleet) overlapped(broker int32, o outage) bool {
	for b, list := range f.outages {
		for _, x := range list {
			if b != broker && x.down.early <= o.up.late.add(f.timing.Settle) && o.down.early <= x.up.late.add(f.timing.Settle) {
				return true
			}
		}
	}
	return false
}

// slack is how long after an act its effects may still be on their way.
func (f *fleet) slack() time.Duration { return f.timing.Settle }
