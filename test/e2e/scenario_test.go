package e2e

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/litmus"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// update rewrites the texts of testdata/both and testdata/long with what a real Kafka gave, and
// those of testdata/simulated with what the simulator gave: to be reviewed as a
// difference.
var update = flag.Bool("update", false, "rewrite the texts with the outputs that were given")

// lookUpAfter is for how long texts have to let a partition stand still before
// what holds it is looked up.
const lookUpAfter = 2 * time.Second

// texts are the scenario texts of a folder, by name.
func texts(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no texts in %s (%v)", folder, err)
	}
	all := map[string]string{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(p), ".txt")] = string(b)
	}
	return all
}

// play plays a text on a stage and reports every output that differs.
func play(t *testing.T, folder, name, text string, s *stage, opts scenario.Options, write bool) {
	t.Helper()
	s.t = t
	story, err := scenario.Parse(name, text, s.verbs()...)
	if err != nil {
		t.Fatal(err)
	}
	result, err := story.Run(context.Background(), s.cluster, opts)
	if errors.Is(err, scenario.ErrNotOffered) {
		t.Skip("not run: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Err(); err != nil {
		t.Error(err)
		if v := s.partial; v != nil {
			t.Logf("the last sweep that was not complete ended at %v and missed %v", v.Ended.Format("15:04:05.000"), v.Missed)
		}
	}
	if write {
		if err := os.WriteFile(filepath.Join("testdata", folder, name+".txt"), []byte(story.Update(result)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every text gives its samples on the simulator, in process and under simulated
// time.
func TestOnSimulator(t *testing.T) {
	playOnSimulator(t, nil, "both", "long", "simulated")
}

// Those that a cluster without transaction protocol 2 and without groups of new
// types can play, give them there too.
func TestOnOlderSimulator(t *testing.T) {
	playOnSimulator(t, map[string]int16{
		"transaction.version": 0, "group.version": 0, "share.version": 0, "streams.version": 0, "eligible.leader.replicas.version": 0,
	}, "both", "long")
}

func playOnSimulator(t *testing.T, features map[string]int16, folders ...string) {
	for _, folder := range folders {
		all := texts(t, folder)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			text := all[name]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				brokers, properties := given(t, name, text)
				w := newWorldOf(t, brokers, properties, features)
				s := newStage()
				s.cluster, s.witness, s.sim = w, w.witness, w.sim
				s.restart = func() *exporter {
					e, _ := w.exporter(s.options, s.pages, s.seeds...)
					return e
				}
				s.exporter = s.restart()
				play(t, folder, name, text, s, scenario.Options{Given: w.properties}, *update && folder == "simulated")
			})
		}
	}
}

// given are how many brokers a text needs, and with which properties.
func given(t *testing.T, name, text string) (brokers int, properties map[string]string) {
	t.Helper()
	story, err := scenario.Parse(name, text, newStage().verbs()...)
	if err != nil {
		t.Fatal(err)
	}
	properties = map[string]string{}
	for _, p := range story.Properties {
		properties[p.Name] = p.Value
	}
	return story.Brokers, properties
}

// The texts of testdata/both and testdata/long give the same samples on a real
// Kafka.
func TestOnKafka(t *testing.T) {
	version := kafka.Version(t)
	cluster := kafka.StartFor(t, kafka.Config{Version: version, Brokers: 3, Properties: litmus.Properties()})
	network, err := scenario.Dial(context.Background(), cluster.Bootstrap(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	// On a busy machine heartbeats are late, and sessions begin earlier.
	late := timing
	late.HeartbeatInterval = 2 * time.Second
	watched := witness.New(network.Brokers(), late, network.Now())
	for _, folder := range []string{"both", "long"} {
		all := texts(t, folder)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			text := all[name]
			t.Run(name, func(t *testing.T) {
				if folder == "long" {
					kafka.Long(t)
				}
				s := newStage()
				s.cluster, s.witness, s.kafka = watched.Watch(network), watched, cluster
				s.restart = func() *exporter {
					seeds := cluster.Bootstrap()
					if s.seeds != nil {
						seeds = []string{seeds[s.seeds[0]-1]}
					}
					client, err := collector.NewKafka(kgo.SeedBrokers(seeds...))
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(client.Close)
					e := newExporter(t, t.Name(), client, network.Now, s.options, s.pages)
					t.Cleanup(func() { e.judge(watched.Acts()) })
					return e
				}
				s.exporter = s.restart()
				play(t, folder, name, text, s, scenario.Options{Given: litmus.Properties()}, *update)
			})
		}
	}
}
