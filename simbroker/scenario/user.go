package scenario

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// scramSHA256 is the mechanism's number, scramIterations what Kafka asks for at
// least.
const (
	scramSHA256     = 1
	scramIterations = 4096
)

// createUsers gives the text's users their credentials, and waits until they can
// log in at every broker.
func (p *performance) createUsers(ctx context.Context) error {
	symbols := p.scenario.users()
	if len(symbols) == 0 {
		return nil
	}
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, symbol := range symbols {
		user := p.userName(symbol)
		u := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
		u.Name, u.Mechanism, u.Iterations, u.Salt = user, scramSHA256, scramIterations, []byte("salt of "+user)
		var err error
		if u.SaltedPassword, err = pbkdf2.Key(sha256.New, Password(user), u.Salt, scramIterations, sha256.Size); err != nil {
			return err
		}
		req.Upsertions = append(req.Upsertions, u)
	}
	if err := p.alterCredentials(ctx, req); err != nil {
		return err
	}
	p.created = symbols
	for _, symbol := range symbols {
		for _, broker := range p.brokers {
			err := p.until(ctx, fmt.Sprintf("wait for %s to log in at broker %d", symbol, broker), func() (bool, error) {
				req := kmsg.NewPtrApiVersionsRequest()
				req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, clientID, "1"
				_, err := p.cluster.(Users).RequestAs(ctx, broker, p.userName(symbol), clientID, req)
				return err == nil, nil // a credential that is not there yet
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Play) alterCredentials(ctx context.Context, req *kmsg.AlterUserSCRAMCredentialsRequest) error {
	broker, err := p.anyBroker()
	if err != nil {
		return err
	}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return err
	}
	for _, r := range resp.(*kmsg.AlterUserSCRAMCredentialsResponse).Results {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return fmt.Errorf("credential of %s: %w", r.User, err)
		}
	}
	return nil
}

// deleteUsers takes the users' credentials away.
func (p *Play) deleteUsers(ctx context.Context) error {
	if len(p.created) == 0 {
		return nil
	}
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, symbol := range p.created {
		d := kmsg.NewAlterUserSCRAMCredentialsRequestDeletion()
		d.Name, d.Mechanism = p.userName(symbol), scramSHA256
		req.Deletions = append(req.Deletions, d)
	}
	p.created = nil
	return p.alterCredentials(ctx, req)
}
