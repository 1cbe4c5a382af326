package share

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// AckType is what a member says of a record, by Kafka's numbers.
type AckType int8

// The types of acknowledgements.
const (
	Gap     AckType = 0 // there is no record
	Accept  AckType = 1
	Release AckType = 2
	Reject  AckType = 3
	Renew   AckType = 4 // it needs more time
)

// becomes is the state of a record after an acknowledgement.
func (t AckType) becomes() RecordState {
	switch t {
	case Accept:
		return Acknowledged
	case Release:
		return Available
	}
	return Archived
}

// AckBatch acknowledges a run of records: each with its own type, or all with
// one.
type AckBatch struct {
	First, Last kafka.Offset
	Types       []AckType
}

func (b AckBatch) typeOf(o kafka.Offset) AckType {
	if len(b.Types) == 1 {
		return b.Types[0]
	}
	return b.Types[o-b.First]
}

// Ack acknowledges records of one partition.
type Ack struct {
	TopicID   kafka.TopicID
	Partition int32
	Batches   []AckBatch
}

// AckRules say what a request may acknowledge.
type AckRules struct {
	// KnowsRenew is set where the version has the type Renew; Renews, where the
	// request says that it uses it.
	KnowsRenew, Renews bool
}

// valid says whether batches make sense, whatever is in flight.
func (r AckRules) valid(batches []AckBatch) bool {
	most := Reject
	if r.KnowsRenew {
		most = Renew
	}
	last := kafka.NoOffset
	for _, b := range batches {
		n := kafka.Offset(len(b.Types))
		switch {
		case b.First > b.Last, b.First < last, n == 0, n > 1 && b.Last-b.First != n-1:
			return false
		case slices.ContainsFunc(b.Types, func(t AckType) bool { return t < Gap || t > most || t == Renew && !r.Renews }):
			return false
		}
		last = b.Last
	}
	return true
}

// acknowledge takes a member's word for records that it has: all of it or, with
// an error, nothing. INVALID_RECORD_STATE for what is not the member's,
// INVALID_REQUEST for what is not in flight at all.
func (p *partition) acknowledge(member string, batches []AckBatch) error {
	said := make(map[kafka.Offset]AckType)
	for _, b := range batches {
		if b.Last < p.start {
			continue // done with
		}
		if err := p.checkBatch(b); err != nil {
			return err
		}
		for o := max(b.First, p.start); o <= b.Last; o++ {
			if _, twice := said[o]; twice {
				return refuse(kafka.ErrInvalidRecordState, "The record state is invalid. The acknowledgement of delivery could not be completed.")
			}
			if err := p.checkRecord(member, o, b.typeOf(o)); err != nil {
				return err
			}
			said[o] = b.typeOf(o)
		}
	}
	return p.apply(said)
}

func (p *partition) checkBatch(b AckBatch) error {
	switch {
	case len(p.inFlight) == 0:
		return refuse(kafka.ErrInvalidRecordState, "Batch record not found. The request batch offsets are not found in the cache.")
	case b.First >= p.next():
		return refuse(kafka.ErrInvalidRequest, "Batch record not found. The first offset in request is past acquired records.")
	case b.Last >= p.next():
		return refuse(kafka.ErrInvalidRequest, "Batch record not found. The last offset in request is past acquired records.")
	}
	return nil
}

func (p *partition) checkRecord(member string, o kafka.Offset, t AckType) error {
	switch d := p.at(o); {
	case d.State != Acquired:
		return refuse(kafka.ErrInvalidRecordState, "The batch cannot be acknowledged. The batch is not in the acquired state.")
	case d.member != member:
		return refuse(kafka.ErrInvalidRecordState, "Member is not the owner of batch record")
	case t == Renew && !p.settings().Renew:
		return refuse(kafka.ErrInvalidRecordState, "Renewing acquisition locks is not enabled for the group.")
	}
	return nil
}

// apply does what was said of records, which is in order.
func (p *partition) apply(said map[kafka.Offset]AckType) error {
	renewed := new(lock)
	var changed []kafka.Offset
	for o, t := range said {
		d := p.at(o)
		if t == Renew {
			d.lock = renewed
			continue
		}
		p.settle(d, t.becomes())
		changed = append(changed, o)
	}
	if len(said) > len(changed) {
		renewed.timer = p.clk.After(p.settings().LockDuration, func() { p.expire(renewed) })
	}
	return p.save(changed)
}
