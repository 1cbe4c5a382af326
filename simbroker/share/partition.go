package share

import (
	"errors"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// partition is a partition as one share group works through it, at its leader.
type partition struct {
	clk clock.Clock
	env Environment
	key Key
	// lost tells the broker that it may not write about the partition any more.
	lost func()
	// epoch is the leader's; stateEpoch comes from the store.
	epoch      kafka.LeaderEpoch
	stateEpoch int32
	start      kafka.Offset
	inFlight   []delivery // from start on, in a row
	waiting    []waiter   // to be told when something becomes available
}

// waiter is who waits for records of a partition.
type waiter interface {
	// again has it look for them in the next event.
	again()
	// giveUp ends its waiting: there will be none.
	giveUp()
	// waits says whether it does still.
	waits() bool
}

// delivery is a record in flight.
type delivery struct {
	Record
	batch  *batch // nil for one that was not delivered, between others that were
	member string // of an acquired one, who has it
	lock   *lock  // and until when
}

// batch is a run of records that was delivered together the first time, or that
// the store had alike. Together they are delivered again, until they fail too
// often.
type batch struct{ first, last kafka.Offset }

func (b *batch) size() int { return int(b.last-b.first) + 1 }

// lock is one acquisition; its records become available when it ends.
type lock struct{ timer *clock.Timer }

func (p *partition) settings() Settings { return p.env.Settings(p.key.Group) }

// next is the first record that was never delivered.
func (p *partition) next() kafka.Offset { return p.start + kafka.Offset(len(p.inFlight)) }

// at is a record in flight.
func (p *partition) at(offset kafka.Offset) *delivery { return &p.inFlight[offset-p.start] }

// position is where to read next: the first available record.
func (p *partition) position() kafka.Offset {
	for i := range p.inFlight {
		if p.inFlight[i].State == Available {
			return p.start + kafka.Offset(i)
		}
	}
	return p.next()
}

// full says whether there is neither an available record nor room for another.
func (p *partition) full() bool {
	return p.position() == p.next() && len(p.inFlight) >= p.settings().MaxLocks
}

// complete counts the records in flight that are done with.
func (p *partition) complete() int {
	n := 0
	for i := range p.inFlight {
		if p.inFlight[i].State.terminal() {
			n++
		}
	}
	return n
}

// restore takes over what the store has. Records of which it knows nothing are
// available, whoever may have acquired them from the leader before.
func (p *partition) restore(s State) {
	for o := range s.Records {
		for p.next() <= o {
			p.inFlight = append(p.inFlight, delivery{})
		}
	}
	for o, r := range s.Records {
		p.at(o).Record = r
	}
	var b *batch
	for o := p.start; o < p.next(); o++ {
		if _, known := s.Records[o]; !known {
			b = nil
			continue
		}
		if b == nil || p.at(b.first).Record != p.at(o).Record {
			b = &batch{first: o}
		}
		b.last, p.at(o).batch = o, b
	}
	p.advance()
}

// advance moves the start offset over what is done with.
func (p *partition) advance() {
	n := 0
	for n < len(p.inFlight) && p.inFlight[n].State.terminal() {
		n++
	}
	p.start += kafka.Offset(n)
	p.inFlight = p.inFlight[n:]
}

// raise moves the start offset to the log's, below which there is nothing to
// deliver any more.
func (p *partition) raise(logStart kafka.Offset) {
	if logStart <= p.start {
		return
	}
	gone := min(int(logStart-p.start), len(p.inFlight))
	p.inFlight = p.inFlight[gone:]
	p.start = logStart
}

// expire makes the records of an acquisition available whose time is over.
func (p *partition) expire(l *lock) {
	p.giveBack(func(d *delivery) bool { return d.lock == l })
}

// release makes all that a member has available again.
func (p *partition) release(member string) {
	p.giveBack(func(d *delivery) bool { return d.member == member })
}

// giveBack makes acquired records available that match.
func (p *partition) giveBack(match func(*delivery) bool) {
	var changed []kafka.Offset
	for i := range p.inFlight {
		if d := &p.inFlight[i]; d.State == Acquired && match(d) {
			p.settle(d, Available)
			changed = append(changed, p.start+kafka.Offset(i))
		}
	}
	// What could not be written is given back all the same; who leads the
	// partition now knows of no acquisition.
	_ = p.save(changed)
}

// settle ends an acquisition. A record that was delivered too often is not made
// available again.
func (p *partition) settle(d *delivery, s RecordState) {
	if s == Available && d.Deliveries >= p.settings().DeliveryLimit {
		s = Archived
	}
	*d = delivery{Record: Record{s, d.Deliveries}, batch: d.batch}
}

// save writes what changed, and moves the start offset after that: what the store
// has stays behind. A partition whose leader may not write any more is given up.
func (p *partition) save(changed []kafka.Offset) error {
	if len(changed) == 0 {
		return nil
	}
	said := State{Start: p.start, Complete: p.complete(), Epoch: p.stateEpoch, LeaderEpoch: p.epoch, Records: make(map[kafka.Offset]Record)}
	for _, o := range changed {
		said.Records[o] = p.at(o).Record
	}
	if err := p.env.Store.save(p.key, said); err != nil {
		p.lost()
		return fenced(err)
	}
	p.advance()
	p.wake()
	return nil
}

// fenced is the error for a client whose broker is behind another one.
func fenced(err error) error {
	if errors.Is(err, kafka.ErrFencedLeaderEpoch) || errors.Is(err, kafka.ErrFencedStateEpoch) {
		return kafka.ErrNotLeaderOrFollower
	}
	return err
}

// wake tells those who wait that they may find something.
func (p *partition) wake() {
	waiting := p.waiting
	p.waiting = nil
	for _, f := range waiting {
		f.again()
	}
}
