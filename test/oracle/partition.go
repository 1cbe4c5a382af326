package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// placeKey names a partition of one life of a topic.
type placeKey struct {
	topic string
	life  int // of the topic's name: 0 for its first creation
	index int32
}

// partition is the truth of one partition in one life of its topic.
type partition struct {
	placeKey
	replicas  []int32
	minInSync int
	created   window
	lossy     moment // from when on records may be lost: its offsets are not known
	// registered are the transactions that coordinators count the partition to.
	registered []registration
	risky      []window // appends that only the leader may have, until they are replicated

	start steps // log start offset
	// alone is since when the log may have started lower on replicas than it did at
	// the leader; never if it did not.
	alone moment

	end  steps // log end offset: one event an entry of the log
	high steps // high watermark: the same entries, when they were replicated

	spans   []span
	latest  []moment // of spans[:i+1], the latest closing: for cutting a search short
	wild    []window // open transactions whose first offset is not known
	leaders []seat

	elections []window // that an administrator asked for
}

// span is a stretch of a partition's log from the first record of a producer's
// transaction until its end marker: while it is pinned, the last stable offset
// is at most first (rules C9, C10).
type span struct {
	id     string // of the producer's transactions in the record
	first  int64
	opened window // when the first record was appended
	closed window // when the marker stood below the high watermark
	// forgotten is from when on a replica may lead that does not know of it; never if
	// none may.
	forgotten moment
}

// surely is the stretch in which the span is pinned whatever the order of events.
func (s span) surely() (from, to moment) { return s.opened.late, min(s.closed.early, s.forgotten) }

// possibly is the stretch in which the span may be pinned.
func (s span) possibly() (from, to moment) { return s.opened.early, s.closed.late }

// written is a batch whose place in the log is known.
type written struct {
	act  Act
	base int64
	next int64
	txn  *transaction // nil: plain, or not registered
}

// before says whether a batch of the transaction's id lies before its marker.
// It is not known of a batch that the coordinator does not count, and that was
// sent after the end was asked for and before it was seen complete (rule G4).
func (w written) before(t *transaction) (before, known bool) {
	if w.txn != nil && !t.byHand {
		return w.txn.number <= t.number, true
	}
	sent, answered := momentOf(w.act.Sent), momentOf(w.act.Answered)
	switch {
	case answered < t.end.early || w.txn == nil && sent < t.end.early:
		return true, true
	case sent > t.end.late:
		return false, true
	}
	return false, t.byHand && !t.answered
}

// closing is an end marker that a transaction leaves in one partition.
type closing struct {
	txn        *transaction
	id         string
	lo, hi     int64 // it lies at lo or above, and below hi
	exact      int64 // where it was seen, -1 if it was not
	candidates []int // gap entries that it may be, by index of the log
	tail       bool  // it may lie behind everything that is known
	maybe      bool  // it may not have been written at all
}

// logEntry is one append of the reconstructed log.
type logEntry struct {
	next       int64
	known      int // index of written, -1 for a gap that markers or unanswered batches fill
	appended   window
	replicated window
}

const beyond = int64(1) << 62

// rebuild derives the partition's quantities from what was written to it.
func (p *partition) rebuild(f *fleet, acts []written, markers map[string][]int64, txns []*transaction) error {
	p.lossy = min(p.lossy, p.mayLack(f, acts))
	acts = slices.DeleteFunc(slices.Clone(acts), func(w written) bool { return momentOf(w.act.Sent) >= p.lossy })
	known, unsure := splitKnown(acts)
	if err := p.overlap(known); err != nil {
		return err
	}
	closings := p.closings(acts, known, markers, txns)
	log := layOut(known, unsure, closings)
	p.stamp(f, log, known, unsure, closings)
	p.pin(acts, log, known, closings)
	return nil
}

func splitKnown(acts []written) (known, unsure []written) {
	for _, w := range acts {
		if w.base < 0 || w.act.Answered.IsZero() {
			unsure = append(unsure, w)
			continue
		}
		known = append(known, w)
	}
	slices.SortFunc(known, func(a, b written) int { return cmp.Compare(a.base, b.base) })
	return known, unsure
}

func (p *partition) overlap(known []written) error {
	for i := 1; i < len(known); i++ {
		if known[i].base < known[i-1].next {
			return fmt.Errorf("record of %s-%d: batches at %d and %d overlap", p.topic, p.index, known[i-1].base, known[i].base)
		}
	}
	return nil
}

// closings lists the end markers that the partition gets, each with the room in
// which it may lie: behind the last batch of its transaction and before the
// next batch of the same id.
func (p *partition) closings(acts, known []written, markers map[string][]int64, txns []*transaction) []closing {
	byID := map[string][]written{}
	for _, w := range known {
		if id := w.act.TransactionalID; id != "" {
			byID[id] = append(byID[id], w)
		}
	}
	seen := map[string]int{}
	var out []closing
	for _, t := range txns {
		certain, touched := t.partitions[p.placeKey]
		if !touched || t.end.early == never {
			continue
		}
		c := closing{txn: t, id: t.id, hi: beyond, exact: -1, maybe: !certain || t.byHand && !t.answered}
		for _, w := range byID[t.id] {
			switch before, known := w.before(t); {
			case !known:
			case before:
				c.lo = max(c.lo, w.next)
			default:
				c.hi = min(c.hi, w.base)
			}
		}
		if list := markers[t.id]; seen[t.id] < len(list) {
			c.exact = list[seen[t.id]]
			c.lo, c.hi = c.exact, c.exact+1
		}
		seen[t.id]++
		out = append(out, c)
	}
	return out
}

// layOut is the log in order: what is known, one entry an offset for the gaps
// between, and behind it one entry for each marker or record that may follow.
// It notes in closings which entries each of them may be.
func layOut(known, unsure []written, closings []closing) []logEntry {
	var log []logEntry
	var at int64
	byLo := make([]int, len(closings))
	for i := range byLo {
		byLo[i] = i
	}
	slices.SortStableFunc(byLo, func(a, b int) int { return cmp.Compare(closings[a].lo, closings[b].lo) })
	var near []int // closings whose room has begun and has not ended
	gap := func(until int64) {
		for ; at < until; at++ {
			for len(byLo) > 0 && closings[byLo[0]].lo <= at {
				near = append(near, byLo[0])
				byLo = byLo[1:]
			}
			near = slices.DeleteFunc(near, func(i int) bool { return closings[i].hi <= at })
			for _, i := range near {
				closings[i].candidates = append(closings[i].candidates, len(log))
			}
			log = append(log, logEntry{next: at + 1, known: -1})
		}
	}
	for i, w := range known {
		gap(w.base)
		at = w.next
		log = append(log, logEntry{next: w.next, known: i})
	}
	last := at
	for _, c := range closings {
		last = max(last, c.exact+1)
	}
	gap(last)
	gaps := 0
	for _, e := range log {
		if e.known < 0 {
			gaps++
		}
	}
	settleSingles(closings)
	behind, placeable := 0, 0
	for i := range closings {
		c := &closings[i]
		c.tail = c.exact < 0 && c.hi == beyond
		if c.tail {
			behind++
		}
		if c.tail || len(c.candidates) > 0 {
			placeable++
		}
	}
	room := behind
	if len(unsure) == 0 {
		room = min(behind, max(0, placeable-gaps))
	}
	for _, w := range unsure {
		room += int(w.act.Records)
	}
	if room == 0 {
		for i := range closings {
			closings[i].tail = false
		}
	}
	for range room {
		at++
		log = append(log, logEntry{next: at, known: -1})
	}
	return log
}

// settleSingles gives a marker that was written for certain and can be one entry
// only that entry, and takes the entry from the others, until nothing more follows.
func settleSingles(closings []closing) {
	rivals := map[int][]int{}
	var queue []int
	for i := range closings {
		for _, g := range closings[i].candidates {
			rivals[g] = append(rivals[g], i)
		}
		queue = append(queue, i)
	}
	settled := map[int]bool{}
	for len(queue) > 0 {
		c := &closings[queue[0]]
		self := queue[0]
		queue = queue[1:]
		if len(c.candidates) != 1 || c.hi == beyond || c.maybe || settled[c.candidates[0]] {
			continue
		}
		g := c.candidates[0]
		settled[g] = true
		for _, j := range rivals[g] {
			if j == self {
				continue
			}
			closings[j].candidates = slices.DeleteFunc(closings[j].candidates, func(h int) bool { return h == g })
			queue = append(queue, j)
		}
	}
}

// stamp finds the windows in which every entry was appended and replicated.
func (p *partition) stamp(f *fleet, log []logEntry, known, unsure []written, closings []closing) {
	appended := make([]window, len(log))
	replicated := make([]window, len(log))
	fill, lastKnown := p.fillers(log, unsure, closings)
	for i := range log {
		switch {
		case log[i].known >= 0:
			appended[i] = known[log[i].known].act.window()
		default:
			appended[i] = fill[i]
		}
	}
	order(appended)
	for i := range log {
		replicated[i] = window{f.unblocked(p, appended[i].early), f.replicatedBy(p, appended[i])}
		if k := log[i].known; k >= 0 && known[k].act.Acks == -1 {
			replicated[i].late = min(replicated[i].late, momentOf(known[k].act.Answered))
		}
		if log[i].known < 0 && i <= lastKnown {
			replicated[i].late = min(replicated[i].late, fill[i].late)
		}
	}
	order(replicated)
	p.risky = nil
	for i := range log {
		if k := log[i].known; k < 0 || known[k].act.Acks != -1 {
			p.risky = append(p.risky, window{appended[i].early, replicated[i].late})
		}
	}
	p.end = steps{windows: appended, reverts: never}
	p.high = steps{windows: replicated, reverts: never}
	for i := range log {
		log[i].appended, log[i].replicated = appended[i], replicated[i]
		p.end.values = append(p.end.values, log[i].next)
		p.high.values = append(p.high.values, log[i].next)
	}
}

// mayLack is the first moment from which on the log of a leader that goes away may
// have held a batch that its successor's does not: one that was under way then, or one
// that it appended on its own when it went on (rule F5). It is never if there is none.
func (p *partition) mayLack(f *fleet, acts []written) moment {
	if len(p.replicas) < 2 {
		return never
	}
	first := never
	for _, w := range acts {
		held := window{momentOf(w.act.Sent), momentOf(w.act.Answered)}
		switch {
		case w.base < 0 || w.act.Answered.IsZero():
			held.late = pinned(acts, held.early)
		case w.act.Acks != -1:
			held.late = f.replicatedBy(p, held)
		}
		if f.cutOff(p, held) || w.act.Acks != -1 && f.outOfDate(p, w.act.window()) {
			first = min(first, held.early)
		}
	}
	return first
}

// pinned is when a batch was replicated that was sent after a moment: its offset tells
// what lies before it.
func pinned(acts []written, after moment) moment {
	at := never
	for _, w := range acts {
		if w.base >= 0 && w.act.Acks == -1 && momentOf(w.act.Sent) > after {
			at = min(at, momentOf(w.act.Answered))
		}
	}
	return at
}

// cutOff says whether a leader of the partition may have gone away within w.
func (f *fleet) cutOff(p *partition, w window) bool {
	for _, r := range p.replicas {
		for _, o := range f.outages[r] {
			if w.early <= o.down.late && w.late > o.down.early && holders(p.leaders, o.down.early, o.down.late)[r] {
				return true
			}
		}
	}
	return false
}

// outOfDate says whether a request that was under way within w may have waited at a
// leader that stood still until it had a successor: when it goes on it appends what
// lies there before it learns of that.
func (f *fleet) outOfDate(p *partition, w window) bool {
	for _, r := range p.replicas {
		for _, o := range f.outages[r] {
			if !o.killed && !o.controlled && w.early <= o.up.late && w.late >= o.up.early && o.up.late >= f.shrunk(o).early && holders(p.leaders, o.down.early, o.down.late)[r] {
				return true
			}
		}
	}
	return false
}

// mayLose is the first moment at which a leader that went away may have taken
// records with it that no other replica had (rule F5); never if none did.
func (p *partition) mayLose(f *fleet) moment {
	if len(p.replicas) < 2 {
		return never
	}
	first := never
	for _, r := range p.replicas {
		for _, o := range f.outages[r] {
			if !holders(p.leaders, o.down.early, o.down.late)[r] {
				continue
			}
			for _, w := range p.risky {
				if w.early <= o.down.late && w.late > o.down.early {
					first = min(first, o.down.early)
				}
			}
		}
	}
	return first
}

// fillers are the windows of the entries that are no known batch. Within the
// known log an entry is one of the markers that may lie there; behind it, the
// first entry comes with whichever marker or record comes first.
func (p *partition) fillers(log []logEntry, unsure []written, closings []closing) (fill map[int]window, lastKnown int) {
	fill = map[int]window{}
	lastKnown = -1
	within := map[int][]window{}
	var behind []window
	markersBehind, certain := 0, true
	for i := range closings {
		c := &closings[i]
		for _, g := range c.candidates {
			within[g] = append(within[g], c.txn.end)
		}
		if c.tail {
			behind = append(behind, c.txn.end)
			markersBehind++
		}
		certain = certain && !c.maybe
	}
	for i := range log {
		if log[i].known >= 0 || len(within[i]) > 0 {
			lastKnown = i
		}
	}
	for _, w := range unsure {
		for range w.act.Records {
			behind = append(behind, window{momentOf(w.act.Sent), never})
		}
	}
	slices.SortFunc(behind, func(a, b window) int { return cmp.Compare(a.early, b.early) })
	room := len(log) - 1 - lastKnown
	exact := room == markersBehind && certain && len(unsure) == 0
	late := make([]moment, 0, len(behind))
	for _, w := range behind {
		late = append(late, w.late)
	}
	slices.Sort(late)
	for i := range log {
		if log[i].known >= 0 {
			continue
		}
		w := window{never, always}
		for _, c := range within[i] {
			w.early, w.late = min(w.early, c.early), max(w.late, c.late)
		}
		for _, u := range unsure {
			w.early, w.late = min(w.early, momentOf(u.act.Sent)), never
		}
		if i > lastKnown {
			k := i - lastKnown - 1
			w = window{always, never}
			if k < len(behind) {
				w.early = behind[k].early
			}
			if exact {
				w.late = late[k]
			}
		}
		if w.early == never { // nothing in the record explains it
			w = window{always, never}
		}
		fill[i] = w
	}
	return fill, lastKnown
}

// pin finds the spans in which open transactions hold the last stable offset.
func (p *partition) pin(acts []written, log []logEntry, known []written, closings []closing) {
	entryOf := make([]int, len(known))
	for i, e := range log {
		if e.known >= 0 {
			entryOf[e.known] = i
		}
	}
	tail := window{never, never}
	for i := len(log) - 1; i >= 0 && log[i].known < 0; i-- {
		tail.early = log[i].replicated.early
	}
	ends := map[string][]closing{}
	for _, c := range closings {
		ends[c.id] = append(ends[c.id], c)
	}
	for _, list := range ends {
		slices.SortStableFunc(list, func(a, b closing) int { return cmp.Compare(a.txn.end.early, b.txn.end.early) })
	}
	open := map[string]span{}
	taken := map[string]int{}
	// shut ends the open span of an id with the markers that lie before an
	// offset. One that may not have been written may leave it to the next.
	shut := func(id string, before int64) {
		for taken[id] < len(ends[id]) && ends[id][taken[id]].lo < before {
			c := ends[id][taken[id]]
			taken[id]++
			s, is := open[id]
			if !is {
				continue
			}
			w := closedWithin(c, log, tail)
			s.closed = window{min(s.closed.early, w.early), w.late}
			open[id] = s
			if c.txn.end.late != never || c.txn.answered {
				p.spans = append(p.spans, s)
				delete(open, id)
			}
		}
	}
	for i, w := range known {
		id := w.act.TransactionalID
		if id == "" {
			continue
		}
		if w.txn == nil && len(ends[id]) > taken[id] {
			if _, known := w.before(ends[id][taken[id]].txn); !known {
				// It belongs to the open span, or begins one of its own.
				p.wild = append(p.wild, window{momentOf(w.act.Sent), never})
				continue
			}
		}
		shut(id, w.next)
		if _, is := open[id]; !is {
			open[id] = span{id: id, first: w.base, opened: log[entryOf[i]].appended, closed: window{never, never}}
		}
	}
	ids := make([]string, 0, len(open))
	for id := range open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		shut(id, beyond)
		if s, is := open[id]; is {
			p.spans = append(p.spans, s)
		}
	}
	for _, w := range acts {
		if w.act.TransactionalID != "" && (w.base < 0 || w.act.Answered.IsZero()) {
			late := never
			if w.txn != nil {
				late = w.txn.end.late
			}
			p.wild = append(p.wild, window{momentOf(w.act.Sent), late})
		}
	}
	slices.SortFunc(p.spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	latest := always
	for _, s := range p.spans {
		latest = max(latest, s.closed.late)
		p.latest = append(p.latest, latest)
	}
}

// closedWithin is when a marker stood below the high watermark: with whichever
// entry it may be, but no later than the sight of its completion.
func closedWithin(c closing, log []logEntry, tail window) window {
	w := window{never, always}
	for _, g := range c.candidates {
		w.early = min(w.early, log[g].replicated.early)
		w.late = max(w.late, log[g].replicated.late)
	}
	if c.tail {
		w.early, w.late = min(w.early, tail.early), never
	}
	if w.late == always {
		w = window{always, never}
	}
	w.early = max(w.early, c.txn.end.early)
	w.late = max(w.early, min(w.late, c.txn.end.late))
	return w
}

// forget finds from when on replicas may not know of transactions whose first records
// were deleted: one that comes back then has a log that begins behind them (rule C12).
func (p *partition) forget(f *fleet) {
	for i := range p.spans {
		s := &p.spans[i]
		s.forgotten = never
		deleted := p.start.earliest(s.first+1, always)
		if p.start.amid != nil {
			deleted = always
		}
		for _, r := range p.replicas {
			for _, o := range f.outages[r] {
				if deleted != never && o.up.late >= deleted {
					s.forgotten = min(s.forgotten, max(o.up.early, deleted))
				}
			}
		}
	}
}

// active are the spans that may be pinned within [s, e].
func (p *partition) active(s, e moment) []span {
	hi := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].opened.early > e })
	var out []span
	for i := hi - 1; i >= 0 && p.latest[i] >= s; i-- {
		if from, to := p.spans[i].possibly(); from <= e && s <= to {
			out = append(out, p.spans[i])
		}
	}
	return out
}

// reachable says whether [from, to] has a moment at which no span that starts
// below limit is pinned for certain.
func reachable(from, to moment, spans []span, limit int64) bool {
	var held []span
	for _, s := range spans {
		if s.first < limit {
			held = append(held, s)
		}
	}
	slices.SortFunc(held, func(a, b span) int {
		x, _ := a.surely()
		y, _ := b.surely()
		return cmp.Compare(x, y)
	})
	t := from
	for _, s := range held {
		if a, b := s.surely(); a < t && t < b {
			t = b
		}
	}
	return t <= to
}

// stable says whether v may be reported as the last stable offset by a sweep of
// [s, e] that read the high watermark high before it: min(high, max(LSO, log
// start)), each read at a moment of its own in that order.
func (p *partition) stable(v, high int64, s, e moment) bool {
	spans := p.active(s, e)
	starts := func(v int64) bool { return p.start.holds(v, s, e) }
	if v == high {
		from := p.high.earliest(v, s)
		_, start := p.start.bounds(s, e)
		return reachable(from, e, spans, v) || start >= v
	}
	if v > high {
		return false
	}
	for _, sp := range spans {
		if sp.first != v && !(sp.first < v && starts(v)) {
			continue
		}
		from, to := sp.possibly()
		limit := sp.first
		if reachable(max(from, s), min(to, e), spans, limit) {
			return true
		}
	}
	for _, w := range p.wild {
		if w.early <= e && s <= w.late && (v == p.end.first || p.isBase(v) || starts(v)) &&
			reachable(max(w.early, s), min(w.late, e), spans, v) {
			return true
		}
	}
	return false
}

// isBase says whether v is the offset right behind an entry of the log.
func (p *partition) isBase(v int64) bool {
	_, found := slices.BinarySearch(p.end.values, v)
	return found
}

// surelyBelow says whether the last stable offset was below the high watermark
// at every moment of [s, e].
func (p *partition) surelyBelow(s, e moment) bool {
	for _, sp := range p.active(s, e) {
		from, to := sp.surely()
		least, _ := p.high.bounds(s, s)
		if from <= s && e < to && sp.first < least {
			if _, start := p.start.bounds(s, e); start <= sp.first {
				return true
			}
		}
	}
	return false
}

// possiblyBelow says whether there is a moment of [s, e] at which it may have
// been.
func (p *partition) possiblyBelow(s, e moment) bool {
	_, most := p.high.bounds(s, e)
	for _, sp := range p.active(s, e) {
		if sp.first < most {
			return true
		}
	}
	for _, w := range p.wild {
		if w.early <= e && s <= w.late {
			return true
		}
	}
	return false
}

// below measures how long within [s, e] the last stable offset was below the
// high watermark: at least, and at most.
func (p *partition) below(s, e moment) (least, most moment) {
	type stretch struct{ from, to moment }
	measure := func(list []stretch) (sum moment) {
		slices.SortFunc(list, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
		at := s
		for _, x := range list {
			from, to := max(at, x.from), min(e, x.to)
			if to > from {
				sum += to - from
				at = to
			}
		}
		return sum
	}
	var sure, maybe []stretch
	for _, sp := range p.active(s, e) {
		visible := window{p.high.earliest(sp.first+1, always), never}
		if i := sort.Search(len(p.high.values), func(i int) bool { return p.high.values[i] > sp.first }); i < len(p.high.values) {
			visible.late = p.high.windows[i].late
		}
		opened, closed := sp.surely()
		sure = append(sure, stretch{max(opened, visible.late), closed})
		maybe = append(maybe, stretch{max(sp.opened.early, visible.early), sp.closed.late})
	}
	return measure(sure), measure(maybe)
}
