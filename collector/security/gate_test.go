package security

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"
)

// hands is a clock that is moved by hand.
type hands struct{ at time.Time }

func (h *hands) now() time.Time          { return h.at }
func (h *hands) advance(d time.Duration) { h.at = h.at.Add(d) }

func newHands() *hands { return &hands{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func TestWaits(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		1: 10 * time.Second, 2: 20 * time.Second, 5: 160 * time.Second, 6: 5 * time.Minute, 1000: 5 * time.Minute,
	} {
		if got := wait(failures, firstWait, longWait); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
}

// An address that refused a login is left alone for a while that grows, and no
// other is.
func TestGate(t *testing.T) {
	h := newHands()
	g := gate{now: h.now, closed: make(map[string]*closure)}
	credentials := sha256.Sum256([]byte("old"))
	present := func() [sha256.Size]byte { return credentials }
	open := func(address string) bool { return g.check(address, present) == nil }
	refused := errors.New("refused")
	fail := func() { g.failed("a:1", refused, loginError(refused, "a:1 refused the login"), credentials, true) }

	if !open("a:1") {
		t.Fatal("closed before anything has failed")
	}
	for _, wait := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		fail()
		if open("a:1") || !open("b:1") {
			t.Errorf("a:1 open %t, b:1 open %t", open("a:1"), open("b:1"))
		}
		if h.advance(wait - time.Millisecond); open("a:1") {
			t.Errorf("open before %s", wait)
		}
		if h.advance(time.Millisecond); !open("a:1") {
			t.Errorf("closed after %s", wait)
		}
	}
	fail()
	h.advance(30 * time.Second)
	err := g.check("a:1", present)
	var explained *Error
	if !errors.As(err, &explained) || explained.Kind != KindAuthentication || !errors.Is(err, ErrHeld) ||
		explained.Text != "a:1 refused the login (tried 4 times; again in 50s, or when the files or secrets change)" {
		t.Errorf("held back with %v", err)
	}
	if credentials = sha256.Sum256([]byte("new")); !open("a:1") {
		t.Error("closed for credentials that were not tried")
	}
	fail()
	if h.advance(10 * time.Second); !open("a:1") {
		t.Error("new credentials wait for the failures of the old ones")
	}
	fail()
	if g.succeeded("a:1"); !open("a:1") {
		t.Error("closed after a login")
	}
}

// A broker that only goes away may be restarting: it is left alone once it has
// gone away for a while.
func TestGateIsNotSure(t *testing.T) {
	h := newHands()
	g := gate{now: h.now, closed: make(map[string]*closure)}
	present := func() [sha256.Size]byte { return [sha256.Size]byte{} }
	raw := errors.New("EOF")
	fail := func() { g.failed("a:1", raw, unsure(raw, "a:1 closed the connection"), present(), true) }
	for range 5 {
		fail()
		if err := g.check("a:1", present); err != nil {
			t.Errorf("held back after %s: %v", h.at.Sub(newHands().at), err)
		}
		h.advance(time.Second)
	}
	fail()
	if err := g.check("a:1", present); err == nil || !strings.HasSuffix(err.Error(), "(tried once; again in 10s, or when the files or secrets change)") {
		t.Errorf("after 5 s: %v", err)
	}
	g.succeeded("a:1")
	fail()
	if err := g.check("a:1", present); err != nil {
		t.Errorf("held back after a connection in between: %v", err)
	}
}

// In clear nothing is held back, and what franz-go told of is explained.
func TestGateInClear(t *testing.T) {
	h := newHands()
	g := gate{now: h.now, closed: make(map[string]*closure)}
	raw := errors.New("EOF")
	g.failed("a:1", raw, tlsError(raw, "this port may speak TLS"), [sha256.Size]byte{}, false)
	if err := g.check("a:1", func() [sha256.Size]byte { return [sha256.Size]byte{} }); err != nil {
		t.Errorf("held back: %v", err)
	}
	if got := g.explanation("a:1", raw); got == nil || !strings.Contains(got.Text, "TLS") {
		t.Errorf("explained by %v", got)
	}
	if got := g.explanation("a:1", errors.New("EOF")); got != nil {
		t.Errorf("another error is explained by %v", got)
	}
}
