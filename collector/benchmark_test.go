package collector

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// replay is a Client that answers from bytes, as a connection does: what the
// fake answered to the same request the first time.
type replay struct {
	*fake
	mu      sync.Mutex
	answers map[string][]byte
}

// Request implements Client.
func (r *replay) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	key := fmt.Sprint(broker, " ", callName(req))
	r.mu.Lock()
	body, ok := r.answers[key]
	r.mu.Unlock()
	if !ok {
		resp, err := r.fake.Request(ctx, broker, req)
		if err != nil {
			return nil, err
		}
		body = resp.AppendTo(nil)
		r.mu.Lock()
		r.answers[key] = body
		r.mu.Unlock()
	}
	resp := req.ResponseKind()
	return resp, resp.ReadFrom(body)
}

// large returns a cluster of 3 brokers, 20,000 partitions and 5,000 groups of 4
// commits each.
func large() *replay {
	f := newFake(3)
	for i := range 2000 {
		f.topic(fmt.Sprintf("topic-%04d", i), 10)
	}
	for i := range 5000 {
		g := f.group(fmt.Sprintf("group-%04d", i), int32(i%3+1))
		for n := range int32(4) {
			g.commit(fmt.Sprintf("topic-%04d", i%2000), n, 3)
		}
	}
	return &replay{fake: f, answers: make(map[string][]byte)}
}

// BenchmarkSweep is what a sweep of a large cluster costs but for the network:
// requests built, answers decoded, the view made.
func BenchmarkSweep(b *testing.B) {
	s := NewSweeper(large(), Options{})
	tracker := lag.NewTracker(10 * time.Second)
	tracker.Observe(s.Sweep(b.Context()))
	for b.Loop() {
		if view := tracker.Observe(s.Sweep(b.Context())); !view.Complete() {
			b.Fatal(view.Missed)
		}
	}
}
