package e2e

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
	"github.com/lso-exporter/lso-exporter/test/litmus"
	"github.com/lso-exporter/lso-exporter/test/oracle"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// timing is what the properties of the litmus tests, with which all clusters
// here run, mean for the oracle.
var timing = oracle.Timing{SessionTimeout: 4 * time.Second, HeartbeatInterval: 500 * time.Millisecond, FixedCoordinators: true}

// epoch is when simulated time begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a simulated cluster under simulated time, whose clients are watched.
type world struct {
	t       testing.TB
	sim     *simbroker.Cluster
	witness *witness.Witness
	scenario.Cluster
	properties map[string]string // that the brokers were started with
	exporters  int
}

// newWorld starts a simulated cluster.
func newWorld(t testing.TB, brokers int, properties map[string]string) *world {
	t.Helper()
	return newWorldOf(t, brokers, properties, nil)
}

// newWorldOf starts a simulated cluster with levels of features, laid over those of
// a current one.
func newWorldOf(t testing.TB, brokers int, properties map[string]string, features map[string]int16) *world {
	t.Helper()
	all := litmus.Properties()
	maps.Copy(all, properties)
	sim, err := simbroker.Start(simbroker.Config{Brokers: brokers, Properties: all, Features: features, Clock: simbroker.Simulated(epoch), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Errorf("close the cluster: %v", err)
		}
	})
	var ids []int32
	for _, id := range sim.Brokers() {
		ids = append(ids, int32(id))
	}
	facts := timing
	facts.FixedCoordinators = all["offsets.topic.replication.factor"] == "1"
	w := &world{t: t, sim: sim, witness: witness.New(ids, facts, sim.Now()), properties: all}
	w.Cluster = w.witness.Watch(simulated.New(sim))
	return w
}

// exporter starts an exporter of the cluster, in process and one request after
// the other.
func (w *world) exporter(options collector.Options, page metrics.Options, seeds ...int32) (*exporter, *inProcess) {
	w.t.Helper()
	w.exporters++
	client := &inProcess{cluster: w.sim, seeds: seeds}
	options.Serial = true
	e := newExporter(w.t, w.t.Name()+"/"+string(rune('0'+w.exporters)), client, w.sim.Now, options, page)
	w.t.Cleanup(func() { e.judge(w.witness.Acts()) })
	return e, client
}

// do sends a request to a broker and returns its answer.
func do[R kmsg.Response](w *world, broker int32, req kmsg.Request) R {
	w.t.Helper()
	resp, err := w.Request(context.Background(), broker, "test", req)
	if err != nil {
		w.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

// wait lets time pass.
func (w *world) wait(d time.Duration) {
	if err := w.Wait(context.Background(), d); err != nil {
		w.t.Fatal(err)
	}
}
