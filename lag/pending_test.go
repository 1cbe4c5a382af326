package lag

import (
	"fmt"
	"testing"
)

// TestPendingCommits: since when a group has a pending commit, told from the
// next one by what happens in the partition that keeps the group's commits.
func TestPendingCommits(t *testing.T) {
	pending := func(partitions ...int32) Optional[[]TopicPartitions] {
		if len(partitions) == 0 {
			return Known[[]TopicPartitions](nil)
		}
		return Known([]TopicPartitions{{Topic: "t", Partitions: partitions}})
	}
	unknown := Optional[[]TopicPartitions]{}
	type sight struct {
		seconds  float64
		lso, hwm Offset // of __consumer_offsets-3
		pending  Optional[[]TopicPartitions]
		want     string
	}
	for _, c := range []struct {
		reason string
		sights []sight
	}{
		{"one that stays", []sight{
			{0, 700, 702, pending(0), "[{t 0 0s}]"},
			{10, 700, 900, pending(0), "[{t 0 10s}]"},
			{20, 700, 900, pending(0), "[{t 0 20s}]"},
			{30, 900, 900, pending(), "[]"},
			{40, 900, 903, pending(0), "[{t 0 0s}]"},
		}},
		{"a partition without any commit", []sight{
			{0, 700, 702, pending(0, 1), "[{t 0 0s} {t 1 0s}]"},
			{10, 700, 702, pending(1), "[{t 1 10s}]"},
		}},
		{"an exactly-once pipeline that commits all the time is caught in the act each time", []sight{
			{0, 700, 702, pending(0), "[{t 0 0s}]"},
			{10, 710, 712, pending(0), "[{t 0 0s}]"},
			{20, 720, 722, pending(0), "[{t 0 0s}]"},
		}},
		{"other groups' transactions in the same partition end, this one does not", []sight{
			{0, 700, 720, pending(0), "[{t 0 0s}]"},
			{10, 710, 760, pending(0), "[{t 0 10s}]"},
		}},
		{"a coordinator that did not answer says nothing", []sight{
			{0, 700, 702, pending(0), "[{t 0 0s}]"},
			{10, 700, 702, unknown, "[]"},
			{20, 700, 702, pending(0), "[{t 0 20s}]"},
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			tracker := NewTracker(tick)
			for _, s := range c.sights {
				g := committed(5)
				g.OffsetsPartition, g.Pending = Known(int32(3)), s.pending
				topics := []Topic{named(offsetsTopic, 1, four(s.seconds, 3, 0, s.lso, s.hwm, s.hwm)), named("t", 2, four(s.seconds, 0, 0, 9, 9, 9))}
				if got := fmt.Sprint(tracker.Observe(sampled(s.seconds, topics, g)).Groups[0].Pending); got != s.want {
					t.Errorf("after %v s: %s, want %s", s.seconds, got, s.want)
				}
			}
		})
	}
}

// TestOwners: whose partition it is, and what is not assigned any more (F13).
func TestOwners(t *testing.T) {
	at := func(member int, partitions ...int32) Optional[[]TopicAssignment] {
		a := TopicAssignment{Topic: "t"}
		for _, n := range partitions {
			a.Partitions = append(a.Partitions, AssignedPartition{n, member})
		}
		return Known([]TopicAssignment{a})
	}
	members := []Member{{ID: "a", Host: "/10.0.0.1"}, {ID: "b"}}
	for _, c := range []struct {
		reason     string
		kind       GroupType
		protocol   string
		members    []Member
		assignment Optional[[]TopicAssignment]
		want       string // of partitions 0 and 1
	}{
		{"assigned", Classic, "consumer", members, at(1, 0, 1), "b b"},
		{"F13: a partition that nobody is assigned any more", Classic, "consumer", members, at(0, 1), "unassigned a"},
		{"F13: a topic that nobody is assigned any more", ConsumerGroup, "consumer", members, assignedTo(0, "new"), "unassigned unassigned"},
		{"F14: a group without members has nothing assigned, and never had to", Classic, "consumer", nil, Known[[]TopicAssignment](nil), "- -"},
		{"a partition on its way to its next owner", ConsumerGroup, "consumer", members, at(-1, 0, 1), "- -"},
		{"a classic group in a rebalance", Classic, "consumer", members, Optional[[]TopicAssignment]{}, "- -"},
		{"Connect assigns connectors, not partitions", Classic, "connect", members, Known[[]TopicAssignment](nil), "- -"},
		{"a group that only commits", Classic, "", nil, Known[[]TopicAssignment](nil), "- -"},
		{"streams", StreamsGroup, "streams", members, at(0, 0), "a unassigned"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			g := committed(5, 5)
			g.Type, g.ProtocolType, g.MemberList, g.Members, g.Assignment = c.kind, c.protocol, c.members, Known(len(c.members)), c.assignment
			v := NewTracker(tick).Observe(sampled(0, topic(1, four(0, 0, 0, 9, 9, 9), four(0, 1, 0, 9, 9, 9)), g))
			got := ""
			for i, row := range v.Groups[0].Topics[0].Partitions {
				if i > 0 {
					got += " "
				}
				switch {
				case row.Unassigned:
					got += "unassigned"
				case row.Owner != nil:
					got += row.Owner.ID
				default:
					got += "-"
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestSharesAreShownAsTheBrokerTellsThem(t *testing.T) {
	g := Group{Name: "g", Type: ShareGroup, ProtocolType: "share", Shares: Known([]TopicShares{{Topic: "t", Partitions: []SharePartition{
		{Partition: 0}, {Partition: 1, Start: Known(Offset(5)), Lag: Known(Count(6))},
	}}})}
	v := NewTracker(tick).Observe(sampled(0, topic(1, four(0, 0, 0, 9, 9, 9), four(0, 1, 0, 9, 9, 9)), g)).Groups[0]
	if len(v.Shares) != 2 || v.Shares[0].Start.IsKnown() || v.Shares[1].Start != Known(Offset(5)) || v.Shares[1].Lag != Known(Count(6)) {
		t.Errorf("shares %+v", v.Shares)
	}
	if len(v.Topics) > 0 || v.Uncommitted.IsKnown() || v.Orphans.IsKnown() {
		t.Errorf("a share group has no commits: %+v", v)
	}
}
