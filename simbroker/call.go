package simbroker

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Call is a request in process that is under way, or answered.
type Call struct {
	broker   kafka.BrokerID
	key      int16
	loop     *clock.Loop
	under    *underWay
	finished chan struct{}
	done     bool
	resp     kmsg.Response
	err      error
}

// Done says whether the request is answered, or given up.
func (call *Call) Done() bool {
	select {
	case <-call.finished:
		return true
	default:
		return false
	}
}

// Answer is what RequestBy returns. The call must be Done.
func (call *Call) Answer() (kmsg.Response, error) {
	if call.err != nil {
		return nil, fmt.Errorf("request %s broker=%d: %w", kmsg.NameForKey(call.key), call.broker, call.err)
	}
	return call.resp, nil
}

// GiveUp ends the call with ErrTimeout, unless it is Done. The broker does what it
// was asked all the same.
func (call *Call) GiveUp() {
	call.loop.Do(func() { call.finish(nil, ErrTimeout) })
}

// finish ends the call, unless it is Done.
func (call *Call) finish(resp kmsg.Response, err error) {
	call.under.forget(call)
	if !call.done {
		call.done, call.resp, call.err = true, resp, err
		close(call.finished)
	}
}

// underWay are the calls that a broker has not answered yet, to be told when it
// dies. It belongs to events.
type underWay struct{ calls []*Call }

func (u *underWay) add(call *Call) { u.calls = append(u.calls, call) }

func (u *underWay) forget(call *Call) {
	if i := slices.Index(u.calls, call); i >= 0 {
		u.calls = slices.Delete(u.calls, i, i+1)
	}
}

// fail ends all of them.
func (u *underWay) fail(err error) {
	calls := u.calls
	u.calls = nil
	for _, call := range calls {
		call.finish(nil, err)
	}
}
