package wire

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// session is the time for which a login counts (KIP-368). A client is told how
// long that is, and logs in again before; the first request after the end closes
// the connection. It belongs to events.
type session struct {
	mechanism sasl.Mechanism
	lifetime  time.Duration
	ends      time.Time // zero for never
}

// begin starts the session of a login that has succeeded. It ends with what the
// client has proved, and after the longest time that is allowed, if that is not 0.
func (s *session) begin(now time.Time, mechanism sasl.Mechanism, proof sasl.Exchange, longest time.Duration) {
	s.mechanism, s.lifetime, s.ends = mechanism, 0, time.Time{}
	expiring, expires := proof.(sasl.Expiring)
	switch {
	case !expires && longest <= 0:
		return
	case !expires:
		s.lifetime = longest
	default:
		s.lifetime = max(expiring.Expires().Sub(now), 0)
		if longest > 0 {
			s.lifetime = min(s.lifetime, longest)
		}
	}
	s.lifetime = s.lifetime.Truncate(time.Millisecond)
	s.ends = now.Add(s.lifetime)
}

// canEnd says whether there is a session that ends.
func (s *session) canEnd() bool { return !s.ends.IsZero() }

// over says whether the session has ended.
func (s *session) over(now time.Time) bool { return s.canEnd() && now.After(s.ends) }
