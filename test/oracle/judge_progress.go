package oracle

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// The metrics of what groups are doing, by name.
const (
	topicState    = "kafka_group_topic_state"
	hwmAge        = "kafka_group_partition_hwm_lag_seconds"
	lsoAge        = "kafka_group_partition_lso_lag_seconds"
	topicHWMAge   = "kafka_group_topic_max_hwm_lag_seconds"
	topicLSOAge   = "kafka_group_topic_max_lso_lag_seconds"
	groupHWMAge   = "kafka_group_max_hwm_lag_seconds"
	groupLSOAge   = "kafka_group_max_lso_lag_seconds"
	readable      = "kafka_group_partition_readable_lag"
	blockedFor    = "kafka_group_partition_blocked_seconds"
	unassigned    = "kafka_group_partition_unassigned"
	pendingCommit = "kafka_group_partition_pending_offset_commit_seconds"
	evidence      = "kafka_group_read_uncommitted_evidence"
	shareStart    = "kafka_share_group_partition_start_offset"
	shareLag      = "kafka_share_group_partition_lag"
)

// states is what must hold on a page for a group to be in a state on a topic,
// as far as it can be seen there.
var states = map[string]struct {
	rule string
	// some: on one of the topic's partitions; else on all of them.
	some  bool
	holds func(v *verdict, r ref) bool
}{
	"ahead": {"a group is said to be ahead and is nowhere", true, func(v *verdict, r ref) bool { return v.has(ahead, r) }},
	"lost":  {"a group is said to have lost something and has not", true, func(v *verdict, r ref) bool { return v.has(lost, r) }},
	"inactive": {"a group with members is said to be inactive", false, func(v *verdict, r ref) bool {
		n, ok := v.page.get(members, ref{group: r.group})
		return !ok || n == 0
	}},
	"blocked":      {"a group is said to be blocked where nothing holds it", true, func(v *verdict, r ref) bool { return v.has(blockedFor, r) || !v.show(blockedFor) }},
	"stopped":      {"a group is said to have stopped with nothing to read", true, (*verdict).unreadHWM},
	"undetermined": {"a group that has read everything is said to be undetermined", true, (*verdict).unreadHWM},
	"consuming":    {"a group that has read everything is said to be consuming", true, (*verdict).unreadHWM},
	"caught_up": {"a group that has something to read is said to be caught up", false, func(v *verdict, r ref) bool {
		lag, ok := v.page.get(lsoLag, r)
		n, looked := v.page.get(readable, r)
		return !ok || lag == 0 || looked && n == 0
	}},
}

func (v *verdict) has(name string, r ref) bool {
	_, ok := v.page.get(name, r)
	return ok
}

// unreadHWM says whether the page has something unread on a partition.
func (v *verdict) unreadHWM(r ref) bool {
	lag, ok := v.page.get(hwmLag, r)
	return ok && lag > 0 || !v.show(hwmLag)
}

func (v *verdict) topicState(s sample) {
	v.one1(s)
	if v.group(s) == nil {
		return
	}
	for _, o := range v.page.samples {
		if o.name == topicState && o.labels["group"] == s.labels["group"] && o.labels["topic"] == s.labels["topic"] && o.labels["state"] != s.labels["state"] {
			v.wrong(s, "one state", "a group has more than one state on a topic")
		}
	}
	state, known := states[s.labels["state"]]
	if !known {
		v.wrong(s, "a state of section 5", "a group is in a state that does not exist")
		return
	}
	if !v.show(committed) {
		return
	}
	holds, any := 0, 0
	for r := range v.page.byName[committed] {
		if r.group == s.labels["group"] && r.topic == s.labels["topic"] {
			any++
			if state.holds(v, r) {
				holds++
			}
		}
	}
	if state.some && holds == 0 || !state.some && holds < any {
		v.wrong(s, "another state", state.rule)
	}
}

// watched is since when an exporter dates what is appended to a partition by what it
// sees itself: since a group has a commit there. What was appended before is dated by
// who dated the record, whose clock the record does not know.
type watched struct {
	since moment
	looks [2]look // the last two, the later one first
	// gaps are stretches without a look for longer than two periods: what was appended
	// in one is dated like what was there before, but no older than the look before.
	gaps []window
}

// look is one look at a log's end.
type look struct {
	s            moment
	unreplicated bool // it was above the high watermark
}

// watch takes in which logs' ends the sweep has seen. One that was above the high
// watermark may have been cut off by the next look, if the leader was another.
func (v *verdict) watch() {
	commits := map[ref]bool{}
	for r := range v.page.byName[committed] {
		commits[ref{topic: r.topic, partition: r.partition}] = true
	}
	for r := range v.page.byName[highWater] {
		high, _ := v.page.get(highWater, r)
		end, _ := v.page.get(logEnd, r)
		now := look{v.s, end > high}
		w := v.life.watched[r]
		switch {
		case w != nil && w.looks[0].s == v.s:
			continue // scraped twice
		case w == nil || v.truth().renewed(r.topic, w.looks[0].s, v.e):
			delete(v.life.watched, r)
			if commits[r] {
				v.life.watched[r] = &watched{since: v.s, looks: [2]look{now, now}}
			}
			continue
		}
		from := w.looks[0].s
		if w.looks[0].unreplicated && v.moves(r, from) {
			from = w.looks[1].s
		}
		if v.e-from > moment(2*v.scrape.Period) {
			w.gaps = append(w.gaps, window{from, v.e})
		}
		w.looks = [2]look{now, w.looks[0]}
	}
}

// moves says whether the partition may have had another leader since a moment.
func (v *verdict) moves(r ref, since moment) bool {
	index, err := strconv.ParseInt(r.partition, 10, 32)
	if err != nil {
		return true
	}
	for _, p := range v.truth().partitions(r.topic, int32(index), since, v.e) {
		if len(holders(p.leaders, since, v.e)) == 1 {
			return false
		}
	}
	return true
}

// hwmAge judges the age of the next unread record against when it was appended.
// What was appended before the exporter watched is no younger than that.
func (v *verdict) hwmAge(s sample) {
	r := refOf(s)
	lag, ok := v.page.get(hwmLag, r)
	if !ok || (lag == 0) != v.readAll(r) {
		v.wrong(s, "nothing: nothing is readable, or not known", "an age is shown where nothing is unread")
		return
	}
	if lag == 0 {
		if s.value != 0 {
			v.wrong(s, "0", "a group that has read everything has an age")
		}
		return
	}
	position := v.position(r)
	watched := v.life.watched[ref{topic: r.topic, partition: r.partition}]
	if watched == nil {
		return
	}
	for _, p := range v.partitions(s) {
		w, ok := p.end.passed(position)
		if p.lossy <= v.e || !ok {
			return
		}
		least := v.s - max(w.late, watched.since)
		most := never
		if w.early > watched.since {
			most = v.e - w.early
			for _, gap := range watched.gaps {
				if gap.early <= w.late && w.early <= gap.late {
					most = max(most, v.e-gap.early)
				}
			}
		}
		slack := moment(max(2*v.scrape.Period, time.Duration(s.value/7*float64(time.Second))) + time.Second)
		age := moment(s.value * float64(time.Second))
		if age >= least-slack && (most == never || age <= most+slack) {
			return
		}
		v.wrong(s, fmt.Sprintf("%v to %v", time.Duration(least), time.Duration(most)), "the age of the next unread record is not true")
	}
}

// readAll says whether the page has a group's commit at the high watermark or
// above.
func (v *verdict) readAll(r ref) bool {
	commit, _ := v.page.get(committed, r)
	high, ok := v.page.get(highWater, ref{topic: r.topic, partition: r.partition})
	return !ok || commit >= high
}

// position is where the group reads on, by the page.
func (v *verdict) position(r ref) int64 {
	commit, _ := v.page.get(committed, r)
	start, _ := v.page.get(logStart, ref{topic: r.topic, partition: r.partition})
	return int64(max(commit, start))
}

// passed is when the quantity moved past a value; ok is false if it did not.
func (q *steps) passed(value int64) (w window, ok bool) {
	i := sort.Search(len(q.values), func(i int) bool { return q.values[i] > value })
	if i == len(q.values) {
		return window{}, false
	}
	return q.windows[i], true
}

// lsoAge judges the age up to the last stable offset: it is the other one, where
// something is readable.
func (v *verdict) lsoAge(s sample) {
	r := refOf(s)
	lag, ok := v.page.get(lsoLag, r)
	n, looked := v.page.get(readable, r)
	if !ok || lag == 0 && !v.readAll(r) || looked && n == 0 {
		v.wrong(s, "nothing: nothing is readable, or not known", "an age is shown where nothing is readable")
		return
	}
	if age, ok := v.page.get(hwmAge, r); v.show(hwmAge) && (!ok || age != s.value) {
		v.wrong(s, fmt.Sprint(age), "two ages of one record differ")
	}
}

func (v *verdict) topicHWMAge(s sample) { v.greatest(s, hwmAge) }
func (v *verdict) topicLSOAge(s sample) { v.greatest(s, lsoAge) }
func (v *verdict) groupHWMAge(s sample) { v.greatest(s, hwmAge) }
func (v *verdict) groupLSOAge(s sample) { v.greatest(s, lsoAge) }

// greatest judges a maximum over the partitions of a topic, or of a group.
func (v *verdict) greatest(s sample, part string) {
	if !v.show(part) {
		return
	}
	most, any := 0.0, false
	for r, p := range v.page.byName[part] {
		if topic, one := s.labels["topic"]; r.group == s.labels["group"] && (!one || r.topic == topic) {
			most, any = max(most, p.value), true
		}
	}
	if !any || s.value != most {
		v.wrong(s, fmt.Sprint(most), "a maximum is not that of its parts")
	}
}

func (v *verdict) readable(s sample) {
	if lag, ok := v.page.get(lsoLag, refOf(s)); !ok || s.value > lag {
		v.wrong(s, fmt.Sprintf("at most %v", lag), "more records are readable than offsets")
	}
}

// blockedFor judges that a group is blocked: its partition stands still, and
// everything readable was read.
func (v *verdict) blockedFor(s sample) {
	r := refOf(s)
	at := ref{topic: r.topic, partition: r.partition}
	if still, ok := v.page.get(stalled, at); v.show(stalled) && (!ok || still <= 0) {
		v.wrong(s, "nothing: the last stable offset does not stand still", "a group is blocked where nothing holds it")
	}
	lag, _ := v.page.get(lsoLag, r)
	n, looked := v.page.get(readable, r)
	if lag > 0 && (!looked || n > 0) {
		v.wrong(s, "nothing: there is something to read", "a group is blocked that has something to read")
	}
	still, ok := v.page.get(stalled, at)
	if ok && s.value > still+tolerance.Seconds() {
		v.wrong(s, fmt.Sprintf("at most %v, as %s says", still, stalled), "a group is blocked for longer than what holds it")
	}
	if v.before == nil {
		return
	}
	before, was := v.life.blocked[r]
	if !was {
		before.s = v.before.s
	}
	if s.value < before.value && ok && still > span2(before.s, v.e)+before.value {
		v.wrong(s, fmt.Sprintf("%v or more", before.value), "a group is blocked for less long than before")
	}
	if most := before.value + span2(before.s, v.e); s.value > most {
		v.wrong(s, fmt.Sprintf("at most %v", most), "a group is blocked for longer than time has passed")
	}
}

// rememberBlocked keeps which groups are blocked. A page that does not say what a
// group has read, or could read, does not end that.
func (v *verdict) rememberBlocked() {
	for r := range v.life.blocked {
		at := ref{topic: r.topic, partition: r.partition}
		if v.has(committed, r) && v.has(lastStable, at) {
			delete(v.life.blocked, r)
		}
	}
	for r, s := range v.page.byName[blockedFor] {
		v.life.blocked[r] = blockage{v.s, s.value}
	}
}

func (v *verdict) unassigned(s sample) {
	v.one1(s)
	if g := v.group(s); g != nil {
		if _, most := g.count(v.s, v.e); most == 0 {
			v.wrong(s, "nothing: the group has no members", "nobody is there to be assigned")
		}
	}
}

// pending judges a pending commit: some transaction of the record has one that
// has not ended.
func (v *verdict) pending(s sample) {
	if v.group(s) == nil {
		return
	}
	parts, logs := v.commitLogs(s)
	for i := range parts {
		if logs[i] != nil && slices.ContainsFunc(logs[i].events, func(e commitEvent) bool {
			return e.txn != nil && e.written.early <= v.e && e.txn.end.late >= v.s
		}) {
			return
		}
	}
	if len(parts) > 0 {
		v.wrong(s, "nothing: no transaction has a commit there", "a commit is pending that never was")
	}
}

func (v *verdict) evidence(s sample) {
	v.one1(s)
	v.group(s)
}

// share judges that a share group's sample is of a partition that exists: the
// figures are the broker's own.
func (v *verdict) share(s sample) { v.partitions(s) }

// requireState holds the state of a group on a topic to be there, where all is
// known that it depends on.
func (v *verdict) requireState(group, topic, rule string) {
	for _, s := range v.page.samples {
		if s.name == topicState && s.labels["group"] == group && s.labels["topic"] == topic {
			return
		}
	}
	if v.show(topicState) && !strings.HasPrefix(topic, "__") {
		v.absent(topicState, ref{group: group, topic: topic}, rule)
	}
}
