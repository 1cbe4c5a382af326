package collector

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// TestGroupKinds: groups as people run them, each described by the request for
// its kind.
func TestGroupKinds(t *testing.T) {
	for _, c := range []struct {
		reason string
		build  func(*fake)
		want   string
		missed string
	}{
		{"members and what they are assigned", func(f *fake) {
			g := f.group("g", 1)
			g.members, g.assigned = 2, []string{"orders"}
		}, "classic/consumer Stable at 1, 2 members, assigned [orders], commits", "[]"},
		{"F11: what a member of a KIP-848 group is to get is on its way", func(f *fake) {
			g := f.group("g", 1)
			g.groupType, g.assigned, g.target = "consumer", []string{"orders"}, []string{"orders", "payments"}
		}, "consumer/consumer Stable at 1, 1 members, assigned [orders payments 0 on its way], commits", "[]"},
		{"ConsumerGroupDescribe refuses a whole group for one hidden topic", func(f *fake) {
			g := f.group("g", 1).commit("orders", 0, 3)
			g.groupType, g.describeError = "consumer", 29
		}, "consumer/consumer Stable at 1, commits orders-0@3", "[group g: unauthorized 1]"},
		{"a share group", func(f *fake) {
			g := f.group("g", 1)
			g.groupType, g.protocol, g.assigned = "share", "share", []string{"orders"}
			g.shares = map[string][]fakeShare{"orders": {{5, 6}, {-1, -1}}}
		}, "share/share Stable at 1, 1 members, assigned [orders], shares orders-0@5+6 orders-1@-", "[]"},
		{"a streams group is assigned tasks: partitions of all source topics of a subtopology", func(f *fake) {
			g := f.group("g", 1).commit("orders", 1, 4)
			g.groupType, g.protocol = "streams", "streams"
			g.sources, g.repartition, g.tasks = []string{"orders", "payments"}, []string{"orders-repartition"}, map[string]int32{"0": 1}
		}, "streams/streams Stable at 1, 1 members, assigned [orders 1 at m0 orders-repartition 1 at m0], commits orders-1@4", "[]"},
		{"a subtopology that the topology does not have", func(f *fake) {
			g := f.group("g", 1)
			g.groupType, g.protocol, g.sources, g.tasks = "streams", "streams", []string{"orders"}, map[string]int32{"7": 0}
		}, "streams/streams Stable at 1, 1 members, assigned [], commits", "[]"},
		{"StreamsGroupDescribe is refused", func(f *fake) {
			g := f.group("g", 1).commit("orders", 1, 4)
			g.groupType, g.protocol, g.describeError = "streams", "streams", 29
		}, "streams/streams Stable at 1, commits orders-1@4", "[group g: unauthorized 1]"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := newFake(2)
			f.topic("orders", 2)
			f.topic("payments", 1)
			f.topic("orders-repartition", 2)
			c.build(f)
			sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
			g := groupNamed(sample, "g")
			got := showGroup(g)
			if shares, ok := g.Shares.Get(); ok {
				got += ", shares" + showShares(shares)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := missed(sample); got != c.missed {
				t.Errorf("missed %s, want %s", got, c.missed)
			}
			for _, m := range g.MemberList {
				if m.ClientID != "client" || m.Host != "/127.0.0.1" {
					t.Errorf("member %+v", m)
				}
			}
		})
	}
}

// showShares renders where a share group is.
func showShares(topics []lag.TopicShares) (text string) {
	for _, t := range topics {
		for _, p := range t.Partitions {
			start, known := p.Start.Get()
			if !known {
				text += fmt.Sprintf(" %s-%d@-", t.Topic, p.Partition)
				continue
			}
			lag, _ := p.Lag.Get()
			text += fmt.Sprintf(" %s-%d@%d+%d", t.Topic, p.Partition, start, lag)
		}
	}
	return text
}

// TestAssignmentsAreNotGuessed: an assignment of another protocol is never
// decoded, even if it happens to look like one of the consumers'.
func TestAssignmentsAreNotGuessed(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 1)
	g := f.group("g", 1)
	g.protocol, g.assigned = "connect", []string{"orders"}
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if a, known := groupNamed(sample, "g").Assignment.Get(); !known || len(a) > 0 {
		t.Errorf("assignment %v, known %v", a, known)
	}
}

// TestRequestsForKindsOfGroups: a broker without groups of a kind is not asked to
// describe any.
func TestRequestsForKindsOfGroups(t *testing.T) {
	f := newFake(3)
	f.topic("orders", 1)
	for i, kind := range []string{"classic", "consumer", "share", "streams", "share"} {
		g := f.group(fmt.Sprint("g", i), int32(i%3+1))
		g.groupType = kind
	}
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	s.Sweep(t.Context())
	got := count(f.take())
	for _, offsets := range []string{"log start offset", "high watermark", "last stable offset", "log end offset", "Metadata"} {
		delete(got, offsets)
	}
	want := map[string]int{
		"ListGroups": 3, "DescribeGroups": 1, "ConsumerGroupDescribe": 1, "ShareGroupDescribe": 2, "StreamsGroupDescribe": 1,
		"OffsetFetch": 2, "DescribeShareGroupOffsets": 2, // the third coordinates a share group alone
	}
	if !maps.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
}

// TestHiddenTopics: a topic that a group is assigned and that this principal may
// not describe is counted; one that was deleted is not. Neither is asked about
// twice.
func TestHiddenTopics(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 1)
	f.topic("secret", 1).partitions[0].hidden = true
	f.group("g", 1).commit("orders", 0, 3).commit("secret", 0, 3).assigned = []string{"secret", "gone", "left-out"}
	f.group("h", 1).assigned = []string{"orders"}
	s := NewSweeper(f, Options{Serial: true, Topics: func(name string) bool { return name != "left-out" }})
	for i, metadata := range []int{2, 1, 1} {
		sample := s.Sweep(t.Context())
		if got, want := missed(sample), "[group g: unauthorized 1]"; got != want {
			t.Errorf("sweep %d: missed %s, want %s", i, got, want)
		}
		if got := count(f.take())["Metadata"]; got != metadata {
			t.Errorf("sweep %d: %d Metadata requests, want %d", i, got, metadata)
		}
	}
	f.topics[1].partitions[0].hidden = false // the right is granted
	if sample := s.Sweep(t.Context()); len(sample.Missed) > 0 {
		t.Errorf("missed %s", missed(sample))
	}
}

// TestPendingCommits: what is asked, and of which groups.
func TestPendingCommits(t *testing.T) {
	build := func() *fake {
		f := newFake(2)
		f.topic("orders", 3)
		f.topic("payments", 2)
		f.topic("refunds", 1)
		offsets := f.topic(offsetsTopic, 2)
		for _, p := range offsets.partitions {
			p.lso, p.hwm, p.leo = 7, 7, 7
		}
		return f
	}
	// By String.hashCode, "g" (103) is kept in partition 1 of two, "h" in 0.
	for _, c := range []struct {
		reason   string
		change   func(f *fake, g *fakeGroup)
		options  Options
		want     string
		requests int
		missed   string
	}{
		{reason: "no transaction is open on its partition", want: "[]", missed: "[]"},
		{reason: "one is, and nothing is pending", requests: 1, want: "[]", missed: "[]",
			change: func(f *fake, g *fakeGroup) { f.below(1) }},
		{reason: "one is, on the partition of another group", want: "[]", missed: "[]",
			change: func(f *fake, g *fakeGroup) {
				f.below(0)
				g.pending = map[string][]int32{"orders": {0}}
			}},
		{reason: "pending, with a commit and without one, on a topic with a commit and on one that is assigned", requests: 1,
			want: "[{orders [0 2]} {payments [1]}]", missed: "[]",
			change: func(f *fake, g *fakeGroup) {
				f.below(1)
				g.pending = map[string][]int32{"orders": {2, 0}, "payments": {1}, "refunds": {0}}
			}},
		{reason: "switched off", want: "unknown", missed: "[]", options: Options{NoPendingCommits: true},
			change: func(f *fake, g *fakeGroup) { f.below(1) }},
		{reason: "its partition has no leader", want: "unknown", missed: "[topic __consumer_offsets: no_leader 1]",
			change: func(f *fake, g *fakeGroup) { f.topics[3].partitions[1].leader = -1 }},
		{reason: "__consumer_offsets is left out", want: "unknown", missed: "[]",
			options: Options{Topics: func(name string) bool { return name != offsetsTopic }},
			change:  func(f *fake, g *fakeGroup) { f.below(1) }},
	} {
		for _, versions := range []map[kmsg.Key]int16{nil, before30} {
			t.Run(fmt.Sprint(c.reason, versions), func(t *testing.T) {
				f := build()
				f.highest = versions
				g := f.group("g", 2).commit("orders", 0, 3)
				g.assigned = []string{"payments"}
				if c.change != nil {
					c.change(f, g)
				}
				options := c.options
				options.Serial, options.Disabled = true, noLookUps
				sample := NewSweeper(f, options).Sweep(t.Context())
				if got := pendingOf(sample, "g"); got != c.want {
					t.Errorf("pending %s, want %s", got, c.want)
				}
				if n := count(f.take())[askPending]; n != c.requests {
					t.Errorf("%d requests, want %d", n, c.requests)
				}
				if got := missed(sample); got != c.missed {
					t.Errorf("missed %s, want %s", got, c.missed)
				}
			})
		}
	}
}

// pendingOf renders the partitions for which a group has pending commits.
func pendingOf(s lag.Sample, group string) string {
	pending, known := groupNamed(s, group).Pending.Get()
	if !known {
		return "unknown"
	}
	return fmt.Sprint(pending)
}

// below opens a transaction on a partition of __consumer_offsets.
func (f *fake) below(partition int) {
	p := f.topics[3].partitions[partition]
	p.hwm, p.leo = 9, 9
}

// TestDatesAreAskedInRounds: each question of a round goes to the leader with
// those of its other partitions, and the next round knows the answers.
func TestDatesAreAskedInRounds(t *testing.T) {
	f := newFake(2)
	topic := f.topic("orders", 4)
	for _, p := range topic.partitions {
		p.hwm = 100
		for o := range int64(100) {
			p.dated = append(p.dated, 1000*o)
		}
	}
	topic.partitions[3].errors[timeIndex] = 6
	seen := map[int]int{}
	advisor := fixed{dates: func(s *lag.Sample) []lag.WantedDate {
		var wants []lag.WantedDate
		for i := range s.Topics[0].Partitions {
			p := &s.Topics[0].Partitions[i]
			seen[i] = len(p.Datings)
			if i == 0 && len(p.Datings) == 2 {
				continue // it knows enough
			}
			wants = append(wants, lag.WantedDate{Topic: "orders", Partition: p.Number, Timestamp: milli(10_500 + 1000*len(p.Datings))})
		}
		return wants
	}}
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	s.consult(advisor)
	sample := s.Sweep(t.Context())
	if n := count(f.take())[askDates]; n != 2*maxDateRounds {
		t.Errorf("%d requests, want %d", n, 2*maxDateRounds)
	}
	for i, want := range []int{2, 4, 4, 0} {
		p := partition(t, sample, "orders", i)
		if len(p.Datings) != want {
			t.Errorf("partition %d: %d answers, want %d", i, len(p.Datings), want)
		}
		for n, d := range p.Datings {
			if offset, ok := d.Offset.Get(); !ok || int(offset) != 11+n || !d.Dated.Equal(milli(11_000+1000*n)) {
				t.Errorf("partition %d: answer %d is %+v", i, n, d)
			}
		}
	}

	s = NewSweeper(f, Options{Serial: true, Disabled: noLookUps, NoTimeIndex: true})
	s.consult(advisor)
	f.take()
	s.Sweep(t.Context())
	if n := count(f.take())[askDates]; n != 0 {
		t.Errorf("%d requests although switched off", n)
	}
}

// TestOptionalRequestsAreCountedApart: under names of their own, so that nobody
// takes them for what every sweep costs.
func TestOptionalRequestsAreCountedApart(t *testing.T) {
	f := newFake(1)
	p := f.topic("orders", 1).partitions[0]
	p.dated = []int64{0, 1, 2, 3, 4, 5, 6}
	f.topic(offsetsTopic, 1)
	f.group("g", 1).commit("orders", 0, 3)
	o := &recorder{}
	s := NewSweeper(f, Options{Serial: true, Observer: o, Disabled: noLookUps})
	s.consult(fixed{
		fetches: []lag.WantedFetch{{Topic: "orders", From: 3}},
		dates: func(s *lag.Sample) []lag.WantedDate {
			return []lag.WantedDate{{Topic: "orders", Timestamp: milli(0)}}
		},
	})
	s.Sweep(t.Context())
	for _, api := range []string{askPending, askDates, askRecords} {
		found := 0
		for request, n := range o.requests {
			if len(request) > len(api) && request[:len(api)+1] == api+" " && request[len(api)+1] == '1' {
				found += n
			}
		}
		if want := map[string]int{askPending: 1, askDates: maxDateRounds, askRecords: 1}[api]; found != want {
			t.Errorf("%d requests %q, want %d: %v", found, api, want, o.requests)
		}
	}
}

// milli is a moment in milliseconds.
func milli(ms int) time.Time { return time.UnixMilli(int64(ms)) }
