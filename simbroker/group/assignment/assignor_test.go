package assignment

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// idA and idB are the topics that members subscribe to.
var (
	idA = kafka.TopicID{0: 1, 15: 9}
	idB = kafka.TopicID{0: 2, 15: 9}
)

// show is targets as "a: A0 A1, b: B0".
func show(targets map[string]Set) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		var names []string
		for _, p := range Sorted(targets[id]) {
			names = append(names, fmt.Sprintf("%c%d", 'A'+p.Topic[0]-1, p.Number))
		}
		parts = append(parts, id+": "+strings.Join(names, " "))
	}
	return strings.Join(parts, ", ")
}

func sizes(a, b int32) map[kafka.TopicID]int32 {
	m := make(map[kafka.TopicID]int32)
	if a > 0 {
		m[idA] = a
	}
	if b > 0 {
		m[idB] = b
	}
	return m
}

func set(topic kafka.TopicID, partitions ...int32) Set {
	s := make(Set)
	for _, n := range partitions {
		s[Partition{topic, n}] = true
	}
	return s
}

func TestAssignors(t *testing.T) {
	for _, test := range []struct {
		name    string
		assign  func([]Assignee) map[string]Set
		members []Assignee
		want    string
	}{
		{"range: the first ones get one more of each topic", Range,
			[]Assignee{{ID: "a", Topics: sizes(3, 1)}, {ID: "b", Topics: sizes(3, 1)}}, "a: A0 A1 B0, b: A2"},
		{"range: static members come first, by instance id", Range,
			[]Assignee{{ID: "a", Topics: sizes(3, 0)}, {ID: "b", InstanceID: new("2"), Topics: sizes(3, 0)}, {ID: "c", InstanceID: new("1"), Topics: sizes(3, 0)}},
			"a: A2, b: A1, c: A0"},
		{"range: different topics", Range,
			[]Assignee{{ID: "a", Topics: sizes(2, 0)}, {ID: "b", Topics: sizes(2, 2)}}, "a: A0, b: A1 B0 B1"},
		{"range: more members than partitions", Range,
			[]Assignee{{ID: "a", Topics: sizes(1, 0)}, {ID: "b", Topics: sizes(1, 0)}}, "a: A0, b: "},
		{"uniform: across topics", Uniform,
			[]Assignee{{ID: "a", Topics: sizes(3, 1)}, {ID: "b", Topics: sizes(3, 1)}}, "a: A0 A1, b: A2 B0"},
		{"uniform: a new member takes only its share", Uniform,
			[]Assignee{{ID: "a", Topics: sizes(4, 0), Has: set(idA, 0, 1, 2, 3)}, {ID: "b", Topics: sizes(4, 0)}}, "a: A0 A1, b: A2 A3"},
		{"uniform: nothing moves when a member leaves but its own", Uniform,
			[]Assignee{{ID: "b", Topics: sizes(4, 0), Has: set(idA, 1, 2)}}, "b: A0 A1 A2 A3"},
		{"uniform: who has more keeps the odd one", Uniform,
			[]Assignee{{ID: "a", Topics: sizes(3, 0), Has: set(idA, 0)}, {ID: "b", Topics: sizes(3, 0), Has: set(idA, 1, 2)}}, "a: A0, b: A1 A2"},
		{"uniform: a topic that is gone", Uniform,
			[]Assignee{{ID: "a", Topics: sizes(0, 1), Has: set(idA, 0)}}, "a: B0"},
		{"uniform: different topics, as even as it goes", Uniform,
			[]Assignee{{ID: "a", Topics: sizes(4, 0), Has: set(idA, 0, 1)}, {ID: "b", Topics: sizes(4, 4), Has: set(idA, 2, 3)}}, "a: A0 A1 A2 A3, b: B0 B1 B2 B3"},
		{"uniform: nobody subscribes to anything", Uniform, []Assignee{{ID: "a"}}, "a: "},
		{"shared: fewer members than partitions", Simple,
			[]Assignee{{ID: "a", Topics: sizes(3, 0)}, {ID: "b", Topics: sizes(3, 0)}}, "a: A0 A2, b: A1"},
		{"shared: more members than partitions share them", Simple,
			[]Assignee{{ID: "a", Topics: sizes(1, 0)}, {ID: "b", Topics: sizes(1, 0)}}, "a: A0, b: A0"},
		{"shared: what somebody has stays", Simple,
			[]Assignee{{ID: "a", Topics: sizes(2, 0), Has: set(idA, 1)}, {ID: "b", Topics: sizes(2, 0)}}, "a: A1, b: A0"},
		{"shared: a new member takes over", Simple,
			[]Assignee{{ID: "a", Topics: sizes(2, 0), Has: set(idA, 0, 1)}, {ID: "b", Topics: sizes(2, 0)}}, "a: A0, b: A1"},
		{"shared: no partitions", Simple, []Assignee{{ID: "a"}}, "a: "},
	} {
		if got := show(test.assign(test.members)); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Whatever members there are, everything is assigned once to somebody who
// subscribes to it, as evenly as subscriptions allow.
func TestUniformIsCompleteAndEven(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		members := randomAssignees(random)
		for range 3 {
			targets := Uniform(members)
			if complaint := judgeUniform(members, targets); complaint != "" {
				t.Fatalf("seed %d: %s: %s", seed, complaint, show(targets))
			}
			for i := range members {
				members[i].Has = targets[members[i].ID]
			}
			if again := show(Uniform(members)); again != show(targets) {
				t.Fatalf("seed %d: a second time %s, the first %s", seed, again, show(targets))
			}
			if len(members) > 1 {
				leaves := random.IntN(len(members))
				members = slices.Delete(members, leaves, leaves+1)
			}
		}
	}
}

func randomAssignees(random *rand.Rand) []Assignee {
	var members []Assignee
	all := sizes(int32(random.IntN(6)), int32(random.IntN(6)))
	for i := range 1 + random.IntN(5) {
		m := Assignee{ID: string(rune('a' + i)), Topics: maps.Clone(all)}
		if random.IntN(3) == 0 {
			delete(m.Topics, idA)
		}
		members = append(members, m)
	}
	return members
}

func judgeUniform(members []Assignee, targets map[string]Set) string {
	count := make(map[Partition]int)
	for _, m := range members {
		for p := range targets[m.ID] {
			count[p]++
			if p.Number >= m.Topics[p.Topic] {
				return "a member has what it does not subscribe to"
			}
		}
	}
	for _, m := range members {
		for topic, size := range m.Topics {
			for n := range size {
				p := Partition{topic, n}
				if count[p] != 1 {
					return "a partition is not assigned once"
				}
				for _, other := range members {
					if targets[other.ID][p] && len(targets[other.ID]) > len(targets[m.ID])+1 {
						return "uneven"
					}
				}
			}
		}
	}
	return ""
}
