package e2e

import (
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// lookUps are the requests of a sweep beyond those of a sweep without
// look-ups.
func lookUps(counts, without map[string]int) map[string]int {
	more := map[string]int{}
	for api, n := range counts {
		if d := n - without[api]; d != 0 {
			more[api] = d
		}
	}
	return more
}

// A healthy cluster is asked nothing about transactions; 1,000 pinned
// partitions on 3 brokers cost as much as 3, four requests a broker and sweep.
func TestRequestsOfLookUps(t *testing.T) {
	w := newWorld(t, 3, nil)
	brokers := w.Brokers()
	var replicas [][]int32
	for i := range 1000 {
		replicas = append(replicas, []int32{brokers[i%len(brokers)]})
	}
	w.createTopic("t", replicas...)
	e, client := w.exporter(collector.Options{}, metrics.Options{})
	e.judged = false // the other tests have the oracle look
	sweep := func() map[string]int {
		clear(client.counts)
		e.sweep()
		w.wait(period)
		return maps.Clone(client.counts)
	}
	sweep()
	healthy := sweep()
	if healthy["DescribeProducers"]+healthy["ListTransactions"]+healthy["DescribeTransactions"]+healthy["DescribeConfigs"] > 0 {
		t.Errorf("a healthy cluster is asked %v", healthy)
	}
	pinned := 0
	for _, n := range []int{3, 1000} {
		for i := pinned; i < n; i++ {
			p := w.newProducer(fmt.Sprint("x", i), 10*time.Minute)
			w.produce(brokers[i%len(brokers)], "t", int32(i), 1, 1, p)
		}
		pinned = n
		sweep() // sees them
		for range 2 {
			want := map[string]int{"DescribeProducers": 3, "ListTransactions": 3, "DescribeTransactions": 3, "ListOffsets": 3}
			if n == 3 {
				want["DescribeTransactions"] = len(w.coordinators(n))
			}
			if got := lookUps(sweep(), healthy); !maps.Equal(got, want) {
				t.Errorf("%d pinned partitions cost %v, want %v", n, got, want)
			}
		}
		page := parsePage(e.scrape())
		if got := page.total("kafka_partition_blocking_transaction_info", selection{labels: map[string]string{"verdict": "ongoing", "reason": "none"}}); got != float64(n) {
			t.Errorf("%v of %d transactions are shown", got, n)
		}
	}
}

// coordinators are the brokers that coordinate the first n transactional ids.
func (w *world) coordinators(n int) map[int32]bool {
	all := map[int32]bool{}
	for i := range n {
		all[w.coordinator(1, fmt.Sprint("x", i))] = true
	}
	return all
}

// A transaction that is past its deadline costs its coordinator one more
// request, once.
func TestScanPeriodIsAskedOnce(t *testing.T) {
	// So seldom does the coordinator look that the transaction stays.
	w := newWorld(t, 3, map[string]string{"transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000"})
	w.createTopic("t", []int32{1})
	p := w.newProducer("x0", 30*time.Second)
	w.produce(1, "t", 0, 1, 1, p)
	e, client := w.exporter(collector.Options{}, metrics.Options{})
	e.judged = false
	asked := 0
	for n := range 8 {
		clear(client.counts)
		e.sweep()
		asked += client.counts["DescribeConfigs"]
		if n < 3 && asked > 0 {
			t.Errorf("sweep %d, before the deadline, asks for the scan period", n)
		}
		w.wait(period)
	}
	if asked != 1 {
		t.Errorf("the scan period was asked for %d times, want once", asked)
	}
	if page := parsePage(e.scrape()); value(t, page, "kafka_partition_blocking_transaction_info", "verdict", "ongoing") != 1 {
		t.Error("the transaction is not ongoing, though its coordinator looks once an hour")
	}
}

// Transactional ids with odd characters and of odd lengths are shown as they
// are, or cut as any other name.
func TestOddTransactionalIDs(t *testing.T) {
	ids := []string{
		"Source: Custom Source -> Sink: Unnamed-7df19f87deec5680128845fd9a6ca18d-1", `a"b\c` + "\n", "ünïcødé", "x",
	}
	w := newWorld(t, 1, nil)
	var replicas [][]int32
	for range ids {
		replicas = append(replicas, []int32{1})
	}
	w.createTopic("t", replicas...)
	for i, id := range ids {
		p := w.newProducer(id, time.Minute)
		if code := w.produce(1, "t", int32(i), 1, 1, p); code != 0 {
			t.Fatalf("produce of %q: %d", id, code)
		}
	}
	e, _ := w.exporter(collector.Options{}, metrics.Options{})
	page := parsePage(e.sweep())
	for i, id := range ids {
		if got := value(t, page, "kafka_partition_blocking_transaction_info", "topic", "t", "partition", strconv.Itoa(i), "transactional_id", id, "verdict", "ongoing"); got != 1 {
			t.Errorf("%q: %v", id, got)
		}
	}
}
