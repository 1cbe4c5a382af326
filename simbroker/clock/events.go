package clock

// events is a heap of what has not happened yet, by time and then by the order
// of asking. A node has four children, as most events are added at the end and
// stay there.
type events []*Timer

const children = 4

func (t *Timer) before(o *Timer) bool { return t.at < o.at || t.at == o.at && t.seq < o.seq }

func (e *events) add(t *Timer) {
	*e = append(*e, t)
	e.rise(t, len(*e)-1)
}

// remove takes the event at an index out.
func (e *events) remove(i int) {
	n := len(*e) - 1
	(*e)[i].index = -1
	last := (*e)[n]
	(*e)[n] = nil
	*e = (*e)[:n]
	if i == n {
		return
	}
	if parent := (i - 1) / children; i > 0 && last.before((*e)[parent]) {
		e.rise(last, i)
	} else {
		e.sink(last, i)
	}
}

// rise puts an event where it belongs between the root and the free index i.
func (e events) rise(t *Timer, i int) {
	for i > 0 {
		parent := (i - 1) / children
		if !t.before(e[parent]) {
			break
		}
		e.put(e[parent], i)
		i = parent
	}
	e.put(t, i)
}

// sink puts an event where it belongs from the free index i on.
func (e events) sink(t *Timer, i int) {
	for {
		least := i*children + 1
		if least >= len(e) {
			break
		}
		for c := least + 1; c < min(i*children+1+children, len(e)); c++ {
			if e[c].before(e[least]) {
				least = c
			}
		}
		if !e[least].before(t) {
			break
		}
		e.put(e[least], i)
		i = least
	}
	e.put(t, i)
}

func (e events) put(t *Timer, i int) { e[i], t.index = t, i }
