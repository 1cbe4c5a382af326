package collector

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// teamA matches the transactional ids of one of the teams of these tests.
var teamA = regexp.MustCompile("^(?s:a-.*)$")

// twoTeams returns a cluster on which a-1 and b-1 write orders-0 and payments-0,
// coordinated by brokers 1 and 2.
func twoTeams() (*fake, *fakeTransaction, *fakeTransaction) {
	f := newFake(2)
	f.topic(transactionStateTopic, 2)
	orders, payments := f.topic("orders", 2), f.topic("payments", 2)
	f.group("billing", 1).commit("orders", 0, 3)
	return f, f.transaction("a-1", 1, 100, orders, 0, 1), f.transaction("b-1", 2, 200, payments, 0, 1)
}

// TestScopeOfIDs: only the partitions that ids of the scope write are asked for;
// they stay when a transaction has ended, and go when the id is forgotten.
func TestScopeOfIDs(t *testing.T) {
	f, ours, _ := twoTeams()
	s := NewSweeper(f, Options{Serial: true, TransactionalIDs: teamA, Disabled: noLookUps})
	asked := make(map[string]bool)
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		switch r := req.(type) {
		case *kmsg.ListOffsetsRequest:
			noteOffsets(asked, r)
		case *kmsg.ListTransactionsRequest:
			if p := *r.TransactionalIDPattern; p != teamA.String() {
				t.Errorf("a broker is sent the expression %q", p)
			}
		case *kmsg.DescribeTransactionsRequest:
			for _, id := range r.TransactionalIDs {
				asked[id] = true
			}
		}
		return nil, nil
	}
	const first, both = "orders-0 0 5 7 9, ", "orders-0 0 5 7 9, orders-1 0 5 7 9, "
	for _, step := range []struct {
		reason string
		change func()
		want   string
		asked  []string
	}{
		{"open", func() {}, first, []string{"a-1", "orders-0"}},
		{"on brokers that list all ids", func() { f.oldLists = true }, first, []string{"a-1", "orders-0"}},
		{"end markers on their way", func() { ours.state = "PrepareCommit" }, first, []string{"a-1", "orders-0"}},
		{"ended", func() { ours.state, ours.topics = "CompleteCommit", nil }, first, []string{"orders-0"}},
		{"another transaction", func() { ours.state, ours.topics = "Ongoing", map[string][]int32{"orders": {1}} }, both, []string{"a-1", "orders-0", "orders-1"}},
		{"loading", func() { f.coordinators = map[int32]int16{1: 14} }, both, []string{"orders-0", "orders-1"}},
		{"loading on", func() {}, both, []string{"orders-0", "orders-1"}},
		{"loading still", func() {}, both, []string{"orders-0", "orders-1"}},
		{"unaware", func() { f.coordinators, f.unaware = nil, map[int32]bool{1: true} }, both, []string{"orders-0", "orders-1"}},
		{"unaware still", func() {}, both, []string{"orders-0", "orders-1"}},
		{"back", func() { f.unaware, ours.state, ours.topics = nil, "Empty", nil }, both, []string{"orders-0", "orders-1"}},
		{"forgotten", func() { ours.id = "b-2" }, both, []string{"orders-0", "orders-1"}},
		{"forgotten still", func() {}, both, []string{"orders-0", "orders-1"}},
		{"forgotten for good", func() {}, "", nil},
	} {
		step.change()
		f.take()
		clear(asked)
		sample := s.Sweep(t.Context())
		if got := shownBy(sample); got != step.want {
			t.Errorf("%s: got %q, want %q", step.reason, got, step.want)
		}
		if got := slices.Sorted(maps.Keys(asked)); !slices.Equal(got, step.asked) {
			t.Errorf("%s: asked for %v, want %v", step.reason, got, step.asked)
		}
		if loads := f.coordinators != nil; (len(sample.Missed) > 0) != loads {
			t.Errorf("%s: missed %s", step.reason, missed(sample))
		}
		calls := f.take()
		for _, c := range calls {
			if slices.Contains([]string{"ListGroups", "DescribeGroups", "ConsumerGroupDescribe", "OffsetFetch"}, c.name) {
				t.Errorf("%s: asked broker %d %s", step.reason, c.broker, c.name)
			}
		}
		if n := len(calls); n > 1+6*2 {
			t.Errorf("%s: %d requests", step.reason, n)
		}
	}
}

// TestScopeOfIDsInAnotherSyntax: a broker that takes the expression for none is
// asked for all ids, with one request more and once.
func TestScopeOfIDsInAnotherSyntax(t *testing.T) {
	f, _, _ := twoTeams()
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ListTransactionsRequest); ok && r.TransactionalIDPattern != nil {
			resp := kmsg.NewPtrListTransactionsResponse()
			resp.ErrorCode = 128
			return resp, nil
		}
		return nil, nil
	}
	s := NewSweeper(f, Options{Serial: true, TransactionalIDs: teamA, Disabled: noLookUps})
	for _, lists := range []int{3, 2} {
		f.take()
		sample := s.Sweep(t.Context())
		if got := shownBy(sample); got != "orders-0 0 5 7 9, " || len(sample.Missed) > 0 {
			t.Errorf("got %q, missed %s", got, missed(sample))
		}
		n := 0
		for _, c := range f.take() {
			if c.name == "ListTransactions" {
				n++
			}
		}
		if n != lists {
			t.Errorf("%d lists, want %d", n, lists)
		}
	}
}

// TestScopeOfIDsAfterAHang: a broker that has hung costs its timeout once, and
// takes part again as soon as it answers.
func TestScopeOfIDsAfterAHang(t *testing.T) {
	f, _, _ := twoTeams()
	s := NewSweeper(f, Options{TransactionalIDs: teamA, Disabled: noLookUps, BrokerTimeout: 20 * time.Millisecond})
	f.set(func() { f.hung[1] = true })
	s.Sweep(t.Context())
	if !s.isSuspended(1) {
		t.Error("a broker that hangs is not suspended")
	}
	f.set(func() { f.hung[1] = false })
	s.wait()
	got := ""
	for range 100 { // the grace of a broker that is back is short
		if got = shownBy(s.Sweep(t.Context())); got != "" && !s.isSuspended(1) {
			break
		}
		s.wait()
	}
	if got != "orders-0 0 5 7 9, " {
		t.Errorf("got %q", got)
	}
}

// TestScopeTellsOfItsIDs: a partition that another team's transaction holds stands
// still, and no more is told of it; ids are counted that are in scope, also for
// who may describe no others.
func TestScopeTellsOfItsIDs(t *testing.T) {
	f, ours, theirs := twoTeams()
	f.scanPeriod, f.oldLists = "10000", true
	runner := NewRunner(f, Options{Serial: true, TransactionalIDs: teamA, SightID: "a-", CensusPeriod: time.Second})
	blocker := func() *lag.Blocker {
		t.Helper()
		view := runner.View()
		if len(view.Topics) != 1 || len(view.Topics[0].Partitions) != 1 {
			t.Fatalf("topics %+v", view.Topics)
		}
		return view.Topics[0].Partitions[0].Blocker
	}
	ids := func() string {
		counts, known := runner.View().TransactionalIDs.Get()
		text := ""
		for _, c := range counts {
			if c.Count > 0 {
				text += fmt.Sprintf("%s %d ", c.State, c.Count)
			}
		}
		return fmt.Sprint(text, known)
	}
	f.take()
	runner.Sweep(t.Context())
	if b := blocker(); b == nil || b.TransactionalID != "a-1" {
		t.Errorf("blocker %+v, want a-1", b)
	}
	if got := ids(); got != "Ongoing 1 true" {
		t.Errorf("ids %s", got)
	}
	// The sweep's own, the look-up's, the census'.
	if n := len(f.take()); n > (1+6*2)+(4*2+1)+2*2 {
		t.Errorf("%d requests", n)
	}

	// Another team's transaction holds the same partition.
	orders := f.topics[1].partitions[0]
	orders.producers = []fakeProducer{{theirs.producer, 0, orders.lso, 1}}
	theirs.topics = map[string][]int32{"orders": {0}}
	ours.state, ours.topics = "CompleteCommit", nil
	runner.Sweep(t.Context())
	if b := blocker(); b != nil {
		t.Errorf("told of another team's %+v", b)
	}
	if p := runner.View().Topics[0].Partitions[0]; !p.Below {
		t.Errorf("partition %+v is not below", p)
	}

	// A producer that no id is known to be of may be the team's own.
	f.onlyIDs = "a-"
	runner = NewRunner(f, Options{Serial: true, TransactionalIDs: teamA, SightID: "a-", CensusPeriod: time.Second})
	ours.state, ours.topics = "Ongoing", map[string][]int32{"orders": {0}}
	for range 3 {
		runner.Sweep(t.Context())
	}
	if b := blocker(); b == nil || b.TransactionalID != "" || b.Reason != lag.ReasonNoDescribeOnTransactionalID {
		t.Errorf("blocker %+v, want one whose id may be hidden", b)
	}
	if got := ids(); got != "Ongoing 1 true" {
		t.Errorf("ids %s for who may not describe others", got)
	}
	f.onlyIDs, f.denials = "", []fakeDenial{{"a-", true}}
	runner = NewRunner(f, Options{Serial: true, TransactionalIDs: teamA, SightID: "a-", CensusPeriod: time.Second})
	runner.Sweep(t.Context())
	if got := ids(); got != " false" && got != "false" {
		t.Errorf("ids %s for who may not describe them", got)
	}
	if !slices.ContainsFunc(runner.View().Missed, func(m lag.Miss) bool { return m.Kind == lag.MissUnauthorized }) {
		t.Errorf("missed %v, want that rights lack", runner.View().Missed)
	}
}
