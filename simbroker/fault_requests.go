package simbroker

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// intercept lets a client's request to a broker meet the faults.
func (f *faults) intercept(id kafka.BrokerID, host *clock.Host, req kmsg.Request, handle func(), refuse func(error)) {
	var delay time.Duration
	failed := false
	for _, i := range f.installed {
		switch fault := i.fault.(type) {
		case DelayRequests:
			if isMet(fault.Broker, fault.APIs, id, req) {
				delay += fault.Delay
			}
		case LoseRequests:
			if isMet(fault.Broker, fault.APIs, id, req) {
				return
			}
		case FailRequests:
			if !failed && isMet(fault.Broker, fault.APIs, id, req) && (fault.Times == 0 || i.times < fault.Times) {
				failed = true
				i.times++
				handle = func() { refuse(fault.Err) }
			}
		}
	}
	if delay > 0 {
		host.After(delay, handle)
		return
	}
	handle()
}

// shape says how a broker's answer is to be written, by the first fault that meets
// it.
func (f *faults) shape(id kafka.BrokerID, req kmsg.Request) wire.Shape {
	for _, i := range f.installed {
		switch fault := i.fault.(type) {
		case TrickleAnswers:
			if isMet(fault.Broker, fault.APIs, id, req) {
				return wire.Shape{Bytes: fault.Bytes, Every: fault.Every}
			}
		case CutAnswers:
			if isMet(fault.Broker, fault.APIs, id, req) && (fault.Times == 0 || i.times < fault.Times) {
				i.times++
				return wire.Shape{Bytes: fault.Bytes, Cut: true}
			}
		}
	}
	return wire.Shape{}
}

// isMet says whether a fault is about a request to a broker.
func isMet(broker kafka.BrokerID, apis []kmsg.Key, id kafka.BrokerID, req kmsg.Request) bool {
	return (broker == 0 || broker == id) && (len(apis) == 0 || slices.Contains(apis, kmsg.Key(req.Key())))
}
