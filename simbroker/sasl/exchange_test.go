package sasl

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	clientplain "github.com/twmb/franz-go/pkg/sasl/plain"
	clientscram "github.com/twmb/franz-go/pkg/sasl/scram"

	client "github.com/twmb/franz-go/pkg/sasl"
)

// The exchange of RFC 7677, section 3, to the letter.
func TestScramSHA256OfTheRFC(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	e := NewExchange(ScramSHA256, Users{
		Credential: func(user string) (Credential, bool) {
			return NewCredential(ScramSHA256, SaltPassword(ScramSHA256, "pencil", salt, 4096), salt, 4096), user == "user"
		},
		Nonce: func() string { return "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0" },
	})
	for _, step := range []struct {
		token, answer string
		done          bool
	}{
		{"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", false},
		{
			"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
			"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", true,
		},
	} {
		answer, done, err := e.Next([]byte(step.token))
		if err != nil || string(answer) != step.answer || done != step.done {
			t.Fatalf("%s: %s, %v, %v, want %s", step.token, answer, done, err, step.answer)
		}
	}
	if e.User() != "user" {
		t.Errorf("%s has logged in", e.User())
	}
}

// keep is a cluster's users with one password, for all mechanisms.
func keep(user, password string) func(Mechanism) Users {
	return func(m Mechanism) Users {
		salt := []byte("salt of " + user)
		return Users{
			Passwords: map[string]string{user: password},
			Credential: func(asked string) (Credential, bool) {
				return NewCredential(m, SaltPassword(m, password, salt, MinIterations), salt, MinIterations), asked == user
			},
			Nonce: func() string { return "nonce" },
		}
	}
}

// login plays a client's mechanism against ours.
func login(t *testing.T, mechanism client.Mechanism, e Exchange) error {
	t.Helper()
	session, token, err := mechanism.Authenticate(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		answer, done, err := e.Next(token)
		if err != nil {
			return err
		}
		clientDone, next, err := session.Challenge(answer)
		if err != nil {
			t.Fatalf("the client does not trust the broker: %v", err)
		}
		if done {
			if !clientDone {
				t.Fatal("the broker is done before the client")
			}
			return nil
		}
		token = next
	}
	t.Fatal("the login does not end")
	return nil
}

// franz-go's mechanisms log in with the right password, and only with it.
func TestLogin(t *testing.T) {
	type credentials struct{ zid, user, password string }
	mechanisms := map[Mechanism]func(credentials) client.Mechanism{
		Plain: func(c credentials) client.Mechanism {
			return clientplain.Auth{Zid: c.zid, User: c.user, Pass: c.password}.AsMechanism()
		},
		ScramSHA256: func(c credentials) client.Mechanism {
			return clientscram.Auth{Zid: c.zid, User: c.user, Pass: c.password}.AsSha256Mechanism()
		},
		ScramSHA512: func(c credentials) client.Mechanism {
			return clientscram.Auth{Zid: c.zid, User: c.user, Pass: c.password}.AsSha512Mechanism()
		},
	}
	const otherID = "Authentication failed: Client requested an authorization id that is different from username"
	invalid := map[Mechanism]string{
		Plain:       "Authentication failed: Invalid username or password",
		ScramSHA256: "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256",
		ScramSHA512: "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512",
	}
	for m, mechanism := range mechanisms {
		for _, test := range []struct {
			name string
			credentials
			want string // the message to the client; empty for success
		}{
			{"right", credentials{user: "al=ice,", password: "secret"}, ""},
			{"right, with the id given twice", credentials{"al=ice,", "al=ice,", "secret"}, ""},
			{"wrong password", credentials{user: "al=ice,", password: "Secret"}, invalid[m]},
			{"unknown user", credentials{user: "bob", password: "secret"}, invalid[m]},
			{"in another's name", credentials{"bob", "al=ice,", "secret"}, otherID},
		} {
			t.Run(string(m)+"/"+test.name, func(t *testing.T) {
				e := NewExchange(m, keep("al=ice,", "secret")(m))
				err := login(t, mechanism(test.credentials), e)
				if test.want == "" {
					if err != nil || e.User() != "al=ice," {
						t.Errorf("%v, user %q", err, e.User())
					}
					return
				}
				var failed *AuthenticationError
				if !errors.As(err, &failed) || failed.Message != test.want {
					t.Errorf("%v, want %s", err, test.want)
				}
			})
		}
	}
}

// Tokens of no form, or out of turn, end the login.
func TestMalformedTokens(t *testing.T) {
	for _, test := range []struct {
		name   string
		m      Mechanism
		tokens []string
		want   string
	}{
		{"PLAIN, two parts", Plain, []string{"alice\x00secret"}, "Invalid SASL/PLAIN response: expected 3 tokens, got 2"},
		{"PLAIN, five parts", Plain, []string{"\x00alice\x00secret\x00\x00"}, "Invalid SASL/PLAIN response: expected 3 tokens, got 4"},
		{"PLAIN, no user", Plain, []string{"\x00\x00secret"}, "Authentication failed: username not specified"},
		{"PLAIN, no password", Plain, []string{"\x00alice\x00"}, "Authentication failed: password not specified"},
		{"SCRAM, no message", ScramSHA256, []string{""}, "invalid client first message"},
		{"SCRAM, with channel binding", ScramSHA256, []string{"p=tls-unique,,n=alice,r=x"}, "invalid client first message"},
		{"SCRAM, another nonce", ScramSHA256, []string{"n,,n=alice,r=x", "c=biws,r=xother,p="}, "invalid client nonce"},
		{"SCRAM, a proof that is too short", ScramSHA256, []string{"n,,n=alice,r=x", "c=biws,r=xnonce,p=AAAA"}, "wrong password"},
		{"SCRAM, no proof", ScramSHA256, []string{"n,,n=alice,r=x", "c=biws,r=xnonce"}, "invalid client final message"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := NewExchange(test.m, keep("alice", "secret")(test.m))
			var err error
			for i, token := range test.tokens {
				if _, _, err = e.Next([]byte(token)); (err != nil) != (i == len(test.tokens)-1) {
					t.Fatalf("token %d: %v", i, err)
				}
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func TestParseJAAS(t *testing.T) {
	const module = "org.apache.kafka.common.security.plain.PlainLoginModule"
	got, err := ParseJAAS(Plain, module+` required username="broker" password="b=;" user_alice="se cret" user_bob=x;`)
	if passwords := Passwords(got); err != nil || len(passwords) != 2 || passwords["alice"] != "se cret" || passwords["bob"] != "x" || got["username"] != "broker" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := ParseJAAS(ScramSHA512, "org.apache.kafka.common.security.scram.ScramLoginModule required;"); err != nil {
		t.Error(err)
	}
	for line, want := range map[string]string{
		"":                                  "semicolon",
		module + ` required user_a="pw"`:    "semicolon",
		module + ";":                        "control flag",
		"com.example.Login required;":       "login module of PLAIN",
		module + ` required user_a;`:        "option 1",
		module + ` required user_a="pw";x;`: "option 2",
		module + ` required user_a="pw;`:    "quote",
	} {
		if _, err := ParseJAAS(Plain, line); !errors.Is(err, ErrJAAS) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestParseNewUser(t *testing.T) {
	got, err := ParseNewUser("SCRAM-SHA-512=[name=admin,iterations=8192,password=adminpw]")
	if want := (NewUser{ScramSHA512, "admin", "adminpw", 8192}); err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, text := range []string{
		"", "PLAIN=[name=a,password=b]", "SCRAM-SHA-256", "SCRAM-SHA-256=[name=a]", "SCRAM-SHA-256=[password=b]",
		"SCRAM-SHA-256=[name=a,password=b,iterations=10]", "SCRAM-SHA-256=[name=a,password=b,color=red]", "SCRAM-SHA-256=name=a,password=b",
	} {
		if u, err := ParseNewUser(text); !errors.Is(err, ErrNewUser) {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}
