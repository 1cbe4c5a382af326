package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// maxLoginSize is the default of sasl.server.max.receive.size.
const maxLoginSize = 524288

// login is what a connection does before it serves requests, on a listener with
// SASL (KIP-43, KIP-152). One token is handled at a time:
//
//	ApiVersions?  SaslHandshake v1  SaslAuthenticate…   requests as any others
//	ApiVersions?  SaslHandshake v0  token…              tokens are bare frames
//
// Anything else closes the connection. A login that fails is answered after
// connection.failed.authentication.delay.ms, with Kafka's words, and then the
// connection is closed. A client whose session ends logs in again on the same
// connection; see renewal.
type login struct {
	conn      *connection
	state     loginState
	mechanism sasl.Mechanism
	exchange  sasl.Exchange
	bare      bool // tokens come without a header
	// settled is told after each frame whether there is more of the login to
	// come.
	settled func(more bool)
	// before is who logs in again, on a connection that serves requests; empty
	// for a first login.
	before string
}

type loginState int8

// The states of a login. ApiVersions may come once, before SaslHandshake.
const (
	awaitVersionsOrHandshake loginState = iota
	awaitHandshake
	awaitToken
)

// logIn reads a login and has it handled, frame by frame. It says whether the
// client has logged in.
func (c *connection) logIn(from *bufio.Reader) bool {
	settled := make(chan bool, 1)
	l := &login{conn: c, settled: func(more bool) { settled <- more }}
	for {
		select {
		case c.slots <- struct{}{}:
		case <-c.closed:
			return false
		}
		content, err := readFrame(from, maxLoginSize)
		if err != nil {
			c.post(c.hangUp)
			return false
		}
		c.post(func() { l.handle(content) })
		select {
		case more := <-settled:
			if !more {
				return true
			}
		case <-c.closed:
			return false
		}
	}
}

// handle answers one frame.
func (l *login) handle(content []byte) {
	if l.state == awaitToken && l.bare {
		l.handleToken(content)
		return
	}
	req, err := decodeRequest(content, l.conn.broker().offered())
	if err != nil {
		l.conn.hangUp()
		return
	}
	l.handleRequest(l.call(req, func(resp kmsg.Response) {
		l.conn.put(answer{correlationID: req.correlationID, response: resp})
	}))
}

// call is a request of the login.
func (l *login) call(req request, reply func(kmsg.Response)) *call {
	info := l.conn.info
	info.ClientID = req.clientID
	c := &call{conn: info, hangUp: l.conn.hangUp, reply: reply}
	l.conn.dispatcher.address(c, req.body)
	return c
}

// handleRequest serves what may come in the present state.
func (l *login) handleRequest(c *call) {
	switch req := c.request.(type) {
	case *kmsg.ApiVersionsRequest:
		if l.state == awaitVersionsOrHandshake {
			l.tellVersions(c, req)
			return
		}
	case *kmsg.SASLHandshakeRequest:
		if l.state != awaitToken {
			l.conn.dispatcher.intercept(l.ending(c), func() { l.handshake(c, req) })
			return
		}
	case *kmsg.SASLAuthenticateRequest:
		if l.state == awaitToken {
			l.conn.dispatcher.intercept(l.ending(c), func() { l.authenticate(c, req) })
			return
		}
	}
	if l.state == awaitToken {
		l.fail(func() { c.refuse(errIllegalSASLState) })
		return
	}
	l.conn.hangUp()
}

// ending is a call that ends the login if a fault refuses it.
func (l *login) ending(c *call) *call {
	refused := *c
	refused.reply = func(resp kmsg.Response) {
		c.reply(resp)
		l.conn.hangUp()
	}
	return &refused
}

// tellVersions answers ApiVersions. A version that is not served is answered,
// too, and may be followed by one that is (rule J3).
func (l *login) tellVersions(c *call, req *kmsg.ApiVersionsRequest) {
	reply := c.reply
	c.reply = func(resp kmsg.Response) {
		if resp.(*kmsg.ApiVersionsResponse).ErrorCode == 0 {
			l.state = awaitHandshake
		}
		reply(resp)
		l.settled(true)
	}
	l.conn.dispatcher.handle(c, req)
}

// handshake chooses the mechanism.
func (l *login) handshake(c *call, req *kmsg.SASLHandshakeRequest) {
	resp := kmsg.NewPtrSASLHandshakeResponse()
	listener := l.conn.listener
	offered := false
	for _, m := range listener.Mechanisms {
		resp.SupportedMechanisms = append(resp.SupportedMechanisms, string(m))
		offered = offered || string(m) == req.Mechanism
	}
	if !offered {
		resp.ErrorCode = codeOf(kafka.ErrUnsupportedSASLMechanism)
		l.fail(func() { c.send(resp) })
		return
	}
	if l.before != "" && req.Mechanism != string(l.conn.session.mechanism) {
		l.fail(func() {}) // Kafka says nothing
		return
	}
	l.mechanism = sasl.Mechanism(req.Mechanism)
	l.exchange = sasl.NewExchange(l.mechanism, listener.Users(l.mechanism))
	l.state, l.bare = awaitToken, req.Version == 0
	c.send(resp)
	l.settled(true)
}

// authenticate passes a token on to the mechanism. The last answer tells how long
// the session lasts, 0 for ever.
func (l *login) authenticate(c *call, req *kmsg.SASLAuthenticateRequest) {
	token, done, err := l.exchange.Next(req.SASLAuthBytes)
	if err == nil && done {
		err = l.unchanged()
	}
	resp := refuseSASLAuthenticate(req, 0).(*kmsg.SASLAuthenticateResponse)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = codeOf(errSASLAuthenticationFailed), l.failure(err)
		l.fail(func() { c.send(resp) })
		return
	}
	resp.SASLAuthBytes, resp.ErrorMessage = token, new(string) // not null
	l.passed(done)
	if done {
		resp.SessionLifetimeMillis = l.conn.session.lifetime.Milliseconds()
	}
	c.send(resp)
	l.settled(!done)
}

// unchanged refuses another user than before.
func (l *login) unchanged() error {
	user := "User:" + l.exchange.User()
	if l.before == "" || user == l.before {
		return nil
	}
	dotted := func(principal string) string { return strings.Replace(principal, ":", ".", 1) }
	return &sasl.AuthenticationError{Message: fmt.Sprintf("Cannot change principals during re-authentication from %s: %s", dotted(l.before), dotted(user))}
}

// failure is what the client is told of why its login failed.
func (l *login) failure(err error) *string {
	failed := err.(*sasl.AuthenticationError)
	return &failed.Message
}

// handleToken passes a bare token on to the mechanism; a failure has no answer.
func (l *login) handleToken(token []byte) {
	answered, done, err := l.exchange.Next(token)
	if err != nil {
		l.fail(func() {})
		return
	}
	l.passed(done)
	bare := binary.BigEndian.AppendUint32(nil, uint32(len(answered)))
	l.conn.put(answer{bare: append(bare, answered...)})
	l.settled(!done)
}

// passed makes the client who it has proved to be, if it has.
func (l *login) passed(done bool) {
	if done {
		l.conn.info.Principal = "User:" + l.exchange.User()
		l.conn.session.begin(l.conn.now(), l.mechanism, l.exchange, l.conn.listener.Sessions[l.mechanism])
	}
}

// fail answers, and closes the connection, after a while in which guessing
// passwords is no use.
func (l *login) fail(answer func()) {
	broker := l.conn.broker()
	broker.Host.After(broker.Cluster.Config().Duration("connection.failed.authentication.delay.ms"), func() {
		l.conn.waiting = nil // it is not handled any more
		answer()
		l.conn.hangUp()
	})
}
