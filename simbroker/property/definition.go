package property

import (
	"fmt"
	"math"
	"strings"
)

// Type is what a property's text must parse as.
type Type int8

// The types of ConfigDef.Type.
const (
	Boolean Type = iota + 1
	String
	Int
	Short
	Long
	Double
	List
	Class
	Password
)

// String names the type in lower case, for messages.
func (t Type) String() string {
	return [...]string{"unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password"}[t]
}

// Update says how a broker property can be changed in a running cluster
// (KIP-226). Topic properties can always be.
type Update int8

// The update modes, as Kafka's documentation names them.
const (
	ReadOnly Update = iota
	PerBroker
	ClusterWide
)

// Definition is what Kafka knows of one property.
type Definition struct {
	Name string
	Type Type
	// Default is the value of a broker or topic on which nothing is set. It
	// means nothing when Null is set.
	Default string
	// Null marks a property whose default is no value at all.
	Null bool
	// Update says how a broker property is changed; unused for topics.
	Update Update
	// Range bounds a number; the zero Range bounds nothing.
	Range Range
	// Values are the legal words, for a list those of each element; empty means
	// any.
	Values []string
	// Inherits are the broker properties whose value a topic or group property
	// has unless it has one of its own, or the further names of a broker
	// property, in order of precedence.
	Inherits []string
	// Internal properties are obeyed but not described unless they are set.
	Internal bool

	anyCase       bool // Values may be written in capitals or not
	notEmpty      bool // a list must have an element
	emptyElements bool // a list may have empty ones
	// check, if not nil, is what a value must be besides, without spaces around it.
	check func(d *Definition, text string) *ValueError
}

// Range is what a number may be, both ends included.
type Range struct {
	Low, High float64
	bounded   bool
}

func atLeast(low float64) Range { return Range{Low: low, High: math.Inf(1), bounded: true} }

func between(low, high float64) Range { return Range{Low: low, High: high, bounded: true} }

// String reads as in "must be at least 1".
func (r Range) String() string {
	switch {
	case !r.bounded:
		return "any number"
	case math.IsInf(r.High, 1):
		return "at least " + bound(r.Low)
	}
	return "between " + bound(r.Low) + " and " + bound(r.High)
}

// Documentation says what values there are and, of a broker property, when it
// can be changed: "A long, at least 0. It can be changed cluster-wide while
// brokers run."
func (d *Definition) Documentation() string {
	text := "A " + d.Type.String()
	if d.Type == Int {
		text = "An int"
	}
	switch {
	case len(d.Values) > 0:
		text += ": " + strings.Join(d.Values, ", ")
	case d.Range.bounded:
		text += ", " + d.Range.String()
	}
	return text + "." + map[Update]string{
		PerBroker:   " It can be changed for a broker or cluster-wide while brokers run.",
		ClusterWide: " It can be changed cluster-wide while brokers run.",
	}[d.Update]
}

// Sensitive says whether a value must never be shown.
func (d *Definition) Sensitive() bool { return d.Type == Password }

// ValueError says what is wrong with a property's value and what would be
// right.
type ValueError struct {
	Name   string
	Value  string // as Kafka shows it: a number or an element of a list that was parsed, or the text as it was given
	Reason string // what is wrong, in Kafka's words
	Remedy string // what would be right

	whole bool // Reason is all that Kafka says
}

// Error is worded as Kafka's ConfigException.
func (e *ValueError) Error() string {
	if e.whole {
		return e.Reason
	}
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", e.Value, e.Name, e.Reason)
}

// bad is the error for a value, as Kafka shows it.
func (d *Definition) bad(value, reason, remedy string) *ValueError {
	return &ValueError{Name: d.Name, Value: value, Reason: reason, Remedy: remedy}
}

// refuse is the error of which Kafka says what is wrong without more.
func (d *Definition) refuse(value, reason, remedy string) *ValueError {
	return &ValueError{Name: d.Name, Value: value, Reason: reason, Remedy: remedy, whole: true}
}
