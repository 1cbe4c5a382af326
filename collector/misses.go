package collector

import (
	"cmp"
	"slices"

	"github.com/lso-exporter/lso-exporter/lag"
)

// misses adds up what a sweep could not read, and for which collectors.
type misses struct {
	count  map[missKey]*lag.Miss
	failed map[Collector]bool
}

// missKey is what one lag.Miss counts together. Of APIs that a broker lacks, each
// is a miss of its own: what its absence hides differs.
type missKey struct {
	kind    lag.MissKind
	subject string
	lacks   string // what is asked with the API that is missing
}

// newMisses returns an empty sum.
func newMisses() misses {
	return misses{count: make(map[missKey]*lag.Miss), failed: make(map[Collector]bool)}
}

// add counts n things that the given collectors lack. The detail that stays is
// the first one. What a broker has no API for fails no collector.
func (m *misses) add(kind lag.MissKind, subject string, n int, detail string, collectors ...Collector) {
	key := missKey{kind: kind, subject: subject}
	if kind == lag.MissAPIMissing {
		key.lacks = detail
	}
	if miss := m.count[key]; miss != nil {
		miss.Count += n
	} else {
		m.count[key] = &lag.Miss{Kind: kind, Subject: subject, Count: n, Detail: detail}
	}
	if kind != lag.MissAPIMissing {
		m.fail(collectors...)
	}
}

// has says whether something of a kind was counted for a subject.
func (m *misses) has(kind lag.MissKind, subject string) bool {
	for key := range m.count {
		if key.kind == kind && key.subject == subject {
			return true
		}
	}
	return false
}

// hasAPI says whether it was counted that a subject has no API for something.
func (m *misses) hasAPI(subject, lacks string) bool {
	return m.count[missKey{lag.MissAPIMissing, subject, lacks}] != nil
}

// merge adds the misses of a part of the sweep.
func (m *misses) merge(part misses) {
	for key, miss := range part.count {
		m.add(key.kind, key.subject, miss.Count, miss.Detail)
	}
	for c := range part.failed {
		m.failed[c] = true
	}
}

// fail marks collectors as failed for a reason that is counted elsewhere.
func (m *misses) fail(collectors ...Collector) {
	for _, c := range collectors {
		m.failed[c] = true
	}
}

// list returns the sum in a fixed order; nil if nothing was missed.
func (m *misses) list() []lag.Miss {
	if len(m.count) == 0 {
		return nil
	}
	list := make([]lag.Miss, 0, len(m.count))
	for _, miss := range m.count {
		list = append(list, *miss)
	}
	slices.SortFunc(list, func(a, b lag.Miss) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Detail, b.Detail))
	})
	return list
}
