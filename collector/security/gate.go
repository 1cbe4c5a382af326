package security

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"
)

// gate keeps connections from being tried again at once where TLS or a login
// has failed: after the first failure at an address for firstWait, and after
// each further one twice as long, up to longWait. An account is not locked, nor
// a log filled, by an exporter with an old password. Other files or secrets open
// the gate, since they may be right. An address at which connections only end
// is left alone when that has gone on for settle: a broker may be restarting.
type gate struct {
	now func() time.Time

	mu     sync.Mutex
	closed map[string]*closure // by address
}

// closure is an address at which the last connection failed.
type closure struct {
	failures    int
	since       time.Time
	until       time.Time
	raw         error // as franz-go has it
	err         *Error
	credentials [sha256.Size]byte // that failed
}

// settle is how long connections must have ended for that to be no accident.
const settle = 5 * time.Second

// ErrHeld is matched by the errors of connections that were not tried: no broker
// has heard of them.
var ErrHeld = errors.New("not tried again yet")

// check returns why an address is not to be connected to at present; nil if it
// is.
func (g *gate) check(address string, credentials func() [sha256.Size]byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.closed[address]
	if c == nil || !g.now().Before(c.until) || credentials() != c.credentials {
		return nil
	}
	return &Error{
		Kind: c.err.Kind, Cause: ErrHeld,
		Text: fmt.Sprintf("%s (tried %s; again in %s, or when the files or secrets change)", c.err.Text, times(c.failures), c.until.Sub(g.now()).Round(time.Second)),
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// failed closes the gate of an address. Without hold it stays open, and only
// the explanation is kept.
func (g *gate) failed(address string, raw error, err *Error, credentials [sha256.Size]byte, hold bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.closed[address]
	if c == nil || c.credentials != credentials {
		c = &closure{credentials: credentials, since: g.now()}
		g.closed[address] = c
	}
	c.raw, c.err = raw, err
	c.until = g.now()
	if hold && (!err.unsure || c.until.Sub(c.since) >= settle) {
		c.failures++
		c.until = c.until.Add(wait(c.failures, firstWait, longWait))
	}
}

// succeeded opens the gate of an address.
func (g *gate) succeeded(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.closed, address)
}

// explanation is what is known of an error that franz-go told of before.
func (g *gate) explanation(address string, err error) *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.closed[address]; c != nil && c.raw != nil && errors.Is(err, c.raw) {
		return c.err
	}
	return nil
}
