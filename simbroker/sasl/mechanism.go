package sasl

import "slices"

// Mechanism is a way to log in, by its registered name.
type Mechanism string

// The mechanisms.
const (
	Plain       Mechanism = "PLAIN"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	ScramSHA512 Mechanism = "SCRAM-SHA-512"
	OAuthBearer Mechanism = "OAUTHBEARER"
)

// Mechanisms lists what there is.
func Mechanisms() []Mechanism { return []Mechanism{Plain, ScramSHA256, ScramSHA512, OAuthBearer} }

// IsScram says whether it is one of the SCRAM mechanisms.
func (m Mechanism) IsScram() bool { return m == ScramSHA256 || m == ScramSHA512 }

// Known says whether there is such a mechanism.
func (m Mechanism) Known() bool { return slices.Contains(Mechanisms(), m) }
