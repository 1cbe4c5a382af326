package collector

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// contacts is which brokers a sweep has asked since it has Metadata, and which of
// them have answered.
// It is safe for concurrent use.
type contacts struct {
	mu    sync.Mutex
	asked map[int32]time.Time // the first time
	heard map[int32]bool
}

// newContacts returns the contacts of a sweep that has asked nobody yet.
func newContacts() *contacts {
	return &contacts{asked: make(map[int32]time.Time), heard: make(map[int32]bool)}
}

// ask notes that a broker is sent a request.
func (c *contacts) ask(id int32, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, before := c.asked[id]; !before {
		c.asked[id] = at
	}
}

// hear notes that a broker has answered.
func (c *contacts) hear(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard[id] = true
}

// silence is for how long a broker has been asked without any answer; 0 for one
// that has answered, or was asked nothing.
func (c *contacts) silence(id int32, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, ok := c.asked[id]
	if !ok || c.heard[id] {
		return 0
	}
	return now.Sub(asked)
}

// endedBy says that a part of the sweep was over before a broker had given what
// the part lacks. One that has answered nothing since Metadata, though it was
// waited for half of BrokerTimeout, is taken for one that did not answer: it
// would use up the time of each sweep otherwise. Of the others, who may have had
// no time to answer, only the miss is noted.
func (w *sweep) endedBy(id int32, lacks string, collectors ...Collector) (kind lag.MissKind) {
	err := w.silenceOf(id)
	if err == nil {
		w.misses.add(lag.MissDeadline, brokerSubject(id), 1, lacks, collectors...)
		return lag.MissDeadline
	}
	w.markDown(&line{sweep: w, id: id, failure: lag.MissTimeout, err: err})
	w.misses.fail(collectors...)
	return lag.MissTimeout
}

// silenceOf is the error of a broker that has answered nothing in this sweep, if
// it was waited for long enough; nil otherwise.
func (w *sweep) silenceOf(id int32) error {
	waited := w.contacts.silence(id, w.options.Now())
	if waited < w.options.BrokerTimeout/2 || waited == 0 {
		return nil
	}
	text := fmt.Sprintf("no answer within %v", waited.Round(10*time.Millisecond))
	if address := w.addressOf(id); address != "" {
		text = address + ": " + text
	}
	return errors.New(text)
}

// addressOf is where Metadata says that a broker is; empty where it does not.
func (w *sweep) addressOf(id int32) string {
	if w.layout == nil {
		return ""
	}
	for _, b := range w.layout.cluster.Brokers {
		if int32(b.ID) == id {
			return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		}
	}
	return ""
}

// reason is why something of a subject was missed; empty if nothing was.
func (m *misses) reason(subject string) string {
	for _, miss := range m.list() {
		if miss.Subject == subject {
			return miss.Detail
		}
	}
	return ""
}
