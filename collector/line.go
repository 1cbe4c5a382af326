package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector/security"
	"github.com/lso-exporter/lso-exporter/lag"
)

// line is the requests of one sweep to one broker, one after the other. After
// one that was not answered it sends no more: a broker that hangs costs its
// timeout once. It belongs to one goroutine at a time.
type line struct {
	sweep *sweep
	id    int32

	// probe says that the broker failed before: its first request may outlive
	// its part of the sweep, so that a broker which is merely slower than the
	// others is found alive, and is waited for the next time.
	probe bool

	// late is by how much less than BrokerTimeout the first request may take.
	late time.Duration

	// contacts is where it is noted that the broker is asked; nil: where the sweep
	// notes it when the request is sent. Requests that are under way while the sweep
	// begins to note it elsewhere have it.
	contacts *contacts

	// api is what its requests count as; empty: as the API that they are.
	api string

	failure lag.MissKind // why nothing more is sent
	err     error
}

// answered is one answer and when it came.
type answered struct {
	resp   kmsg.Response
	window *lag.Window
}

// ask sends a request within the sweep's budget. Where there is no answer, miss
// says why: the line has failed, or the budget is used up, or the broker lacks
// the API.
func (l *line) ask(ctx context.Context, req kmsg.Request) (a answered, miss lag.MissKind) {
	if l.failure == "" && !l.sweep.budget.take() {
		return answered{}, lag.MissDeadline
	}
	return l.send(ctx, req)
}

// askPart sends the i-th of the requests into which one was split for its
// size. Those after the first come on top of the budget.
func (l *line) askPart(ctx context.Context, i int, req kmsg.Request) (answered, lag.MissKind) {
	if i == 0 {
		return l.ask(ctx, req)
	}
	return l.send(ctx, req)
}

// send sends a request and waits for the answer.
func (l *line) send(ctx context.Context, req kmsg.Request) (answered, lag.MissKind) {
	if l.failure != "" {
		return answered{}, l.failure
	}
	o := &l.sweep.options
	if l.probe {
		ctx = l.sweep.outlive
	}
	if ctx.Err() != nil {
		l.fail(errOver)
		return answered{}, l.failure
	}
	contacts := l.contacts
	if contacts == nil {
		contacts = l.sweep.contacts
	}
	contacts.ask(l.id, o.Now())
	within := max(o.BrokerTimeout-l.late, o.BrokerTimeout/graceShare)
	a, err := o.askAs(ctx, cmp.Or(l.api, kmsg.NameForKey(req.Key())), within, l.sweep.client, l.id, req)
	l.late = 0
	miss := missOfError(err)
	if miss == "" || miss == lag.MissAPIMissing {
		contacts.hear(l.id)
	}
	if miss != "" && miss != lag.MissAPIMissing {
		l.fail(err)
		return answered{}, miss
	}
	if l.probe {
		l.probe = false
		l.sweep.endProbe(l.id, true)
	}
	if miss != "" {
		return answered{}, miss
	}
	return a, ""
}

// sendEach sends many requests, some of them before the answers to those before have
// come, and calls took with each answer, on the calling goroutine, in the order of the
// requests. It ends with the first that was not answered, and says why; the answers of
// those before it are taken. It sends no more once three quarters of its time are over,
// as of a broker that is not done when ctx ends no answer counts.
func (l *line) sendEach(ctx context.Context, requests []kmsg.Request, took func(i int, a answered)) lag.MissKind {
	depth := inFlight
	if l.sweep.options.Serial {
		depth = 1
	}
	patience := ctx
	if end, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		patience, cancel = context.WithTimeout(ctx, time.Until(end)*3/4)
		defer cancel()
	}
	for begin := 0; begin < len(requests); begin += depth {
		if begin > 0 && patience.Err() != nil {
			return lag.MissDeadline
		}
		some := requests[begin:min(begin+depth, len(requests))]
		lines, answers, misses := make([]*line, len(some)), make([]answered, len(some)), make([]lag.MissKind, len(some))
		var wait sync.WaitGroup
		for i, req := range some {
			each := *l
			lines[i] = &each
			send := func() { answers[i], misses[i] = each.send(ctx, req) }
			if depth == 1 {
				send()
				continue
			}
			wait.Go(send)
		}
		wait.Wait()
		for i, miss := range misses {
			if miss != "" {
				l.failure, l.err = lines[i].failure, lines[i].err
				return miss
			}
			took(begin+i, answers[i])
		}
	}
	return ""
}

// ask sends a request to a broker, waits for the answer as long as it may take,
// and tells the observer, unless nothing was sent as the broker is left alone
// (security.ErrHeld). Its error is errOver if ctx ended first, which says
// nothing about the broker.
func (o *Options) ask(ctx context.Context, client Client, id int32, req kmsg.Request) (answered, error) {
	return o.askAs(ctx, kmsg.NameForKey(req.Key()), o.BrokerTimeout, client, id, req)
}

// askAs is ask for a request that counts under a name of its own and may take so
// long.
func (o *Options) askAs(ctx context.Context, api string, within time.Duration, client Client, id int32, req kmsg.Request) (answered, error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()

	newest(req)
	sent := o.Now()
	resp, err := client.Request(limited, id, req)
	window := &lag.Window{Sent: sent, Answered: o.Now()}
	held := errors.Is(err, security.ErrHeld)
	switch {
	case err == nil && tooOld(resp):
		err = fmt.Errorf("%s version %d: %w", kmsg.NameForKey(req.Key()), resp.GetVersion(), ErrAPIMissing)
	case err != nil && ctx.Err() != nil:
		err = errOver
	}
	if !held {
		o.Observer.Request(api, id, window.Answered.Sub(sent), missOfError(err))
	}
	return answered{resp, window}, err
}

// fail ends the line.
func (l *line) fail(err error) {
	l.failure, l.err = missOfError(err), err
}

// budget is how many requests a sweep may still send. It is safe for
// concurrent use.
type budget struct{ left atomic.Int64 }

// take takes one request from the budget if there is one left.
func (b *budget) take() bool { return b.left.Add(-1) >= 0 }

// has says whether at least n requests are left.
func (b *budget) has(n int) bool { return b.left.Load() >= int64(n) }

// beyond is how many requests there are on top of n that must be left.
func (b *budget) beyond(n int) int { return max(int(b.left.Load())-n, 0) }

// subject names the broker.
func (l *line) subject() string { return brokerSubject(l.id) }

// brokerSubject names a broker as the subject of a miss. Seeds have negative
// ids.
func brokerSubject(id int32) string {
	if id < 0 {
		return "bootstrap broker"
	}
	return "broker " + strconv.Itoa(int(id))
}

// fanOut calls f for each id, in parallel, and done with each result, one
// after the other, on the calling goroutine. It returns when every call has
// ended, or ctx is done; calls for which patient says no are waited for only as
// long as the others take, and grace beyond. Calls that have not ended by then
// go on, and their results are dropped. Serially it calls f for one id after
// the other.
func fanOut[T any](ctx context.Context, serial bool, ids []int32, patient func(int32) bool, grace time.Duration, f func(int32) T, done func(int32, T)) {
	if serial {
		for _, id := range ids {
			done(id, f(id))
		}
		return
	}
	type result struct {
		id    int32
		value T
	}
	results := make(chan result, len(ids)) // never blocks a call that nobody waits for
	awaited := 0
	for _, id := range ids {
		if patient(id) {
			awaited++
		}
		go func() { results <- result{id, f(id)} }()
	}
	var over <-chan time.Time
	for left := len(ids); left > 0; {
		if awaited == 0 && over == nil {
			over = time.After(grace)
		}
		select {
		case r := <-results:
			left--
			if patient(r.id) {
				awaited--
			}
			done(r.id, r.value)
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// always is patience with every broker.
func always(int32) bool { return true }

// elapsed is the time since t by the sweep's clock.
func (w *sweep) elapsed(t time.Time) time.Duration { return w.options.Now().Sub(t) }
