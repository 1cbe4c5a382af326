package group

import (
	"fmt"
	"slices"
	"strings"
)

// Topology is what a streams application reads and writes, as its members tell
// the coordinator (KIP-1071).
type Topology struct {
	Epoch         int32
	Subtopologies []Subtopology
}

// Subtopology is a part of a topology that is assigned partition by partition.
type Subtopology struct {
	ID                 string
	SourceTopics       []string
	SourceRegexes      []string
	RepartitionSinks   []string
	RepartitionSources []InternalTopic
	Changelogs         []InternalTopic
	CopartitionGroups  []CopartitionGroup
}

// InternalTopic is a topic that the application has made for itself.
type InternalTopic struct {
	Name              string
	Partitions        int32 // 0 to have it decided
	ReplicationFactor int16 // 0 for the broker's default
	Configs           []KeyValue
}

// CopartitionGroup is topics that must have the same number of partitions, by
// their places in the subtopology's lists.
type CopartitionGroup struct {
	SourceTopics       []int16
	SourceRegexes      []int16
	RepartitionSources []int16
}

// KeyValue is a configuration, or a tag of a client.
type KeyValue struct{ Key, Value string }

// Endpoint is where a member can be asked about its state.
type Endpoint struct {
	Host string
	Port uint16
}

// StreamsStatus is something that keeps a streams group from its work.
type StreamsStatus struct {
	Code   int8
	Detail string
}

// The statuses of streams groups, by Kafka's codes.
const (
	StatusStaleTopology         int8 = 0
	StatusMissingSourceTopics   int8 = 1
	StatusIncorrectPartitions   int8 = 2
	StatusMissingInternalTopics int8 = 3
	StatusShutdownApplication   int8 = 4
	StatusAssignmentDelayed     int8 = 5
)

// sourceTopics is the topics whose offsets the group commits.
func (t *Topology) sourceTopics() []string {
	var names []string
	for _, s := range t.Subtopologies {
		names = append(names, s.sources()...)
	}
	return sortedNames(names)
}

// sources is the topics that a subtopology reads.
func (s *Subtopology) sources() []string {
	names := slices.Clone(s.SourceTopics)
	for _, r := range s.RepartitionSources {
		names = append(names, r.Name)
	}
	return names
}

// required is all topics that a topology needs.
func (t *Topology) required() []string {
	names := t.sourceTopics()
	for _, s := range t.Subtopologies {
		for _, changelog := range s.Changelogs {
			names = append(names, changelog.Name)
		}
	}
	return sortedNames(names)
}

// configured is a topology on the topics that there are.
type configured struct {
	tasks    map[task]bool   // none unless all topics are there
	internal []InternalTopic // with their partitions decided
	missing  []InternalTopic // of them
	status   *StreamsStatus  // what is wrong; nil if nothing is
}

// configure decides how many partitions internal topics are to have, and finds
// what is missing. Whether topics that are joined have as many partitions as
// each other is not looked at.
func (t *Topology) configure(topics Topics) configured {
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
		return configured{status: &StreamsStatus{StatusMissingSourceTopics, fmt.Sprintf("Source topics %s are missing.", summary(absent))}}
	}
	c := configured{internal: t.decide(counts)}
	var names []string
	for _, i := range c.internal {
		known, ok := topics.Topic(i.Name)
		switch {
		case !ok:
			c.missing = append(c.missing, i)
			names = append(names, i.Name)
		case known.Partitions != i.Partitions:
			c.status = &StreamsStatus{StatusIncorrectPartitions, fmt.Sprintf("Existing topic %s has different number of partitions: expected %d, found %d",
				i.Name, i.Partitions, known.Partitions)}
			return c
		}
	}
	if len(names) > 0 {
		c.status = &StreamsStatus{StatusMissingInternalTopics, "Internal topics are missing: " + summary(names)}
		return c
	}
	c.tasks = make(map[task]bool)
	for _, s := range t.Subtopologies {
		for n := range s.size(counts) {
			c.tasks[task{s.ID, n}] = true
		}
	}
	return c
}

// size is how many tasks a subtopology has: the most partitions of a topic that
// it reads.
func (s *Subtopology) size(counts map[string]int32) int32 {
	size := int32(0)
	for _, name := range s.sources() {
		size = max(size, counts[name])
	}
	return size
}

// decide gives internal topics their partitions: a repartition topic those of
// the subtopologies that write to it, a changelog those of its own.
func (t *Topology) decide(counts map[string]int32) []InternalTopic {
	for range t.Subtopologies { // one subtopology may wait for another
		for _, s := range t.Subtopologies {
			for _, sink := range s.RepartitionSinks {
				counts[sink] = max(counts[sink], s.size(counts))
			}
			for _, r := range s.RepartitionSources {
				if r.Partitions > 0 {
					counts[r.Name] = r.Partitions
				}
			}
		}
	}
	var internal []InternalTopic
	for _, s := range t.Subtopologies {
		for _, r := range s.RepartitionSources {
			r.Partitions = counts[r.Name]
			internal = append(internal, r)
		}
		for _, changelog := range s.Changelogs {
			changelog.Partitions = s.size(counts)
			internal = append(internal, changelog)
		}
	}
	slices.SortFunc(internal, func(a, b InternalTopic) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(internal, func(a, b InternalTopic) bool { return a.Name == b.Name })
}

// summary names topics, the first three of many.
func summary(names []string) string {
	names = sortedNames(names)
	const most = 3
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d additional topics", more)
	}
	return text
}

// assignTasks spreads tasks evenly over members and moves as few as it can.
func assignTasks(members []*streamsMember, has map[string]map[task]bool, tasks map[task]bool) map[string]map[task]bool {
	targets := make(map[string]map[task]bool)
	free := make(map[task]bool)
	for t := range tasks {
		free[t] = true
	}
	quota, extra := len(tasks)/max(len(members), 1), len(tasks)%max(len(members), 1)
	for _, m := range members {
		targets[m.id] = make(map[task]bool)
		limit := quota
		if extra > 0 && len(has[m.id]) > quota {
			limit++
			extra--
		}
		for _, t := range sortedTasks(has[m.id]) {
			if free[t] && len(targets[m.id]) < limit {
				targets[m.id][t] = true
				delete(free, t)
			}
		}
	}
	for _, t := range sortedTasks(free) {
		to := members[0]
		for _, m := range members {
			if len(targets[m.id]) < len(targets[to.id]) {
				to = m
			}
		}
		targets[to.id][t] = true
	}
	return targets
}
