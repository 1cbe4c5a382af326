package collector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// watch is a sweeper of a fake and a tracker of its samples, by a clock of
// their own.
type watch struct {
	t *testing.T
	*fake
	sweeper *Sweeper
	tracker *lag.Tracker
	now     time.Time
}

// newWatch returns a watch of a cluster whose __transaction_state has a
// partition at each broker; nothing is below.
func newWatch(t *testing.T, brokers int, options Options) *watch {
	w := &watch{t: t, fake: newFake(brokers), now: time.UnixMilli(1_800_000_000_000)}
	w.stateTopic()
	options.Serial = true
	options.Now = func() time.Time { return w.now }
	w.sweeper = NewSweeper(w.fake, options)
	w.tracker = lag.NewTracker(10 * time.Second)
	w.sweeper.consult(w.tracker)
	return w
}

// stateTopic adds __transaction_state, with a partition at each broker.
func (f *fake) stateTopic() {
	for _, p := range f.topic(transactionStateTopic, len(f.brokers)).partitions {
		p.lso, p.hwm = 9, 9
	}
}

// calm adds a topic on which nothing is below.
func (f *fake) calm(name string, partitions int) *fakeTopic {
	t := f.topic(name, partitions)
	for _, p := range t.partitions {
		p.lso = p.hwm
	}
	return t
}

// sweep sweeps once, 10 s after the sweep before.
func (w *watch) sweep() *lag.View {
	w.take()
	w.now = w.now.Add(10 * time.Second)
	return w.tracker.Observe(w.sweeper.Sweep(w.t.Context()))
}

// lookUps are the requests of the last sweep beyond those of the other
// collectors, without the offsets' three steps.
func (w *watch) lookUps() string {
	var list []string
	ended := map[int32]bool{}
	for _, c := range w.take() {
		switch c.name {
		case "log end offset":
			ended[c.broker] = true
		case "DescribeProducers", "ListTransactions", "DescribeTransactions", "DescribeConfigs", "DescribeACLs":
			list = append(list, fmt.Sprintf("%d %s", c.broker, c.name))
		case "last stable offset":
			if ended[c.broker] {
				list = append(list, fmt.Sprintf("%d again", c.broker))
			}
		}
	}
	return strings.Join(list, ", ")
}

// blocker renders what holds a partition: verdict, reason, transactional id.
func blocker(v *lag.View, topic string, number int) string {
	for i := range v.Topics {
		if v.Topics[i].Name != topic {
			continue
		}
		b := v.Topics[i].Partitions[number].Blocker
		if b == nil {
			return "-"
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", b.Verdict, b.Reason, b.TransactionalID))
	}
	return "no topic " + topic
}

// pinned is a watch on partition orders-0, led by broker 1, which transaction
// x of producer 7 holds at offset 5; broker 2 coordinates it.
func pinned(t *testing.T, options Options) (*watch, *fakeTransaction) {
	w := newWatch(t, 3, options)
	orders := w.calm("orders", 3)
	orders.partitions[0].lso = 5
	return w, w.transaction("x", 2, 7, orders, 0, w.now.UnixMilli())
}

func TestLookUpGoesInItsOrder(t *testing.T) {
	w, _ := pinned(t, Options{})
	v := w.sweep()
	if got, want := w.lookUps(), "1 DescribeProducers, 1 ListTransactions, 2 ListTransactions, 3 ListTransactions, 2 DescribeTransactions, 1 again"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	b := v.Topics[1].Partitions[0].Blocker
	if got, want := blocker(v, "orders", 0), "ongoing none x"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if deadline, _ := b.Deadline.Get(); b.Age != 10*time.Second || b.AgeSource != lag.AgeByCoordinator || !deadline.Equal(w.now.Add(50*time.Second)) {
		t.Errorf("age %v by %s, deadline %v", b.Age, b.AgeSource, deadline)
	}
	if p, _ := b.Producer.Get(); p.ID != 7 || b.Coordinator != 2 {
		t.Errorf("producer %+v, coordinator %d", p, b.Coordinator)
	}
	if len(v.Missed) > 0 {
		t.Errorf("missed %v", v.Missed)
	}
}

// A sweep looks into what is below at once when it reads a broker the first
// time, and from then on into what has not moved for a moment.
func TestWhenItLooksUp(t *testing.T) {
	for _, c := range []struct {
		reason string
		after  time.Duration
		lsos   []int64 // of orders-0 in each sweep; the high watermark is 7
		looked string  // in which sweeps
	}{
		{"nothing is below", 10 * time.Second, []int64{7, 7, 7}, "---"},
		{"a busy topic, after the first sweep", 10 * time.Second, []int64{1, 2, 3, 4, 5}, "x----"},
		{"it stands from the second sweep on", 10 * time.Second, []int64{7, 5, 5, 5}, "--xx"},
		{"longer is asked for", 25 * time.Second, []int64{7, 5, 5, 5, 5, 5}, "----xx"},
		{"it moves after it was looked up", 10 * time.Second, []int64{5, 5, 6, 6, 7}, "xx-x-"},
		{"what was looked up at once is looked up until it moves", 25 * time.Second, []int64{5, 5, 5, 5, 6, 6}, "xxxx--"},
		{"it is not below in between", 10 * time.Second, []int64{7, 5, 7, 5, 5}, "----x"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWatch(t, 1, Options{LookUpAfter: c.after})
			p := w.calm("orders", 1).partitions[0]
			looked := ""
			for _, p.lso = range c.lsos {
				w.sweep()
				if w.lookUps() == "" {
					looked += "-"
				} else {
					looked += "x"
				}
			}
			if looked != c.looked {
				t.Errorf("looked up in %s, want %s", looked, c.looked)
			}
		})
	}
}

// A broker that is away when the exporter starts is looked into at once when it
// comes, and one that was there before is not.
func TestLookUpAtOnceAfterStartIsPerBroker(t *testing.T) {
	w := newWatch(t, 2, Options{})
	orders := w.calm("orders", 2)
	w.dead[2] = true
	w.sweep()
	orders.partitions[0].lso, orders.partitions[1].lso = 5, 5
	w.dead[2] = false
	w.sweep()
	if got, want := w.lookUps(), "2 DescribeProducers, 2 again"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

// A topic that was created anew, a partition that was not read: what is
// remembered of a partition's stall is what the lag package would say.
func TestStallsAreRememberedAsViewsShowThem(t *testing.T) {
	w := newWatch(t, 1, Options{LookUpAfter: 20 * time.Second})
	topic := w.calm("orders", 1)
	p := topic.partitions[0]
	w.sweep()
	p.lso = 5
	for i, step := range []struct {
		do     func()
		looked bool
	}{
		{func() {}, false},
		{func() { p.errors[lastStable] = 78 }, false}, // not read
		{func() { delete(p.errors, lastStable) }, true},
		{func() { topic.id++ }, false},
		{func() {}, false},
		{func() { p.start, p.lso = 6, 6 }, true}, // retention moves it along
	} {
		step.do()
		v := w.sweep()
		stalled := v.Topics[1].Partitions[0].StalledFor
		if looked := strings.Contains(w.lookUps(), "DescribeProducers"); looked != step.looked || looked != (stalled >= 20*time.Second) {
			t.Errorf("step %d: looked up %t, want %t, after a stall of %v", i, looked, step.looked, stalled)
		}
	}
}

// With 1,000 pinned partitions on 3 brokers each broker has four requests a
// sweep, as with one pinned partition on each.
func TestLookUpRequestsDoNotGrow(t *testing.T) {
	for _, partitions := range []int{3, 1000} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			w := newWatch(t, 3, Options{})
			orders := w.calm("orders", partitions)
			for i, p := range orders.partitions {
				p.lso = 5
				w.transaction(fmt.Sprint("x", i), int32(i%3+1), int64(i), orders, int32(i), w.now.UnixMilli())
			}
			for n := range 3 {
				v := w.sweep()
				calls := make(map[int32]map[string]int)
				for _, c := range w.take() {
					if calls[c.broker] == nil {
						calls[c.broker] = make(map[string]int)
					}
					calls[c.broker][c.name]++
				}
				for _, id := range w.brokers {
					want := map[string]int{"ListGroups": 1, "log start offset": 1, "high watermark": 1, "last stable offset": 2, "log end offset": 1,
						"DescribeProducers": 1, "ListTransactions": 1, "DescribeTransactions": 1}
					if n > 0 && id == w.sweeper.asked { // the first is asked as a seed
						want["Metadata"] = 1
					}
					if got := calls[id]; !maps.Equal(got, want) {
						t.Errorf("sweep %d: broker %d was asked %v, want %v", n, id, got, want)
					}
				}
				for i := range orders.partitions {
					if got, want := blocker(v, "orders", i), fmt.Sprint("ongoing none x", i); got != want {
						t.Fatalf("orders-%d: %s, want %s", i, got, want)
					}
				}
			}
		})
	}
}

// Of one leader's partitions those are looked into that have stood the longest;
// of the rest nothing is said before they have stood for LookUpAfter.
func TestLookUpsAreLimited(t *testing.T) {
	w := newWatch(t, 1, Options{})
	orders := w.calm("orders", maxLookups+2)
	w.sweep()
	for i, p := range orders.partitions {
		if i != 1 {
			p.lso = 5
		}
	}
	w.sweep()
	orders.partitions[1].lso = 5 // the youngest
	w.sweep()
	v := w.sweep()
	held := 0
	for i := range orders.partitions {
		switch got := blocker(v, "orders", i); got {
		case "completing none":
			held++
		case "unknown budget":
			if i != 1 && i != len(orders.partitions)-1 {
				t.Errorf("orders-%d is left out", i)
			}
		default:
			t.Errorf("orders-%d: %s", i, got)
		}
	}
	if held != maxLookups {
		t.Errorf("%d are looked into, want %d", held, maxLookups)
	}
	if got, want := fmt.Sprint(v.Missed), "[{deadline broker 1 2 blocking transactions}]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}

	again := NewSweeper(w.fake, Options{Serial: true})
	v = lag.NewTracker(10 * time.Second).Observe(again.Sweep(t.Context()))
	if got := blocker(v, "orders", maxLookups); got != "-" || len(v.Missed) > 0 {
		t.Errorf("the first sweep after a start says %s of a partition that it had no room for, and missed %v", got, v.Missed)
	}
}

// What was not told has a reason, and never becomes hanging or ownerless.
func TestReasons(t *testing.T) {
	refuse := func(api kmsg.Key, err error) func(*watch, *fakeTransaction) {
		return func(w *watch, _ *fakeTransaction) {
			w.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
				if req.Key() == api.Int16() {
					return nil, err
				}
				return nil, nil
			}
		}
	}
	producersError := func(code int16) func(*watch, *fakeTransaction) {
		return func(w *watch, _ *fakeTransaction) { w.topics[1].partitions[0].producersError = code }
	}
	lost := func(w *watch) { w.transactions = nil } // nobody knows the producer
	for _, c := range []struct {
		reason string
		fault  func(*watch, *fakeTransaction)
		want   string // from the third sweep on
		missed string
	}{
		{"no right to read the topic", producersError(29), "unknown no_read_on_topic", "[{unauthorized topic orders 1 DescribeProducers: TOPIC_AUTHORIZATION_FAILED}]"},
		{"the leader does not lead any more", producersError(6), "unknown leader_changed", "[{leader_changed topic orders 1 DescribeProducers: NOT_LEADER_FOR_PARTITION}]"},
		{"the topic is gone", producersError(3), "unknown leader_changed", "[{topic_gone topic orders 1 DescribeProducers: UNKNOWN_TOPIC_OR_PARTITION}]"},
		{"another error", producersError(-1), "unknown error", "[{other topic orders 1 DescribeProducers: UNKNOWN_SERVER_ERROR}]"},
		{"no DescribeProducers", refuse(kmsg.DescribeProducers, ErrAPIMissing), "unknown api_missing", "[{api_missing broker 1 1 DescribeProducers}]"},
		{"no ListTransactions", refuse(kmsg.ListTransactions, ErrAPIMissing), "unknown api_missing",
			"[{api_missing broker 1 1 ListTransactions} {api_missing broker 2 1 ListTransactions} {api_missing broker 3 1 ListTransactions}]"},
		{"no DescribeTransactions", refuse(kmsg.DescribeTransactions, ErrAPIMissing), "unknown api_missing x", "[{api_missing broker 2 1 DescribeTransactions}]"},
		{"the leader breaks the connection", refuse(kmsg.DescribeProducers, errRefused), "unknown leader_unreachable", "[{unreachable broker 1 1 connection refused}]"},
		{"the coordinator breaks the connection", refuse(kmsg.DescribeTransactions, errRefused), "unknown coordinator_unreachable x", "[{unreachable broker 2 1 connection refused}]"},
		{"the leader does not answer in time", refuse(kmsg.DescribeProducers, context.DeadlineExceeded), "unknown leader_unreachable", "[{timeout broker 1 1 context deadline exceeded}]"},
		{"one coordinator loads", func(w *watch, _ *fakeTransaction) { lost(w); w.coordinators = map[int32]int16{3: 14} },
			"unknown coordinator_loading", "[{no_coordinator broker 3 1 ListTransactions: COORDINATOR_LOAD_IN_PROGRESS}]"},
		{"one coordinator is not available", func(w *watch, _ *fakeTransaction) { lost(w); w.coordinators = map[int32]int16{3: 15} },
			"unknown coordinator_unavailable", "[{no_coordinator broker 3 1 ListTransactions: COORDINATOR_NOT_AVAILABLE}]"},
		{"one coordinator does not know yet that it is one", func(w *watch, _ *fakeTransaction) { lost(w); w.unaware = map[int32]bool{3: true} },
			"unknown coordinator_unavailable", "[{no_coordinator broker 3 1 DescribeTransactions: NOT_COORDINATOR}]"},
		{"a coordinator is elected while it is asked", func(w *watch, _ *fakeTransaction) {
			lost(w)
			w.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
				if req.Key() == kmsg.DescribeTransactions.Int16() {
					w.set(func() { w.topics[0].partitions[2].epoch++ })
				}
				return nil, nil
			}
		}, "unknown coordinator_unavailable", "[]"},
		{"a coordinator was not one yet when the offsets were read", func(w *watch, _ *fakeTransaction) {
			lost(w)
			w.topics[0].partitions[2].errors[highWatermark] = 78
		}, "unknown coordinator_unavailable", "[{offset_not_available topic __transaction_state 1 OFFSET_NOT_AVAILABLE}]"},
		{"an id is denied", func(w *watch, _ *fakeTransaction) { w.denials = []fakeDenial{{name: "x"}} },
			"unknown no_describe_on_transactional_id", "[{unauthorized transactional ids 1 DescribeTransactions: TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]"},
		{"ids that begin with it are denied", func(w *watch, _ *fakeTransaction) { lost(w); w.denials = []fakeDenial{{name: "secret-", prefix: true}} },
			"unknown no_describe_on_transactional_id", "[{unauthorized transactional ids 1 DescribeTransactions: TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]"},
		{"ACLs may not be described", func(w *watch, _ *fakeTransaction) { lost(w); w.aclsError = 31 },
			"unknown no_describe_on_cluster", "[{unauthorized cluster 1 DescribeAcls: CLUSTER_AUTHORIZATION_FAILED}]"},
		{"there is no authorizer", func(w *watch, _ *fakeTransaction) { lost(w); w.aclsError = 54 }, "ownerless none", "[]"},
		{"no DescribeAcls", func(w *watch, x *fakeTransaction) { lost(w); refuse(kmsg.DescribeACLs, ErrAPIMissing)(w, x) },
			"unknown api_missing", "[{api_missing broker 1 1 DescribeAcls}]"},
		{"a partition of __transaction_state has no leader", func(w *watch, _ *fakeTransaction) { lost(w); w.topics[0].partitions[2].leader = -1 },
			"unknown coordinator_unavailable", "[{no_leader topic __transaction_state 1 }]"},
		{"a partition of __transaction_state is led by a broker that is gone", func(w *watch, _ *fakeTransaction) { lost(w); w.topics[0].partitions[2].leader = 9 },
			"unknown coordinator_unreachable", "[{unreachable broker 9 1 it leads partitions and is not among the brokers}]"},
		{"__transaction_state is not listed", func(w *watch, _ *fakeTransaction) { lost(w); w.topics = w.topics[1:] },
			"unknown no_describe_on_transaction_state", "[]"},
		{"__transaction_state cannot be described", func(w *watch, _ *fakeTransaction) { lost(w); w.topics[0].errorCode = 5 },
			"unknown no_describe_on_transaction_state", "[{leader_changed topic __transaction_state 1 LEADER_NOT_AVAILABLE}]"},
		{"ids are hidden", func(w *watch, _ *fakeTransaction) { w.hidesIDs = true },
			"unknown no_describe_on_transactional_id", "[{unauthorized transactional ids 1 DescribeTransactions: TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]"},
		{"the coordinator of the id moves between the answers", func(w *watch, x *fakeTransaction) {
			w.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
				w.set(func() {
					switch req.Key() {
					case kmsg.ListTransactions.Int16():
						x.coordinator = 2
					case kmsg.DescribeTransactions.Int16():
						x.coordinator = 3
					}
				})
				return nil, nil
			}
		}, "unknown coordinator_unavailable x", "[{no_coordinator broker 2 1 DescribeTransactions: NOT_COORDINATOR}]"},
		{"the id is gone between the answers", func(w *watch, x *fakeTransaction) {
			w.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
				w.set(func() {
					switch req.Key() {
					case kmsg.ListTransactions.Int16():
						w.transactions = []*fakeTransaction{x}
					case kmsg.DescribeTransactions.Int16():
						w.transactions = nil
					}
				})
				return nil, nil
			}
		}, "unknown not_yet_confirmed x", "[]"},
		{"nobody knows the producer, and all were asked", func(w *watch, _ *fakeTransaction) { lost(w) }, "ownerless none", "[]"},
		{"the coordinator contradicts", func(_ *watch, x *fakeTransaction) { x.coordinator, x.state, x.topics = 1, "CompleteAbort", nil }, "hanging none x", "[]"},
		{"another broker than leads the id's partition of __transaction_state contradicts", func(_ *watch, x *fakeTransaction) {
			x.coordinator, x.state, x.topics = 2, "CompleteAbort", nil
		}, "unknown coordinator_unavailable x", "[]"},
		{"it is told late", func(w *watch, _ *fakeTransaction) {
			w.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
				if req.Key() == kmsg.ListTransactions.Int16() {
					w.set(func() { w.topics[1].partitions[0].lso = w.topics[1].partitions[0].hwm })
				} else if req.Key() == kmsg.Metadata.Int16() {
					w.set(func() { w.topics[1].partitions[0].lso = 5 })
				}
				return nil, nil
			}
		}, "-", "[]"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w, x := pinned(t, Options{})
			c.fault(w, x)
			var v *lag.View
			for range 3 {
				clear(w.sweeper.backOffs) // so that every sweep asks
				clear(w.sweeper.suspended)
				v = w.sweep()
			}
			if got := blocker(v, "orders", 0); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := fmt.Sprint(v.Missed); got != c.missed {
				t.Errorf("missed %s, want %s", got, c.missed)
			}
		})
	}
}

// The last stable offset is read again from the same leader in the same epoch:
// another one's answer says nothing about it.
func TestLeaderChangesBeforeTheOffsetIsReadAgain(t *testing.T) {
	w, _ := pinned(t, Options{})
	w.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() == kmsg.ListTransactions.Int16() {
			w.set(func() { w.topics[1].partitions[0].epoch++ })
		}
		return nil, nil
	}
	v := w.sweep()
	if got, want := blocker(v, "orders", 0), "unknown leader_changed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A broker that fails in look-ups is spared them for 1, 3, 7 … sweeps, the
// reason stays, and the other brokers' partitions are looked into all the time.
func TestBackOff(t *testing.T) {
	w, _ := pinned(t, Options{})
	orders := w.topics[1]
	orders.partitions[1].lso = 5
	w.transaction("y", 3, 8, orders, 1, w.now.UnixMilli())
	failing := true
	w.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
		if broker == 1 && failing && req.Key() == kmsg.DescribeProducers.Int16() {
			return nil, errRefused
		}
		return nil, nil
	}
	var asked []int
	for n := range 18 {
		v := w.sweep()
		if strings.Contains(w.lookUps(), "1 DescribeProducers") {
			asked = append(asked, n)
		}
		if got, want := blocker(v, "orders", 0), "unknown leader_unreachable"; got != want {
			t.Errorf("sweep %d: %s, want %s", n, got, want)
		}
		if got := blocker(v, "orders", 1); n > 0 && !strings.HasSuffix(got, " y") {
			t.Errorf("sweep %d: %s of another leader's partition", n, got)
		}
		want := "[{suspended broker 1 1 look-ups, since they failed}]"
		if slices.Contains(asked, n) {
			want = "[{unreachable broker 1 1 connection refused}]"
		}
		if got := fmt.Sprint(v.Missed); got != want {
			t.Errorf("sweep %d: missed %s, want %s", n, got, want)
		}
		if v.Complete() || v.Topics[1].Partitions[0].HighWatermark != lag.Known(lag.Offset(7)) {
			t.Errorf("sweep %d: missed %v, and the offsets of the broker are not there", n, v.Missed)
		}
	}
	if want := []int{0, 2, 6, 14}; !slices.Equal(asked, want) {
		t.Errorf("asked in sweeps %v, want %v", asked, want)
	}
	failing = false
	for range maxBackOff {
		w.sweep()
	}
	if len(w.sweeper.backOffs) > 0 {
		t.Errorf("a broker that is well is spared: %v", w.sweeper.backOffs)
	}
	if got, want := blocker(w.sweep(), "orders", 0), "overdue none x"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A broker that hangs in a look-up delays that sweep once, and costs nobody
// else's partitions.
func TestHangingCoordinatorCostsItsTimeoutOnce(t *testing.T) {
	w, _ := pinned(t, Options{BrokerTimeout: 20 * time.Millisecond})
	hang := true
	w.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
		if broker == 3 && hang && req.Key() == kmsg.ListTransactions.Int16() {
			return nil, fmt.Errorf("no answer: %w", context.DeadlineExceeded)
		}
		return nil, nil
	}
	v := w.sweep()
	if got, want := blocker(v, "orders", 0), "ongoing none x"; got != want {
		t.Errorf("%s, want %s: its coordinator is well", got, want)
	}
	if got, want := w.lookUps(), "1 DescribeProducers, 1 ListTransactions, 2 ListTransactions, 3 ListTransactions, 2 DescribeTransactions, 1 again"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	w.transactions = nil
	w.sweep()
	if got := w.lookUps(); strings.Contains(got, "3 ") {
		t.Errorf("the broker that hung was asked: %s", got)
	}
	v = w.sweep()
	if got, want := blocker(v, "orders", 0), "unknown coordinator_unreachable x"; got != want {
		t.Errorf("%s, want %s: it may be the coordinator of what nobody lists", got, want)
	}
}

// The scan period is asked of a coordinator whose transaction is past its
// deadline, and not again for an hour, whether it may be read or not.
func TestScanPeriod(t *testing.T) {
	for _, c := range []struct {
		reason  string
		period  string
		overdue int // the sweep, 10 s each, in which a timeout of 60 s is overdue
	}{
		{"it may be read", "1000", 7},
		{"it may not: Kafka's default", "", 8},
		{"a long one", "60000", 13},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w, _ := pinned(t, Options{})
			w.scanPeriod = c.period
			asked := 0
			for n := 1; n <= 14; n++ {
				v := w.sweep()
				asked += strings.Count(w.lookUps(), "2 DescribeConfigs")
				want := "ongoing none x"
				if n >= c.overdue {
					want = "overdue none x"
				}
				if got := blocker(v, "orders", 0); got != want {
					t.Errorf("after %d s: %s, want %s", n*10, got, want)
				}
				if n < 6 && asked > 0 {
					t.Errorf("asked after %d s, before the deadline", n*10)
				}
				if len(v.Missed) > 0 {
					t.Errorf("missed %v", v.Missed)
				}
			}
			if asked != 1 {
				t.Errorf("asked %d times, want once", asked)
			}
			w.now = w.now.Add(time.Hour)
			w.sweep()
			if got := w.lookUps(); strings.Count(got, "DescribeConfigs") != 1 {
				t.Errorf("an hour later: %s", got)
			}
		})
	}
}

// After a restart of the exporter in the middle of a stall the first view has
// the transaction with its age and deadline.
func TestRestartInTheMiddleOfAStall(t *testing.T) {
	w, x := pinned(t, Options{})
	x.timeout, x.start = 3_600_000, w.now.UnixMilli()
	w.now = w.now.Add(1190 * time.Second)
	v := w.sweep()
	p := v.Topics[1].Partitions[0]
	deadline, _ := p.Blocker.Deadline.Get()
	if p.Blocker.Age != 1200*time.Second || deadline.Sub(w.now) != 2400*time.Second || p.StalledFor != 0 {
		t.Errorf("age %v, %v left, stalled for %v", p.Blocker.Age, deadline.Sub(w.now), p.StalledFor)
	}
}

// The topics and groups that are left out do not matter to coverage, and a
// topic that is left out is not looked into.
func TestLookUpAndFilters(t *testing.T) {
	w, _ := pinned(t, Options{Topics: func(name string) bool { return name == "orders" }})
	w.transactions = nil
	w.sweep()
	if got, want := blocker(w.sweep(), "orders", 0), "ownerless none"; got != want {
		t.Errorf("without __transaction_state: %s, want %s", got, want)
	}
	w, _ = pinned(t, Options{Topics: func(name string) bool { return name != "orders" }})
	w.sweep()
	if got := w.lookUps(); got != "" {
		t.Errorf("a topic that is left out: asked %s", got)
	}
}

// An end marker above the high watermark: of the producers without an open
// transaction those that ended last are candidates, and what is not in
// Prepare* is not even described.
func TestMarkerAboveTheHighWatermark(t *testing.T) {
	w := newWatch(t, 3, Options{})
	orders := w.calm("orders", 1)
	p := orders.partitions[0]
	p.lso = 0
	a := w.transaction("a", 2, 1, orders, 0, w.now.UnixMilli())
	a.state = "PrepareCommit"
	b := w.transaction("b", 3, 2, orders, 0, w.now.UnixMilli())
	p.producers = []fakeProducer{{1, 1, -1, 900_000}, {2, 0, 2, 800_000}}
	for i := range int64(maxFinished + 10) { // finished before a
		p.producers = append(p.producers, fakeProducer{100 + i, 0, -1, i})
		w.transactions = append(w.transactions, &fakeTransaction{id: fmt.Sprint("old", i), coordinator: 1, producer: 100 + i, state: "CompleteCommit"})
	}
	v := w.sweep()
	if got, want := blocker(v, "orders", 0), "completing none a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := w.lookUps(), "1 DescribeProducers, 1 ListTransactions, 2 ListTransactions, 3 ListTransactions, 2 DescribeTransactions, 1 again"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	if n, _ := v.Topics[1].Partitions[0].Blocker.OpenTransactions.Get(); n != 1 {
		t.Errorf("%d open transactions, want b alone", n)
	}
	b.coordinator = 2
	a.state, a.topics = "CompleteCommit", nil
	if got, want := blocker(w.sweep(), "orders", 0), "completing none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Where the sweep's deadline is over, nothing is judged.
func TestLookUpWithinTheDeadline(t *testing.T) {
	w, _ := pinned(t, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	w.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() == kmsg.DescribeProducers.Int16() {
			cancel(errors.New("over"))
		}
		return nil, nil
	}
	v := w.tracker.Observe(w.sweeper.Sweep(ctx))
	if got, want := blocker(v, "orders", 0), "unknown budget"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(w.sweeper.backOffs) > 0 {
		t.Errorf("a broker is spared look-ups for the sweep's deadline: %v", w.sweeper.backOffs)
	}
}

// What a broker has no API for fails no collector; what it refuses or does not
// answer does, and it alone.
func TestTransactionsCollectorSucceeds(t *testing.T) {
	for _, c := range []struct {
		reason string
		err    error
		want   string
	}{
		{"all is answered", nil, "transactions true 0s"},
		{"the API is missing", ErrAPIMissing, "transactions true 0s"},
		{"no answer", errRefused, "transactions false 0s"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			o := &recorder{}
			w, _ := pinned(t, Options{Observer: o})
			w.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
				if req.Key() == kmsg.DescribeProducers.Int16() {
					return nil, c.err
				}
				return nil, nil
			}
			w.sweep()
			if !slices.Contains(o.collectors, c.want) {
				t.Errorf("collectors %v, want %s", o.collectors, c.want)
			}
			for _, other := range o.collectors {
				if !strings.HasPrefix(other, "transactions") && !strings.Contains(other, " true ") {
					t.Errorf("another collector fails with it: %s", other)
				}
			}
		})
	}
}

func TestTransactionsSwitchedOff(t *testing.T) {
	w, _ := pinned(t, Options{Disabled: []Collector{Transactions}})
	v := w.sweep()
	if got := w.lookUps(); got != "" || blocker(v, "orders", 0) != "-" {
		t.Errorf("asked %q, %s", got, blocker(v, "orders", 0))
	}
}

// census renders what a view says of a census: counts above 0 by state and
// application, and how long coordinators have been completing.
func census(v *lag.View) string {
	counts, known := v.TransactionalIDs.Get()
	if !known {
		return fmt.Sprint("unknown ", v.Completing)
	}
	var list []string
	for _, c := range counts {
		if c.Count > 0 {
			list = append(list, fmt.Sprintf("%d %s %s", c.Count, c.State, c.Application))
		}
	}
	return fmt.Sprint(strings.Join(list, ", "), " ", v.Completing)
}

func TestCensus(t *testing.T) {
	w := newWatch(t, 3, Options{CensusPeriod: time.Minute, Application: func(id string) string { return id[:1] }})
	orders := w.calm("orders", 1)
	for i, c := range []struct {
		state       string
		coordinator int32
	}{{"Ongoing", 1}, {"PrepareCommit", 2}, {"CompleteCommit", 3}, {"PrepareCommit", 2}} {
		x := w.transaction(fmt.Sprint(string(rune('a'+i/2)), i), c.coordinator, int64(i), orders, 0, w.now.UnixMilli())
		x.state = c.state
	}
	orders.partitions[0].producers = nil
	refusing := func(api kmsg.Key, broker int32) func(int32, kmsg.Request) (kmsg.Response, error) {
		return func(id int32, req kmsg.Request) (kmsg.Response, error) {
			if id == broker && req.Key() == api.Int16() {
				return nil, errRefused
			}
			return nil, nil
		}
	}
	const all = "1 ListTransactions, 2 ListTransactions, 3 ListTransactions, 1 DescribeTransactions, 2 DescribeTransactions, 3 DescribeTransactions"
	for _, step := range []struct {
		reason string
		do     func()
		want   string
		asked  string
	}{
		{"the first", func() {}, "1 CompleteCommit b, 1 Ongoing a, 1 PrepareCommit a, 1 PrepareCommit b [{2 0s}]", all},
		{"one completes, another one has begun anew", func() { w.transactions[1].state = "CompleteCommit"; w.transactions[3].start += 9 },
			"1 CompleteCommit a, 1 CompleteCommit b, 1 Ongoing a, 1 PrepareCommit b [{2 0s}]", all},
		{"one completes for long", func() {}, "1 CompleteCommit a, 1 CompleteCommit b, 1 Ongoing a, 1 PrepareCommit b [{2 1m0s}]", all},
		{"a coordinator does not know of its office", func() { w.unaware = map[int32]bool{3: true} }, "unknown [{2 2m0s}]", all},
		{"a coordinator loads", func() { w.unaware, w.coordinators = nil, map[int32]int16{2: 14} }, "unknown []", all},
		{"it has loaded", func() { w.coordinators = nil }, "1 CompleteCommit a, 1 CompleteCommit b, 1 Ongoing a, 1 PrepareCommit b [{2 4m0s}]", all},
		{"a broker does not list", func() { w.before = refusing(kmsg.ListTransactions, 1) }, "unknown [{2 5m0s}]",
			"1 ListTransactions, 2 ListTransactions, 3 ListTransactions, 2 DescribeTransactions, 3 DescribeTransactions"},
		{"a broker does not describe", func() { w.before = refusing(kmsg.DescribeTransactions, 1) }, "unknown [{2 6m0s}]", all},
		{"ids are hidden", func() { w.before, w.hidesIDs = nil, true }, "unknown []", all},
	} {
		step.do()
		clear(w.sweeper.suspended)
		v := w.sweep()
		if got := w.lookUps(); got != step.asked {
			t.Errorf("%s: asked %s, want %s", step.reason, got, step.asked)
		}
		for range 5 {
			if got := census(v); got != step.want {
				t.Errorf("%s: %s, want %s", step.reason, got, step.want)
			}
			before := w.before
			w.before = nil
			clear(w.sweeper.suspended)
			v = w.sweep()
			if got := w.lookUps(); got != "" {
				t.Errorf("%s: within the minute, asked %s", step.reason, got)
			}
			w.before = before
		}
	}
}

// Whatever the number of partitions of __transaction_state, there is an unused
// id for each.
func TestUnusedIDs(t *testing.T) {
	for _, n := range []int{1, 2, 3, 16, 31, 50, 62, 93, 94, 961, 1000} {
		for p, id := range unusedIDs(unusedID, n) {
			if got := int(kafka.PartitionFor(id, int32(n))); got != p {
				t.Errorf("%q of %d partitions belongs to %d, want %d", id, n, got, p)
			}
		}
	}
}

// A proof that nobody owns a producer costs no broker more than four requests,
// and the sweep one for the ACLs.
func TestRequestsOfAProof(t *testing.T) {
	w, _ := pinned(t, Options{})
	w.transactions = nil
	w.sweep()
	v := w.sweep()
	if got, want := w.lookUps(), "1 DescribeProducers, 1 ListTransactions, 2 ListTransactions, 3 ListTransactions, 1 DescribeACLs, "+
		"1 DescribeTransactions, 2 DescribeTransactions, 3 DescribeTransactions, 1 again, 2 again, 3 again"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	if got, want := blocker(v, "orders", 0), "ownerless none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w.topics[0].partitions[0].lso = 5 // it is pinned itself, by a marker
	if got, want := blocker(w.sweep(), "orders", 0), "ownerless none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A coordinator that was elected between two look-ups may not have loaded what it
// keeps when it was asked for its list in the second.
func TestProofIsOfOneTerm(t *testing.T) {
	w, _ := pinned(t, Options{})
	w.transactions = nil
	w.sweep()
	w.topics[0].partitions[2].epoch++
	if got, want := blocker(w.sweep(), "orders", 0), "unknown not_yet_confirmed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := blocker(w.sweep(), "orders", 0), "ownerless none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// With brokers in parallel, each step of the look-up begins at every broker
// after the step before it has been answered by all.
func TestLookUpStepsNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(3)
		f.stateTopic()
		orders := f.calm("orders", 3)
		for i, p := range orders.partitions {
			p.lso = 5
			f.transaction(fmt.Sprint("x", i), int32((i+1)%3+1), int64(i), orders, int32(i), time.Now().UnixMilli())
		}
		steps := []string{"log end offset", "DescribeProducers", "ListTransactions", "DescribeTransactions", "last stable offset"}
		var mu sync.Mutex
		begun, ended := make(map[string]time.Time), make(map[string]time.Time)
		f.latency = time.Millisecond
		f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
			name := callName(req)
			mu.Lock()
			defer mu.Unlock()
			if _, again := begun[name]; !again || name == "last stable offset" && ended["DescribeTransactions"] != (time.Time{}) && begun[name].Before(ended["DescribeTransactions"]) {
				begun[name] = time.Now()
			}
			mu.Unlock()
			time.Sleep(time.Duration(broker) * 5 * time.Millisecond)
			mu.Lock()
			ended[name] = time.Now()
			return nil, nil
		}
		v := lag.NewTracker(10 * time.Second).Observe(NewSweeper(f, Options{}).Sweep(t.Context()))
		for i := 1; i < len(steps); i++ {
			if begun[steps[i]].Before(ended[steps[i-1]]) {
				t.Errorf("%s began %v before %s ended", steps[i], ended[steps[i-1]].Sub(begun[steps[i]]), steps[i-1])
			}
		}
		for i := range orders.partitions {
			if got, want := blocker(v, "orders", i), fmt.Sprint("ongoing none x", i); got != want {
				t.Errorf("orders-%d: %s, want %s", i, got, want)
			}
		}
		if len(v.Missed) > 0 {
			t.Errorf("missed %v", v.Missed)
		}
	})
}

// A broker that hangs while it is asked about producers delays that sweep by
// its timeout and no more, and is suspended as one that hangs elsewhere.
func TestBrokerHangsInALookUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(3)
		f.stateTopic()
		orders := f.calm("orders", 3)
		for i := range 2 {
			orders.partitions[i].lso = 5
			f.transaction(fmt.Sprint("x", i), 3, int64(i), orders, int32(i), time.Now().UnixMilli())
		}
		s := NewSweeper(f, Options{})
		tracker := lag.NewTracker(10 * time.Second)
		f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
			if broker == 1 && callName(req) == logEnd.String() {
				f.set(func() { f.hung[1] = true }) // from the next request on
			}
			return nil, nil
		}
		for n := range 3 {
			begun := time.Now()
			v := tracker.Observe(s.Sweep(t.Context()))
			took := time.Since(begun)
			if want := []time.Duration{time.Second, 50 * time.Millisecond, 50 * time.Millisecond}[n]; took > want {
				t.Errorf("sweep %d took %v, above %v", n, took, want)
			}
			if got, want := blocker(v, "orders", 1), "ongoing none x1"; got != want {
				t.Errorf("sweep %d: %s, want %s", n, got, want)
			}
			if got := blocker(v, "orders", 0); n == 0 && got != "unknown leader_unreachable" || n > 0 && got != "-" {
				t.Errorf("sweep %d: %s of the broker that hangs", n, got)
			}
			time.Sleep(10 * time.Second)
		}
		s.wait()
	})
}
