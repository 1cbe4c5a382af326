package oracle

import (
	"maps"
	"slices"
)

// transaction is one transaction of a transactional id, as the record tells it.
type transaction struct {
	id     string
	number int // in the life of the id
	// partitions are those that it may have touched: true where it did for certain.
	partitions map[placeKey]bool
	byHand     bool // no transaction: a marker that a client wrote

	begun    moment // when its first partition may have been added
	sure     moment // and when one was for certain
	timeout  moment // from when on the coordinator may abort it
	ended    bool   // an end was asked for
	answered bool   // and granted
	// end is when its markers are written: after the end was asked for, or the
	// timeout ran out, and before it was seen complete.
	end       window
	committed bool
}

// ledger follows the transactions of every id through the record.
type ledger struct {
	all []*transaction
	cur map[string]*transaction
}

func newLedger() *ledger { return &ledger{cur: map[string]*transaction{}} }

func (l *ledger) begin(a Act) *transaction {
	t := &transaction{
		id: a.TransactionalID, number: l.count(a.TransactionalID),
		partitions: map[placeKey]bool{}, begun: never, sure: never, timeout: never, end: window{never, never},
	}
	if prev := l.cur[a.TransactionalID]; prev != nil {
		prev.close()
		t.timeout = prev.timeout
	}
	if a.Kind == BeginTransaction && a.Timeout > 0 {
		t.timeout = moment(a.Timeout)
	}
	l.all = append(l.all, t)
	l.cur[a.TransactionalID] = t
	return t
}

func (l *ledger) count(id string) int {
	if t := l.cur[id]; t != nil {
		return t.number + 1
	}
	return 0
}

// open is the transaction that a new batch belongs to: the current one, or a
// new one if that was ended. The success of the batch proves that the one
// before is complete (rule G4).
func (l *ledger) open(a Act) *transaction {
	t := l.cur[a.TransactionalID]
	if t == nil || t.ended {
		t = l.begin(a)
	}
	if t.begun == never {
		t.begun = momentOf(a.Sent)
	}
	t.sure = min(t.sure, momentOf(a.Answered))
	if t.number > 0 && !a.Answered.IsZero() {
		l.complete(a.TransactionalID, t.number-1, momentOf(a.Answered))
	}
	return t
}

func (l *ledger) complete(id string, number int, at moment) {
	for i := len(l.all) - 1; i >= 0; i-- {
		if t := l.all[i]; t.id == id && t.number == number && !t.byHand {
			t.end.late = min(t.end.late, at)
			return
		}
	}
}

func (l *ledger) end(a Act) {
	t := l.cur[a.TransactionalID]
	if t == nil {
		return // nothing was written: no marker (rule G14)
	}
	if t.ended && t.answered {
		return // a retry
	}
	t.ended = true
	t.end.early = min(t.end.early, momentOf(a.Sent))
	t.committed = a.Committed
	t.answered = !a.Answered.IsZero()
}

// mayHaveEnded says whether the transaction may have been ended by a moment; if
// not, what was seen complete then is the one before. So it is where neither its
// beginning nor its end is certain.
func (t *transaction) mayHaveEnded(at moment) bool {
	if t.sure > at && !t.answered {
		return false
	}
	timedOut := t.timeout != never && t.begun != never && t.begun+t.timeout <= at
	return t.ended && t.end.early <= at || timedOut
}

// touch says that a batch of the transaction, or a request to add a partition, was
// sent, and whether it was granted.
func (t *transaction) touch(key placeKey, certain bool) {
	t.partitions[key] = t.partitions[key] || certain
}

// mark is a marker by hand, in one partition: it ends what is open there and
// leaves the transaction as it is.
func (l *ledger) mark(a Act, key placeKey) {
	l.all = append(l.all, &transaction{
		id: a.TransactionalID, number: l.count(a.TransactionalID) - 1, byHand: true,
		partitions: map[placeKey]bool{key: true}, begun: never, timeout: never,
		ended: true, answered: !a.Answered.IsZero(), end: a.window(), committed: a.Committed,
	})
}

// close settles what the record leaves open: once its timeout had run out
// before its end was asked for, the coordinator may have aborted it (rule G16).
func (t *transaction) close() {
	if t.timeout != never && t.begun != never && t.begun+t.timeout < t.end.early {
		t.end.early = t.begun + t.timeout
	}
}

// failedOver adds the markers that a coordinator sends again when it takes over
// a transaction that is not complete (rule G18): for each outage meanwhile one
// more in each of its partitions, perhaps.
func (l *ledger) failedOver(f *fleet) {
	for _, t := range slices.Clone(l.all) {
		if t.byHand || t.end.early == never {
			continue
		}
		for _, b := range f.brokers {
			for _, o := range f.outages[b] {
				if o.down.early > t.end.late || o.up.late.add(f.timing.Settle) < t.end.early {
					continue
				}
				l.all = append(l.all, &transaction{
					id: t.id, number: t.number, byHand: true, partitions: maps.Clone(t.partitions),
					begun: never, timeout: never, ended: true, end: window{max(o.down.early, t.end.early), never}, committed: t.committed,
				})
			}
		}
	}
}
