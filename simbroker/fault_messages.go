package simbroker

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// markers lets a marker on its way from a coordinator meet the faults, and
// sends what is left of it. Where a fault meets some partitions of a marker
// only, the answer for those is REQUEST_TIMED_OUT, on which the coordinator
// sends them again, by themselves.
func (f *faults) markers(from *clock.Host, m txn.Marker, done func([]error, error), send func(txn.Marker, func([]error, error))) {
	for _, i := range f.installed {
		var met func(kafka.TopicPartition) bool
		switch fault := i.fault.(type) {
		case HoldMarkers:
			met = func(tp kafka.TopicPartition) bool { return matches(fault.Topic, fault.Partitions, tp) }
		case DropMarkers:
			met = func(tp kafka.TopicPartition) bool { return matches(fault.Topic, fault.Partitions, tp) }
		default:
			continue
		}
		_, hold := i.fault.(HoldMarkers)
		rest := m
		rest.Partitions = slices.DeleteFunc(slices.Clone(m.Partitions), met)
		switch {
		case len(rest.Partitions) == len(m.Partitions):
			continue
		case len(rest.Partitions) > 0:
			f.markers(from, rest, timedOut(m, met, done), send)
		case hold:
			i.held = append(i.held, from.Bind(func() { send(m, done) }))
		default: // lost, as with a connection that breaks
			from.After(f.latency, func() { done(nil, kafka.ErrBrokerNotAvailable) })
		}
		return
	}
	send(m, done)
}

// timedOut completes the results of a marker's other partitions.
func timedOut(m txn.Marker, met func(kafka.TopicPartition) bool, done func([]error, error)) func([]error, error) {
	return func(rest []error, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		results := make([]error, len(m.Partitions))
		for i, tp := range m.Partitions {
			if met(tp) {
				results[i] = kafka.ErrRequestTimedOut
				continue
			}
			results[i], rest = rest[0], rest[1:]
		}
		done(results, nil)
	}
}

// fetches lets a follower's fetch meet the faults, and sends what is left of it.
// The held partitions go out of the session and are answered with
// REQUEST_TIMED_OUT, on which the follower asks again after
// replica.fetch.backoff.ms.
func (f *faults) fetches(by kafka.BrokerID, req replica.FetchRequest, done func(replica.FetchResult, error), send func(replica.FetchRequest, func(replica.FetchResult, error))) {
	held := func(at replica.FetchPartition) bool {
		return slices.ContainsFunc(f.installed, func(i *installation) bool {
			hold, ok := i.fault.(HoldFetches)
			return ok && (hold.Broker == 0 || hold.Broker == by) && matches(hold.Topic, hold.Partitions, at.Partition)
		})
	}
	if !slices.ContainsFunc(req.Partitions, held) {
		send(req, done)
		return
	}
	rest, session := req, *req.Session
	rest.Partitions, rest.Session = nil, &session
	rest.MaxWait = 0 // the follower is told at once
	session.Forget = slices.Clone(session.Forget)
	var timedOut []replica.FetchedPartition
	for _, at := range req.Partitions {
		if held(at) {
			timedOut = append(timedOut, replica.FetchedPartition{Partition: at.Partition, At: at, Err: kafka.ErrRequestTimedOut})
			session.Forget = append(session.Forget, at.Partition)
			continue
		}
		rest.Partitions = append(rest.Partitions, at)
	}
	send(rest, func(got replica.FetchResult, err error) {
		got.Partitions = append(got.Partitions, timedOut...)
		done(got, err)
	})
}
