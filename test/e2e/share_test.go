package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// timetable is what happens at given moments of simulated time.
type timetable struct {
	*world
	entries []entry // in order
}

type entry struct {
	at time.Time
	do func()
}

// add puts an act where it belongs in time.
func (tt *timetable) add(at time.Time, do func()) {
	i := len(tt.entries)
	for i > 0 && tt.entries[i-1].at.After(at) {
		i--
	}
	tt.entries = append(tt.entries, entry{})
	copy(tt.entries[i+1:], tt.entries[i:])
	tt.entries[i] = entry{at, do}
}

// due does what is due by now.
func (tt *timetable) due() {
	for len(tt.entries) > 0 && !tt.entries[0].at.After(tt.Now()) {
		next := tt.entries[0]
		tt.entries = tt.entries[1:]
		next.do()
	}
}

// until lets time pass, and everything happen at its moment.
func (tt *timetable) until(end time.Time) {
	for tt.Now().Before(end) {
		next := end
		if len(tt.entries) > 0 && tt.entries[0].at.Before(end) {
			next = tt.entries[0].at
		}
		if d := next.Sub(tt.Now()); d > 0 {
			tt.wait(d)
		}
		tt.due()
	}
}

// cycle is how often a transaction begins.
const cycle = time.Second

// transactions has a producer hold a transaction open for a length of time, once
// a cycle for ever, from a moment on.
func (tt *timetable) transactions(p *producer, from time.Time, length time.Duration) {
	tt.add(from, func() {
		if code := tt.produce(1, "t", 0, 3, -1, p); code != 0 {
			tt.t.Fatalf("produce: error %d", code)
		}
	})
	tt.add(from.Add(length), func() {
		if code := tt.end(p, true); code != 0 {
			tt.t.Fatalf("end: error %d", code)
		}
	})
	// The sight of its completion, so that the record knows when that was.
	tt.add(from.Add(length+2*time.Millisecond), func() {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{p.transactionalID}
		do[*kmsg.DescribeTransactionsResponse](tt.world, p.coordinator, req)
		tt.transactions(p, from.Add(cycle), length)
	})
}

// The share of time below is that of the transactions, within 5 points, whatever
// the share and however long a request takes.
func TestShareOfTimeBelow(t *testing.T) {
	if underRace || testing.Short() {
		t.Skip("not run: a share to the percent takes its time")
	}
	const sweeps = 600
	for _, share := range []float64{0, 0.1, 0.5, 1} {
		for _, latency := range []time.Duration{0, time.Millisecond} {
			t.Run(fmt.Sprintf("%v of the time, %v a request", share, latency), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 1, map[string]string{"transaction.state.log.num.partitions": "1"})
				w.createTopic("t", []int32{1})
				tt := &timetable{world: w}
				tt.openFor(share)
				e, client := w.exporter(collector.Options{Period: 3 * time.Second}, metrics.Options{})
				client.before = tt.due
				if latency > 0 {
					w.sim.Install(simbroker.DelayRequests{APIs: []kmsg.Key{kmsg.Metadata, kmsg.ListGroups, kmsg.ListOffsets}, Delay: latency})
				}
				tt.until(w.Now().Add(2 * cycle))
				rnd := rand.New(rand.NewPCG(1, uint64(latency)))
				from := w.Now()
				var page page
				for range sweeps {
					tt.until(w.Now().Add(2*time.Second + time.Duration(rnd.Int64N(int64(2*cycle)))))
					page = parsePage(e.sweep())
				}
				below := value(t, page, "kafka_partition_lso_below_hwm_seconds_total", "topic", "t")
				seen := value(t, page, "kafka_partition_observed_seconds_total", "topic", "t")
				truth, err := oracle.Learn(w.witness.Acts())
				if err != nil {
					t.Fatal(err)
				}
				least, most := truth.Below("t", 0, from, w.Now())
				all := w.Now().Sub(from)
				t.Logf("below for %.4f of the time, in truth for %.4f to %.4f", below/seen, least.Seconds()/all.Seconds(), most.Seconds()/all.Seconds())
				if got := below / seen; got < least.Seconds()/all.Seconds()-0.05 || got > most.Seconds()/all.Seconds()+0.05 {
					t.Errorf("below for %v of the time observed, in truth for %v to %v of %v", got, least, most, all)
				}
				if share == 0 && below != 0 {
					t.Errorf("below for %v s on a topic without transactions", below)
				}
				if truthShare := most.Seconds() / all.Seconds(); truthShare < share-0.01 || truthShare > share+0.01 {
					t.Errorf("transactions were open for %v of the time, want %v", truthShare, share)
				}
			})
		}
	}
}

// openFor has transactions hold the last stable offset for a share of the time,
// plain records written all along.
func (tt *timetable) openFor(share float64) {
	var write func(at time.Time) func()
	write = func(at time.Time) func() {
		return func() {
			tt.mustProduce(1, "t", 0, 1)
			tt.add(at.Add(70*time.Millisecond), write(at.Add(70*time.Millisecond)))
		}
	}
	tt.add(tt.Now(), write(tt.Now()))
	length := time.Duration(share * float64(cycle))
	switch share {
	case 0:
	case 1: // two, of which each begins before the other ends
		for i := range 2 {
			p := tt.newProducer(fmt.Sprint("x", i), time.Minute)
			tt.transactions(p, tt.Now().Add(time.Duration(i)*cycle/2), cycle*7/10)
		}
	default:
		tt.transactions(tt.newProducer("x", time.Minute), tt.Now(), length)
	}
}
