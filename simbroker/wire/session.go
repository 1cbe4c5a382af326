package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// session is the time for which a login counts (KIP-368). A client is told how
// long that is, and logs in again before, on the connection that it has; the
// first request after the end closes the connection. It belongs to events.
type session struct {
	mechanism sasl.Mechanism
	lifetime  time.Duration
	ends      time.Time // zero for never
	renewed   time.Time // when the last renewal began
	renewal   *login    // under way
}

// renewPause is how long after a renewal began another may not begin.
const renewPause = time.Second

// begin starts the session of a login that has succeeded. It ends with what the
// client has proved, and after the longest time that is allowed.
func (s *session) begin(l *login) {
	now := l.conn.now()
	s.mechanism, s.lifetime, s.ends = l.mechanism, 0, time.Time{}
	longest := l.conn.listener.Sessions[l.mechanism]
	expiring, expires := l.exchange.(sasl.Expiring)
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

// over says whether the session has ended.
func (s *session) over(now time.Time) bool { return !s.ends.IsZero() && now.After(s.ends) }

// renews takes a request that begins a renewal or belongs to one, and says
// whether it was such. Where there is no session that ends, and too soon after
// the last renewal, SaslHandshake is a request like others, which is refused.
func (s *session) renews(c *connection, req request) bool {
	if s.renewal == nil {
		now := c.now()
		if req.body.Key() != int16(kmsg.SASLHandshake) || s.ends.IsZero() || !s.renewed.IsZero() && now.Sub(s.renewed) < renewPause {
			return false
		}
		s.renewed = now
		s.renewal = &login{conn: c, state: awaitHandshake, before: c.info.Principal, settled: func(more bool) {
			if !more {
				s.renewal = nil
			}
		}}
	}
	c.busy = true
	s.renewal.handleRequest(s.renewal.call(req, func(resp kmsg.Response) { c.reply(req, resp) }))
	return true
}
