package streams

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Members get what Kafka 4.3.1's StickyTaskAssignor gave them. The cases of
// testdata/sticky.txt are a line with the number of standbys and the sizes of
// subtopologies 0, 1, …, with an s for those that have state, and then one for each
// member: its process, the tasks that it has, and those that it gets, 1_0 for the
// first one of subtopology 1, with an s as a standby. Some members have come since
// the case before, and some have gone.
func TestStickyAsKafka(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "sticky.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for number, block := range strings.Split(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		first, sizes, _ := strings.Cut(lines[0], ", subtopologies ")
		standbys := intOf(t, strings.TrimPrefix(first, "standbys "))
		topology := configured{tasks: make(map[task]bool)}
		for i, size := range strings.Fields(sizes) {
			count, stateful := strings.CutSuffix(size, "s")
			for n := range intOf(t, count) {
				topology.tasks[task{strconv.Itoa(i), int32(n), false}] = stateful
			}
		}
		var members []*member
		has, want := make(map[string]map[task]bool), make(map[string]map[task]bool)
		for _, line := range lines[1:] {
			parts := strings.Split(line, ", ")
			m := &member{}
			m.id, m.processID, _ = strings.Cut(parts[0], " in ")
			members = append(members, m)
			has[m.id] = tasksOf(t, strings.TrimPrefix(parts[1], "has "))
			want[m.id] = tasksOf(t, strings.TrimPrefix(parts[2], "gets "))
		}
		got := assignTasks(members, has, topology, standbys)
		if !maps.EqualFunc(got, want, maps.Equal[map[task]bool, map[task]bool]) {
			t.Errorf("case %d:\n%s\ngives %v", number, block, got)
		}
	}
}

func TestNobodyToAssignTo(t *testing.T) {
	if got := assignTasks(nil, nil, configured{tasks: map[task]bool{{"0", 0, false}: true}}, 1); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func tasksOf(t *testing.T, list string) map[task]bool {
	t.Helper()
	tasks := make(map[task]bool)
	for _, word := range strings.Fields(list) {
		if word == "-" {
			continue
		}
		name, standby := strings.CutSuffix(word, "s")
		subtopology, partition, _ := strings.Cut(name, "_")
		tasks[task{subtopology, int32(intOf(t, partition)), standby}] = true
	}
	return tasks
}

func intOf(t *testing.T, word string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(word, &n); err != nil {
		t.Fatalf("%q: %v", word, err)
	}
	return n
}
