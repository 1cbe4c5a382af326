package streams

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// configured is a topology on the topics that there are.
type configured struct {
	tasks    map[task]bool         // none unless all topics are there; true for those that have state
	internal []group.InternalTopic // with their partitions decided
	missing  []group.InternalTopic // of them
	status   *group.StreamsStatus  // what is wrong; nil if nothing is
}

// configure decides how many partitions internal topics are to have, and finds
// what is missing. Whether topics that are joined have as many partitions as
// each other is not looked at.
func configure(t *group.Topology, topics group.Topics) configured {
	var absent []string
	counts := make(map[string]int32)
	for _, s := range t.Subtopologies {
		for _, name := range s.SourceTopics {
			if known, ok := topics.Topic(name); ok {
				counts[name] = known.Partitions
			} else {
				absent = append(absent, name)
			}
		}
	}
	if len(absent) > 0 {
		return configured{status: &group.StreamsStatus{Code: group.StatusMissingSourceTopics, Detail: fmt.Sprintf("Source topics %s are missing.", summary(absent))}}
	}
	c := configured{internal: decide(t, counts)}
	var names []string
	for _, i := range c.internal {
		known, ok := topics.Topic(i.Name)
		switch {
		case !ok:
			c.missing = append(c.missing, i)
			names = append(names, i.Name)
		case known.Partitions != i.Partitions:
			c.status = &group.StreamsStatus{Code: group.StatusIncorrectPartitions, Detail: fmt.Sprintf("Existing topic %s has different number of partitions: expected %d, found %d",
				i.Name, i.Partitions, known.Partitions)}
			return c
		}
	}
	if len(names) > 0 {
		c.status = &group.StreamsStatus{Code: group.StatusMissingInternalTopics, Detail: "Internal topics are missing: " + summary(names)}
		return c
	}
	c.tasks = make(map[task]bool)
	for _, s := range t.Subtopologies {
		for n := range s.Size(counts) {
			c.tasks[task{s.ID, n, false}] = len(s.Changelogs) > 0
		}
	}
	return c
}

// decide gives internal topics their partitions: a repartition topic those of
// the subtopologies that write to it, a changelog those of its own.
func decide(t *group.Topology, counts map[string]int32) []group.InternalTopic {
	for range t.Subtopologies { // one subtopology may wait for another
		for _, s := range t.Subtopologies {
			for _, sink := range s.RepartitionSinks {
				counts[sink] = max(counts[sink], s.Size(counts))
			}
			for _, r := range s.RepartitionSources {
				if r.Partitions > 0 {
					counts[r.Name] = r.Partitions
				}
			}
		}
	}
	var internal []group.InternalTopic
	for _, s := range t.Subtopologies {
		for _, r := range s.RepartitionSources {
			r.Partitions = counts[r.Name]
			internal = append(internal, r)
		}
		for _, changelog := range s.Changelogs {
			changelog.Partitions = s.Size(counts)
			internal = append(internal, changelog)
		}
	}
	slices.SortFunc(internal, func(a, b group.InternalTopic) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(internal, func(a, b group.InternalTopic) bool { return a.Name == b.Name })
}

// summary names topics, the first three of many.
func summary(names []string) string {
	names = group.SortedNames(names)
	const most = 3
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d additional topics", more)
	}
	return text
}

// describedTopology is a topology as descriptions show it: sorted, and with the
// decided numbers of partitions once all topics are there.
func describedTopology(t *group.Topology, c configured) *group.Topology {
	d := &group.Topology{Epoch: t.Epoch, Subtopologies: slices.Clone(t.Subtopologies)}
	slices.SortFunc(d.Subtopologies, func(a, b group.Subtopology) int { return cmp.Compare(a.ID, b.ID) })
	internal := func(topics []group.InternalTopic) []group.InternalTopic {
		sorted := slices.SortedFunc(slices.Values(topics), func(a, b group.InternalTopic) int { return cmp.Compare(a.Name, b.Name) })
		for i := range sorted {
			at := slices.IndexFunc(c.internal, func(decided group.InternalTopic) bool { return decided.Name == sorted[i].Name })
			if c.status == nil && at >= 0 {
				sorted[i] = c.internal[at]
			}
		}
		return sorted
	}
	for i := range d.Subtopologies {
		s := &d.Subtopologies[i]
		s.SourceTopics, s.RepartitionSinks = group.SortedNames(s.SourceTopics), group.SortedNames(s.RepartitionSinks)
		s.RepartitionSources, s.Changelogs = internal(s.RepartitionSources), internal(s.Changelogs)
	}
	return d
}

// sortedTasks is all tasks, and those of them that have state.
func (c configured) sortedTasks() (all, stateful []task) {
	all = sortedTasks(c.tasks)
	return all, slices.DeleteFunc(slices.Clone(all), func(t task) bool { return !c.tasks[t] })
}

// owns refuses tasks that there cannot be.
func (c configured) owns(owned map[task]bool) error {
	if c.tasks == nil {
		return nil
	}
	for t := range owned {
		if _, ok := c.tasks[t.as(false)]; !ok {
			return group.Refuse(kafka.ErrInvalidRequest, "Task %d for subtopology %s is invalid.", t.partition, t.subtopology)
		}
	}
	return nil
}
