package streams

import (
	"cmp"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
)

// assignTasks spreads tasks over members by the rules of Kafka's sticky assignor.
// Tasks stay with who has them, then go where a standby is, then to the process
// with the lowest load; standbys of the tasks that have state are on other
// processes than their active task, as many as there are processes for.
func assignTasks(members []*member, has map[string]map[task]bool, topology configured, standbys int) map[string]map[task]bool {
	if len(members) == 0 {
		return nil
	}
	active, stateful := topology.sortedTasks()
	s := newSticky(members, has, len(active), len(stateful), standbys)
	s.assignActive(active)
	if standbys > 0 {
		s.assignStandbys(stateful)
	}
	return s.targets
}

// sticky is an assignment in the making.
type sticky struct {
	standbys  int
	processes map[string]*process
	ordered   []*process
	// had and stood is who had a task before, as an active one and as standbys.
	had   map[task]place
	stood map[task][]place
	// active and all are shares of active tasks and of all tasks.
	active, all share
	targets     map[string]map[task]bool
}

// place is a member and the process that it is part of.
type place struct {
	process *process
	member  string
}

// share is how many tasks each member is to have that has not got its share.
type share struct{ tasks, members, each int }

func newShare(tasks, members int) share {
	s := share{tasks: tasks, members: members}
	s.compute()
	return s
}

func (s *share) compute() {
	if s.each = 0; s.members > 0 {
		s.each = (s.tasks + s.members - 1) / s.members
	}
}

// has takes note of how many tasks a member has come to have.
func (s *share) has(count int) {
	if count == s.each {
		s.members--
		s.tasks -= count
		s.compute()
	}
}

func newSticky(members []*member, has map[string]map[task]bool, active, stateful, standbys int) *sticky {
	s := &sticky{
		standbys: standbys, processes: make(map[string]*process), had: make(map[task]place), stood: make(map[task][]place),
		active: newShare(active, len(members)), all: newShare(active+standbys*stateful, len(members)),
		targets: make(map[string]map[task]bool),
	}
	for _, m := range assignment.InJavaOrder(members, assignment.JavaTable, func(m *member) uint32 { return assignment.JavaHash(m.id) }) {
		p := s.processes[m.processID]
		if p == nil {
			p = &process{id: m.processID, counts: make(map[string]int), tasks: make(map[task]bool)}
			s.processes[m.processID] = p
			s.ordered = append(s.ordered, p)
		}
		p.members = append(p.members, m.id)
		at := place{p, m.id}
		for _, t := range sortedTasks(has[m.id]) {
			if t.standby {
				s.stood[t.as(false)] = append(s.stood[t.as(false)], at)
			} else {
				s.had[t] = at
			}
		}
		s.targets[m.id] = make(map[task]bool)
	}
	s.ordered = assignment.InJavaOrder(s.ordered, len(members), func(p *process) uint32 { return assignment.JavaHash(p.id) })
	for _, p := range s.ordered {
		p.members = assignment.InJavaOrder(p.members, assignment.JavaTable, assignment.JavaHash)
	}
	return s
}

// give gives a member a task.
func (s *sticky) give(t task, standby bool, to place) {
	to.process.byLoad = nil
	s.count(t, standby, to)
}

func (s *sticky) count(t task, standby bool, to place) {
	to.process.tasks[t] = true
	to.process.counts[to.member]++
	s.targets[to.member][t.as(standby)] = true
	n := to.process.counts[to.member]
	if !standby {
		s.active.has(n)
	}
	s.all.has(n)
}

// giveTo gives the member of a process with the fewest tasks another one.
func (s *sticky) giveTo(p *process, t task, standby bool) {
	if p.byLoad == nil {
		p.byLoad = &javaQueue[*loaded]{compare: func(a, b *loaded) int { return cmp.Compare(a.count, b.count) }}
		for _, m := range p.members {
			p.byLoad.add(&loaded{m, p.counts[m]})
		}
	}
	m, _ := p.byLoad.poll()
	s.count(t, standby, place{p, m.member})
	m.count = p.counts[m.member]
	p.byLoad.add(m)
}

// assignActive gives each task to one member. Tasks come in order of partition first,
// so that those of one partition stay together.
func (s *sticky) assignActive(tasks []task) {
	var left, rest []task
	for _, t := range slices.SortedFunc(slices.Values(tasks), task.byPartition) {
		if at, ok := s.had[t]; ok && at.process.counts[at.member] < s.active.each {
			s.give(t, false, at)
		} else {
			left = append(left, t)
		}
	}
	for _, t := range left {
		if at, ok := lightest(s.stood[t], nil); ok && at.process.counts[at.member] < s.active.each {
			s.give(t, false, at)
		} else {
			rest = append(rest, t)
		}
	}
	queue := s.queue()
	for _, t := range slices.SortedFunc(slices.Values(rest), task.compare) {
		p, _ := queue.poll()
		s.giveTo(p, t, false)
		queue.add(p)
	}
}

// assignStandbys gives as many other processes each task as there are to be standbys.
func (s *sticky) assignStandbys(tasks []task) {
	missing := make(map[task]int)
	for _, t := range slices.Backward(slices.SortedFunc(slices.Values(tasks), task.byPartition)) {
		for n := s.standbys; n > 0; n-- {
			at, ok := s.had[t]
			if !ok || at.process.tasks[t] || at.process.counts[at.member] >= s.all.each {
				at, ok = lightest(s.stood[t], &t)
				if !ok || at.process.counts[at.member] >= s.all.each {
					missing[t] = n
					break
				}
			}
			s.give(t, true, at)
		}
	}
	queue := s.queue()
	for _, t := range slices.Backward(sortedTasks(missing)) {
		for range missing[t] {
			if !s.giveAny(queue, t) {
				break // there are too few processes
			}
		}
	}
}

// giveAny gives the process with the lowest load that does not have a task a standby
// of it.
func (s *sticky) giveAny(queue *javaQueue[*process], t task) bool {
	p, ok := queue.poll()
	if !ok {
		return false
	}
	given := !p.tasks[t]
	if given {
		s.giveTo(p, t, true)
	} else {
		given = s.giveAny(queue, t)
	}
	queue.add(p)
	return given
}

// lightest is the place with the lowest load, without those that have a task, unless
// that is nil. As in Kafka it is none if the first one has the task.
func lightest(places []place, not *task) (place, bool) {
	if len(places) == 0 {
		return place{}, false
	}
	best := places[0]
	load, count := best.process.load(), best.process.counts[best.member]
	for _, at := range places[1:] {
		n := at.process.counts[at.member]
		if at.process.load() < load && n < count && (not == nil || !at.process.tasks[*not]) {
			best, load, count = at, at.process.load(), n
		}
	}
	return best, not == nil || !places[0].process.tasks[*not]
}

func (s *sticky) queue() *javaQueue[*process] {
	q := &javaQueue[*process]{compare: func(a, b *process) int { return cmp.Compare(a.load(), b.load()) }}
	for _, p := range s.ordered {
		q.add(p)
	}
	return q
}

// process is the members with one process id.
type process struct {
	id      string
	members []string
	counts  map[string]int // of tasks, by member
	tasks   map[task]bool  // active ones and standbys, without a difference
	byLoad  *javaQueue[*loaded]
}

// loaded is a member with as many tasks as it had when it was queued.
type loaded struct {
	member string
	count  int
}

// load is how many tasks a member has on average.
func (p *process) load() float64 {
	n := 0
	for _, c := range p.counts {
		n += c
	}
	return float64(n) / float64(len(p.members))
}

// javaQueue is a java.util.PriorityQueue: of items that are alike it gives out the
// same one first.
type javaQueue[T any] struct {
	items   []T
	compare func(a, b T) int
}

func (q *javaQueue[T]) add(item T) {
	q.items = append(q.items, item)
	i := len(q.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if q.compare(item, q.items[parent]) >= 0 {
			break
		}
		q.items[i], i = q.items[parent], parent
	}
	q.items[i] = item
}

// poll takes the least item out, if there is one.
func (q *javaQueue[T]) poll() (least T, ok bool) {
	if len(q.items) == 0 {
		return least, false
	}
	n := len(q.items) - 1
	least, item := q.items[0], q.items[n]
	if q.items = q.items[:n]; n == 0 {
		return least, true
	}
	i := 0
	for i < n/2 {
		child := 2*i + 1
		if right := child + 1; right < n && q.compare(q.items[child], q.items[right]) > 0 {
			child = right
		}
		if q.compare(item, q.items[child]) <= 0 {
			break
		}
		q.items[i], i = q.items[child], child
	}
	q.items[i] = item
	return least, true
}
