package sasl

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
)

// scram is a SCRAM mechanism: two tokens, in which the client proves that it
// knows the password, and the broker that it knows the credential.
//
//	client: n,,n=user,r=nonce
//	broker: r=nonce+ours,s=salt,i=iterations
//	client: c=biws,r=nonce+ours,p=proof
//	broker: v=signature
type scram struct {
	mechanism Mechanism
	users     Users

	user        string
	credential  Credential
	clientFirst string // without its header
	serverFirst string
	nonce       string
}

// The forms of a client's messages, as Kafka reads them.
const (
	saslName   = `(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]|=2C|=3D)+`
	printable  = `[\x21-\x2B\x2D-\x7E]+`
	extensions = `(?:,[A-Za-z]+=[\x01-\x2B\x2D-\x7F]+)*`
	base64Text = `(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?`
)

var (
	clientFirstForm = regexp.MustCompile(`^n,(?:a=(` + saslName + `))?,((?:m=[\x01-\x2B\x2D-\x7F]+,)?n=(` + saslName + `),r=(` + printable + `)` + extensions + `)$`)
	clientFinalForm = regexp.MustCompile(`^(c=` + base64Text + `,r=(` + printable + `)` + extensions + `),p=(` + base64Text + `)$`)
	unescapeName    = strings.NewReplacer("=2C", ",", "=3D", "=")
)

// Next implements Exchange.
func (s *scram) Next(token []byte) ([]byte, bool, error) {
	if s.serverFirst == "" {
		answer, err := s.first(string(token))
		return answer, false, err
	}
	answer, err := s.final(string(token))
	return answer, err == nil, err
}

// User implements Exchange.
func (s *scram) User() string { return s.user }

// refuse is a failure that tells the client nothing: the reason might say which
// users there are.
func (s *scram) refuse(format string, args ...any) error {
	return &AuthenticationError{
		Message: "Authentication failed during authentication due to invalid credentials with SASL mechanism " + string(s.mechanism),
		Reason:  fmt.Sprintf(format, args...),
	}
}

func (s *scram) first(message string) ([]byte, error) {
	m := clientFirstForm.FindStringSubmatch(message)
	if m == nil {
		return nil, s.refuse("invalid client first message")
	}
	asked, user, nonce := unescapeName.Replace(m[1]), unescapeName.Replace(m[3]), m[4]
	credential, ok := s.users.Credential(user)
	switch {
	case !ok:
		return nil, s.refuse("no credential of user %s", user)
	case asked != "" && asked != user:
		return nil, &AuthenticationError{Message: "Authentication failed: Client requested an authorization id that is different from username"}
	}
	s.user, s.credential, s.clientFirst = user, credential, m[2]
	s.nonce = nonce + s.users.Nonce()
	s.serverFirst = fmt.Sprintf("r=%s,s=%s,i=%d", s.nonce, base64.StdEncoding.EncodeToString(credential.Salt), credential.Iterations)
	return []byte(s.serverFirst), nil
}

func (s *scram) final(message string) ([]byte, error) {
	m := clientFinalForm.FindStringSubmatch(message)
	if m == nil {
		return nil, s.refuse("invalid client final message")
	}
	if m[2] != s.nonce {
		return nil, s.refuse("invalid client nonce in the final client message")
	}
	proof, err := base64.StdEncoding.DecodeString(m[3])
	if err != nil {
		return nil, s.refuse("invalid proof: %v", err)
	}
	exchanged := s.clientFirst + "," + s.serverFirst + "," + m[1]
	if !s.proves(proof, exchanged) {
		return nil, s.refuse("wrong password of user %s", s.user)
	}
	signature := s.mechanism.mac(s.credential.ServerKey, exchanged)
	return []byte("v=" + base64.StdEncoding.EncodeToString(signature)), nil
}

// proves says whether a proof was made with the user's password: it is the
// client's key, masked with a signature that only the stored key can make.
func (s *scram) proves(proof []byte, exchanged string) bool {
	signature := s.mechanism.mac(s.credential.StoredKey, exchanged)
	if len(proof) != len(signature) {
		return false
	}
	clientKey := make([]byte, len(proof))
	subtle.XORBytes(clientKey, proof, signature)
	return subtle.ConstantTimeCompare(s.mechanism.sum(clientKey), s.credential.StoredKey) == 1
}
