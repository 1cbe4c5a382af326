package replica

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// process is what all parts of a running broker share: who it is, what it obeys,
// what it reaches, and what its present event leaves to the next one.
type process struct {
	id   kafka.BrokerID
	cfg  Config
	deps Deps

	due    []func()     // answers and checks for the next event
	spare  []func()     // what was due, empty
	answer *clock.Timer // that event
}

func (p *process) nowMs() int64 { return p.deps.Clock.Now().UnixMilli() }

// producerIDExpiration is producer.id.expiration.ms as it is now.
func (p *process) producerIDExpiration() time.Duration { return p.cfg.ProducerIDExpiration }

// later runs f as an event of its own: answers given from within a change of
// state must not meet it half done.
func (p *process) later(f func()) {
	p.due = append(p.due, f)
	switch {
	case len(p.due) > 1:
	case p.answer == nil:
		p.answer = p.deps.Clock.After(0, p.answerDue)
	default:
		p.answer.Reset(0)
	}
}

func (p *process) answerDue() {
	due := p.due
	p.due = p.spare
	for _, f := range due {
		f()
	}
	clear(due)
	p.spare = due[:0]
}

// boot forgets what a process forgets when it ends.
func (p *process) boot() { p.due, p.spare, p.answer = nil, nil, nil }
