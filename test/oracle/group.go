package oracle

import (
	"cmp"
	"slices"
	"sort"
)

// commitKey names the commit of a group on one partition.
type commitKey struct {
	group string
	placeKey
}

// commitEvent changes a commit. A commit of a transaction is written at one
// moment and takes effect, with the transaction's marker, at a later one.
type commitEvent struct {
	written window
	effect  window
	value   int64
	none    bool // the commit is removed
	maybe   bool // it may not have been written at all
	txn     *transaction
}

// commitLog is what became of one commit, in the order of its records.
type commitLog struct {
	events     []commitEvent
	superseded []moment // when a later record took effect for certain (rule H6)
	latest     []moment // of superseded[:i+1]: for cutting a search short
	first      moment   // when there was a commit for certain
}

func (c *commitLog) settle() {
	c.first = never
	for i := range c.events {
		ev := &c.events[i]
		if t := ev.txn; t != nil {
			ev.effect = t.end
			if !t.ended || t.answered && !t.committed {
				ev.effect = window{never, never}
			}
			if !t.answered {
				ev.effect.late = never // it may have been aborted
			}
		}
		if ev.maybe {
			ev.effect.late = never
		}
		if !ev.none {
			c.first = min(c.first, ev.effect.late)
		}
	}
	slices.SortStableFunc(c.events, func(a, b commitEvent) int { return cmp.Compare(a.written.early, b.written.early) })
	n := len(c.events)
	soonest := make([]moment, n+1)
	soonest[n] = never
	for i := n - 1; i >= 0; i-- {
		soonest[i] = min(soonest[i+1], c.events[i].effect.late)
	}
	latest := always
	for _, ev := range c.events {
		behind := sort.Search(n, func(j int) bool { return c.events[j].written.early > ev.written.late })
		c.superseded = append(c.superseded, soonest[behind])
		latest = max(latest, soonest[behind])
		c.latest = append(c.latest, latest)
	}
}

// values are the commits that may have stood at some moment of [s, e]; none
// says whether there may have been no commit at all.
func (c *commitLog) values(s, e moment) (values []int64, none bool) {
	if c == nil {
		return nil, true
	}
	begun := sort.Search(len(c.events), func(i int) bool { return c.events[i].written.early > e })
	for i := begun - 1; i >= 0 && c.latest[i] >= s; i-- {
		ev := c.events[i]
		if ev.effect.early > e || c.superseded[i] < s {
			continue
		}
		if ev.none {
			none = true
			continue
		}
		if !slices.Contains(values, ev.value) {
			values = append(values, ev.value)
		}
	}
	slices.Sort(values)
	return values, none || c.first >= s
}

// member is one stay of a member in a group.
type member struct {
	joined, left window
	topics       []string
}

// group is one consumer group.
type group struct {
	name    string
	born    window // the first act that makes it
	deleted []window
	revived []window // the first act after each deletion that makes it again
	members map[string][]member
	sights  []Act
	seats   []seat
}

func (g *group) learn(a Act) {
	switch a.Kind {
	case MakeGroup:
		g.made(a.window())
	case JoinGroup:
		stays := g.members[a.Member]
		if n := len(stays); n > 0 && stays[n-1].left.early == never {
			stays[n-1].topics = append(stays[n-1].topics, a.Topics...)
			stays[n-1].joined.late = min(stays[n-1].joined.late, momentOf(a.Answered))
		} else {
			g.members[a.Member] = append(stays, member{joined: a.window(), left: window{never, never}, topics: a.Topics})
		}
		g.made(a.window())
	case LeaveGroup:
		if stays := g.members[a.Member]; len(stays) > 0 {
			stays[len(stays)-1].left = a.window()
		}
	case CommitOffset:
		w := a.window()
		if a.Maybe {
			w.late = never
		}
		g.made(w)
	case DeleteGroup:
		g.deleted = append(g.deleted, a.window())
	case Coordinator:
		g.sights = append(g.sights, a)
	}
}

func (g *group) made(w window) {
	switch {
	case g.born.early == never:
		g.born = w
	case len(g.deleted) == 0:
		g.born.late = min(g.born.late, w.late)
	}
	if len(g.revived) < len(g.deleted) {
		g.revived = append(g.revived, w)
	}
}

// exists says whether the group may, and whether it must, exist within [s, e].
func (g *group) exists(s, e moment) (may, must bool) {
	if g == nil || g.born.early > e {
		return false, false
	}
	may, must = true, g.born.late < s
	for i, d := range g.deleted {
		back := window{never, never}
		if i < len(g.revived) {
			back = g.revived[i]
		}
		if d.late < s && back.early > e {
			may = false
		}
		if d.early <= e && back.late >= s {
			must = false
		}
	}
	return may, must
}

// count bounds the number of members within [s, e].
func (g *group) count(s, e moment) (least, most int) {
	for _, stays := range g.members {
		for _, m := range stays {
			if m.joined.late < s && m.left.early > e {
				least++
			}
			if m.joined.early <= e && m.left.late >= s {
				most++
			}
		}
	}
	return least, most
}

// anyTopic stands in JoinGroup's Topics for topics that are not known by name.
const anyTopic = "*"

// subscribed says whether a member of [s, e] may have partitions of the topic.
func (g *group) subscribed(topic string, s, e moment) (may bool) {
	for _, stays := range g.members {
		for _, m := range stays {
			if m.joined.early <= e && m.left.late >= s && (slices.Contains(m.topics, topic) || slices.Contains(m.topics, anyTopic)) {
				may = true
			}
		}
	}
	return may
}
