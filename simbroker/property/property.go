// Package property knows the configuration of Kafka 4.3 by Kafka's own names:
// for each broker and topic property its type, its default, what values are
// legal, and how it can be changed. It reads server.properties files, lays the
// levels of configuration over each other as a broker does (topic, dynamic
// broker, dynamic cluster-wide default, static, default), and describes a value
// with its source and its synonyms as DescribeConfigs shows them.
//
// A property that Kafka does not know is accepted, as Kafka accepts it, and
// reported by Unknown. Many that Kafka knows change nothing in a simulator
// (num.io.threads, log.dirs); they are checked, kept and shown all the same, so
// that one file serves a real broker and a simulated one.
package property

import (
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
	// Min and Max bound a number, both inclusive; equal bounds bound nothing.
	Min, Max float64
	// Values are the legal words of a string, or of each element of a list;
	// empty means any.
	Values []string
	// Inherits are the broker properties that a topic property falls back to,
	// or the further names of a broker property, in order of precedence.
	Inherits []string
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

// Sensitive says whether a value must never be shown.
func (d *Definition) Sensitive() bool { return d.Type == Password }

// Unknown says whether Kafka has no broker property of this name. Listener and
// plug-in prefixes count as known.
func Unknown(name string) bool {
	if _, ok := index[Broker][name]; ok {
		return false
	}
	for _, prefix := range []string{"listener.name.", "plugin.", "metric.", "metrics.", "ssl.", "sasl."} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}
