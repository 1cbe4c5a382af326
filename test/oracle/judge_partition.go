package oracle

import (
	"fmt"
	"strconv"
)

func (v *verdict) logStart(s sample) {
	v.among(s, "the log start offset is not true", func(p *partition) *steps { return &p.start })
	v.notAbove(s, lastStable)
}

func (v *verdict) highWatermark(s sample) {
	v.among(s, "the high watermark is not true", func(p *partition) *steps { return &p.high })
	v.notAbove(s, logEnd)
}

func (v *verdict) logEnd(s sample) {
	v.among(s, "the log end offset is not true", func(p *partition) *steps { return &p.end })
}

// notAbove holds a sample to be no greater than its sibling.
func (v *verdict) notAbove(s sample, sibling string) {
	if bound, ok := v.page.get(sibling, refOf(s)); ok && s.value > bound {
		v.wrong(s, fmt.Sprintf("at most %v, as %s says", bound, sibling), "the order of the four offsets is broken")
	}
}

func (v *verdict) lastStable(s sample) {
	v.notAbove(s, highWater)
	high, ok := v.page.get(highWater, refOf(s))
	if !ok {
		v.wrong(s, "nothing without a high watermark", "a last stable offset stands alone")
		return
	}
	list := v.whole(s)
	if len(list) == 0 {
		return
	}
	for _, p := range list {
		if p.stable(int64(s.value), int64(high), v.s, v.e) {
			return
		}
	}
	v.wrong(s, list[len(list)-1].describeStable(int64(high), v.s, v.e), "the last stable offset is not true")
}

func (p *partition) describeStable(high int64, s, e moment) string {
	out := ""
	if p.stable(high, high, s, e) {
		out = strconv.FormatInt(high, 10)
	}
	for _, sp := range p.active(s, e) {
		if p.stable(sp.first, high, s, e) {
			if out != "" {
				out += ", "
			}
			out += strconv.FormatInt(sp.first, 10)
		}
	}
	if out == "" {
		return fmt.Sprintf("none with the high watermark at %d", high)
	}
	return out
}

// difference judges a metric that is a − b. A sparse one has a sample only
// where that is not 0.
func (v *verdict) difference(s sample, a, b string, sparse bool) {
	x, ok := v.page.get(a, refOf(s))
	y, also := v.page.get(b, refOf(s))
	switch {
	case !ok || !also:
		v.wrong(s, "nothing without "+a+" and "+b, "a difference lacks a part")
	case s.value != x-y:
		v.wrong(s, fmt.Sprintf("%v − %v", x, y), "a difference is not the difference of its parts")
	case sparse && s.value == 0:
		v.wrong(s, "nothing where the amount is 0", "a sparse series is shown though it does not apply")
	}
}

func (v *verdict) unstable(s sample)     { v.difference(s, highWater, lastStable, false) }
func (v *verdict) unreplicated(s sample) { v.difference(s, logEnd, highWater, true) }

func (v *verdict) regressions(s sample) {
	list := v.whole(s)
	for _, p := range list {
		byStart := s.labels["offset"] == "log_start_offset" || s.labels["offset"] == "last_stable_offset"
		if s.value == 0 || byStart && p.start.reverts <= v.e {
			return
		}
	}
	if len(list) > 0 {
		v.wrong(s, "0: no offset of the record goes back", "an offset is said to have gone back")
	}
}

// below holds a sample to stand beside a last stable offset below the high
// watermark: nothing else has a blocker.
func (v *verdict) below(s sample) {
	lso, ok := v.page.get(lastStable, refOf(s))
	high, also := v.page.get(highWater, refOf(s))
	if !ok || !also || lso >= high {
		v.wrong(s, "nothing: the last stable offset is not below the high watermark", "a blocker is shown though nothing is held back")
	}
}

// blocker judges who is said to hold the last stable offset, where its producer
// id is known: the record must have a transaction of that producer that began
// there, or below it if the log starts there, and may not have ended.
func (v *verdict) blocker(s sample) {
	v.one1(s)
	v.below(s)
	v.verdictOf(s)
	id := s.labels["producer_id"]
	ambiguous := s.labels["reason"] == "ambiguous" // one of those that have ended above the high watermark
	lso, ok := v.page.get(lastStable, refOf(s))
	list := v.whole(s)
	if id == "" || !ok || len(list) == 0 {
		return
	}
	var allowed []string
	for _, p := range list {
		for _, sp := range p.active(v.s, v.e) {
			if ambiguous && sp.first >= int64(lso) || sp.first == int64(lso) || sp.first < int64(lso) && p.start.holds(int64(lso), v.s, v.e) {
				if sp.id == "producer "+id {
					return
				}
				allowed = append(allowed, sp.id)
			}
		}
		if len(p.wild) > 0 {
			return
		}
	}
	v.wrong(s, fmt.Sprintf("a transaction of %q", allowed), "the blocker is not the transaction that holds the last stable offset")
}

// blockerAge is never below the time for which the exporter has seen the stall.
func (v *verdict) blockerAge(s sample) {
	v.below(s)
	if stall, ok := v.page.get(stalled, refOf(s)); ok && s.value < stall-tolerance.Seconds() {
		v.wrong(s, fmt.Sprintf("%v or more, as %s says", stall, stalled), "a blocker is younger than what it blocks")
	}
}

// openTransactions bounds the number of producers with an open transaction.
func (v *verdict) openTransactions(s sample) {
	list := v.whole(s)
	for _, p := range list {
		if s.value <= float64(len(p.active(v.s, v.e))+len(p.wild)) {
			return
		}
	}
	if len(list) > 0 {
		v.wrong(s, fmt.Sprintf("at most %d", len(list[0].active(v.s, v.e))), "more transactions are open than were begun")
	}
}

func (v *verdict) leader(s sample) {
	list := v.partitions(s)
	if len(list) == 0 {
		return
	}
	var allowed []int32
	for _, p := range list {
		for b := range holders(p.leaders, v.s, v.e) {
			allowed = append(allowed, b)
			if float64(b) == s.value {
				return
			}
		}
	}
	v.wrong(s, fmt.Sprint(allowed), "the leader is not true")
}

func (v *verdict) replicas(s sample) {
	list := v.partitions(s)
	for _, p := range list {
		if s.value == float64(len(p.replicas)) {
			return
		}
	}
	if len(list) > 0 {
		v.wrong(s, strconv.Itoa(len(list[0].replicas)), "the number of replicas is not true")
	}
}

func (v *verdict) inSync(s sample) {
	list := v.partitions(s)
	if len(list) == 0 {
		return
	}
	allowed := ""
	for _, p := range list {
		least, most := v.truth().inSync(p, v.s, v.e)
		if s.value >= float64(least) && s.value <= float64(most) {
			return
		}
		allowed = fmt.Sprintf("%d to %d", least, most)
	}
	v.wrong(s, allowed, "the number of in-sync replicas is not true")
}

// inSync bounds the number of in-sync replicas that metadata of [s, e] may show.
func (t *Truth) inSync(p *partition, s, e moment) (least, most int) {
	for _, r := range p.replicas {
		may, must := true, t.fleet.surelyInSync(p, r, e)
		for _, o := range t.fleet.outages[r] {
			// One that comes back to a log of which records were deleted may have some
			// that do not fit, and cannot follow.
			deleted := len(p.start.windows) > 0 && p.start.windows[0].early <= e
			if o.down.early <= e && (deleted || s <= t.fleet.rejoined(p, r, o)) {
				must = false
			}
			if t.fleet.shrunk(o).late.add(t.fleet.slack()) < s && e < o.up.early && t.fleet.spare(p, r, o) {
				may = false
			}
		}
		if may {
			most++
		}
		if must {
			least++
		}
	}
	return least, most
}

// seconds judges the three durations of a partition together: they are bound
// to each other, to the sight before, and to the record.
func (v *verdict) seconds(s sample) {
	r := refOf(s)
	below := s.value
	total, ok := v.page.get(observed, r)
	stall, also := v.page.get(stalled, r)
	lso, read := v.page.get(lastStable, r)
	high, _ := v.page.get(highWater, r)
	if !ok || !also || !read {
		v.wrong(s, "nothing without "+observed+", "+stalled+" and "+lastStable, "the seconds of a partition are not complete")
		return
	}
	if below > total+tolerance.Seconds() {
		v.wrong(s, fmt.Sprintf("at most the %v s observed", total), "more time below than observed")
	}
	now := &sight{s: v.s, e: v.e, sweeps: v.sweeps, first: v.s, lso: lso, high: high, below: below, observed: total, stalled: stall}
	before := v.life.seen[r]
	v.life.seen[r] = now
	list := v.whole(s)
	if before != nil && v.truth().renewed(s.labels["topic"], before.s, v.e) {
		before = nil // perhaps of an earlier life of the topic
	}
	if before != nil {
		now.first = before.first
		v.grown(s, before, now, list)
	}
	v.stall(sample{name: stalled, labels: s.labels, value: stall}, before, now, list)
}

// grown judges how far observed and below came since the sight before.
func (v *verdict) grown(s sample, before, now *sight, list []*partition) {
	total := now.observed - before.observed
	below := now.below - before.below
	most := span2(before.s, now.e)
	obs := sample{name: observed, labels: s.labels, value: now.observed}
	if total > most {
		v.wrong(obs, fmt.Sprintf("at most %v + %v", before.observed, most), "more time observed than passed")
	}
	if before.s == now.s {
		return // the same sweep, scraped twice
	}
	consecutive := v.sweeps > 0 && now.sweeps == before.sweeps+1
	if consecutive && v.short(before, now) {
		if least := float64(now.s-before.e)/1e9 - tolerance.Seconds(); total < least {
			v.wrong(obs, fmt.Sprintf("at least %v + %v", before.observed, least), "an interval that was observed is not counted")
		}
		want := 0.0
		if before.lso < before.high {
			want = total
		}
		if d := below - want; d > tolerance.Seconds() || d < -tolerance.Seconds() {
			v.wrong(s, fmt.Sprintf("%v + %v", before.below, want), "an interval below is counted by something else than the sweep at its beginning")
		}
	}
	if len(list) != 1 {
		return
	}
	if below > tolerance.Seconds() && !list[0].possiblyBelow(before.s, now.e) {
		v.wrong(s, fmt.Sprint(before.below), "time below though no transaction was open")
	}
	if total-below > tolerance.Seconds() && list[0].surelyBelow(before.s, now.e) {
		v.wrong(s, fmt.Sprintf("%v + %v", before.below, total), "time below is missing though a transaction was open all the time")
	}
}

// short says whether the interval between two sights counts: it is no longer
// than three periods.
func (v *verdict) short(before, now *sight) bool {
	return v.scrape.Period > 0 && float64(now.e-before.s) <= float64(3*v.scrape.Period)
}

// span2 is the time from a to b in seconds, with the tolerance.
func span2(a, b moment) float64 { return float64(b-a)/1e9 + tolerance.Seconds() }

// stall judges for how long the last stable offset is said to stand still.
func (v *verdict) stall(s sample, before, now *sight, list []*partition) {
	if now.lso == now.high {
		if s.value != 0 {
			v.wrong(s, "0: the last stable offset is the high watermark", "stalled though nothing is held back")
		}
		return
	}
	// A move to the log start does not count as one, so such a value may have
	// been reached from another; what a sight before allows still binds it.
	fromStart := len(list) != 1 || list[0].start.holds(int64(now.lso), v.s, v.e)
	most, least := span2(now.first, now.e), 0.0
	if !fromStart {
		most = min(most, span2(list[0].heldSince(int64(now.lso), v.s, v.e), now.e))
	}
	if before != nil {
		most = min(most, before.stalled+span2(before.s, now.e))
		if before.lso == now.lso && before.lso < before.high {
			least = before.stalled + float64(now.s-before.e)/1e9 - tolerance.Seconds()
		}
		if before.lso != now.lso && !fromStart {
			most = min(most, span2(before.s, now.e))
		}
	}
	if s.value > most || s.value < least {
		v.wrong(s, fmt.Sprintf("%.3f to %.3f", max(0, least), most), "the time since the last stable offset moved is not true")
	}
}

// heldSince is the earliest moment since which a transaction may have held the
// last stable offset at v.
func (p *partition) heldSince(v int64, s, e moment) moment {
	at := e
	for _, sp := range p.active(s, e) {
		if sp.first == v {
			at = min(at, sp.opened.early)
		}
	}
	for _, w := range p.wild {
		if w.early <= e && s <= w.late {
			at = min(at, w.early)
		}
	}
	return at
}

// missingPartitions judges the partitions that must be there.
func (v *verdict) missingPartitions() {
	const rule = "a partition that can be read lacks a sample"
	for _, name := range sortedKeys(v.truth().topics) {
		life := v.truth().certain(name, v.s, v.e)
		if life == nil || v.hidden(name, "") {
			continue
		}
		silent := v.truth().fleet.allSilent(v.s, v.e)
		for _, p := range life.partitions {
			if p.created.late.add(v.truth().fleet.slack()) >= v.s {
				continue
			}
			r := ref{topic: name, partition: strconv.Itoa(int(p.index))}
			if !silent {
				v.require(replicas, r, rule)
				v.require(inSync, r, rule)
			}
			if v.excused(func(s, e moment) bool { return v.truth().leaderExcused(p, s, e) }) {
				continue
			}
			for _, metric := range []string{logStart, lastStable, highWater, logEnd, unstable, belowTotal, observed, stalled, leader} {
				v.require(metric, r, rule)
			}
			v.requireUnreplicated(r)
		}
	}
}

// requireUnreplicated holds a sparse series to be there where it applies.
func (v *verdict) requireUnreplicated(r ref) {
	end, ok := v.page.get(logEnd, r)
	high, also := v.page.get(highWater, r)
	if ok && also && end > high {
		v.require(unreplicated, r, "records are not replicated and no sample says so")
	}
}
