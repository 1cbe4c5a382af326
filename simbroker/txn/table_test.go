package txn

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// check fails the test unless whatever is found by state and producer id is what going through all ids finds.
func (b *table) check(t *testing.T) {
	t.Helper()
	ongoing, producers := make(map[*transaction]struct{}), make(map[kafka.ProducerID]int)
	for id, each := range b.all {
		if each.id != id {
			t.Fatalf("%s stands under %s", each.id, id)
		}
		if each.state == Ongoing {
			ongoing[each] = struct{}{}
		}
		producers[each.producer.ID]++
		if _, ok := b.producers[each.producer.ID][each]; !ok {
			t.Fatalf("%s is not found by its producer id", each)
		}
	}
	if !maps.Equal(ongoing, b.ongoing) {
		t.Fatalf("%d transactions are ongoing, %d are found so", len(ongoing), len(b.ongoing))
	}
	for id, set := range b.producers {
		if len(set) != producers[id] {
			t.Fatalf("producer %d has %d transactions, %d are found", id, producers[id], len(set))
		}
	}
	if order := sortedByID(b.all); !slices.Equal(order, b.sorted()) {
		t.Fatal("the order by id is not that of all ids")
	}
}

// The ways to a transaction stay right through lives of all kinds: ends, time-outs,
// fencing, exhausted epochs, expiry, loss, refused appends and reloads.
func TestTableFollowsEveryStep(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	cl := newCluster(t)
	ids := make([]string, 20)
	producers := make(map[string]kafka.Producer)
	for i := range ids {
		ids[i] = "X" + strconv.Itoa(i)
	}
	var open, ended, rotated int
	for epoch := range 2000 {
		id := ids[r.IntN(len(ids))]
		switch n := r.IntN(100); {
		case n < 25:
			if p, err := cl.init(id, time.Minute); err == nil {
				if old, known := producers[id]; known && old.ID != p.ID {
					rotated++
				}
				producers[id] = p
			}
		case n < 55:
			cl.add(TV2, id, producers[id], orders0)
		case n < 80:
			if p, err := cl.end(TV2, id, producers[id], n%2 == 0); err == nil {
				producers[id] = p
				ended++
			}
		case n < 84: // as if it had lived for long
			if s, each, err := cl.find(id); err == nil && each != nil && !each.moving() {
				s.transactions.settle(each, func() { each.producer.Epoch = lastUsableEpoch })
			}
		case n < 88:
			cl.Forget(id)
		case n < 94:
			cl.pass(time.Duration(r.IntN(30)) * time.Second)
		case n < 95: // and as if it had been idle for long
			if s, each, err := cl.find(id); err == nil && each != nil && !each.moving() {
				s.transactions.settle(each, func() { each.lastUpdate -= (8 * 24 * time.Hour).Milliseconds() })
				cl.removeExpired()
			}
		case n < 97:
			cl.appendErr = []error{nil, kafka.ErrNotEnoughReplicas}[r.IntN(2)]
		default:
			cl.appendErr = nil
			cl.restart(kafka.CoordinatorEpoch(epoch + 1))
		}
		for _, s := range cl.shards {
			s.transactions.check(t)
			open += len(s.transactions.ongoing)
		}
	}
	if open == 0 || ended == 0 || rotated == 0 {
		t.Errorf("%d times a transaction was open, %d ended, %d got another producer id: one of them was not tried", open, ended, rotated)
	}
}
