package lag

import (
	"time"
)

// start is when the histories of the tests begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns the window of an answer that came some seconds after start.
func at(seconds float64) *Window {
	t := start.Add(time.Duration(seconds * float64(time.Second)))
	return &Window{Sent: t, Answered: t}
}

// none stands for an offset that was not read.
const none = -1

// four returns a partition whose offsets were read at some time; none is not
// read.
func four(seconds float64, number int32, logStart, lso, hwm, leo Offset) Partition {
	reading := func(o Offset) Reading {
		if o == none {
			return Reading{}
		}
		return Reading{Offset: o, Within: at(seconds)}
	}
	return Partition{
		Number: number, Leader: 1, Replicas: 3, InSync: 3,
		LogStart: reading(logStart), LastStable: reading(lso), HighWatermark: reading(hwm), LogEnd: reading(leo),
	}
}

// sampled returns the sample of a sweep that ended at some time.
func sampled(seconds float64, topics []Topic, groups ...Group) Sample {
	w := at(seconds)
	return Sample{Started: w.Sent, Ended: w.Answered, Cluster: Known(Cluster{ID: "c", Brokers: []Broker{{ID: 1}, {ID: 2}, {ID: 3}}}), Topics: topics, Groups: groups}
}

// topic returns a topic named t with an id made of one byte.
func topic(id byte, partitions ...Partition) []Topic { return []Topic{named("t", id, partitions...)} }

// named returns a topic with an id made of one byte.
func named(name string, id byte, partitions ...Partition) Topic {
	return Topic{Name: name, ID: TopicID{15: id}, Partitions: partitions}
}

// committed returns a described group named g, without assignments, with
// commits on topic t: partition 0, 1, … in order; none is no commit.
func committed(offsets ...Offset) Group {
	return groupOf(TopicCommits{Topic: "t", Partitions: commits(offsets...)})
}

// groupOf returns a described group named g without assignments.
func groupOf(topics ...TopicCommits) Group {
	return Group{
		Name: "g", Type: Classic, ProtocolType: "consumer", State: "Empty",
		Members: Known(0), Assignment: Known[[]TopicAssignment](nil), CommitsRead: true, Commits: topics,
	}
}

// commits returns the commits of partitions 0, 1, … in order; none is no
// commit.
func commits(offsets ...Offset) []Commit {
	var list []Commit
	for i, o := range offsets {
		if o != none {
			list = append(list, Commit{Partition: int32(i), Offset: Known(o)})
		}
	}
	return list
}

// assignedTo returns the assignment of partition 0 of some topics to a member,
// given by its place.
func assignedTo(member int, topics ...string) Optional[[]TopicAssignment] {
	var list []TopicAssignment
	for _, name := range topics {
		list = append(list, TopicAssignment{Topic: name, Partitions: []AssignedPartition{{0, member}}})
	}
	return Known(list)
}
