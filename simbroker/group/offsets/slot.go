package offsets

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// version is what a partition's committed offset became at some place in the
// log: by a commit's record, by a marker, or nil by a tombstone.
type version struct {
	from   kafka.Offset
	commit *Commit
}

// pendingCommit is an offset of a transaction that has not ended.
type pendingCommit struct {
	producer kafka.ProducerID
	commit   Commit
}

// Slot is all that a group committed for one partition, in log order. The last
// version holds as soon as the high watermark has passed it; until then readers
// see an earlier one.
type Slot struct {
	versions []version
	pending  []pendingCommit
}

// Latest is the committed offset by the log's end, nil if there is none.
func (s *Slot) Latest() *Commit {
	if len(s.versions) == 0 {
		return nil
	}
	return s.versions[len(s.versions)-1].commit
}

// Pending is how many commits of transactions that have not ended there are.
func (s *Slot) Pending() int { return len(s.pending) }

// Exists says whether there is anything to delete.
func (s *Slot) Exists() bool { return s != nil && (s.Latest() != nil || len(s.pending) > 0) }

// Visible is the committed offset by the high watermark.
func (s *Slot) Visible(hwm kafka.Offset) *Commit {
	for _, v := range slices.Backward(s.versions) {
		if v.from < hwm {
			return v.commit
		}
	}
	return nil
}

// forget drops versions that nobody can see any more.
func (s *Slot) forget(hwm kafka.Offset) {
	for len(s.versions) > 1 && s.versions[1].from < hwm {
		s.versions = s.versions[1:]
	}
	if len(s.versions) == 1 && s.versions[0].commit == nil && s.versions[0].from < hwm {
		s.versions = nil
	}
}

// Belongs says whether anything in the slot is for a topic of this id, or does
// not know for which.
func (s *Slot) Belongs(id kafka.TopicID) bool {
	is := func(c *Commit) bool { return c.TopicID == kafka.TopicID{} || c.TopicID == id }
	return s.Latest() != nil && is(s.Latest()) ||
		slices.ContainsFunc(s.pending, func(p pendingCommit) bool { return is(&p.commit) })
}
