package property

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTableHoldsTogether(t *testing.T) {
	for _, r := range []Resource{Broker, Topic, Group} {
		for _, name := range Names(r) {
			d, _ := Lookup(r, name)
			if !d.Null && d.Default != "" {
				if err := CheckValue(r, name, d.Default); err != nil {
					t.Errorf("default: %v", err)
				}
			}
			for _, from := range d.Inherits {
				if _, ok := Lookup(Broker, from); !ok {
					t.Errorf("%s inherits from %s, which is no broker property", name, from)
				}
			}
		}
	}
}

func TestDefaultsAreKafkas(t *testing.T) {
	c := NewConfig(nil)
	for name, want := range map[string]string{
		"broker.session.timeout.ms":                                   "9000",
		"broker.heartbeat.interval.ms":                                "2000",
		"group.initial.rebalance.delay.ms":                            "3000",
		"offsets.topic.num.partitions":                                "50",
		"offsets.topic.replication.factor":                            "3",
		"producer.id.expiration.ms":                                   "86400000",
		"producer.id.expiration.check.interval.ms":                    "600000",
		"replica.fetch.wait.max.ms":                                   "500",
		"replica.lag.time.max.ms":                                     "30000",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "10000",
		"transaction.max.timeout.ms":                                  "900000",
		"transaction.partition.verification.enable":                   "true",
		"transaction.state.log.min.isr":                               "2",
		"transaction.state.log.num.partitions":                        "50",
		"transactional.id.expiration.ms":                              "604800000",
		"unclean.leader.election.enable":                              "false",
	} {
		if got := c.String(name); got != want {
			t.Errorf("%s = %s, Kafka's default is %s", name, got, want)
		}
	}
	if got := c.Topic(nil).Duration("retention.ms"); got != 7*24*time.Hour {
		t.Errorf("retention.ms = %v, want 7 days", got)
	}
}

func TestCheckValue(t *testing.T) {
	for _, c := range []struct {
		name, value string
		reason      string // empty: legal
	}{
		{"broker.session.timeout.ms", "4000", ""},
		{"broker.session.timeout.ms", " 4000 ", ""},
		{"broker.session.timeout.ms", "4s", "Not a number of type INT"},
		{"broker.session.timeout.ms", "2147483648", "Not a number of type INT"},
		{"offsets.topic.num.partitions", "0", "Value must be at least 1"},
		{"auto.create.topics.enable", "TRUE", ""},
		{"auto.create.topics.enable", "yes", "Expected value to be either true or false"},
		{"log.cleanup.policy", "compact,delete", ""},
		{"log.cleanup.policy", "shred", "String must be one of: compact, delete"},
		{"log.message.timestamp.type", "CreateTime", ""},
		{"log.message.timestamp.type", "createtime", "String must be one of: CreateTime, LogAppendTime"},
		{"log.cleaner.min.cleanable.ratio", "0.25", ""},
		{"log.cleaner.min.cleanable.ratio", "1.5", "Value must be no more than 1"},
		{"compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"},
		{"nobody.knows.me", "anything", ""},
	} {
		err := CheckValue(Broker, c.name, c.value)
		var bad *ValueError
		switch {
		case c.reason == "" && err != nil:
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		case c.reason != "" && (!errors.As(err, &bad) || bad.Reason != c.reason):
			t.Errorf("%s=%s: got %v, want %q", c.name, c.value, err, c.reason)
		}
	}
}

// A duration has a number, in Java's reading, whatever the case of its letters.
func TestResetByDuration(t *testing.T) {
	for value, legal := range map[string]bool{"PT1H": true, "pt1h": true, "PT1.S": true, "P": false, "p": false, "P1DT": false, "p1dt": false, "1h": false} {
		if err := CheckValue(Group, "share.auto.offset.reset", "by_duration:"+value); (err == nil) != legal {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestKnown(t *testing.T) {
	for name, want := range map[string]bool{
		"num.io.threads": true,
		"listener.name.sasl.plain.sasl.jaas.config": true,
		"producer.id.expiration.check.interval.ms":  true,
		"brokr.session.timeout.ms":                  false,
		"retention.ms":                              false, // a topic's
	} {
		if got := Known(name); got != want {
			t.Errorf("Known(%s) = %v", name, got)
		}
	}
}

func TestLevelsOverEachOther(t *testing.T) {
	c := NewConfig(Values{"log.retention.hours": "2", "transaction.max.timeout.ms": "1000", "ssl.keystore.password": "secret"})
	if got := c.Topic(nil).Duration("retention.ms"); got != 2*time.Hour {
		t.Errorf("retention.ms from log.retention.hours = %v", got)
	}
	c.SetDynamic(Values{"log.retention.ms": "5000", "min.insync.replicas": "1"}, Values{"log.retention.ms": "6000"})
	if got := c.Topic(nil).Int("retention.ms"); got != 6000 {
		t.Errorf("retention.ms with a dynamic broker value = %d", got)
	}
	own := c.Topic(Values{"retention.ms": "-1"})
	if got := own.Duration("retention.ms"); got != -time.Millisecond {
		t.Errorf("retention.ms of the topic's own = %v", got)
	}

	want := []Entry{{Name: "retention.ms", Value: "-1", Source: SourceTopic, Type: Long, Synonyms: []Synonym{
		{Name: "retention.ms", Value: "-1", Source: SourceTopic},
		{Name: "log.retention.ms", Value: "6000", Source: SourceDynamicBroker},
		{Name: "log.retention.ms", Value: "5000", Source: SourceDynamicDefaultBroker},
		{Name: "log.retention.hours", Value: "2", Source: SourceStaticBroker},
	}}}
	if got := own.Describe([]string{"retention.ms", "no.such"}); !reflect.DeepEqual(got, want) {
		t.Errorf("topic described as\n%+v, want\n%+v", got, want)
	}

	// A default that is the topic's or group's alone is told of a group only.
	want = []Entry{{Name: "share.isolation.level", Value: "read_committed", Source: SourceGroup, Type: String, Synonyms: []Synonym{
		{Name: "share.isolation.level", Value: "read_committed", Source: SourceGroup},
		{Name: "share.isolation.level", Value: "read_uncommitted", Source: SourceDefault},
	}}}
	if got := c.Group(Values{"share.isolation.level": "read_committed"}).Describe([]string{"share.isolation.level"}); !reflect.DeepEqual(got, want) {
		t.Errorf("group described as\n%+v, want\n%+v", got, want)
	}
	want = []Entry{{Name: "remote.log.copy.disable", Value: "false", Source: SourceDefault, Type: Boolean}}
	if got := c.Topic(nil).Describe([]string{"remote.log.copy.disable"}); !reflect.DeepEqual(got, want) {
		t.Errorf("topic described as\n%+v, want\n%+v", got, want)
	}

	wantBroker := []Entry{
		{Name: "min.insync.replicas", Value: "1", Source: SourceDynamicDefaultBroker, Type: Int, Synonyms: []Synonym{
			{Name: "min.insync.replicas", Value: "1", Source: SourceDynamicDefaultBroker},
			{Name: "min.insync.replicas", Value: "1", Source: SourceDefault},
		}},
		{Name: "ssl.keystore.password", Null: true, Source: SourceStaticBroker, Type: Password, Sensitive: true, Synonyms: []Synonym{
			{Name: "ssl.keystore.password", Null: true, Source: SourceStaticBroker},
		}},
		{Name: "transaction.max.timeout.ms", Value: "1000", Source: SourceStaticBroker, Type: Int, ReadOnly: true, Synonyms: []Synonym{
			{Name: "transaction.max.timeout.ms", Value: "1000", Source: SourceStaticBroker},
			{Name: "transaction.max.timeout.ms", Value: "900000", Source: SourceDefault},
		}},
	}
	got := c.Describe([]string{"min.insync.replicas", "ssl.keystore.password", "transaction.max.timeout.ms", "no.such"})
	wantBroker[1].ReadOnly = got[1].ReadOnly
	if !reflect.DeepEqual(got, wantBroker) {
		t.Errorf("broker described as\n%+v, want\n%+v", got, wantBroker)
	}
}

func TestDescribeHidesInternalAndUnknownValues(t *testing.T) {
	c := NewConfig(Values{"my.plugin": "x"})
	for _, e := range c.Describe(nil) {
		if e.Name == "producer.id.expiration.check.interval.ms" {
			t.Errorf("internal property described: %+v", e)
		}
		if e.Name == "my.plugin" && (!e.Sensitive || e.Value != "") {
			t.Errorf("unknown property shows its value: %+v", e)
		}
	}
	// DescribeConfigs of a running 4.3.1 broker lists 340 properties, 33 a topic
	// and 17 a group.
	if n := len(NewConfig(nil).Describe(nil)); n != 340 {
		t.Errorf("%d broker properties described, Kafka 4.3.1 has 340", n)
	}
	if n := len(c.Topic(nil).Describe(nil)); n != 33 {
		t.Errorf("%d topic properties described, Kafka 4.3.1 has 33", n)
	}
	if n := len(c.Group(nil).Describe(nil)); n != 17 {
		t.Errorf("%d group properties described, Kafka 4.3.1 has 17", n)
	}
}

func TestParse(t *testing.T) {
	const text = "# comment\n! comment too\n\nnode.id=1\n  log.dirs : /a,\\\n    /b\r\n" +
		"spaced   value with spaces \n" + `tab\=name=a\tb\u00e9\\` + "\nempty=\nalone\nnode.id=2\n"
	got, err := Parse("server.properties", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Setting{
		{"node.id", "1", "server.properties", 4},
		{"log.dirs", "/a,/b", "server.properties", 5},
		{"spaced", "value with spaces ", "server.properties", 7},
		{"tab=name", "a\tbé\\", "server.properties", 8},
		{"empty", "", "server.properties", 9},
		{"alone", "", "server.properties", 10},
		{"node.id", "2", "server.properties", 11},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	values, err := Collect(got...)
	if err != nil || values["node.id"] != "2" {
		t.Errorf("collected %v, %v", values, err)
	}
}

func TestErrorsNamePlaceValueAndRemedy(t *testing.T) {
	settings, err := Parse("s.properties", strings.NewReader("\nbroker.session.timeout.ms=soon\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Collect(settings...)
	const want = "s.properties:2: broker.session.timeout.ms=soon: Not a number of type INT; expected a whole number of 32 bits"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Parse("s.properties", strings.NewReader(`a=\u12`)); err == nil || !strings.HasPrefix(err.Error(), "s.properties:1: a=") {
		t.Errorf("malformed escape: %v", err)
	}
	if _, err := ReadFile("no/such/file"); err == nil || !strings.Contains(err.Error(), "no/such/file") {
		t.Errorf("missing file: %v", err)
	}
	settings, err = Parse("s.properties", strings.NewReader("group.consumer.session.timeout.ms=9000\n\ngroup.consumer.min.session.timeout.ms=9001\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Collect(settings...)
	const disagree = "s.properties:1: group.consumer.session.timeout.ms=9000: group.consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms; " +
		"expected them to agree: group.consumer.session.timeout.ms is 9000, and group.consumer.min.session.timeout.ms is 9001"
	if err == nil || err.Error() != disagree {
		t.Errorf("got %v, want %s", err, disagree)
	}
	for _, bad := range []string{"novalue", "=x"} {
		if _, err := ParseAssignment(bad); err == nil || !strings.Contains(err.Error(), "NAME=VALUE") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if s, err := ParseAssignment("a.b = c=d"); err != nil || s.Name != "a.b" || s.Value != "c=d" {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestDocumentation(t *testing.T) {
	for name, want := range map[string]string{
		"compression.type":      "A string: uncompressed, zstd, lz4, snappy, gzip, producer. It can be changed cluster-wide while brokers run.",
		"compression.lz4.level": "An int, between 1 and 17. It can be changed cluster-wide while brokers run.",
		"broker.rack":           "A string.",
		"ssl.keystore.location": "A string. It can be changed for a broker or cluster-wide while brokers run.",
		"background.threads":    "An int, at least 1. It can be changed cluster-wide while brokers run.",
	} {
		d, ok := Lookup(Broker, name)
		if !ok {
			t.Fatalf("no property %s", name)
		}
		if got := d.Documentation(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
