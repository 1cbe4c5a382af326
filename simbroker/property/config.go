package property

import "time"

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
// properties. They must have passed Check.
func NewConfig(static Values) *Config { return &Config{static: static} }

// SetDynamic replaces what was altered at run time: the cluster-wide defaults
// and this broker's own. The maps are kept and must not change any more.
func (c *Config) SetDynamic(cluster, broker Values) { c.cluster, c.broker = cluster, broker }

// TopicConfig is a topic's configuration as one broker sees it: the topic's
// own values over that broker's.
type TopicConfig struct {
	broker *Config
	own    Values
}

// Topic returns the configuration of a topic with these values of its own.
func (c *Config) Topic(own Values) TopicConfig { return TopicConfig{broker: c, own: own} }

// Entry is a property with its value, as DescribeConfigs shows it.
type Entry struct {
	Name      string
	Value     string
	Null      bool // there is no value
	Source    Source
	Type      Type
	ReadOnly  bool
	Sensitive bool
	Synonyms  []Synonym
}

// Synonym is a value that an Entry has at one level, highest precedence first;
// the first one is the Entry's own.
type Synonym struct {
	Name   string
	Value  string
	Null   bool
	Source Source
}

// Int is a number of the broker; asking for a property that is none, or that
// Kafka does not know, panics.
func (c *Config) Int(name string) int64 { return parseInt(Broker, name, c.resolve(name)) }

// Duration is a property that counts milliseconds. Negative stays negative.
func (c *Config) Duration(name string) time.Duration {
	return time.Duration(c.Int(name)) * time.Millisecond
}

// Bool is a boolean property.
func (c *Config) Bool(name string) bool { return c.resolve(name).Value == "true" }

// String is any property as text; empty when it has no value.
func (c *Config) String(name string) string { return c.resolve(name).Value }

// List is a list property, split at commas.
func (c *Config) List(name string) []string { return split(c.resolve(name).Value) }

// Int is a number of the topic; see Config.Int.
func (t TopicConfig) Int(name string) int64 { return parseInt(Topic, name, t.resolve(name)) }

// Duration is a property that counts milliseconds. Negative stays negative.
func (t TopicConfig) Duration(name string) time.Duration {
	return time.Duration(t.Int(name)) * time.Millisecond
}

// Bool is a boolean property.
func (t TopicConfig) Bool(name string) bool { return t.resolve(name).Value == "true" }

// String is any property as text; empty when it has no value.
func (t TopicConfig) String(name string) string { return t.resolve(name).Value }

// List is a list property, split at commas.
func (t TopicConfig) List(name string) []string { return split(t.resolve(name).Value) }

// Describe lists the broker's properties of these names, or all when there are
// none. Names that nobody knows are left out.
func (c *Config) Describe(names []string) []Entry { return c.describe(names) }

// Describe lists the topic's properties of these names, or all when there are
// none. Names that nobody knows are left out.
func (t TopicConfig) Describe(names []string) []Entry { return t.describe(names) }
