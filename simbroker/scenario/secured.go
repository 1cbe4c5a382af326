package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Secured is a Network on which users can log in, by SCRAM-SHA-256, at listeners
// beside those that its own requests go to.
type Secured struct {
	*Network
	listeners map[int32]string
}

var (
	_ Cluster = (*Secured)(nil)
	_ Users   = (*Secured)(nil)
)

// Secured returns the network with the brokers' listeners for users, host:port
// by node id.
func (n *Network) Secured(listeners map[int32]string) *Secured { return &Secured{n, listeners} }

// Listener is the address of a broker's listener for users.
func (s *Secured) Listener(broker int32) string { return s.listeners[broker] }

// RequestAs implements Users.
func (s *Secured) RequestAs(ctx context.Context, broker int32, user, clientID string, req kmsg.Request) (kmsg.Response, error) {
	return s.request(ctx, s.listeners[broker], connKey{broker, user, clientID}, req)
}

// logIn makes the connection a user's; it is closed if the broker refuses.
func (c *conn) logIn(ctx context.Context, user string) error {
	if err := c.exchange(ctx, user); err != nil {
		return errors.Join(fmt.Errorf("log in as %s: %w", user, err), c.Close())
	}
	return nil
}

func (c *conn) exchange(ctx context.Context, user string) error {
	mechanism := scram.Auth{User: user, Pass: Password(user)}.AsSha256Mechanism()
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.Version, hello.Mechanism = 1, mechanism.Name()
	resp, err := c.roundTrip(ctx, clientID, hello)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.(*kmsg.SASLHandshakeResponse).ErrorCode); err != nil {
		return err
	}
	session, token, err := mechanism.Authenticate(ctx, "")
	if err != nil {
		return err
	}
	for done := false; !done; {
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.Version, req.SASLAuthBytes = 2, token
		resp, err := c.roundTrip(ctx, clientID, req)
		if err != nil {
			return err
		}
		got := resp.(*kmsg.SASLAuthenticateResponse)
		if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
			return err
		}
		if done, token, err = session.Challenge(got.SASLAuthBytes); err != nil {
			return err
		}
	}
	return nil
}
