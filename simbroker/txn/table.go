package txn

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// table is the transactions of a shard. There may be very many, of which few are
// open or wanted at a time: those are found without going through all.
//
// ongoing and producers follow every step of a transaction in it, by settle.
type table struct {
	all       map[string]*transaction                        // by id
	ongoing   map[*transaction]struct{}                      // in state Ongoing
	producers map[kafka.ProducerID]map[*transaction]struct{} // by producer id
	order     []*transaction                                 // all, by id; nil if an id came or went since it was made
}

// newTable returns an empty table.
func newTable() *table {
	return &table{
		all: make(map[string]*transaction), ongoing: make(map[*transaction]struct{}),
		producers: make(map[kafka.ProducerID]map[*transaction]struct{}),
	}
}

// get is the transaction of an id, nil if the id is unknown.
func (b *table) get(id string) *transaction { return b.all[id] }

// put adds a transaction, in place of the one that its id had.
func (b *table) put(t *transaction) {
	b.remove(t.id)
	b.all[t.id] = t
	b.order = nil
	b.enter(t)
}

// remove forgets an id.
func (b *table) remove(id string) {
	t := b.all[id]
	if t == nil {
		return
	}
	delete(b.all, id)
	b.order = nil
	b.leave(t)
}

// settle takes one more step of a transaction over, which step makes.
func (b *table) settle(t *transaction, step func()) {
	known := b.all[t.id] == t
	if known {
		b.leave(t)
	}
	step()
	if known {
		b.enter(t)
	}
}

// enter adds a transaction to where its state and producer id have it.
func (b *table) enter(t *transaction) {
	if t.state == Ongoing {
		b.ongoing[t] = struct{}{}
	}
	set := b.producers[t.producer.ID]
	if set == nil {
		set = make(map[*transaction]struct{}, 1)
		b.producers[t.producer.ID] = set
	}
	set[t] = struct{}{}
}

// leave is the opposite of enter.
func (b *table) leave(t *transaction) {
	delete(b.ongoing, t)
	set := b.producers[t.producer.ID]
	if delete(set, t); len(set) == 0 {
		delete(b.producers, t.producer.ID)
	}
}

// sorted is all transactions in the order of their ids. It must not be changed.
func (b *table) sorted() []*transaction {
	if b.order == nil {
		b.order = sortedByID(b.all)
	}
	return b.order
}

// open is the transactions in state Ongoing, in the order of their ids.
func (b *table) open() []*transaction {
	return slices.SortedFunc(maps.Keys(b.ongoing), byID)
}

// of is the transactions with one of the producer ids, in the order of their ids.
func (b *table) of(producers []kafka.ProducerID) []*transaction {
	found := make(map[string]*transaction)
	for _, id := range producers {
		for t := range b.producers[id] {
			found[t.id] = t
		}
	}
	return sortedByID(found)
}

func sortedByID(set map[string]*transaction) []*transaction {
	return slices.SortedFunc(maps.Values(set), byID)
}

func byID(a, b *transaction) int { return cmp.Compare(a.id, b.id) }
