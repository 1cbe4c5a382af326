package share

import (
	"errors"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// Member is who asks, in which epoch of its session.
type Member struct {
	GroupID  string
	MemberID string
	Epoch    int32
	// Client is the connection, if sessions are to end with it (Disconnected).
	Client any
	// Check refuses partitions that the client may not read, or that there are
	// not; nil stands for none.
	Check func(kafka.TopicPartition) error
}

func (m Member) key() memberKey { return memberKey{m.GroupID, m.MemberID} }

// FetchRequest acquires records for a member (ShareFetch), after it has
// acknowledged others.
type FetchRequest struct {
	Member
	MaxWait    time.Duration
	MinBytes   int
	MaxBytes   int
	MaxRecords int
	// Exact asks for no more than MaxRecords; otherwise a batch is given whole.
	Exact bool
	// BatchSize is from how many records on a run is split where the log's batches
	// begin, when it is delivered for the first time.
	BatchSize int
	// Add and Forget change what the session is about.
	Add, Forget []TopicPartition
	Acks        []Ack
	AckRules
}

// FetchedPartition is what a member gets of a partition.
type FetchedPartition struct {
	TopicPartition
	Err      error
	AckErr   error
	Records  commitlog.Records
	Acquired []Run // runs of records in Records that are the member's now
}

// FetchResult answers a FetchRequest: all partitions of a new session, else
// those for which there is something to say.
type FetchResult struct {
	Partitions   []FetchedPartition
	LockDuration time.Duration // until an acquisition ends
}

// Fetch serves ShareFetch. It waits up to MaxWait for something to acquire.
// Errors: SHARE_SESSION_NOT_FOUND, SHARE_SESSION_LIMIT_REACHED,
// INVALID_SHARE_SESSION_EPOCH, INVALID_REQUEST, UNKNOWN_SERVER_ERROR while a
// topic of the session does not exist.
func (b *Broker) Fetch(req FetchRequest, done func(FetchResult, error)) {
	s, err := b.session(req.key(), req.Epoch)
	switch {
	case err == nil && s == nil && acknowledges(req.Acks):
		err = kafka.ErrInvalidRequest // nothing can be the member's yet
	case err == nil && s == nil:
		s, err = b.open(req.key(), req.Client)
	}
	if err != nil {
		done(FetchResult{}, err)
		return
	}
	f := &fetch{broker: b, req: req, done: done, acks: b.acknowledge(req.Member, req.AckRules, req.Acks)}
	switch {
	case req.Epoch == finalEpoch:
		b.closeSession(req.key())
	case req.Renews: // what was renewed is not to run out in a wait
		s.update(req.Add, req.Forget)
	default:
		s.update(req.Add, req.Forget)
		if !b.knowsTopics(s) {
			done(FetchResult{}, kafka.ErrUnknownServerError)
			return
		}
		f.wanted = rotated(s.partitions, req.Epoch)
		if f.deadline = b.clk.Now(); req.MinBytes > 0 {
			f.deadline = f.deadline.Add(req.MaxWait)
		}
	}
	f.try()
}

// knowsTopics says whether there are the topics that a session is about. A
// Kafka stumbles over those that there are not.
func (b *Broker) knowsTopics(s *session) bool {
	return !slices.ContainsFunc(s.partitions, func(p TopicPartition) bool {
		_, known := b.env.Topic(p.TopicID)
		return !known
	})
}

func acknowledges(acks []Ack) bool {
	return slices.ContainsFunc(acks, func(a Ack) bool { return len(a.Batches) > 0 })
}

// rotated lets each partition come first in turn.
func rotated(partitions []TopicPartition, epoch int32) []TopicPartition {
	if len(partitions) == 0 {
		return nil
	}
	n := int(epoch) % len(partitions)
	return slices.Concat(partitions[n:], partitions[:n])
}

// fetch is a ShareFetch that may have to wait.
type fetch struct {
	broker   *Broker
	req      FetchRequest
	done     func(FetchResult, error) // nil once answered
	acks     []FetchedPartition       // what became of acknowledgements
	wanted   []TopicPartition
	deadline time.Time
	round    int // of trying
	due      bool
}

// again has the fetch try again in the next event.
func (f *fetch) again() {
	if f.done != nil && !f.due {
		f.due = true
		f.broker.clk.After(0, func() {
			if f.due = false; f.done != nil {
				f.try()
			}
		})
	}
}

// giveUp answers with nothing, if that is still to be done.
func (f *fetch) giveUp() {
	if f.waits() {
		f.answer(nil)
	}
}

// waits says whether the fetch is yet to be answered.
func (f *fetch) waits() bool { return f.done != nil }

// try reads what is available, or waits for it.
func (f *fetch) try() {
	f.round++
	got, read := f.positions()
	if len(read) == 0 || f.req.MaxRecords <= 0 || f.req.MaxBytes <= 0 {
		f.settle(got, len(got) == len(f.wanted) || len(read) > 0)
		return
	}
	round := f.round
	ask := replica.FetchRequest{
		ReplicaID: replica.ConsumerReplica,
		MaxWait:   max(0, f.deadline.Sub(f.broker.clk.Now())),
		MinBytes:  min(f.req.MinBytes, f.req.MaxBytes),
		MaxBytes:  f.req.MaxBytes,
	}
	if f.broker.env.Settings(f.req.GroupID).ReadCommitted {
		ask.Isolation = replica.ReadCommitted
	}
	for _, r := range read {
		ask.Partitions = append(ask.Partitions, replica.FetchPartition{
			Partition: r.name, Offset: r.partition.position(), MaxBytes: f.req.MaxBytes,
			CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: kafka.NoOffset,
		})
	}
	f.broker.env.Replicas.Fetch(ask, func(result replica.FetchResult) {
		if f.done != nil && f.round == round {
			f.take(got, read, ask, result)
		}
	})
}

// reading is a partition of which something is read.
type reading struct {
	name      kafka.TopicPartition
	partition *partition
}

// positions says which partitions can be read, and what is wrong with others.
// Those that are full are neither.
func (f *fetch) positions() (failed []FetchedPartition, read []reading) {
	for _, tp := range f.wanted {
		name, p, err := f.broker.resolve(f.req.Member, tp, f.broker.find)
		if err != nil {
			failed = append(failed, FetchedPartition{TopicPartition: tp, Err: err})
			continue
		}
		p.waiting = append(slices.DeleteFunc(p.waiting, func(w waiter) bool { return !w.waits() || w == f }), f)
		if !p.full() {
			read = append(read, reading{name, p})
		}
	}
	return failed, read
}

// take acquires what was read. It answers if there is anything, or anything went
// wrong.
func (f *fetch) take(got []FetchedPartition, read []reading, ask replica.FetchRequest, result replica.FetchResult) {
	left, enough := f.req.MaxRecords, false
	for i, r := range read {
		from := &result.Partitions[i]
		to := FetchedPartition{TopicPartition: TopicPartition{r.partition.key.TopicID, r.name.Partition}}
		p, err := f.broker.find(r.partition.key, r.name)
		switch {
		case err != nil:
			to.Err, enough = err, true
		case p != r.partition: // it was lost and won again while this waited
		case errors.Is(from.Err, kafka.ErrOffsetOutOfRange):
			enough = true // find raises the start offset for the next fetch
		case from.Err != nil:
			to.Err, enough = from.Err, true
		default:
			acquired, count := r.partition.acquire(acquisition{
				member: f.req.MemberID, from: ask.Partitions[i].Offset, max: left, exact: f.req.Exact, batchSize: f.req.BatchSize,
				records: from.Records, aborted: from.Aborted,
			})
			if left -= count; count > 0 {
				to.Acquired, to.Records, enough = acquired, from.Records, true
			}
		}
		got = append(got, to)
	}
	f.settle(got, enough)
}

// settle answers if there is enough or no time left. Otherwise it tries again,
// when there is something new if nothing was to be read.
func (f *fetch) settle(got []FetchedPartition, enough bool) {
	left := f.deadline.Sub(f.broker.clk.Now())
	switch {
	case enough || left <= 0:
		f.answer(got)
	case len(got) < len(f.wanted): // some are full
		round := f.round
		f.broker.clk.After(left, func() {
			if f.done != nil && f.round == round {
				f.answer(got)
			}
		})
	default:
		f.again()
	}
}

func (f *fetch) answer(got []FetchedPartition) {
	done := f.done
	f.done = nil
	if f.req.Epoch != firstEpoch {
		got = slices.DeleteFunc(got, func(p FetchedPartition) bool { return p.Err == nil && len(p.Acquired) == 0 })
	}
	for _, ack := range f.acks {
		if i := slices.IndexFunc(got, func(p FetchedPartition) bool { return p.TopicPartition == ack.TopicPartition }); i >= 0 {
			got[i].AckErr = ack.AckErr
		} else {
			got = append(got, ack)
		}
	}
	done(FetchResult{Partitions: got, LockDuration: f.broker.env.Settings(f.req.GroupID).LockDuration}, nil)
}

// resolve finds a partition by its topic's id, for a member that may have it.
func (b *Broker) resolve(m Member, tp TopicPartition, find func(Key, kafka.TopicPartition) (*partition, error)) (kafka.TopicPartition, *partition, error) {
	topic, ok := b.env.Topic(tp.TopicID)
	if !ok {
		return kafka.TopicPartition{}, nil, kafka.ErrUnknownTopicID
	}
	name := kafka.TopicPartition{Topic: topic, Partition: tp.Partition}
	if m.Check != nil {
		if err := m.Check(name); err != nil {
			return name, nil, err
		}
	}
	p, err := find(Key{m.GroupID, tp.TopicID, tp.Partition}, name)
	return name, p, err
}

// acknowledge takes a member's acknowledgements, partition by partition.
func (b *Broker) acknowledge(m Member, rules AckRules, acks []Ack) []FetchedPartition {
	var results []FetchedPartition
	for _, ack := range acks {
		tp := TopicPartition{ack.TopicID, ack.Partition}
		if len(ack.Batches) == 0 {
			continue
		}
		results = append(results, FetchedPartition{TopicPartition: tp, AckErr: b.acknowledgeOne(m, rules, tp, ack.Batches)})
	}
	return results
}

func (b *Broker) acknowledgeOne(m Member, rules AckRules, tp TopicPartition, batches []AckBatch) error {
	if !rules.valid(batches) {
		return kafka.ErrInvalidRequest
	}
	_, p, err := b.resolve(m, tp, func(k Key, name kafka.TopicPartition) (*partition, error) {
		if b.partitions[k] == nil { // nobody has got anything of it
			return nil, kafka.ErrUnknownTopicOrPartition
		}
		return b.find(k, name)
	})
	if err != nil {
		return err
	}
	return p.acknowledge(m.MemberID, batches)
}

// AckRequest acknowledges records (ShareAcknowledge).
type AckRequest struct {
	Member
	Acks []Ack
	AckRules
}

// AckedPartition is what became of acknowledgements of a partition.
type AckedPartition struct {
	TopicPartition
	Err error
}

// Acknowledge serves ShareAcknowledge. Errors: SHARE_SESSION_NOT_FOUND,
// INVALID_SHARE_SESSION_EPOCH.
func (b *Broker) Acknowledge(req AckRequest) ([]AckedPartition, time.Duration, error) {
	if req.Epoch == firstEpoch {
		return nil, 0, kafka.ErrInvalidShareSessionEpoch
	}
	if _, err := b.session(req.key(), req.Epoch); err != nil {
		return nil, 0, err
	}
	var results []AckedPartition
	for _, r := range b.acknowledge(req.Member, req.AckRules, req.Acks) {
		results = append(results, AckedPartition{r.TopicPartition, r.AckErr})
	}
	if req.Epoch == finalEpoch {
		b.closeSession(req.key())
	}
	return results, b.env.Settings(req.GroupID).LockDuration, nil
}
