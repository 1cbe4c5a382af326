package replica

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// table holds something for partitions, by topic and number; nil stands for
// nothing. For most partitions of a topic it takes a word each, much less than a
// map by partition does.
type table[T any] map[string][]*T

func (t table[T]) get(tp kafka.TopicPartition) *T {
	if of := t[tp.Topic]; tp.Partition >= 0 && int(tp.Partition) < len(of) {
		return of[tp.Partition]
	}
	return nil
}

func (t table[T]) set(tp kafka.TopicPartition, v *T) {
	of := t[tp.Topic]
	if missing := int(tp.Partition) + 1 - len(of); missing > 0 {
		of = append(of, make([]*T, missing)...)
		t[tp.Topic] = of
	}
	of[tp.Partition] = v
}

// remove forgets what is held for a partition, if anything is.
func (t table[T]) remove(tp kafka.TopicPartition) {
	if t.get(tp) == nil {
		return
	}
	of := t[tp.Topic]
	for of[tp.Partition] = nil; len(of) > 0 && of[len(of)-1] == nil; {
		of = of[:len(of)-1]
	}
	if t[tp.Topic] = of; len(of) == 0 {
		delete(t, tp.Topic)
	}
}
