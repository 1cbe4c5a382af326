package txn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule G21: what each filter selects. X1 is Ongoing for two minutes, X2
// CompleteCommit since its start, X3 and pay-1 are Empty.
func TestG21ListTransactions(t *testing.T) {
	cl := newCluster(t)
	p1, _ := cl.init("X1", 10*time.Minute)
	p2 := cl.mustInit("X2")
	cl.mustInit("X3")
	cl.mustInit("pay-1")
	cl.mustAdd(TV2, "X1", p1, orders0)
	cl.pass(2 * time.Minute)
	cl.mustAdd(TV2, "X2", p2, orders0)
	cl.mustEnd(TV2, "X2", p2, true)
	cl.settle()

	none := ListRequest{Duration: -1}
	with := func(change func(*ListRequest)) ListRequest {
		req := none
		change(&req)
		return req
	}
	tests := []struct {
		name    string
		req     ListRequest
		want    string
		unknown string
	}{
		{"all", none, "X1 0 Ongoing; X2 1 CompleteCommit; X3 2 Empty; pay-1 3 Empty", ""},
		{"state", with(func(r *ListRequest) { r.States = []string{"Ongoing", "CompleteCommit"} }), "X1 0 Ongoing; X2 1 CompleteCommit", ""},
		{"state in the wrong case", with(func(r *ListRequest) { r.States = []string{"ongoing"} }), "", "ongoing"},
		{"a known and an unknown state", with(func(r *ListRequest) { r.States = []string{"Nowhere", "Empty"} }), "X3 2 Empty; pay-1 3 Empty", "Nowhere"},
		{"states that are never listed", with(func(r *ListRequest) { r.States = []string{"Dead", "PrepareEpochFence"} }), "", ""},
		{"producer", with(func(r *ListRequest) { r.ProducerIDs = []kafka.ProducerID{1, 3, 99} }), "X2 1 CompleteCommit; pay-1 3 Empty", ""},
		{"duration, which Empty passes", with(func(r *ListRequest) { r.Duration = time.Minute }), "X1 0 Ongoing; X3 2 Empty; pay-1 3 Empty", ""},
		{"duration of a complete one", with(func(r *ListRequest) { r.Duration = 0; r.States = []string{"CompleteCommit"} }), "X2 1 CompleteCommit", ""},
		{"pattern for the whole id", with(func(r *ListRequest) { r.Pattern = "X" }), "", ""},
		{"pattern", with(func(r *ListRequest) { r.Pattern = "X[12]|pay-.*" }), "X1 0 Ongoing; X2 1 CompleteCommit; pay-1 3 Empty", ""},
		{"all together", with(func(r *ListRequest) {
			r.States, r.ProducerIDs, r.Duration, r.Pattern = []string{"Ongoing"}, []kafka.ProducerID{0}, time.Minute, ".*"
		}), "X1 0 Ongoing", ""},
	}
	for _, test := range tests {
		got, err := cl.List(test.req)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		var lines []string
		for _, l := range got.Transactions {
			lines = append(lines, fmt.Sprintf("%s %d %s", l.TransactionalID, l.ProducerID, l.State))
		}
		slices.Sort(lines) // Kafka's order is by partition of the log, then any
		if list := strings.Join(lines, "; "); list != test.want {
			t.Errorf("%s: %s, want %s", test.name, list, test.want)
		}
		if unknown := strings.Join(got.UnknownStates, " "); unknown != test.unknown {
			t.Errorf("%s: unknown states %q, want %q", test.name, unknown, test.unknown)
		}
	}
	_, err := cl.List(ListRequest{Pattern: "("})
	expectErr(t, "broken pattern", err, kafka.ErrInvalidRegularExpression)
}

// Rule G22: what a description says over a life.
func TestG22DescribeTransactions(t *testing.T) {
	cl := newCluster(t)
	cl.expect("X1", "TRANSACTIONAL_ID_NOT_FOUND")
	cl.expect("", "INVALID_REQUEST")
	p, _ := cl.init("X1", 42*time.Second)
	d, err := cl.Describe("X1")
	if err != nil || d.Timeout != 42*time.Second || !d.Start.IsZero() || d.Producer != p || len(d.Partitions) > 0 {
		t.Errorf("Empty: %+v, %v", d, err)
	}
	cl.mustAdd(TV2, "X1", p, orders1, orders0)
	began := cl.loop.Now().Add(-latency)
	d, _ = cl.Describe("X1")
	if !d.Start.Equal(began) || !slices.Equal(d.Partitions, []kafka.TopicPartition{orders0, orders1}) {
		t.Errorf("Ongoing: %+v", d)
	}
	cl.mustEnd(TV2, "X1", p, true)
	cl.settle()
	d, _ = cl.Describe("X1")
	if !d.Start.Equal(began) || len(d.Partitions) > 0 {
		t.Errorf("CompleteCommit: %+v", d)
	}
}

func TestString(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustInit("X2")
	cl.mustAdd(TV2, "X1", p, sales0, orders0)
	cl.loop.Do(func() {
		cl.EndTxn(EndTxnRequest{TransactionalID: "X1", Producer: p, Commit: true, ClientVersion: TV2}, func(kafka.Producer, error) {})
	})
	for p := range cl.cfg.Partitions {
		if p != cl.PartitionFor("X1") && p != cl.PartitionFor("X2") {
			cl.Unload(p)
		}
	}
	cl.Load(49, 3)
	const want = "1: [__transaction_state-27 ce 0: X1 Ongoing→PrepareCommit (0,0) [orders-0 sales-0] | " +
		"__transaction_state-28 ce 0: X2 Empty (1,0) [] | __transaction_state-49 ce 3: loading]"
	if got := cl.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
