package group

import "slices"

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

// SourceTopics is the topics whose offsets the group commits.
func (t *Topology) SourceTopics() []string {
	var names []string
	for _, s := range t.Subtopologies {
		names = append(names, s.sources()...)
	}
	return SortedNames(names)
}

// sources is the topics that a subtopology reads.
func (s *Subtopology) sources() []string {
	names := slices.Clone(s.SourceTopics)
	for _, r := range s.RepartitionSources {
		names = append(names, r.Name)
	}
	return names
}

// Required is all topics that a topology needs.
func (t *Topology) Required() []string {
	names := t.SourceTopics()
	for _, s := range t.Subtopologies {
		for _, changelog := range s.Changelogs {
			names = append(names, changelog.Name)
		}
	}
	return SortedNames(names)
}

// Size is how many tasks a subtopology has: the most partitions of a topic that
// it reads.
func (s *Subtopology) Size(counts map[string]int32) int32 {
	size := int32(0)
	for _, name := range s.sources() {
		size = max(size, counts[name])
	}
	return size
}
