package deps

import (
	"slices"
	"strings"
	"testing"
)

// A boundary says what the packages of a room may import beyond the standard
// library. Test files are free, but for what forTests says.
type boundary struct {
	rooms []string // folders, each without those below it
	why   string

	// own are the packages of this module, others prefixes of import paths
	// from elsewhere.
	own, others []string
	// testsToo applies the rule to test files as well.
	testsToo bool
}

// boundaries has a rule for every package that is not a command, a test or a
// tool of tests. A package that no rule names fails the test, so that a new
// room states its rule. What the simulator's rooms may import of each other is
// told by a test of simbroker.
var boundaries = []boundary{
	{
		rooms: []string{"lag"}, testsToo: true,
		why: "the arithmetic is pure: it knows neither the Kafka client, whose types would carry sentinels such as -1 into it, nor Prometheus",
	},
	{
		rooms: []string{"collector"}, own: []string{"lag", "collector/security"}, others: []string{"github.com/twmb/franz-go"},
		why: "only this package talks to Kafka, and what it hands on is a sample",
	},
	{
		rooms: []string{"collector/security"}, others: []string{"github.com/twmb/franz-go", "golang.org/x/oauth2"},
		why: "it opens connections, knows nothing of what is asked on them, and takes secrets from whoever has them",
	},
	{
		rooms: []string{"metrics"}, own: []string{"lag"}, others: []string{"github.com/prometheus", "google.golang.org/protobuf"},
		why: "a renderer of views knows nothing of how they were read",
	},
	{
		rooms: []string{"web"}, own: []string{"lag", "diagnose"}, others: []string{"github.com/prometheus/exporter-toolkit"},
		why: "a renderer of views knows nothing of how they were read; the status page shows a report, and pages of other renderers are handed to it",
	},
	{
		rooms: []string{"diagnose"}, own: []string{"lag"}, testsToo: true,
		why: "a renderer of views knows nothing of how they were read",
	},
	{
		rooms: []string{"alerting"}, own: []string{"config"}, others: []string{"github.com/prometheus/common", "gopkg.in/yaml.v3"},
		why: "conditions are written in Prometheus' language: they know the names of metrics, which a test holds to the catalogue, and thresholds",
	},
	{
		rooms: []string{"dashboards"},
		why:   "the program carries the dashboard as it was made, and not what makes it",
	},
	{
		rooms: []string{"dashboards/generate"}, own: []string{"config", "lag", "metrics"}, others: []string{"github.com/grafana/grafana-foundation-sdk/go"},
		why: "queries name metrics of the catalogue and the words that their labels take, and colours change at the default thresholds of alerts",
	},
	{
		rooms: []string{"config"}, others: []string{"gopkg.in/yaml.v3", "github.com/alecthomas/kingpin/v2", "github.com/prometheus/exporter-toolkit"},
		why: "configuration is plain values, so that every room can be used without a file or flags",
	},
	{
		rooms: []string{"simbroker/scenario", "simbroker/scenario/workload"}, own: []string{"simbroker/kafka", "simbroker/scenario", "simbroker/scenario/application"},
		others: []string{"github.com/twmb/franz-go"},
		why:    "a scenario talks to any cluster as a client: it knows neither the simulator's insides nor the exporter",
	},
	{
		rooms: []string{"simbroker/scenario/application"}, others: []string{"github.com/twmb/franz-go"},
		why: "applications are clients of any cluster; the language of scenarios is made with them, not they with it",
	},
	{
		rooms: []string{"simbroker/scenario/simulated"}, own: []string{"simbroker", "simbroker/kafka", "simbroker/scenario"},
		others: []string{"github.com/twmb/franz-go"},
		why:    "only here does a scenario meet the simulator, by what the simulator offers to everybody",
	},
	{
		rooms: []string{"simbroker/scenario/storyline"}, own: []string{"simbroker/scenario/workload"},
		why: "the story is a value, which does not know how it is told",
	},
	{
		rooms: []string{"test/histories/check"}, others: []string{"github.com/twmb/franz-go/pkg/kmsg"}, testsToo: true,
		why: "the checkers judge the simulator by answers alone; code that they shared with it would be wrong together with it",
	},
	{
		rooms: []string{"test/oracle"}, others: []string{"github.com/prometheus"},
		why: "the oracle judges simulator and exporter by the scenario's record alone; code that it shared with either would be wrong together with it",
	},
}

// free are the folders that have no boundary here: commands and tests that
// cross packages may import what they like, and the simulator is held by
// TestSimulatorSharesNoCode and its own tests.
var free = []string{"cmd", "deploy", "test", "simbroker"}

func TestBoundaries(t *testing.T) {
	for _, s := range tree(t) {
		rule := boundaryOf(s.room())
		if rule == nil {
			if !slices.ContainsFunc(free, func(root string) bool { return within(s.room(), root) }) {
				t.Errorf("%s: no rule says what %q may import; add one to boundaries", s.path, s.room())
			}
			continue
		}
		if s.test && !rule.testsToo {
			continue
		}
		for _, imported := range s.imports {
			if !rule.allows(imported, s.room()) {
				t.Errorf("%s imports %s: %s", s.path, imported, rule.why)
			}
		}
	}
}

func boundaryOf(room string) *boundary {
	for i := range boundaries {
		if slices.Contains(boundaries[i].rooms, room) {
			return &boundaries[i]
		}
	}
	return nil
}

func (b *boundary) allows(imported, room string) bool {
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		return own == room || slices.Contains(b.own, own)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(b.others, func(prefix string) bool { return within(imported, prefix) })
}

// Every rule is about a package that exists: a rule for one that was renamed
// would hold nothing apart.
func TestBoundariesAreOfRealRooms(t *testing.T) {
	exists := make(map[string]bool)
	for _, s := range tree(t) {
		exists[s.room()] = true
	}
	seen := make(map[string]bool)
	for _, b := range boundaries {
		if b.why == "" {
			t.Errorf("the rule for %v has no reason", b.rooms)
		}
		for _, room := range slices.Concat(b.rooms, b.own) {
			if !exists[room] {
				t.Errorf("a rule names %s, which does not exist", room)
			}
		}
		for _, room := range b.rooms {
			if seen[room] {
				t.Errorf("%s has two rules", room)
			}
			seen[room] = true
		}
	}
}

// The simulator checks the exporter, so neither may contain code of the other:
// it would be wrong on both sides at once. What runs at a user's site has the
// simulator only in the commands that show it.
func TestSimulatorSharesNoCode(t *testing.T) {
	exporter := []string{"lag", "collector", "metrics", "diagnose", "alerting", "config", "web"}
	for _, s := range tree(t) {
		inSimulator := within(s.room(), "simbroker")
		if !inSimulator && !slices.Contains(exporter, s.room()) || s.test && !inSimulator {
			continue
		}
		for _, imported := range s.imports {
			own, ok := strings.CutPrefix(imported, module+"/")
			if !ok {
				continue
			}
			if inSimulator && !within(own, "simbroker") || !inSimulator && within(own, "simbroker") {
				t.Errorf("%s imports %s: simulator and exporter share no code", s.path, own)
			}
		}
	}
}
