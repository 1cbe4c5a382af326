package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// commitLogs are those of the partitions that a group's sample may be of.
func (v *verdict) commitLogs(s sample) (parts []*partition, logs []*commitLog) {
	if internal(s.labels["topic"]) {
		return nil, nil
	}
	parts = v.partitions(s)
	for _, p := range parts {
		logs = append(logs, v.truth().commits[commitKey{s.labels["group"], p.placeKey}])
	}
	return parts, logs
}

func (v *verdict) committed(s sample) {
	_, logs := v.commitLogs(s)
	var allowed []string
	for _, log := range logs {
		values, _ := log.values(v.commitsSince(s.labels["group"]), v.e)
		for _, c := range values {
			if float64(c) == s.value {
				return
			}
			allowed = append(allowed, strconv.FormatInt(c, 10))
		}
	}
	if len(allowed) == 0 && len(logs) > 0 {
		allowed = []string{"nothing: there was no commit"}
	}
	if len(logs) > 0 {
		v.wrong(s, strings.Join(allowed, ", "), "the committed offset is not true")
	}
}

// commitsSince is the moment from which on a group's commits may be what is shown: the
// sweep's beginning, or before an outage of which the sweep sees something. A
// coordinator that takes over shows what its high watermark, which trails, covers.
func (v *verdict) commitsSince(group string) moment {
	g := v.truth().groups[group]
	if g == nil {
		return v.s
	}
	return v.truth().fleet.seenSince(holders(g.seats, always, v.e), v.s, v.e)
}

func (v *verdict) hwmLag(s sample) { v.lag(s, highWater, func(p *partition) *steps { return &p.high }) }

func (v *verdict) lsoLag(s sample) { v.lag(s, lastStable, nil) }

// lag judges a lag by the samples it is made of, all of one sweep, and against
// the record by bounds.
func (v *verdict) lag(s sample, end string, steps func(*partition) *steps) {
	r := refOf(s)
	at := ref{topic: r.topic, partition: r.partition}
	commit, ok := v.page.get(committed, r)
	bound, also := v.page.get(end, at)
	start, too := v.page.get(logStart, at)
	if ok && also && too {
		if want := max(0, bound-max(commit, start)); s.value != want {
			v.wrong(s, fmt.Sprintf("max(0, %v − max(%v, %v))", bound, commit, start), "a lag is not made of its parts")
		}
	} else if v.show(committed) && v.show(end) && v.show(logStart) {
		v.wrong(s, "nothing without a commit, "+end+" and "+logStart, "a lag lacks a part")
	}
	if steps == nil {
		return
	}
	parts, logs := v.commitLogs(s)
	allowed, rule := "nothing: there was no commit", "a lag is shown without a commit"
	for i, p := range parts {
		if p.lossy <= v.e {
			return
		}
		least, most, none := v.lagBounds(p, s.labels["group"], logs[i])
		if none {
			continue
		}
		if s.value >= float64(least) && s.value <= float64(most) {
			return
		}
		allowed, rule = fmt.Sprintf("%d to %d", least, most), "a lag is not true"
	}
	if len(parts) > 0 {
		v.wrong(s, allowed, rule)
	}
}

// lagBounds bounds the lag against the high watermark.
func (v *verdict) lagBounds(p *partition, group string, log *commitLog) (least, most int64, none bool) {
	values, _ := log.values(v.commitsSince(group), v.e)
	if len(values) == 0 {
		return 0, 0, true
	}
	startLo, _ := p.start.bounds(v.s, v.e)
	startHi := p.start.most(v.s, v.e)
	highLo, highHi := p.high.bounds(v.s, v.e)
	least = max(0, highLo-max(slices.Max(values), startHi))
	most = max(0, highHi-max(slices.Min(values), startLo))
	return least, most, false
}

func (v *verdict) lost(s sample) {
	r := refOf(s)
	commit, ok := v.page.get(committed, r)
	start, also := v.page.get(logStart, ref{topic: r.topic, partition: r.partition})
	if !ok || !also || s.value != start-commit || s.value <= 0 {
		v.wrong(s, fmt.Sprintf("%v − %v where that is above 0", start, commit), "what was lost is not true")
	}
}

func (v *verdict) ahead(s sample) {
	r := refOf(s)
	commit, ok := v.page.get(committed, r)
	high, also := v.page.get(highWater, ref{topic: r.topic, partition: r.partition})
	if !ok || !also || s.value != commit-high || s.value <= 0 {
		v.wrong(s, fmt.Sprintf("%v − %v where that is above 0", commit, high), "what is ahead is not true")
		return
	}
	if last := v.before; last == nil || !last.isAhead(r) {
		v.wrong(s, "nothing: this is the first sweep that saw it", "a commit is called ahead after one look")
	}
}

// isAhead says whether the page has a commit above the high watermark.
func (v *verdict) isAhead(r ref) bool {
	commit, ok := v.page.get(committed, r)
	high, also := v.page.get(highWater, ref{topic: r.topic, partition: r.partition})
	return ok && also && commit > high
}

func (v *verdict) topicHWMLag(s sample) { v.sum(s, hwmLag) }
func (v *verdict) topicLSOLag(s sample) { v.sum(s, lsoLag) }

// sum judges a sum: it is that of its parts, and all its parts are there.
func (v *verdict) sum(s sample, part string) {
	group, topic := s.labels["group"], s.labels["topic"]
	if internal(topic) {
		return
	}
	if lives := v.truth().lives(topic, v.s, v.e); len(lives) == 0 {
		v.wrong(s, "nothing: the topic did not exist", "a topic that does not exist is shown")
		return
	}
	for _, r := range v.parts(group, topic) {
		if _, ok := v.page.get(part, r); !ok && v.show(part) {
			v.wrong(s, "nothing: partition "+r.partition+" is missing", "a sum lacks a part")
			return
		}
	}
	if !v.show(part) {
		v.sumBounds(s, group, topic)
		return
	}
	want, any := 0.0, false
	for r, p := range v.page.byName[part] {
		if r.group == group && r.topic == topic {
			want, any = want+p.value, true
		}
	}
	if !any {
		v.wrong(s, "nothing: none of its parts is shown", "a sum has no part")
	} else if s.value != want {
		v.wrong(s, fmt.Sprint(want), "a sum is not the sum of its parts")
	}
}

func (v *verdict) groupHWMLag(s sample) { v.sumOfTopics(s, topicHWMLag) }
func (v *verdict) groupLSOLag(s sample) { v.sumOfTopics(s, topicLSOLag) }

// sumOfTopics judges a sum over all topics of a group.
func (v *verdict) sumOfTopics(s sample, part string) {
	if !v.show(part) {
		return
	}
	group := s.labels["group"]
	want, topics := 0.0, map[string]bool{}
	for r, p := range v.page.byName[part] {
		if r.group == group {
			want += p.value
			topics[r.topic] = true
		}
	}
	for r := range v.page.byName[committed] {
		if r.group == group && !topics[r.topic] {
			v.wrong(s, "nothing: topic "+r.topic+" is missing", "a sum lacks a part")
			return
		}
	}
	if len(topics) == 0 {
		v.wrong(s, "nothing: none of its parts is shown", "a sum has no part")
	} else if s.value != want {
		v.wrong(s, fmt.Sprint(want), "a sum is not the sum of its parts")
	}
}

// sumBounds judges a sum whose parts are not shown.
func (v *verdict) sumBounds(s sample, group, topic string) {
	if s.name != topicHWMLag {
		return
	}
	var least, most int64
	for _, life := range v.truth().lives(topic, v.s, v.e) {
		for _, p := range life.partitions {
			log := v.truth().commits[commitKey{group, p.placeKey}]
			lo, hi, none := v.lagBounds(p, group, log)
			if none {
				continue
			}
			if _, maybe := log.values(v.commitsSince(group), v.e); !maybe {
				least += lo
			}
			most += hi
		}
	}
	if s.value < float64(least) || s.value > float64(most) {
		v.wrong(s, fmt.Sprintf("%d to %d", least, most), "a sum is not true")
	}
}

// parts are the partitions of a topic on which the group has a commit at every
// moment that the sweep may show.
func (v *verdict) parts(group, topic string) []ref {
	life := v.truth().certain(topic, v.s, v.e)
	if life == nil {
		return nil
	}
	var out []ref
	for _, p := range life.partitions {
		if _, none := v.truth().commits[commitKey{group, p.placeKey}].values(v.commitsSince(group), v.e); !none {
			out = append(out, ref{group, topic, strconv.Itoa(int(p.index))})
		}
	}
	return out
}

// group is the sample's group; one that cannot exist is a violation.
func (v *verdict) group(s sample) *group {
	g := v.truth().groups[s.labels["group"]]
	if may, _ := g.exists(v.s, v.e); !may {
		v.wrong(s, "nothing: the group did not exist", "a group that does not exist is shown")
		return nil
	}
	return g
}

func (v *verdict) groupInfo(s sample) {
	v.one1(s)
	v.group(s)
}

func (v *verdict) groupState(s sample) {
	v.one1(s)
	g := v.group(s)
	if g == nil {
		return
	}
	states := 0
	for _, o := range v.page.samples {
		if o.name == groupState && o.labels["group"] == s.labels["group"] {
			states++
		}
	}
	if states > 1 {
		v.wrong(s, "one state", "a group has more than one state")
	}
	least, most := g.count(v.s, v.e)
	idle := slices.Contains([]string{"Empty", "Dead"}, s.labels["state"])
	if idle && least > 0 {
		v.wrong(s, "a state with members", "a group with members is said to have none")
	}
	if !idle && most == 0 {
		v.wrong(s, "Empty", "a group without members is said to have some")
	}
}

func (v *verdict) members(s sample) {
	if g := v.group(s); g != nil {
		if least, most := g.count(v.s, v.e); s.value < float64(least) || s.value > float64(most) {
			v.wrong(s, fmt.Sprintf("%d to %d", least, most), "the number of members is not true")
		}
	}
}

func (v *verdict) uncommitted(s sample) {
	g := v.group(s)
	if g == nil {
		return
	}
	least, most := v.uncommittedBounds(g)
	if s.value < float64(least) || s.value > float64(most) {
		v.wrong(s, fmt.Sprintf("%d to %d", least, most), "the number of partitions without a commit is not true")
	}
}

func (v *verdict) uncommittedBounds(g *group) (least, most int) {
	for name := range v.truth().topics {
		certain := v.truth().certain(name, v.s, v.e)
		for _, life := range v.truth().lives(name, v.s, v.e) {
			with, maybe, without := 0, 0, 0
			for _, p := range life.partitions {
				values, none := v.truth().commits[commitKey{g.name, p.placeKey}].values(v.commitsSince(g.name), v.e)
				switch {
				case len(values) == 0:
					without++
				case none:
					maybe++
				default:
					with++
				}
			}
			if with > 0 && life == certain {
				least += without
			}
			if with+maybe > 0 || g.subscribed(name, v.s, v.e) || v.outlived(g.name, name) {
				most += without + maybe
			}
		}
	}
	return least, most
}

// shown says whether a commit for the place is one for a partition that exists for
// certain: a topic that was made anew takes the commits of the one before, where it
// has their partitions.
func (v *verdict) shown(at placeKey) bool {
	life := v.truth().certain(at.topic, v.s, v.e)
	return life != nil && (life == v.truth().topics[at.topic][at.life] || int(at.index) < len(life.partitions))
}

// outlived says whether a group may have commits for earlier lives of a topic.
func (v *verdict) outlived(group, topic string) bool {
	lives := len(v.truth().topics[topic])
	if lives < 2 {
		return false
	}
	for key, log := range v.truth().commits {
		if key.group == group && key.topic == topic && key.life < lives-1 {
			if values, _ := log.values(v.s, v.e); len(values) > 0 {
				return true
			}
		}
	}
	return false
}

func (v *verdict) orphans(s sample) {
	g := v.group(s)
	if g == nil || s.value == 0 {
		return
	}
	most := 0
	for key, log := range v.truth().commits {
		if key.group != g.name || v.shown(key.placeKey) {
			continue
		}
		if values, _ := log.values(v.s, v.e.add(v.truth().fleet.slack())); len(values) > 0 {
			most++
		}
	}
	if s.value > float64(most) {
		v.wrong(s, fmt.Sprintf("at most %d", most), "commits are called orphans though their partitions exist")
	}
}

func (v *verdict) topicInfo(s sample) {
	v.one1(s)
	name := s.labels["topic"]
	if !internal(name) && len(v.truth().lives(name, v.s, v.e)) == 0 {
		v.wrong(s, "nothing: the topic did not exist", "a topic that does not exist is shown")
	}
}

func (v *verdict) brokerInfo(s sample) {
	v.one1(s)
	for _, b := range v.truth().fleet.brokers {
		if s.labels["broker"] == strconv.Itoa(int(b)) {
			return
		}
	}
	v.wrong(s, fmt.Sprint(v.truth().fleet.brokers), "a broker that does not exist is shown")
}

// one1 judges an info metric or a state: its value is 1.
func (v *verdict) one1(s sample) {
	if s.value != 1 {
		v.wrong(s, "1", "an info metric is not 1")
	}
}

// kept says whether something keeps the group in being at every moment of
// [s, e]: a member, or a commit. One without either may be removed at any time.
func (t *Truth) kept(g *group, s, e moment) bool {
	if least, _ := g.count(s, e); least > 0 {
		return true
	}
	for key, log := range t.commits {
		if _, none := log.values(s, e); key.group == g.name && !none {
			return true
		}
	}
	return false
}

// missingGroups judges the groups and commits that must be there.
func (v *verdict) missingGroups() {
	const rule = "a group that can be read lacks a sample"
	for _, name := range sortedKeys(v.truth().groups) {
		g := v.truth().groups[name]
		_, must := g.exists(v.s, v.e)
		away := v.excused(func(s, e moment) bool { return v.truth().groupExcused(g, s, e) })
		if !must || !v.truth().kept(g, v.s, v.e) || away || v.hidden("", name) {
			continue
		}
		required := []string{groupInfo, groupState, members, orphans}
		if v.settled(name) {
			required = append(required, uncommitted)
		}
		if v.page.byName[groupInfo][ref{group: name}].labels["type"] == "share" {
			required = required[:3] // it has no commits
		}
		for _, metric := range required {
			v.require(metric, ref{group: name}, rule)
		}
		for _, topic := range sortedKeys(v.truth().topics) {
			if !v.hidden(topic, name) && !v.hidden(topic, "") {
				v.missingCommits(name, topic, rule)
			}
		}
	}
}

// settled says whether the page's state of a group is one in which it is known
// what is assigned to its members.
func (v *verdict) settled(group string) bool {
	for _, s := range v.page.samples {
		if s.name == groupState && s.labels["group"] == group {
			return slices.Contains([]string{"Stable", "Empty"}, s.labels["state"])
		}
	}
	return false
}

func (v *verdict) missingCommits(group, topic, rule string) {
	parts := v.parts(group, topic)
	whole := len(parts) > 0
	for _, r := range parts {
		v.require(committed, r, rule)
		readable := v.bounded(topic, r.partition)
		whole = whole && readable
		if readable {
			v.require(hwmLag, r, rule)
			v.require(lsoLag, r, rule)
			v.requireLost(r)
		}
	}
	for _, at := range v.maybeParts(group, topic) {
		whole = whole && v.bounded(topic, at)
	}
	if whole {
		v.require(topicHWMLag, ref{group: group, topic: topic}, rule)
		v.require(topicLSOLag, ref{group: group, topic: topic}, rule)
		v.requireState(group, topic, rule)
	}
}

// bounded says whether the page has the offsets of a partition that lags are made of.
func (v *verdict) bounded(topic, partition string) bool {
	for _, metric := range []string{logStart, highWater, lastStable} {
		if _, ok := v.page.get(metric, ref{topic: topic, partition: partition}); !ok && v.show(metric) {
			return false
		}
	}
	return true
}

// maybeParts are the partitions of a topic on which the group may have a commit: one
// that cannot be read withholds the sums.
func (v *verdict) maybeParts(group, topic string) []string {
	var out []string
	for _, life := range v.truth().lives(topic, v.s, v.e) {
		for _, p := range life.partitions {
			if values, _ := v.truth().commits[commitKey{group, p.placeKey}].values(v.commitsSince(group), v.e); len(values) > 0 {
				out = append(out, strconv.Itoa(int(p.index)))
			}
		}
	}
	return out
}

// requireLost holds the sparse series of a commit to be there where they apply.
func (v *verdict) requireLost(r ref) {
	commit, ok := v.page.get(committed, r)
	start, also := v.page.get(logStart, ref{topic: r.topic, partition: r.partition})
	if ok && also && start > commit {
		v.require(lost, r, "offsets were lost and no sample says so")
	}
	if last := v.before; last != nil && v.isAhead(r) && last.isAhead(r) {
		v.require(ahead, r, "a commit is ahead and no sample says so")
	}
}
