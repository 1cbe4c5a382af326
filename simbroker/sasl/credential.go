package sasl

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// Credential is what a broker keeps of a user's password for one SCRAM
// mechanism. It never changes; a change makes a new value.
type Credential struct {
	Salt, StoredKey, ServerKey []byte
	Iterations                 int
}

// The iterations that Kafka accepts, and what it takes where none are given
// when a cluster is formatted.
const (
	MinIterations     = 4096
	MaxIterations     = 16384
	defaultIterations = 4096
)

// NewCredential is the credential of a salted password, as a client sends it
// (AlterUserScramCredentials).
func NewCredential(m Mechanism, saltedPassword, salt []byte, iterations int) Credential {
	return Credential{
		Salt:       salt,
		StoredKey:  m.sum(m.mac(saltedPassword, "Client Key")),
		ServerKey:  m.mac(saltedPassword, "Server Key"),
		Iterations: iterations,
	}
}

// SaltPassword is a password as NewCredential takes it.
func SaltPassword(m Mechanism, password string, salt []byte, iterations int) []byte {
	salted, err := pbkdf2.Key(m.hash(), password, salt, iterations, m.hash()().Size())
	if err != nil {
		panic(fmt.Sprintf("sasl: salt a password with %d iterations: %v", iterations, err)) // no key of this length is refused
	}
	return salted
}

// hash is the hash function of a SCRAM mechanism.
func (m Mechanism) hash() func() hash.Hash {
	switch m {
	case ScramSHA256:
		return sha256.New
	case ScramSHA512:
		return sha512.New
	}
	panic(fmt.Sprintf("sasl: %s is no SCRAM mechanism", m))
}

func (m Mechanism) sum(data []byte) []byte {
	h := m.hash()()
	h.Write(data)
	return h.Sum(nil)
}

func (m Mechanism) mac(key []byte, message string) []byte {
	h := hmac.New(m.hash(), key)
	h.Write([]byte(message))
	return h.Sum(nil)
}

// NewUser is a user that a cluster is formatted with.
type NewUser struct {
	Mechanism  Mechanism
	Name       string
	Password   string
	Iterations int
}

// ErrNewUser is wrapped by what ParseNewUser returns.
var ErrNewUser = errors.New("expected MECHANISM=[name=NAME,password=PASSWORD], with iterations=NUMBER if wanted")

// ParseNewUser reads a user as kafka-storage.sh takes it after --add-scram:
// SCRAM-SHA-256=[name=alice,iterations=8192,password=secret].
func ParseNewUser(text string) (NewUser, error) {
	fail := func(format string, args ...any) (NewUser, error) {
		return NewUser{}, fmt.Errorf("SCRAM user: %s: %w", fmt.Sprintf(format, args...), ErrNewUser)
	}
	name, rest, ok := strings.Cut(text, "=")
	if u := (NewUser{Mechanism: Mechanism(name)}); !u.Mechanism.IsScram() {
		return fail("%q is no SCRAM mechanism", name)
	}
	rest, opened := strings.CutPrefix(rest, "[")
	rest, closed := strings.CutSuffix(rest, "]")
	if !ok || !opened || !closed {
		return fail("%s has no user in brackets", name)
	}
	u := NewUser{Mechanism: Mechanism(name), Iterations: defaultIterations}
	for _, assignment := range strings.Split(rest, ",") {
		key, value, _ := strings.Cut(assignment, "=")
		value = strings.Trim(value, `"`)
		switch key {
		case "name":
			u.Name = value
		case "password":
			u.Password = value
		case "iterations":
			n, err := strconv.Atoi(value)
			if err != nil || n < MinIterations || n > MaxIterations {
				return fail("iterations must be from %d to %d", MinIterations, MaxIterations)
			}
			u.Iterations = n
		default:
			return fail("%s has no %q", name, key)
		}
	}
	if u.Name == "" || u.Password == "" {
		return fail("%s lacks name or password", name)
	}
	return u, nil
}
