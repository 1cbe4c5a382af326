package property

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values are properties as somebody set them, by name.
type Values map[string]string

// Config is one broker's configuration: what its server.properties said, and
// over it what was altered while the cluster ran.
type Config struct {
	static  Values
	cluster Values // dynamic defaults of all brokers
	broker  Values // dynamic, of this broker
}

// NewConfig returns the configuration of a broker that was started with these
// properties, which must have passed Collect.
func NewConfig(static Values) *Config { return &Config{static: static} }

// SetDynamic replaces what was altered at run time: the cluster-wide defaults
// and this broker's own. The maps are kept and must not change any more.
func (c *Config) SetDynamic(cluster, broker Values) { c.cluster, c.broker = cluster, broker }

// Static is what the broker was started with. It must not be changed.
func (c *Config) Static() Values { return c.static }

// Int is a number. Asking for a property that is none, or that has no value,
// panics.
func (c *Config) Int(name string) int64 { return parseInt(name, c.String(name)) }

// Duration is a property that counts milliseconds. Negative stays negative; what
// is too long for a Duration is the longest one.
func (c *Config) Duration(name string) time.Duration { return duration(c.Int(name)) }

// Bool is a boolean property.
func (c *Config) Bool(name string) bool { return parseBool(name, c.String(name)) }

// String is any property as text; empty when it has no value.
func (c *Config) String(name string) string {
	d := c.definition(name)
	if v, _, ok := c.set(name); ok {
		return v
	}
	return d.Default
}

// List is a list property, split at commas.
func (c *Config) List(name string) []string { return split(c.String(name)) }

func (c *Config) definition(name string) *Definition {
	d, ok := index[Broker][name]
	if !ok {
		panic("no broker property " + name)
	}
	return d
}

// set is the value that somebody set at the highest level.
func (c *Config) set(name string) (string, Source, bool) {
	for _, l := range c.levels() {
		if v, ok := l.values[name]; ok {
			return v, l.source, true
		}
	}
	return "", 0, false
}

type level struct {
	source Source
	values Values
}

func (c *Config) levels() [3]level {
	return [3]level{{SourceDynamicBroker, c.broker}, {SourceDynamicDefaultBroker, c.cluster}, {SourceStaticBroker, c.static}}
}

// Entry is a property with its value, as DescribeConfigs shows it.
type Entry struct {
	Name      string
	Value     string
	Null      bool // there is no value, or none that may be shown
	Source    Source
	Type      Type // zero for a property that Kafka does not know
	ReadOnly  bool
	Sensitive bool
	Synonyms  []Synonym
}

// Synonym is a value that an Entry has at one level, highest precedence first.
type Synonym struct {
	Name   string
	Value  string
	Null   bool
	Source Source
}

// Describe lists the broker's properties of these names, or all when names is
// nil, by name. Those that nobody knows are left out.
func (c *Config) Describe(names []string) []Entry {
	if names == nil {
		all := maps.Clone(index[Broker])
		for name := range c.static {
			all[name] = nil
		}
		names = slices.Sorted(maps.Keys(all))
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		if e, ok := c.entry(name); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

func (c *Config) entry(name string) (Entry, bool) {
	value, source, set := c.set(name)
	d, known := index[Broker][name]
	if !known {
		// Kafka shows what it does not know without its value: it might be secret.
		return Entry{Name: name, Null: true, Source: source, ReadOnly: true, Sensitive: true}, set
	}
	if d.Internal && !set {
		return Entry{}, false
	}
	e := Entry{Name: name, Value: value, Source: source, Type: d.Type, ReadOnly: d.Update == ReadOnly, Sensitive: d.Sensitive()}
	if !set {
		e.Value, e.Null, e.Source = d.Default, d.Null, SourceDefault
	}
	e.Synonyms = c.synonyms(append([]string{name}, d.Inherits...))
	return e.hide(), true
}

// synonyms lists what the broker properties of these names are set to, level by
// level, and the default of the first.
func (c *Config) synonyms(names []string) []Synonym {
	var s []Synonym
	for _, l := range c.levels() {
		for _, name := range names {
			if v, ok := l.values[name]; ok {
				s = append(s, Synonym{Name: name, Value: v, Source: l.source})
			}
		}
	}
	if d := c.definition(names[0]); !d.Null {
		s = append(s, Synonym{Name: d.Name, Value: d.Default, Source: SourceDefault})
	}
	return s
}

// hide takes the values of a sensitive entry away.
func (e Entry) hide() Entry {
	if e.Sensitive {
		e.Value, e.Null = "", true
		for i := range e.Synonyms {
			e.Synonyms[i].Value, e.Synonyms[i].Null = "", true
		}
	}
	return e
}

func parseInt(name, value string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("property %s is no number: %q", name, value))
	}
	return n
}

func parseFloat(name, value string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		panic(fmt.Sprintf("property %s is no number: %q", name, value))
	}
	return f
}

func parseBool(name, value string) bool {
	switch v := strings.TrimSpace(value); {
	case strings.EqualFold(v, "true"):
		return true
	case strings.EqualFold(v, "false"):
		return false
	}
	panic(fmt.Sprintf("property %s is no boolean: %q", name, value))
}

func duration(ms int64) time.Duration {
	const most = int64((1<<63 - 1) / time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
}

// DescribeClusterDefault describes the cluster-wide dynamic defaults alone, as
// DescribeConfigs does for a broker resource without a name.
func DescribeClusterDefault(cluster Values, names []string) []Entry {
	if names == nil {
		names = slices.Sorted(maps.Keys(cluster))
	}
	c := Config{cluster: cluster}
	var entries []Entry
	for _, name := range names {
		if _, ok := cluster[name]; !ok {
			continue
		}
		e, _ := c.entry(name)
		if len(e.Synonyms) > 0 {
			e.Synonyms = e.Synonyms[:1]
		}
		entries = append(entries, e)
	}
	return entries
}
