package share

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// partition is a partition as one share group works through it, at its leader.
type partition struct {
	broker *Broker
	key    Key
	// epoch is the leader's; stateEpoch comes from the store.
	epoch      kafka.LeaderEpoch
	stateEpoch int32
	start      kafka.Offset
	inFlight   []delivery // from start on, in a row
	waiting    []*fetch   // to be told when something becomes available
}

// delivery is a record in flight.
type delivery struct {
	Record
	member string // of an acquired one, who has it
	lock   *lock  // and until when
}

// lock is one acquisition; its records become available when it ends.
type lock struct{ timer *clock.Timer }

func (p *partition) settings() Settings { return p.broker.env.Settings(p.key.Group) }

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

// Run is a run of records that a member has now.
type Run struct {
	First, Last kafka.Offset
	Deliveries  int // of each, this one included
}

// acquisition is what a member wants of what was read.
type acquisition struct {
	member string
	from   kafka.Offset // where reading began
	max    int          // how many records, and the rest of the batch that holds the last one
	// exact asks for no more than max.
	exact   bool
	records commitlog.Records
	aborted []commitlog.AbortedTxn
}

// acquire gives a member what is available of what was read. What belongs to
// aborted transactions is archived instead.
func (p *partition) acquire(a acquisition) (runs []Run, count int) {
	end, limit := p.reach(a)
	batches := a.records.Batches()
	l := new(lock)
	for o := max(a.from, p.start); o <= end && limit > 0; o++ {
		for p.next() <= o {
			p.inFlight = append(p.inFlight, delivery{})
		}
		d, b := p.at(o), batchOf(batches, o)
		switch {
		case d.State != Available:
			continue
		case isAborted(b, a.aborted):
			d.State = Archived
			continue
		}
		*d = delivery{Record{Acquired, d.Deliveries + 1}, a.member, l}
		runs = appendRun(runs, o, d.Deliveries)
		switch count++; {
		case count == limit && a.exact:
			end = o
		case count == limit:
			end = min(end, b.LastOffset())
		}
	}
	if count > 0 {
		l.timer = p.broker.clk.After(p.settings().LockDuration, func() { p.expire(l) })
	}
	return runs, count
}

// reach is how far an acquisition may go: to which record, and to how many. When
// there is no room in flight, it is for those that are there.
func (p *partition) reach(a acquisition) (end kafka.Offset, limit int) {
	batches := a.records.Batches()
	if len(batches) == 0 {
		return kafka.NoOffset, 0
	}
	end = batches[len(batches)-1].LastOffset()
	if limit = min(a.max, p.settings().MaxLocks-len(p.inFlight)); limit > 0 {
		return end, limit
	}
	return min(end, p.next()-1), a.max
}

// appendRun adds a record to runs of records with as many deliveries each.
func appendRun(runs []Run, o kafka.Offset, deliveries int) []Run {
	if n := len(runs); n > 0 && runs[n-1].Last == o-1 && runs[n-1].Deliveries == deliveries {
		runs[n-1].Last = o
		return runs
	}
	return append(runs, Run{o, o, deliveries})
}

// batchOf is the batch that an offset lies in, or the one after it where none
// is left; there is one.
func batchOf(batches []commitlog.Batch, o kafka.Offset) commitlog.Batch {
	for _, b := range batches {
		if o <= b.LastOffset() {
			return b
		}
	}
	panic(fmt.Sprintf("share: offset %d lies behind what was read", o))
}

// isAborted says whether a batch belongs to one of the aborted transactions that
// came with it.
func isAborted(b commitlog.Batch, aborted []commitlog.AbortedTxn) bool {
	return b.Attributes.IsTransactional() && !b.Attributes.IsControl() && slices.ContainsFunc(aborted, func(t commitlog.AbortedTxn) bool {
		return t.ProducerID == b.Producer.ID && t.FirstOffset <= b.BaseOffset && b.BaseOffset <= t.LastOffset
	})
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
	*d = delivery{Record: Record{s, d.Deliveries}}
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
	if err := p.broker.env.Store.save(p.key, said); err != nil {
		p.broker.drop(p)
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
