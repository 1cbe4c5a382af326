package diagnose

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// noon is when the last sweep of a scene ended.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// scene is what some sweeps saw. Its views are made before the report is.
type scene struct {
	options Options
	sweeps  []time.Duration // before noon
	change  func(v *lag.View, n int)
	audit   *lag.Audit
}

// once is a scene of one sweep.
func once(change func(v *lag.View)) scene {
	return scene{sweeps: []time.Duration{0}, change: func(v *lag.View, _ int) { change(v) }}
}

// over is a scene of two sweeps, some time apart, that saw the same.
func over(d time.Duration, change func(v *lag.View)) scene {
	return scene{sweeps: []time.Duration{d, 0}, change: func(v *lag.View, _ int) { change(v) }}
}

// about narrows a scene.
func (s scene) about(narrow func(*Options)) scene {
	narrow(&s.options)
	return s
}

// audited adds an audit.
func (s scene) audited(a *lag.Audit) scene {
	s.audit = a
	return s
}

// watch plays a scene.
func (s scene) watch() *Watch {
	o := s.options
	o.Bootstrap, o.Principal = "kafka-1:9092,kafka-2:9092", func() string { return "User:exporter" }
	o.HeldAfter, o.StillAfter = 10*time.Second, time.Minute
	w := NewWatch(o)
	for n, before := range s.sweeps {
		v := aView(noon.Add(-before))
		s.change(v, n)
		w.See(v)
	}
	if s.audit != nil {
		w.Audited(s.audit)
	}
	return w
}

// aView is a view of a cluster on which all is well.
func aView(at time.Time) *lag.View {
	v := &lag.View{Started: at, Ended: at, Period: 2 * time.Second, Cluster: lag.Known(lag.Cluster{
		ID: "4L6g3nShT-eMCtK--X86sw", Controller: 1,
		Brokers: []lag.Broker{{ID: 1, Host: "kafka-1", Port: 9092}, {ID: 2, Host: "kafka-2", Port: 9092}, {ID: 3, Host: "kafka-3", Port: 9092}},
	})}
	for _, name := range []string{"__consumer_offsets", "__transaction_state", "orders", "payments"} {
		t := lag.TopicView{Name: name, Internal: strings.HasPrefix(name, "__")}
		for n := range int32(4) {
			t.Partitions = append(t.Partitions, lag.PartitionView{
				Number: n, Leader: lag.BrokerID(n%3 + 1), Replicas: 3, InSync: 3,
				LogStart: lag.Known[lag.Offset](0), LastStable: lag.Known[lag.Offset](10586),
				HighWatermark: lag.Known[lag.Offset](10586), LogEnd: lag.Known[lag.Offset](10586),
			})
		}
		v.Topics = append(v.Topics, t)
	}
	return v
}

// partition returns a partition of a view.
func partition(v *lag.View, topic string, number int) *lag.PartitionView {
	i := slices.IndexFunc(v.Topics, func(t lag.TopicView) bool { return t.Name == topic })
	return &v.Topics[i].Partitions[number]
}

// held has a transaction hold a partition since offset 9123.
func held(v *lag.View, topic string, number int, b lag.Blocker) *lag.PartitionView {
	p := partition(v, topic, number)
	p.LastStable, p.Below, p.StalledFor = lag.Known[lag.Offset](9123), true, 2*time.Second
	p.Blocker = &b
	return p
}

// blocker is transaction billing-7, open for some time.
func blocker(verdict lag.Verdict, state lag.TransactionState, age time.Duration) lag.Blocker {
	return lag.Blocker{
		Verdict: verdict, Reason: lag.ReasonNone, TransactionalID: "billing-7", State: state, Coordinator: 1,
		Producer: lag.Known(lag.Producer{ID: 4012, Epoch: 3, CoordinatorEpoch: 5, Start: lag.Known[lag.Offset](9123)}),
		Age:      age, AgeSource: lag.AgeByCoordinator,
	}
}

// group adds a group with one member that has committed an offset of a
// partition; the row's lags follow from the partition.
func group(v *lag.View, name, topic string, number int, committed lag.Offset, state lag.GroupState) *lag.GroupPartitionView {
	p := partition(v, topic, number)
	lso, _ := p.LastStable.Get()
	hwm, _ := p.HighWatermark.Get()
	start, _ := p.LogStart.Get()
	position := max(start, committed)
	row := lag.GroupPartitionView{
		Partition: int32(number), Committed: lag.Known(committed), State: state,
		LSOLag: lag.Known(lag.Count(max(0, lso-position))), HWMLag: lag.Known(lag.Count(max(0, hwm-position))),
		Lost: lag.Known(lag.Count(max(0, start-committed))), Ahead: lag.Known(lag.Count(max(0, committed-hwm))),
		Owner: &lag.Member{ID: "m-1", ClientID: "worker-1", Host: "/10.0.0.5"},
	}
	at := slices.IndexFunc(v.Groups, func(g lag.GroupView) bool { return g.Name == name })
	if at < 0 {
		at = len(v.Groups)
		v.Groups = append(v.Groups, lag.GroupView{
			Name: name, Type: lag.Classic, ProtocolType: "consumer", State: "Stable", Members: lag.Known(1), Coordinator: 2,
		})
	}
	g := &v.Groups[at]
	if n := len(g.Topics); n == 0 || g.Topics[n-1].Topic != topic {
		g.Topics = append(g.Topics, lag.GroupTopicView{Topic: topic})
	}
	t := &g.Topics[len(g.Topics)-1]
	t.Partitions = append(t.Partitions, row)
	return &t.Partitions[len(t.Partitions)-1]
}

// report is what a scene gives: text, exit code, and what another sweep could
// settle.
func (s scene) report() string {
	w := s.watch()
	var b bytes.Buffer
	r := w.Report()
	if err := r.Text(&b, false); err != nil {
		panic(err)
	}
	fmt.Fprintf(&b, "\nexit %d; pending: %s\n", r.Status.ExitCode(), strings.Join(w.Pending(), ", "))
	return b.String()
}

// golden compares a text with a file, or writes it there with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./diagnose -update and read the difference\ngot:\n%s", path, got)
	}
}
