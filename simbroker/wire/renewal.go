package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// renewal is how a client whose session ends logs in again, on the connection
// that it has (KIP-368). It belongs to events.
type renewal struct {
	began time.Time // the last one; zero before the first
	login *login    // under way
}

// renewPause is how long after a renewal began another may not begin.
const renewPause = time.Second

// renews takes a request that begins a renewal or belongs to one, and says
// whether it was such. Where there is no session that ends, and too soon after
// the last renewal, SaslHandshake is a request like others, which is refused.
func (c *connection) renews(req request) bool {
	r := &c.renewal
	if r.login == nil {
		now := c.now()
		if req.body.Key() != int16(kmsg.SASLHandshake) || !c.session.canEnd() || !r.began.IsZero() && now.Sub(r.began) < renewPause {
			return false
		}
		r.began = now
		r.login = &login{conn: c, state: awaitHandshake, before: c.info.Principal, settled: func(more bool) {
			if !more {
				r.login = nil
			}
		}}
	}
	c.busy = true
	r.login.handleRequest(r.login.call(req, func(resp kmsg.Response) { c.reply(req, resp) }))
	return true
}
