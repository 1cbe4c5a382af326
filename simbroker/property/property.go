// Package property knows the configuration of Kafka 4.3 by Kafka's own names:
// for each broker and topic property its type, its default, what values are
// legal, and how it can be changed. It reads server.properties files, lays the
// levels of configuration over each other as a broker does (topic, dynamic
// broker, dynamic cluster-wide default, static, default), and describes a value
// with its source and its synonyms as DescribeConfigs shows them.
//
// A property that Kafka does not know is accepted, as Kafka accepts it, and
// reported by Known. Many that Kafka knows change nothing in a simulator
// (num.io.threads, log.dirs); they are checked, kept and shown all the same, so
// that one file serves a real broker and a simulated one.
package property

import (
	"fmt"
	"math"
	"slices"
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

// Source is the level of configuration that a value came from (KIP-226).
type Source int8

// The sources, highest precedence first within a resource.
const (
	SourceTopic Source = iota + 1
	SourceDynamicBroker
	SourceDynamicDefaultBroker
	SourceStaticBroker
	SourceDefault
	SourceGroup
)

// Resource is a kind of thing that has configuration.
type Resource int8

// The resources whose properties this package knows.
const (
	Broker Resource = iota + 1
	Topic
	Group
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
}

// Range is what a number may be, both ends included.
type Range struct {
	Low, High float64
	bounded   bool
}

func atLeast(low float64) Range { return Range{Low: low, High: math.Inf(1), bounded: true} }

func between(low, high float64) Range { return Range{Low: low, High: high, bounded: true} }

func (r Range) contains(v float64) bool { return !r.bounded || r.Low <= v && v <= r.High }

// String reads as in "must be at least 1".
func (r Range) String() string {
	switch {
	case !r.bounded:
		return "any number"
	case math.IsInf(r.High, 1):
		return fmt.Sprintf("at least %v", r.Low)
	}
	return fmt.Sprintf("between %v and %v", r.Low, r.High)
}

var index = map[Resource]map[string]*Definition{
	Broker: byName(brokerProperties),
	Topic:  byName(topicProperties),
	Group:  byName(groupProperties),
}

func byName(table []Definition) map[string]*Definition {
	m := make(map[string]*Definition, len(table))
	for i := range table {
		m[table[i].Name] = &table[i]
	}
	return m
}

// Lookup is the definition of a resource's property.
func Lookup(r Resource, name string) (*Definition, bool) {
	d, ok := index[r][name]
	return d, ok
}

// Names lists the properties of a resource, sorted.
func Names(r Resource) []string {
	names := make([]string, 0, len(index[r]))
	for name := range index[r] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
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

// Known says whether Kafka has a broker property of this name. What starts with
// the prefix of a listener or of a plug-in's own settings counts as known.
func Known(name string) bool {
	if _, ok := index[Broker][name]; ok {
		return true
	}
	if name == "super.users" || name == "allow.everyone.if.no.acl.found" {
		return true // of Kafka's own authorizer
	}
	for _, prefix := range []string{"listener.name.", "sasl.", "ssl.", "remote.log.", "rsm.config.", "rlmm.config."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
