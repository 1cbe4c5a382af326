package rights

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

// Logins with the wrong words, with the error that a client gets and what it is
// told; alice may log in by PLAIN, and somebody by SCRAM-SHA-256.
func checkLogins(t *testing.T, w *world) {
	w.enrol([]string{"somebody"})
	const scramRefused = "Authentication failed during authentication due to invalid credentials with SASL mechanism "
	const otherID = "Authentication failed: Client requested an authorization id that is different from username"
	for _, test := range []struct {
		name      string
		mechanism sasl.Mechanism
		err       *kerr.Error // nil for success
		told      string
	}{
		{"PLAIN", plain.Auth{User: "alice", Pass: "secret"}.AsMechanism(), nil, ""},
		{"PLAIN, wrong password", plain.Auth{User: "alice", Pass: "wrong"}.AsMechanism(), kerr.SaslAuthenticationFailed, "Authentication failed: Invalid username or password"},
		{"PLAIN, unknown user", plain.Auth{User: "nobody", Pass: "secret"}.AsMechanism(), kerr.SaslAuthenticationFailed, "Authentication failed: Invalid username or password"},
		{"PLAIN, in another's name", plain.Auth{Zid: "bob", User: "alice", Pass: "secret"}.AsMechanism(), kerr.SaslAuthenticationFailed, otherID},
		{"SCRAM", scram.Auth{User: "somebody", Pass: scenario.Password("somebody")}.AsSha256Mechanism(), nil, ""},
		{"SCRAM, wrong password", scram.Auth{User: "somebody", Pass: "wrong"}.AsSha256Mechanism(), kerr.SaslAuthenticationFailed, scramRefused + "SCRAM-SHA-256"},
		{"SCRAM, unknown user", scram.Auth{User: "nobody", Pass: "wrong"}.AsSha256Mechanism(), kerr.SaslAuthenticationFailed, scramRefused + "SCRAM-SHA-256"},
		{"SCRAM, a user of the other mechanism", scram.Auth{User: "somebody", Pass: scenario.Password("somebody")}.AsSha512Mechanism(), kerr.SaslAuthenticationFailed, scramRefused + "SCRAM-SHA-512"},
		{"SCRAM, in another's name", scram.Auth{Zid: "bob", User: "somebody", Pass: scenario.Password("somebody")}.AsSha256Mechanism(), kerr.SaslAuthenticationFailed, otherID},
		{"a mechanism that there is not", oauth.Auth{Token: "token"}.AsMechanism(), kerr.UnsupportedSaslMechanism, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			cl, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.Listener(broker)), kgo.SASL(test.mechanism), kgo.RequestRetries(0))
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			err = cl.Ping(w.ctx)
			if test.err == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.told) {
				t.Errorf("%v, want %v with %q", err, test.err, test.told)
			}
		})
	}
}
