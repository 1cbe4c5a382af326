package collector

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// showGroup renders what a sample says of a group.
func showGroup(g *lag.Group) string {
	if g == nil {
		return "none"
	}
	text := fmt.Sprintf("%s/%s %s at %d", g.Type, g.ProtocolType, g.State, g.Coordinator)
	if n, ok := g.Members.Get(); ok {
		text += fmt.Sprintf(", %d members", n)
	}
	if topics, ok := g.Assignment.Get(); ok {
		text += fmt.Sprintf(", assigned %v", showAssignment(g, topics))
	}
	if !g.CommitsRead {
		return text
	}
	text += ", commits"
	for _, t := range g.Commits {
		for _, c := range t.Partitions {
			offset, ok := c.Offset.Get()
			text += fmt.Sprintf(" %s-%d@%d", t.Topic, c.Partition, offset)
			if !ok {
				text += "?"
			}
		}
	}
	return text
}

// showAssignment renders who is assigned what: the topics alone where each has
// its partition 0 with the first member.
func showAssignment(g *lag.Group, topics []lag.TopicAssignment) []string {
	var list []string
	for _, t := range topics {
		text := t.Topic
		for i, p := range t.Partitions {
			switch {
			case p.Member < 0:
				text += fmt.Sprintf(" %d on its way", p.Partition)
			case i > 0 || p.Partition > 0 || p.Member > 0:
				text += fmt.Sprintf(" %d at %s", p.Partition, g.MemberList[p.Member].ID)
			}
		}
		list = append(list, text)
	}
	return list
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		reason string
		build  func(*fake)
		want   string
		missed string
	}{
		{"F11: a classic group", func(f *fake) {
			g := f.group("g", 1).commit("orders", 0, 3)
			g.assigned = []string{"orders"}
		}, "classic/consumer Stable at 1, 1 members, assigned [orders], commits orders-0@3", "[]"},
		{"F11: a KIP-848 group", func(f *fake) {
			g := f.group("g", 2).commit("orders", 0, 3)
			g.groupType, g.members, g.assigned = "consumer", 7, []string{"payments", "orders"}
		}, "consumer/consumer Stable at 2, 7 members, assigned [orders payments], commits orders-0@3", "[]"},
		{"a broker before ListGroups v5 tells no type", func(f *fake) {
			f.group("g", 1).groupType = ""
		}, "/consumer Stable at 1, 1 members, assigned [], commits", "[]"},
		{"a share group has no commits", func(f *fake) {
			g := f.group("g", 1)
			g.groupType, g.protocol = "share", "share"
		}, "share/share Stable at 1, 1 members, assigned []", "[]"},
		{"a streams group has commits", func(f *fake) {
			g := f.group("g", 1).commit("orders", 1, 4)
			g.groupType, g.protocol = "streams", "streams"
		}, "streams/streams Stable at 1, 1 members, assigned [], commits orders-1@4", "[]"},
		{"a group that only commits", func(f *fake) {
			g := f.group("g", 1).commit("orders", 1, 4)
			g.protocol, g.state, g.members = "", "Empty", 0
		}, "classic/ Empty at 1, 0 members, assigned [], commits orders-1@4", "[]"},
		{"Connect assigns connectors, not partitions", func(f *fake) {
			g := f.group("g", 1)
			g.protocol, g.assigned = "connect", []string{"orders"}
		}, "classic/connect Stable at 1, 1 members, assigned [], commits", "[]"},
		{"no assignment is known in a rebalance", func(f *fake) {
			f.group("g", 1).state = "PreparingRebalance"
		}, "classic/consumer PreparingRebalance at 1, 1 members, commits", "[]"},
		{"F12: a commit for a partition that does not exist comes along", func(f *fake) {
			f.group("g", 1).commit("orders", 72, 500).commit("orders", 1, 4)
		}, "classic/consumer Stable at 1, 1 members, assigned [], commits orders-1@4 orders-72@500", "[]"},
		{"F09: an offset below 0 is no commit", func(f *fake) {
			f.group("g", 1).commit("orders", 0, -1).commit("orders", 1, 4)
		}, "classic/consumer Stable at 1, 1 members, assigned [], commits orders-1@4", "[]"},
		{"F25: odd names", func(f *fake) {
			f.group("a:\"\\\n", 1)
			f.group("g", 2)
			f.group("", 1)
		}, "classic/consumer Stable at 2, 1 members, assigned [], commits", "[]"},
		{"not authorized", func(f *fake) {
			f.group("g", 1).errorCode = 30
		}, "classic/consumer Stable at 1, 1 members, assigned []", "[group g: unauthorized 1]"},
		{"its coordinator is loading", func(f *fake) {
			f.group("g", 1).errorCode = 14
		}, "classic/consumer Stable at 1, 1 members, assigned []", "[group g: no_coordinator 1]"},
		{"deleted since it was listed", func(f *fake) {
			f.group("g", 1).errorCode = 69
		}, "none", "[]"},
	} {
		for _, versions := range []map[kmsg.Key]int16{nil, before30} {
			t.Run(fmt.Sprint(c.reason, versions), func(t *testing.T) {
				f := newFake(2)
				f.highest = versions
				f.topic("orders", 2)
				c.build(f)
				sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
				if got := showGroup(groupNamed(sample, "g")); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if got := missed(sample); got != c.missed {
					t.Errorf("missed %s, want %s", got, c.missed)
				}
				if !slices.IsSortedFunc(sample.Groups, func(a, b lag.Group) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) }) {
					t.Errorf("groups are not in order")
				}
			})
		}
	}
}

func TestPartitionErrorInCommitsIsNoCommit(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 2)
	f.group("g", 1)
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() != kmsg.OffsetFetch.Int16() {
			return nil, nil
		}
		resp := kmsg.NewPtrOffsetFetchResponse()
		resp.Version = req.GetVersion()
		resp.Groups = []kmsg.OffsetFetchResponseGroup{{Group: "g", Topics: []kmsg.OffsetFetchResponseGroupTopic{{
			Topic: "orders", Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{{Partition: 1, Offset: -1, ErrorCode: 29}, {Partition: 0, Offset: 3}},
		}}}}
		return resp, nil
	}
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if got, want := showGroup(groupNamed(sample, "g")), "classic/consumer Stable at 1, 1 members, assigned [], commits orders-0@3 orders-1@0?"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := missed(sample), "[group g: unauthorized 1]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
}

// A Kafka that is asked for all commits of a group while it commits may name a
// partition twice. A series that stands twice would cost the page.
func TestCommitsThatAreNamedTwice(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 2)
	f.topic("parcels", 1)
	f.group("g", 1)
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() != kmsg.OffsetFetch.Int16() {
			return nil, nil
		}
		topic := func(name string, partitions ...kmsg.OffsetFetchResponseGroupTopicPartition) kmsg.OffsetFetchResponseGroupTopic {
			return kmsg.OffsetFetchResponseGroupTopic{Topic: name, Partitions: partitions}
		}
		at := func(partition int32, offset int64) kmsg.OffsetFetchResponseGroupTopicPartition {
			return kmsg.OffsetFetchResponseGroupTopicPartition{Partition: partition, Offset: offset}
		}
		resp := kmsg.NewPtrOffsetFetchResponse()
		resp.Version = req.GetVersion()
		resp.Groups = []kmsg.OffsetFetchResponseGroup{{Group: "g", Topics: []kmsg.OffsetFetchResponseGroupTopic{
			topic("parcels", at(0, 7)),
			topic("orders", at(1, 4), at(0, 3), at(1, 6), at(1, 5)),
			topic("parcels", at(0, 7)),
		}}}
		return resp, nil
	}
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if got, want := showGroup(groupNamed(sample, "g")), "classic/consumer Stable at 1, 1 members, assigned [], commits orders-0@3 orders-1@6 parcels-0@7"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGroupMovesInTheSweep(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 1)
	g := f.group("g", 1).commit("orders", 0, 3)
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() == kmsg.OffsetFetch.Int16() {
			g.coordinator, g.hidden = 2, true // after it was listed and described at 1
		}
		return nil, nil
	}
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if got, want := showGroup(groupNamed(sample, "g")), "classic/consumer Stable at 2, 1 members, assigned [], commits orders-0@3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(sample.Missed) > 0 {
		t.Errorf("missed %s", missed(sample))
	}
	calls := f.take()
	if n := count(calls)["FindCoordinator"]; n != 1 {
		t.Errorf("%d FindCoordinator requests, want 1", n)
	}
	read := slices.IndexFunc(calls, func(c call) bool { return c.name == "high watermark" })
	fetched := slices.IndexFunc(calls, func(c call) bool { return c == call{2, "OffsetFetch"} })
	if fetched < 0 || read < fetched {
		t.Errorf("the commits were not read before the high watermark:\n%s", names(calls))
	}
}

// TestGroupThatNobodyLists is a coordinator's failover: for a moment every
// broker answers without an error, and none lists the group.
func TestGroupThatNobodyLists(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 1)
	g := f.group("g", 1).commit("orders", 0, 3)
	s := NewSweeper(f, Options{Serial: true})
	s.Sweep(t.Context())

	g.hidden, g.coordinator = true, 2
	for _, c := range []struct {
		reason    string
		errorCode int16
		want      string
		missed    string
	}{
		{"the new coordinator loads", 14, "none", "[group g: no_coordinator 1]"},
		{"the new coordinator knows it", 0, "classic/consumer  at 2, commits orders-0@3", "[]"},
	} {
		g.errorCode = c.errorCode
		sample := s.Sweep(t.Context())
		if got := showGroup(groupNamed(sample, "g")); got != c.want {
			t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
		}
		if got := missed(sample); got != c.missed {
			t.Errorf("%s: missed %s, want %s", c.reason, got, c.missed)
		}
	}

	g.hidden = false
	if got, want := showGroup(groupNamed(s.Sweep(t.Context()), "g")), "classic/consumer Stable at 2, 1 members, assigned [], commits orders-0@3"; got != want {
		t.Errorf("listed again: got %s, want %s", got, want)
	}
}

// TestBrokerThatLoads: while it loads a part of its groups, a broker answers an
// error in place of its list. Groups of the sweep before are asked for by name.
func TestBrokerThatLoads(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 2)
	f.group("elsewhere", 2).commit("orders", 0, 1)
	f.group("loaded", 1).commit("orders", 0, 3)
	f.group("empty", 1)
	f.group("modern", 1).commit("orders", 1, 4).groupType = "consumer"
	f.group("sharing", 1).groupType = "share"
	loads := f.group("loads", 1).commit("orders", 0, 5)
	f.group("deleted", 1).commit("orders", 1, 6)
	f.group("moves", 1).commit("orders", 1, 7)
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	if sample := s.Sweep(t.Context()); len(sample.Groups) != 8 || len(sample.Missed) > 0 {
		t.Fatalf("%d groups, missed %s", len(sample.Groups), missed(sample))
	}
	f.take()

	loading := true
	f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
		if loading && broker == 1 && req.Key() == kmsg.ListGroups.Int16() {
			resp := kmsg.NewPtrListGroupsResponse()
			resp.Version, resp.ErrorCode = req.GetVersion(), 14
			return resp, nil
		}
		return nil, nil
	}
	loads.errorCode, loads.describeError = 14, 14
	f.groups = slices.DeleteFunc(f.groups, func(g *fakeGroup) bool { return g.name == "deleted" })
	moves := f.byName()["moves"]
	moves.coordinator, moves.hidden = 2, true
	f.group("unheard of", 1)
	for i := range 2 {
		sample := s.Sweep(t.Context())
		for name, want := range map[string]string{
			"elsewhere":  "classic/consumer Stable at 2, 1 members, assigned [], commits orders-0@1",
			"loaded":     "classic/consumer Stable at 1, 1 members, assigned [], commits orders-0@3",
			"empty":      "classic/consumer Stable at 1, 1 members, assigned [], commits",
			"modern":     "consumer/consumer Stable at 1, 1 members, assigned [], commits orders-1@4",
			"sharing":    "share/consumer Stable at 1, 1 members, assigned []",
			"moves":      "classic/consumer  at 2, commits orders-1@7",
			"loads":      "none",
			"deleted":    "none",
			"unheard of": "none",
		} {
			if got := showGroup(groupNamed(sample, name)); got != want {
				t.Errorf("sweep %d: %s is %s, want %s", i, name, got, want)
			}
		}
		wantMissed := "[broker 1: no_coordinator 1 group loads: no_coordinator 1 group moves: no_coordinator 1]"
		if i > 0 {
			wantMissed = "[broker 1: no_coordinator 1 group loads: no_coordinator 1]"
		}
		if got := missed(sample); got != wantMissed {
			t.Errorf("sweep %d: missed %s, want %s", i, got, wantMissed)
		}
		if n := len(f.take()); n > 2+8*2+2 { // and the share group's description and offsets
			t.Errorf("sweep %d: %d requests", i, n)
		}
	}
	loading, moves.hidden = false, false
	loads.errorCode, loads.describeError = 0, 0
	if sample := s.Sweep(t.Context()); len(sample.Groups) != 8 || len(sample.Missed) > 0 {
		t.Errorf("loaded: %d groups, missed %s", len(sample.Groups), missed(sample))
	}
}

// TestGroupsThatMoveLeaveTheOffsetsTheirRequests: where the description of all
// kinds of groups leaves no request to spare, a group that moved is missed, and
// no broker's offsets are.
func TestGroupsThatMoveLeaveTheOffsetsTheirRequests(t *testing.T) {
	f := newFake(2)
	topic := f.topic("orders", 4)
	for i, broker := range f.brokers {
		f.group(fmt.Sprint("classic", i), broker).commit("orders", 0, 3)
		f.group(fmt.Sprint("modern", i), broker).groupType = "consumer"
	}
	g := f.group("moved", 1).commit("orders", 1, 3)
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	s.Sweep(t.Context())
	f.take()

	g.hidden, g.coordinator = true, 2
	sample := s.Sweep(t.Context())
	if n := len(f.take()); n > 2+8*2 {
		t.Errorf("%d requests, want at most %d", n, 2+8*2)
	}
	for i := range topic.partitions {
		if got := offsets(partition(t, sample, "orders", i)); got != "0 5 7 9" {
			t.Errorf("partition %d has offsets %s", i, got)
		}
	}
	if got, want := missed(sample), "[group moved: no_coordinator 1]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
}

// TestDeletedGroup is F14 a: gone at the next sweep, and asked about once.
func TestDeletedGroup(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 1)
	f.group("g", 2).commit("orders", 0, 3)
	f.group("other", 1)
	s := NewSweeper(f, Options{Serial: true})
	s.Sweep(t.Context())
	f.groups = f.groups[1:]
	f.take()
	for i, want := range []int{1, 0} {
		sample := s.Sweep(t.Context())
		if got := showGroup(groupNamed(sample, "g")); got != "none" || len(sample.Missed) > 0 {
			t.Errorf("sweep %d: got %s, missed %s", i, got, missed(sample))
		}
		if got := count(f.take())["FindCoordinator"]; got != want {
			t.Errorf("sweep %d: %d FindCoordinator requests, want %d", i, got, want)
		}
	}
}

// TestGroupListedTwice is a broker that does not know yet that it is not the
// coordinator any more.
func TestGroupListedTwice(t *testing.T) {
	for _, stale := range []int32{1, 2} {
		f := newFake(2)
		f.topic("orders", 1)
		f.group("g", 3-stale).commit("orders", 0, 3)
		f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
			if broker != stale || req.Key() != kmsg.ListGroups.Int16() {
				return nil, nil
			}
			resp := kmsg.NewPtrListGroupsResponse()
			resp.Version = req.GetVersion()
			resp.Groups = []kmsg.ListGroupsResponseGroup{{Group: "g", ProtocolType: "consumer", GroupState: "Stable", GroupType: "classic"}}
			return resp, nil
		}
		sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
		if len(sample.Groups) != 1 || sample.Groups[0].Coordinator != lag.BrokerID(3-stale) || !sample.Groups[0].CommitsRead {
			t.Errorf("broker %d is stale: groups %+v", stale, sample.Groups)
		}
	}
}

// TestGroupSplitsFollowWhatWasSeen: the number of commits and members of the
// last sweep decides how many groups a request asks for.
func TestGroupSplitsFollowWhatWasSeen(t *testing.T) {
	f := newFake(1)
	topic := f.topic("orders", 30_000)
	for i := range 4 {
		g := f.group(fmt.Sprint("g", i), 1)
		g.members = 15_000
		for n := range topic.partitions {
			g.commit("orders", int32(n), 3)
		}
	}
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	s.Sweep(t.Context())
	f.take()
	sample := s.Sweep(t.Context())
	got := count(f.take())
	want := map[string]int{
		"Metadata": 1, "ListGroups": 1, "DescribeGroups": 4, "OffsetFetch": 2,
		"log start offset": 1, "high watermark": 1, "last stable offset": 1, "log end offset": 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
	for i := range sample.Groups {
		if g := &sample.Groups[i]; !g.CommitsRead || g.Members != lag.Known(15_000) {
			t.Errorf("group %s was not read whole", g.Name)
		}
	}
}
