package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Pipeline judges an exactly-once pipeline by what stands in its topics: each
// record that it could read has led to one record that can be read, no less and no
// more, and those of one partition in its order.
type Pipeline struct{ Complaints }

// Output is the value that a pipeline is to write for a record that it has read: it
// names the place of that record. attempt tells it from what was written for the
// same record in a transaction that was aborted.
func Output(at Partition, offset int64, attempt int) string {
	return fmt.Sprintf("%s#%d", sourceOf(at, offset), attempt)
}

func sourceOf(at Partition, offset int64) string { return fmt.Sprintf("from %v@%d", at, offset) }

// Judge compares the committed records of the pipeline's input with those of its
// output. committed is how far its group has read.
func (p *Pipeline) Judge(input map[Partition][]Record, committed map[Partition]int64, output map[Partition][]Record) {
	made := map[string][]string{}
	for _, at := range slices.SortedFunc(maps.Keys(output), comparePartitions) {
		for _, r := range output[at] {
			source, _, _ := strings.Cut(r.Value, "#")
			made[source] = append(made[source], fmt.Sprintf("%v@%d", at, r.Offset))
		}
	}
	wanted := map[string]bool{}
	for _, at := range slices.SortedFunc(maps.Keys(input), comparePartitions) {
		for _, r := range input[at] {
			source := sourceOf(at, r.Offset)
			wanted[source] = true
			switch n := len(made[source]); {
			case r.Offset < committed[at] && n == 0:
				p.add("%v@%d was read, and nothing was written for it: a gap", at, r.Offset)
			case r.Offset >= committed[at] && n > 0:
				p.add("%v@%d was not committed as read, and %v was written for it", at, r.Offset, made[source])
			case n > 1:
				p.add("%v@%d was written %d times, at %v: a duplicate", at, r.Offset, n, made[source])
			}
		}
		p.inOrder(at, input[at], output)
	}
	for _, source := range slices.Sorted(maps.Keys(made)) {
		if !wanted[source] {
			p.add("output %q at %v is of no committed record of the input", source, made[source])
		}
	}
}

// inOrder judges that what was made of a partition stands in its order.
func (p *Pipeline) inOrder(at Partition, records []Record, output map[Partition][]Record) {
	rank := map[string]int{}
	for i, r := range records {
		rank[sourceOf(at, r.Offset)] = i
	}
	for _, to := range slices.SortedFunc(maps.Keys(output), comparePartitions) {
		last := -1
		for _, r := range output[to] {
			source, _, _ := strings.Cut(r.Value, "#")
			i, of := rank[source]
			if of && i < last {
				p.add("%v@%d is %s, which comes before what stands before it", to, r.Offset, source)
			}
			if of {
				last = i
			}
		}
	}
}
