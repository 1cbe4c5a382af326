package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// saslAuthenticate serves SaslAuthenticate where there is nothing to log in to,
// as saslHandshake does.
func (c *call) saslAuthenticate(*kmsg.SASLAuthenticateRequest) {
	resp := refuseSASLAuthenticate(nil, codeOf(errIllegalSASLState)).(*kmsg.SASLAuthenticateResponse)
	text := "SaslAuthenticate request received after successful authentication"
	resp.ErrorMessage = &text
	c.send(resp)
}

func refuseSASLAuthenticate(_ *kmsg.SASLAuthenticateRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	resp.ErrorCode, resp.SASLAuthBytes = code, []byte{}
	return resp
}
