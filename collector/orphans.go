package collector

import (
	"context"
	"slices"

	"github.com/lso-exporter/lso-exporter/lag"
)

// topicPartition names a partition on which a group has a commit.
type topicPartition struct {
	topic     string
	partition int32
}

// dropNewcomers leaves out commits for partitions that were created after the
// sweep's Metadata answer: they would pass for orphans, commits for partitions
// that do not exist. It asks for Metadata again only when there are orphans
// that the sweep before did not have.
func (w *sweep) dropNewcomers(ctx context.Context) {
	orphans := w.orphans()
	suspect := false
	for o := range orphans {
		suspect = suspect || !w.knownOrphans[o]
	}
	w.knownOrphans = orphans
	if !suspect || !w.budget.take() {
		return
	}
	now, err := w.askLayout(ctx, w.metadataOrder(), w.layout, false)
	if err != nil {
		return
	}
	for o := range orphans {
		if _, exists := now.place(o.topic, o.partition); exists {
			w.dropCommits(o)
			delete(orphans, o)
		}
	}
}

// orphans returns the partitions with commits that the sweep's Metadata answer
// does not list.
func (w *sweep) orphans() map[topicPartition]bool {
	orphans := make(map[topicPartition]bool)
	for i := range w.groups {
		for _, t := range w.groups[i].Commits {
			if at, ok := w.layout.index[t.Topic]; ok && w.layout.topics[at].errorCode != 0 {
				continue // nobody knows its partitions
			}
			for _, c := range t.Partitions {
				if _, ok := w.layout.place(t.Topic, c.Partition); !ok {
					orphans[topicPartition{t.Topic, c.Partition}] = true
				}
			}
		}
	}
	return orphans
}

// dropCommits drops all groups' commits on a partition.
func (w *sweep) dropCommits(o topicPartition) {
	for i := range w.groups {
		g := &w.groups[i]
		for j := range g.Commits {
			t := &g.Commits[j]
			if t.Topic == o.topic {
				t.Partitions = slices.DeleteFunc(t.Partitions, func(c lag.Commit) bool { return c.Partition == o.partition })
			}
		}
		g.Commits = slices.DeleteFunc(g.Commits, func(t lag.TopicCommits) bool { return len(t.Partitions) == 0 })
	}
}
