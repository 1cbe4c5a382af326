package java

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// update rewrites the texts with what a real Kafka made the programs print.
var update = flag.Bool("update", false, "rewrite the texts with what a real Kafka printed")

// suite are texts that share a cluster, in this order.
type suite struct {
	name  string
	short bool // short enough for every run
	texts []string
	// properties are the brokers', beside those of all.
	properties map[string]string
}

var suites = []suite{
	{name: "clients", short: true, texts: []string{"transactions", "offsets"}},
	{name: "failures", texts: []string{"fencing", "timeouts", "errors"}},
	{name: "groups", texts: []string{"admins", "groups-classic", "groups-consumer", "sharing"}},
	{name: "tools of groups", texts: []string{"tools-groups"}},
	{name: "topics", texts: []string{"tools-topics"}, properties: map[string]string{"background.threads": "2"}},
	{name: "streams", texts: []string{"streaming-classic", "streaming-streams"}, properties: map[string]string{
		"group.streams.initial.rebalance.delay.ms": "0",
		"group.streams.min.session.timeout.ms":     "6000", "group.streams.session.timeout.ms": "6000",
		"group.streams.min.heartbeat.interval.ms": "500", "group.streams.heartbeat.interval.ms": "500",
	}},
	{name: "hanging", texts: []string{"tools-transactions"}, properties: map[string]string{
		"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500", // of a broker that is killed
		"transaction.state.log.replication.factor": "3", "offsets.topic.replication.factor": "3",
	}},
}

// properties are those of every broker.
var properties = map[string]string{
	"auto.create.topics.enable":                                   "false",
	"group.initial.rebalance.delay.ms":                            "0",
	"offsets.topic.num.partitions":                                "3",
	"offsets.topic.replication.factor":                            "1",
	"transaction.state.log.num.partitions":                        "3",
	"transaction.state.log.replication.factor":                    "1",
	"transaction.state.log.min.isr":                               "1",
	"share.coordinator.state.topic.num.partitions":                "3",
	"share.coordinator.state.topic.replication.factor":            "1",
	"share.coordinator.state.topic.min.isr":                       "1",
	"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
	"group.consumer.assignment.interval.ms":                       "0",
}

func (s suite) all() map[string]string {
	all := maps.Clone(properties)
	maps.Copy(all, s.properties)
	return all
}

// version is that of the Kafka that printed the texts, and of the libraries that
// the programs are written on.
const version = "4.3.1"

// asked skips the test unless the environment asks for that version.
func asked(t *testing.T) {
	t.Helper()
	if v := kafka.Version(t); v != version {
		t.Skipf("not run: the texts are what Kafka %s printed, not %s", version, v)
	}
}

// Every program prints on the simulator what its text says.
func TestOnSimulator(t *testing.T) {
	asked(t)
	classes := compile(t, version)
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			if !s.short {
				kafka.Long(t)
			}
			cluster, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: s.all(), ListenAddress: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cluster.Close(); err != nil {
					t.Error(err)
				}
			})
			playAll(t, s, &player{
				shell: openShell(t, version, classes), machinery: simulated.New(cluster),
				bootstrap: cluster.Bootstrap(), symbols: newSymbols(cluster.Bootstrap()),
			}, false)
		})
	}
}

// Every program prints on a real Kafka what its text says.
func TestOnKafka(t *testing.T) {
	asked(t)
	if !*update {
		kafka.Long(t)
	}
	classes := compile(t, version)
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			cluster := kafka.StartFor(t, kafka.Config{Version: version, Brokers: 3, Properties: s.all()})
			playAll(t, s, &player{
				shell: openShell(t, version, classes), machinery: cluster,
				bootstrap: cluster.Bootstrap(), symbols: newSymbols(cluster.Bootstrap()),
			}, *update)
		})
	}
}

// A text that is read and written stays the same.
func TestTextsStayTheSame(t *testing.T) {
	for _, s := range suites {
		for _, name := range s.texts {
			text, err := readText(name)
			if err != nil {
				t.Fatal(err)
			}
			printed := make([][]string, len(text.steps))
			for i, step := range text.steps {
				printed[i] = step.want
			}
			b, err := os.ReadFile(text.path())
			if err != nil {
				t.Fatal(err)
			}
			if got := text.render(printed); got != string(b) {
				t.Errorf("%s becomes\n%s", text.path(), got)
			}
		}
	}
}

func TestSymbols(t *testing.T) {
	s := newSymbols([]string{"127.0.0.1:9092", "127.0.0.1:90921"})
	for _, c := range []struct{ name, printed, want string }{
		{"an address that another begins with", "at 127.0.0.1:90921", "at broker2:port"},
		{"ids, each with a symbol of its own", "Topic: t\tTopicId: AAAAAAAAAAAAAAAAAAAAAA\nTopic: u\tTopicId: BBBBBBBBBBBBBBBBBBBBBB\nTopicId: AAAAAAAAAAAAAAAAAAAAAA",
			"Topic: t TopicId: I1\nTopic: u TopicId: I2\nTopicId: I1"},
		{"rows in the order of what does not differ", "TransactionalId Coordinator ProducerId TransactionState\nb 1 7 Ongoing\na 2 9 Empty\n",
			"TransactionalId Coordinator ProducerId TransactionState\na COORDINATOR P1 Empty\nb COORDINATOR P2 Ongoing"},
		{"an id that was seen", "producerId=7", "producerId=P2"},
		{"what is unknown stays", "ProducerId LastTimestamp\n9 -1\n", "ProducerId LastTimestamp\nP1 -1"},
		{"times", "from 1796128746962 to 2026-12-01 13:00:00,123", "from TIME to TIME"},
		{"the epoch of features", "Feature: metadata.version\tFinalizedVersionLevel: 4.3-IV0\tEpoch: 17", "Feature: metadata.version FinalizedVersionLevel: 4.3-IV0 Epoch: EPOCH"},
		{"what a producer's test measures", "5 records sent, 4.5 records/sec (0.01 MB/sec), 1.50 ms avg latency, 9.00 ms max latency, 1 ms 50th, 2 ms 99.9th.",
			"5 records sent, NUMBER records/sec (NUMBER MB/sec), NUMBER ms avg latency, NUMBER ms max latency, NUMBER ms 50th, NUMBER ms 99.9th."},
		{"what a consumer's test measures", "2026-12-01 13:00:00:123, 2026-12-01 13:00:01:123, 0.0019, 0.01, 203, 50.5, 7, 8, 0.1, 9.9",
			"TIME, TIME, 0.0019, NUMBER, 203, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER"},
		{"where an exception was thrown", "java.lang.Error: x\n\tat A.b(C.java:1)\nend", "java.lang.Error: x\nend"},
	} {
		if got := strings.Join(s.replace(c.printed), "\n"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got := s.value("P2"); got != "7" {
		t.Errorf("P2 is %q", got)
	}
}

// playAll plays the texts of a suite, and compares what comes with what stands
// there, or writes it there.
func playAll(t *testing.T, s suite, p *player, write bool) {
	for _, name := range s.texts {
		t.Run(name, func(t *testing.T) {
			text, err := readText(name)
			if err != nil {
				t.Fatal(err)
			}
			p.symbols = newSymbols(p.bootstrap)
			printed := make([][]string, len(text.steps))
			for i, step := range text.steps {
				play := p.play
				if write {
					play = p.settle
				}
				if printed[i], err = play(step); err != nil {
					t.Fatalf("%s%s: %v", commandMark, step.command, err)
				}
				if !write && !slices.Equal(printed[i], step.want) {
					t.Errorf("%s%s\n%s", commandMark, step.command, difference(step.want, printed[i]))
				}
			}
			if write {
				if err := os.WriteFile(text.path(), []byte(text.render(printed)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
