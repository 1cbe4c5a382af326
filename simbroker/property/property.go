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
	"slices"
	"strings"
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
