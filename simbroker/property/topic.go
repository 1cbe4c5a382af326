package property

import "time"

// Inherited is the configuration of a topic or of a group as one broker sees
// it: the values of its own over what it inherits from that broker.
type Inherited struct {
	resource Resource
	broker   *Config
	own      Values
	source   Source // of own values
}

// Topic is the configuration of a topic with these values of its own.
func (c *Config) Topic(own Values) Inherited { return Inherited{Topic, c, own, SourceTopic} }

// Group is the configuration of a group with these values of its own.
func (c *Config) Group(own Values) Inherited { return Inherited{Group, c, own, SourceGroup} }

// Int is a number; see Config.Int.
func (t Inherited) Int(name string) int64 { return parseInt(name, t.String(name)) }

// Duration is a property that counts milliseconds; see Config.Duration.
func (t Inherited) Duration(name string) time.Duration { return duration(t.Int(name)) }

// Float is a number that need not be whole.
func (t Inherited) Float(name string) float64 { return parseFloat(name, t.String(name)) }

// Bool is a boolean property.
func (t Inherited) Bool(name string) bool { return parseBool(name, t.String(name)) }

// List is a list property, split at commas.
func (t Inherited) List(name string) []string { return split(t.String(name)) }

// String is any property as text; empty when it has no value.
func (t Inherited) String(name string) string {
	d, ok := index[t.resource][name]
	if !ok {
		panic("no topic or group property " + name)
	}
	v, _ := t.value(d)
	return v
}

// value is what is in force, and where it comes from.
func (t Inherited) value(d *Definition) (string, Source) {
	if v, ok := t.own[d.Name]; ok {
		return v, t.source
	}
	for _, name := range d.Inherits {
		if v, source, ok := t.broker.set(name); ok {
			return milliseconds(name, v), source
		}
	}
	return d.Default, SourceDefault
}

// Describe lists the properties of these names, or all when names is nil, by
// name. Those that nobody knows are left out.
func (t Inherited) Describe(names []string) []Entry {
	if names == nil {
		names = Names(t.resource)
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		d, ok := index[t.resource][name]
		if !ok || d.Internal {
			continue
		}
		e := Entry{Name: name, Type: d.Type}
		e.Value, e.Source = t.value(d)
		e.Null = d.Null && e.Source == SourceDefault
		if v, ok := t.own[name]; ok {
			e.Synonyms = append(e.Synonyms, Synonym{Name: name, Value: v, Source: t.source})
		}
		switch {
		case len(d.Inherits) > 0:
			e.Synonyms = append(e.Synonyms, t.broker.synonyms(d.Inherits)...)
		case t.resource == Group:
			// Of a topic's property that no broker has, Kafka does not tell the default.
			e.Synonyms = append(e.Synonyms, Synonym{Name: name, Value: d.Default, Source: SourceDefault})
		}
		entries = append(entries, e)
	}
	return entries
}
