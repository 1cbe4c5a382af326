package clock

import "time"

// Host is one machine's share of a Loop: a Clock whose events stand still
// while the machine is paused (a stopped process) and vanish when it is killed.
// All of it belongs to events.
type Host struct {
	loop   *Loop
	epoch  uint64 // of life: events of an earlier one never run
	paused bool
	held   []func()
	skew   time.Duration
}

// NewHost returns a running machine on the loop.
func NewHost(l *Loop) *Host { return &Host{loop: l} }

// Now implements Clock: what the machine's own clock shows.
func (h *Host) Now() time.Time { return h.loop.Now().Add(h.skew) }

// Skew sets the machine's clock, which is so much ahead of the loop's from then
// on, or behind it if d is negative. How long things take stays the same.
func (h *Host) Skew(d time.Duration) { h.skew = d }

// After implements Clock: what falls due while the host is paused runs, in
// order, when it is resumed.
func (h *Host) After(d time.Duration, f func()) *Timer { return h.Life().After(d, f) }

// Life is the host's present life, the zero Life that of nobody.
func (h *Host) Life() Life { return Life{h, h.epoch} }

// Run runs f now, or when the host is resumed if it is paused.
func (h *Host) Run(f func()) {
	if h.paused {
		h.held = append(h.held, f)
		return
	}
	f()
}

// Bind returns a function that runs f on the host as it lives now: when it is
// resumed if it is paused, and never once it has been killed.
func (h *Host) Bind(f func()) func() {
	life := h.Life()
	return func() { life.Run(f) }
}

// Paused says whether the host stands still.
func (h *Host) Paused() bool { return h.paused }

// Pause makes the host stand still.
func (h *Host) Pause() { h.paused = true }

// Resume runs what was held back, in order, and lets time go on.
func (h *Host) Resume() {
	h.paused = false
	held := h.held
	h.held = nil
	for i, f := range held {
		if h.paused {
			h.held = append(h.held, held[i:]...)
			return
		}
		f()
	}
}

// Kill forgets every event and everything held back; a later life starts
// empty and running.
func (h *Host) Kill() {
	h.epoch++
	h.held = nil
	h.paused = false
}

// Life is the time of a host from its start to its being killed.
type Life struct {
	host  *Host
	epoch uint64
}

func (l Life) ended() bool { return l.host.epoch != l.epoch }

// Run runs f now, or when the host is resumed if it is paused; never if the life has
// ended.
func (l Life) Run(f func()) {
	if !l.ended() {
		l.host.Run(f)
	}
}

// After is the host's After of that life: f never runs in another one.
func (l Life) After(d time.Duration, f func()) *Timer { return l.host.loop.after(d, l, f) }
