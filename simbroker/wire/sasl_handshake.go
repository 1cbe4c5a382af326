package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// saslHandshake serves SaslHandshake where there is nothing to log in to: on a
// listener without SASL, or after the login. On a connection that has to log in,
// login answers it.
func (c *call) saslHandshake(*kmsg.SASLHandshakeRequest) { c.refuse(errIllegalSASLState) }

func refuseSASLHandshake(_ *kmsg.SASLHandshakeRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrSASLHandshakeResponse()
	resp.ErrorCode, resp.SupportedMechanisms = code, []string{} // not null, as Kafka has it
	return resp
}
