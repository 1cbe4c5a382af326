package consumer

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// regexRefreshMin is the least time between two resolutions of a group's
// regular expressions.
const regexRefreshMin = 10 * time.Second

// regexChange says what a heartbeat did to a member's regular expression.
type regexChange int8

const (
	regexUnchanged  regexChange = iota
	regexUnresolved             // it is new, and its topics are not known yet
	regexResolved               // the group knows its topics, or it has none any more
)

// compileRegex reads a subscription's regular expression, which is RE2's, as
// Go's are.
func compileRegex(regex string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(regex); err != nil {
		return nil, group.Refuse(kafka.ErrInvalidRegularExpression, "SubscribedTopicRegex `%s` is not a valid regular expression: %s.", regex, err)
	}
	return regexp.MustCompile("^(?:" + regex + ")$"), nil
}

// updateRegex takes a member's change of its regular expression in and has the
// group's expressions resolved if it is time to. The resolution comes in an
// event of its own.
func (p Protocol) updateRegex(d *draft, before, after *member, mayDescribe func(string) bool) (regexChange, error) {
	change, must := regexUnchanged, false
	subscribers := d.regexSubscribers()
	if before.regex != after.regex {
		change = regexUnresolved
		_, resolved := d.regexes[after.regex]
		switch {
		case after.regex == "" || subscribers[after.regex] > 0 && resolved:
			change = regexResolved
		case subscribers[after.regex] == 0:
			if _, err := compileRegex(after.regex); err != nil {
				return change, err
			}
			must = true
		}
		if before.regex != "" && subscribers[before.regex] == 1 {
			d.emit(group.Record{Key: record.MemberKey(record.ConsumerRegex, d.id, before.regex)})
		}
		if subscribers[before.regex]--; subscribers[before.regex] <= 0 {
			delete(subscribers, before.regex)
		}
		if after.regex != "" {
			subscribers[after.regex]++
		}
	}
	if len(subscribers) > 0 && p.Timers[shard.Timer{Group: d.id, Kind: shard.RegexTimer}] == nil && p.regexesDue(d.Group, subscribers, must) {
		p.resolveSoon(d.id, slices.Sorted(maps.Keys(subscribers)), mayDescribe)
	}
	return change, nil
}

// regexesDue says whether a group's regular expressions are to be resolved:
// some never were, topics were created, or it was long ago.
func (p Protocol) regexesDue(g *Group, subscribers map[string]int, must bool) bool {
	last, version := group.NoTime, int64(0)
	for _, r := range g.regexes {
		last, version = r.at, r.version // they are resolved together
		break
	}
	now := p.Now()
	if last != group.NoTime && now <= last+regexRefreshMin.Milliseconds() {
		return false
	}
	return must || len(subscribers) != len(g.regexes) || version < p.TopicsCreatedAt ||
		now > last+p.Config.ConsumerRegexRefresh.Milliseconds()
}

// resolveSoon resolves regular expressions in an event of its own.
func (p Protocol) resolveSoon(id string, regexes []string, mayDescribe func(string) bool) {
	name := shard.Timer{Group: id, Kind: shard.RegexTimer}
	p.Timers.Set(name, p.Clock.After(0, func() {
		p.Timers.Stop(name)
		if !p.Owned() {
			return
		}
		g, ok := p.Groups[id].(*Group)
		if !ok {
			return
		}
		d := &draft{Group: g}
		p.resolve(d, regexes, mayDescribe)
		p.WriteChanges(d.Changes, func(error) {}) // the next heartbeat tries again
	}))
}

// resolve writes what topics match, and raises the group's epoch if they are
// others than before.
func (p Protocol) resolve(d *draft, regexes []string, mayDescribe func(string) bool) {
	subscribers := d.regexSubscribers()
	changed := false
	for _, regex := range regexes {
		if subscribers[regex] == 0 {
			continue
		}
		compiled, err := compileRegex(regex)
		if err != nil {
			panic("group " + d.id + ": a member subscribes by " + err.Error())
		}
		r := resolvedRegex{version: p.Env.Topics.Version(), at: p.Now()}
		for _, name := range p.Env.Topics.Names() {
			if compiled.MatchString(name) && (mayDescribe == nil || mayDescribe(name)) {
				r.topics = append(r.topics, name)
			}
		}
		changed = changed || !slices.Equal(r.topics, d.regexes[regex].topics)
		d.emit(regexRecord(d.id, regex, r))
	}
	p.raiseEpoch(d, changed)
}
