package assignment

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Members get what Kafka 4.3.1's UniformAssignor gave them, to the last partition.
// The cases of testdata/uniform.txt are a line with the sizes of topics 0, 1, … and
// then one for each member: the topics to which it subscribes, the partitions that it
// has, 2-0 for the first one of topic 2, and those that it gets. Some members have
// come since the case before, and some have gone.
func TestUniformAsKafka(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "uniform.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for number, block := range strings.Split(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		var sizes []int32
		for _, word := range strings.Fields(lines[0])[1:] {
			sizes = append(sizes, int32(numberOf(t, word)))
		}
		var members []Assignee
		want := make(map[string]Set)
		for _, line := range lines[1:] {
			parts := strings.Split(line, ", ")
			id, subscribed, _ := strings.Cut(parts[0], " subscribes ")
			m := Assignee{ID: id, Topics: make(map[kafka.TopicID]int32), Has: partitionsOf(t, strings.TrimPrefix(parts[1], "has "))}
			for _, word := range words(subscribed) {
				n := numberOf(t, word)
				m.Topics[topicOf(n)] = sizes[n]
			}
			members = append(members, m)
			want[id] = partitionsOf(t, strings.TrimPrefix(parts[2], "gets "))
		}
		if got := Uniform(members); !maps.EqualFunc(got, want, maps.Equal[Set, Set]) {
			t.Errorf("case %d:\n%s\ngives %v", number, block, got)
		}
	}
}

// topicOf is the id of a topic: two numbers of 64 bits, the first one negative for
// some.
func topicOf(n int) kafka.TopicID {
	high := int64(n + 1)
	if n%3 == 2 {
		high = -high
	}
	id := kafka.TopicID{15: 77}
	binary.BigEndian.PutUint64(id[:], uint64(high))
	return id
}

// words are those of a list, which is - if it has none.
func words(list string) []string {
	if list == "-" {
		return nil
	}
	return strings.Fields(list)
}

func partitionsOf(t *testing.T, list string) Set {
	t.Helper()
	s := make(Set)
	for _, word := range words(list) {
		topic, partition, _ := strings.Cut(word, "-")
		s[Partition{topicOf(numberOf(t, topic)), int32(numberOf(t, partition))}] = true
	}
	return s
}

func numberOf(t *testing.T, word string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(word, &n); err != nil {
		t.Fatalf("%q: %v", word, err)
	}
	return n
}
