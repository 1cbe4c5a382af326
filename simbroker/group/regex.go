package group

import (
	"maps"
	"regexp"
	"slices"
	"time"

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
		return nil, refuse(kafka.ErrInvalidRegularExpression, "SubscribedTopicRegex `%s` is not a valid regular expression: %s.", regex, err)
	}
	return regexp.MustCompile("^(?:" + regex + ")$"), nil
}

// updateRegex takes a member's change of its regular expression in and has the
// group's expressions resolved if it is time to. The resolution comes in an
// event of its own.
func (c consumerGroups) updateRegex(d *consumerDraft, before, after *consumerMember, mayDescribe func(string) bool) (regexChange, error) {
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
			d.emit(Record{Key: encodeMemberKey(keyConsumerRegex, d.id, before.regex)})
		}
		if subscribers[before.regex]--; subscribers[before.regex] <= 0 {
			delete(subscribers, before.regex)
		}
		if after.regex != "" {
			subscribers[after.regex]++
		}
	}
	if len(subscribers) > 0 && c.timers[memberTimer{group: d.id, kind: regexTimer}] == nil && c.regexesDue(d.consumer, subscribers, must) {
		c.resolveSoon(d.id, slices.Sorted(maps.Keys(subscribers)), mayDescribe)
	}
	return change, nil
}

// regexesDue says whether a group's regular expressions are to be resolved:
// some never were, topics were created, or it was long ago.
func (c consumerGroups) regexesDue(g *consumer, subscribers map[string]int, must bool) bool {
	last, version := noTime, int64(0)
	for _, r := range g.regexes {
		last, version = r.at, r.version // they are resolved together
		break
	}
	now := c.now()
	if last != noTime && now <= last+regexRefreshMin.Milliseconds() {
		return false
	}
	return must || len(subscribers) != len(g.regexes) || version < c.topicsCreated ||
		now > last+c.cfg.ConsumerRegexRefresh.Milliseconds()
}

// resolveSoon resolves regular expressions in an event of its own.
func (c consumerGroups) resolveSoon(id string, regexes []string, mayDescribe func(string) bool) {
	name := memberTimer{group: id, kind: regexTimer}
	c.timers.set(name, c.clk.After(0, func() {
		c.timers.stop(name)
		if !c.owned() {
			return
		}
		g, ok := c.groups[id].(*consumer)
		if !ok {
			return
		}
		d := &consumerDraft{consumer: g}
		c.resolve(d, regexes, mayDescribe)
		c.writeChanges(d.changes, func(error) {}) // the next heartbeat tries again
	}))
}

// resolve writes what topics match, and raises the group's epoch if they are
// others than before.
func (c consumerGroups) resolve(d *consumerDraft, regexes []string, mayDescribe func(string) bool) {
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
		r := resolvedRegex{version: c.env.Topics.Version(), at: c.now()}
		for _, name := range c.env.Topics.Names() {
			if compiled.MatchString(name) && (mayDescribe == nil || mayDescribe(name)) {
				r.topics = append(r.topics, name)
			}
		}
		changed = changed || !slices.Equal(r.topics, d.regexes[regex].topics)
		d.emit(consumerRegexRecord(d.id, regex, r))
	}
	c.raiseEpoch(d, changed)
}
