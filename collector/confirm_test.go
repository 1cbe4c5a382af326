package collector

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Two of five brokers are cut off together, and are the first two that are asked for
// Metadata. They agree on who leads; the others do not, and are heard before anything
// is called hanging. The next sweep begins with one of those.
func TestBrokersThatAreCutOffTogether(t *testing.T) {
	f := newFake(5)
	stale(f, 2)
	s := NewSweeper(f, Options{Serial: true, LookUpAfter: time.Nanosecond})
	tracker := lag.NewTracker(10 * time.Second)
	s.consult(tracker)
	for n := range 6 {
		sample := s.Sweep(t.Context())
		want := map[int]string{0: "unknown not_yet_confirmed z", 1: "unknown leader_changed z"}[n]
		if want == "" {
			want = "-"
		}
		if got := blocker(tracker.Observe(sample), "orders", 0); got != want {
			t.Errorf("sweep %d: %s, want %s", n, got, want)
		}
		calls := f.take()
		if asked, want := count(calls)["Metadata"], map[int]int{0: 1, 1: 1 + 5}[n]; n < 2 && asked != want {
			t.Errorf("sweep %d: Metadata was asked %d times, want %d", n, asked, want)
		}
		if p := partition(t, sample, "orders", 0); n > 1 && p.Leader != 3 {
			t.Errorf("sweep %d: led by %d", n, p.Leader)
		}
	}
}

// A verdict needs the word of more than half of the brokers on who leads and who
// coordinates, asked once, in the sweep that would give it.
func TestConfirmation(t *testing.T) {
	silent := func(brokers ...int32) func(*watch, int32, *kmsg.MetadataRequest) (kmsg.Response, error) {
		return func(_ *watch, broker int32, _ *kmsg.MetadataRequest) (kmsg.Response, error) {
			for _, id := range brokers {
				if id == broker {
					return nil, errRefused
				}
			}
			return nil, nil
		}
	}
	// tells has brokers tell another epoch of a partition, and another topic's id.
	tells := func(topic string, number int32, epoch int32, id byte, brokers ...int32) func(*watch, int32, *kmsg.MetadataRequest) (kmsg.Response, error) {
		return func(w *watch, broker int32, req *kmsg.MetadataRequest) (kmsg.Response, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			resp := w.answer(broker, req).(*kmsg.MetadataResponse)
			for _, each := range brokers {
				for i := range resp.Topics {
					t := &resp.Topics[i]
					if each != broker || *t.Topic != topic {
						continue
					}
					if id != 0 {
						t.TopicID[15] = id
					}
					for j := range t.Partitions {
						if t.Partitions[j].Partition == number {
							t.Partitions[j].LeaderEpoch = epoch
						}
					}
				}
			}
			return resp, nil
		}
	}
	// leads has a broker tell, without epochs, that it leads itself.
	leads := func(brokers ...int32) func(*watch, int32, *kmsg.MetadataRequest) (kmsg.Response, error) {
		return func(w *watch, broker int32, req *kmsg.MetadataRequest) (kmsg.Response, error) {
			resp, err := tells("orders", 0, -1, 0, 1, 2, 3, 4)(w, broker, req)
			for _, each := range brokers {
				if topic := &resp.(*kmsg.MetadataResponse).Topics[1]; each == broker {
					for j := range topic.Partitions {
						topic.Partitions[j].Leader = broker
					}
				}
			}
			return resp, err
		}
	}
	for _, c := range []struct {
		reason string
		lost   bool // no coordinator knows the transaction; else one contradicts
		answer func(*watch, int32, *kmsg.MetadataRequest) (kmsg.Response, error)
		want   string
	}{
		{"all agree", false, silent(), "hanging none x"},
		{"three of four answer", false, silent(4), "hanging none x"},
		{"two of four answer", false, silent(3, 4), "unknown not_yet_confirmed x"},
		{"one knows a newer leader", false, tells("orders", 0, 1, 0, 4), "unknown leader_changed x"},
		{"one knows a newer leader of another partition", false, tells("orders", 1, 1, 0, 4), "hanging none x"},
		{"one is behind", false, tells("orders", 0, -2, 0, 4), "hanging none x"},
		{"one knows a topic of that name that was deleted", false, tells("orders", 0, 7, 99, 4), "hanging none x"},
		{"two know a topic of that name that was deleted", false, tells("orders", 0, 7, 99, 2, 4), "unknown not_yet_confirmed x"},
		{"one knows a newer coordinator", false, tells(transactionStateTopic, keeperOfX, 1, 0, 4), "unknown coordinator_unavailable x"},
		{"one knows a newer coordinator of other ids", false, tells(transactionStateTopic, (keeperOfX+1)%4, 1, 0, 4), "hanging none x"},
		{"none tells epochs", false, leads(), "hanging none x"},
		{"none tells epochs, and one another leader", false, leads(4), "unknown leader_changed x"},
		{"nobody knows it, and all agree", true, silent(), "ownerless none"},
		{"nobody knows it, and two of four answer", true, silent(3, 4), "unknown not_yet_confirmed"},
		{"nobody knows it, and one knows a newer coordinator", true, tells(transactionStateTopic, (keeperOfX+1)%4, 1, 0, 4), "unknown coordinator_unavailable"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWatch(t, 4, Options{})
			orders := w.calm("orders", 3)
			orders.partitions[0].lso = 5
			x := w.transaction("x", keeperOfX+1, 7, orders, 0, w.now.UnixMilli())
			x.state, x.topics = "CompleteAbort", nil
			if c.lost {
				w.transactions = nil
			}
			asked := 0
			w.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
				r, ok := req.(*kmsg.MetadataRequest)
				if !ok || r.Topics == nil {
					return nil, nil
				}
				asked++
				resp, err := c.answer(w, broker, r)
				if resp != nil {
					resp.SetVersion(req.GetVersion())
				}
				return resp, err
			}
			if w.sweep(); asked != 0 {
				t.Errorf("the first sweep asked %d brokers", asked)
			}
			if got := blocker(w.sweep(), "orders", 0); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if asked != 4 {
				t.Errorf("the second sweep asked %d brokers", asked)
			}
			if before := asked; c.want == "hanging none x" {
				if w.sweep(); asked != before {
					t.Errorf("the third sweep asked %d brokers", asked-before)
				}
			}
		})
	}
}

// A broker that is cut off may list fewer brokers than there are. More than half is of
// the most that any answer lists.
func TestConfirmationCountsBrokersThatTheSweepDoesNotList(t *testing.T) {
	for _, c := range []struct {
		reason string
		silent int32
		want   string
	}{
		{"three of four agree", 0, "hanging none x"},
		{"two of the three that are listed agree, and there are four", 3, "unknown not_yet_confirmed x"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWatch(t, 4, Options{})
			orders := w.calm("orders", 3)
			orders.partitions[0].lso = 5
			x := w.transaction("x", keeperOfX+1, 7, orders, 0, w.now.UnixMilli())
			x.state, x.topics = "CompleteAbort", nil
			w.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
				r, ok := req.(*kmsg.MetadataRequest)
				switch {
				case !ok:
					return nil, nil
				case r.Topics != nil && broker == c.silent:
					return nil, errRefused
				case r.Topics != nil:
					return nil, nil
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				resp := w.answer(broker, req).(*kmsg.MetadataResponse)
				resp.SetVersion(req.GetVersion())
				resp.Brokers = resp.Brokers[:3]
				return resp, nil
			}
			w.sweep()
			if got := blocker(w.sweep(), "orders", 0); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// keeperOfX is the partition of four of __transaction_state that keeps the id x; the
// broker after it leads it.
const keeperOfX = int32('x' % 4)

// Where __transaction_state may not be described, nobody can tell which of two
// coordinators of one id is in office: neither is believed, nor is one while another
// broker does not answer.
func TestRivalCoordinators(t *testing.T) {
	for _, c := range []struct {
		reason string
		rival  bool
		silent bool
		want   string
	}{
		{"one lists the id", false, false, "hanging none x"},
		{"two list the id", true, false, "unknown coordinator_unavailable x"},
		{"one does not answer", false, true, "unknown coordinator_unavailable x"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w, x := pinned(t, Options{})
			w.topics = w.topics[1:] // without __transaction_state
			x.state, x.topics = "CompleteAbort", nil
			if c.rival {
				other := *x
				other.coordinator = 3
				w.transactions = append(w.transactions, &other)
			}
			if c.silent {
				w.coordinators = map[int32]int16{3: 15}
			}
			w.sweep()
			if got := blocker(w.sweep(), "orders", 0); got != c.want {
				t.Errorf("%s, want %s", got, fmt.Sprint(c.want))
			}
		})
	}
}
