package txn

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// idRetryBackoff is how long a failed request for a block keeps the next one
// from being made.
const idRetryBackoff = 50 * time.Millisecond

// producerIDs hands out the producer ids of this broker's blocks. The next
// block is asked for when nine tenths of the present one are gone, and by the
// first producer that finds nothing left, who has to come again.
type producerIDs struct {
	clk      clock.Clock
	ids      IDs
	current  block
	next     block
	inFlight bool
	notUntil time.Time
}

// block is the ids from next up to end, of which those from prefetch on are
// the last tenth.
type block struct {
	next, end, prefetch kafka.ProducerID
}

// generate is a producer id that nobody in the cluster has had, or
// COORDINATOR_LOAD_IN_PROGRESS while this broker waits for a block (rule G0).
func (p *producerIDs) generate() (kafka.ProducerID, error) {
	if p.current.next == p.current.end {
		p.current, p.next = p.next, block{}
	}
	if p.current.next == p.current.end {
		p.request()
		return kafka.NoProducerID, kafka.ErrCoordinatorLoadInProgress
	}
	id := p.current.next
	p.current.next++
	if id >= p.current.prefetch {
		p.request()
	}
	return id, nil
}

func (p *producerIDs) request() {
	if p.inFlight || p.next.next != p.next.end || p.clk.Now().Before(p.notUntil) {
		return
	}
	p.inFlight = true
	p.ids.Block(func(first kafka.ProducerID, length int64, err error) {
		p.inFlight = false
		if err != nil {
			p.notUntil = p.clk.Now().Add(idRetryBackoff)
			return
		}
		p.next = block{
			next:     first,
			end:      first + kafka.ProducerID(length),
			prefetch: first + kafka.ProducerID(length*9/10),
		}
	})
}
