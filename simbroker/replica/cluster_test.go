package replica

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

var start = time.UnixMilli(1_700_000_000_000)

// latency is that of a message between brokers, or to the controller.
const latency = time.Millisecond

// cluster is a few brokers, a controller that obeys, and a coordinator that
// says what it is told to.
type cluster struct {
	t      testing.TB
	loop   *clock.Loop
	nodes  []*node
	states map[kafka.TopicPartition]PartitionState
	fenced map[kafka.BrokerID]bool
	racks  map[kafka.BrokerID]string
	// verdict is what the coordinator answers, with the requests it was asked.
	verdict func(VerifyRequest) error
	asked   []VerifyRequest
}

type node struct {
	*Broker
	cluster *cluster
	host    *clock.Host
	down    bool
	life    int
	roles   []RoleChange
}

func newCluster(t testing.TB, brokers int, change ...func(*Config)) *cluster {
	c := &cluster{
		t: t, loop: clock.NewSimulated(start),
		states: map[kafka.TopicPartition]PartitionState{}, fenced: map[kafka.BrokerID]bool{},
		verdict: func(VerifyRequest) error { return nil },
	}
	cfg := DefaultConfig()
	for _, f := range change {
		f(&cfg)
	}
	for id := range brokers {
		n := &node{cluster: c, host: clock.NewHost(c.loop)}
		n.Broker = New(kafka.BrokerID(id), cfg, Deps{
			Clock: n.host, Peers: n, Metadata: c, Verifier: c,
			RoleChanged: func(r RoleChange) { n.roles = append(n.roles, r) },
		})
		c.nodes = append(c.nodes, n)
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			if err := n.Check(); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

func (c *cluster) Exists(tp kafka.TopicPartition) bool { _, ok := c.states[tp]; return ok }
func (c *cluster) Unfenced(id kafka.BrokerID) bool     { return !c.fenced[id] }
func (c *cluster) Rack(id kafka.BrokerID) string {
	if c.fenced[id] {
		return ""
	}
	return c.racks[id]
}
func (c *cluster) Verify(r VerifyRequest, f func([]error)) {
	c.asked = append(c.asked, r)
	errs := make([]error, len(r.Partitions))
	for i := range errs {
		errs[i] = c.verdict(r)
	}
	f(errs)
}

// to runs f on the node after the latency, unless it has died meanwhile.
func (c *cluster) to(n *node, life int, f func()) {
	c.loop.After(latency, func() {
		if !n.down && n.life == life {
			n.host.Run(f)
		}
	})
}

func (n *node) Fetch(leader kafka.BrokerID, req FetchRequest, done func(FetchResult, error)) {
	c, life, to := n.cluster, n.life, n.cluster.nodes[leader]
	arrived := c.unchanged("fetch", req.Partitions)
	c.loop.After(latency, func() {
		arrived()
		if to.down {
			c.to(n, life, func() { done(FetchResult{}, errors.New("connection refused")) })
			return
		}
		to.host.Run(func() {
			arrived()
			to.Broker.Fetch(req, func(r FetchResult) {
				answered := c.unchanged("answer", r.Partitions)
				c.to(n, life, func() {
					answered()
					done(r, nil)
				})
			})
		})
	})
}

// unchanged returns what checks that a message is still as it was sent, though its
// sender may have sent another one since. Benchmarks go without.
func (c *cluster) unchanged(what string, message any) (check func()) {
	if _, ok := c.t.(*testing.T); !ok {
		return func() {}
	}
	sent := fmt.Sprintf("%+v", message)
	return func() {
		if now := fmt.Sprintf("%+v", message); now != sent {
			c.t.Errorf("%s has changed on its way from %s to %s", what, sent, now)
		}
	}
}

func (n *node) AlterPartition(change ISRChange, done func(PartitionState, error)) {
	c, life := n.cluster, n.life
	c.loop.After(latency, func() {
		s := c.states[change.Partition]
		if s.PartitionEpoch != change.PartitionEpoch || s.LeaderEpoch != change.LeaderEpoch {
			c.to(n, life, func() { done(PartitionState{}, errors.New("invalid update version")) })
			return
		}
		s.ISR = change.ISR
		s.PartitionEpoch++
		c.publish(s)
		c.to(n, life, func() { done(s, nil) })
	})
}

// publish makes a state known to every broker after the latency.
func (c *cluster) publish(s PartitionState) {
	c.states[s.Partition] = s
	for _, n := range c.nodes {
		c.to(n, n.life, func() { n.Apply(s) })
	}
}

// topic creates a partition with the first of the replicas as its leader.
func (c *cluster) topic(name string, replicas []kafka.BrokerID, change ...func(*TopicConfig)) kafka.TopicPartition {
	s := PartitionState{
		Partition: kafka.TopicPartition{Topic: name}, TopicID: kafka.TopicID{byte(len(c.states) + 1)},
		Leader: replicas[0], Replicas: replicas, ISR: slices.Clone(replicas), Config: DefaultTopicConfig(),
	}
	for _, f := range change {
		f(s.Config)
	}
	c.publish(s)
	c.settle()
	return s.Partition
}

// change publishes another state of a partition, with the epochs raised.
func (c *cluster) change(tp kafka.TopicPartition, f func(*PartitionState)) {
	s := c.states[tp]
	leader := s.Leader
	f(&s)
	s.PartitionEpoch++
	if s.Leader != leader {
		s.LeaderEpoch++
	}
	c.publish(s)
}

func (c *cluster) kill(id kafka.BrokerID) {
	n := c.nodes[id]
	n.host.Kill()
	n.down = true
	n.life++
}

// start brings a killed broker back and tells it the metadata.
func (c *cluster) start(id kafka.BrokerID, clean bool) {
	n := c.nodes[id]
	n.down = false
	n.Restart(clean)
	var states []PartitionState
	for _, s := range c.states {
		states = append(states, s)
	}
	slices.SortFunc(states, func(a, b PartitionState) int { return a.Partition.Compare(b.Partition) })
	for _, s := range states {
		n.Apply(s)
	}
}

func (c *cluster) settle() { c.loop.Advance(1200 * time.Millisecond) }

func (c *cluster) leader(tp kafka.TopicPartition) *node { return c.nodes[c.states[tp].Leader] }

// await runs events until ok holds.
func (c *cluster) await(what string, ok func() bool) {
	c.t.Helper()
	if !c.loop.RunUntil(ok, c.loop.Now().Add(2*time.Minute)) {
		c.t.Fatalf("never: %s\n%v", what, c)
	}
}

func (c *cluster) String() string {
	var s []string
	for _, n := range c.nodes {
		s = append(s, n.Broker.String())
	}
	return strings.Join(s, "\n")
}

// expect compares a step's outcome with what a real cluster printed.
func (c *cluster) expect(step, want, got string) {
	c.t.Helper()
	if got != want {
		c.t.Fatalf("%s: got %s, want %s\n%v", step, got, want, c)
	}
}

// offsets expects LEO/HWM/LSO as ListOffsets gives them at the leader.
func (c *cluster) offsets(tp kafka.TopicPartition, want string) {
	c.t.Helper()
	list := func(id kafka.BrokerID, level IsolationLevel) string {
		o, err := c.leader(tp).ListOffsets(ListOffsetsRequest{ReplicaID: id, Isolation: level, Partition: tp, CurrentLeaderEpoch: -1, Timestamp: Latest})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(o.Offset)
	}
	got := list(DebugReplica, ReadUncommitted) + "/" + list(ConsumerReplica, ReadUncommitted) + "/" + list(ConsumerReplica, ReadCommitted)
	c.expect(tp.String()+" LEO/HWM/LSO", want, got)
}

func records(n int, timestamps ...int64) []commitlog.Record {
	rs := make([]commitlog.Record, n)
	for i := range rs {
		rs[i] = commitlog.Record{TimestampMs: start.UnixMilli(), Value: []byte{byte(i)}}
		if i < len(timestamps) {
			rs[i].TimestampMs = timestamps[i]
		}
	}
	return rs
}

// T, I and N are batches in the notation of the litmus tests.
func T(p kafka.ProducerID, e kafka.ProducerEpoch, seq int32, n int, timestamps ...int64) commitlog.Batch {
	return commitlog.Build(commitlog.Producing{Producer: kafka.Producer{ID: p, Epoch: e}, BaseSequence: seq, Transactional: true}, records(n, timestamps...))
}

func I(p kafka.ProducerID, e kafka.ProducerEpoch, seq int32, n int) commitlog.Batch {
	return commitlog.Build(commitlog.Producing{Producer: kafka.Producer{ID: p, Epoch: e}, BaseSequence: seq}, records(n))
}

func N(n int, timestamps ...int64) commitlog.Batch {
	return commitlog.Build(commitlog.Plainly(), records(n, timestamps...))
}

// request is a Produce v12 with acks=1 for one batch.
func request(tp kafka.TopicPartition, b commitlog.Batch) ProduceRequest {
	r := ProduceRequest{
		Support: AddPartition, Acks: 1, Timeout: 30 * time.Second,
		Partitions: []ProducePartition{{Partition: tp, Records: slices.Clone(b.Raw)}},
	}
	if b.Attributes.IsTransactional() {
		r.TransactionalID = "X1"
	}
	return r
}

// send sends a request to the leader and waits for the answer.
func (c *cluster) send(r ProduceRequest) string {
	c.t.Helper()
	var got *ProduceResult
	c.loop.Do(func() {
		c.leader(r.Partitions[0].Partition).Produce(r, func(res ProduceResult) { got = &res })
	})
	c.await("an answer to Produce", func() bool { return got != nil })
	var s []string
	for _, p := range got.Partitions {
		var name kafka.Error
		if errors.As(p.Err, &name) { // some have a text of their own
			p.Err = name
		}
		switch {
		case p.Err == nil:
			s = append(s, fmt.Sprintf("ok @%d", p.BaseOffset))
		case p.BaseOffset >= 0:
			s = append(s, fmt.Sprintf("%v base %d", p.Err, p.BaseOffset))
		default:
			s = append(s, p.Err.Error())
		}
	}
	return strings.Join(s, " ")
}

// produce expects the answer to Produce v12, acks=1; v11 and v10 to older
// versions.
func (c *cluster) produce(tp kafka.TopicPartition, b commitlog.Batch, want string) {
	c.t.Helper()
	c.expect("produce "+b.String(), want, c.send(request(tp, b)))
}

func (c *cluster) produceAs(s TransactionSupport, tp kafka.TopicPartition, b commitlog.Batch, want string) {
	c.t.Helper()
	r := request(tp, b)
	r.Support = s
	c.expect("produce "+b.String(), want, c.send(r))
}

// mark writes a marker and expects what becomes of it.
func (c *cluster) mark(tp kafka.TopicPartition, commit bool, p kafka.ProducerID, e kafka.ProducerEpoch, ce kafka.CoordinatorEpoch, version int8, want string) {
	c.t.Helper()
	got := "waiting"
	c.loop.Do(func() {
		c.leader(tp).WriteMarkers(MarkersRequest{
			Producer: kafka.Producer{ID: p, Epoch: e}, CoordinatorEpoch: ce, Commit: commit, TransactionVersion: version,
			Timeout: 30 * time.Second, Partitions: []kafka.TopicPartition{tp},
		}, func(r []MarkerResult) {
			got = "ok"
			if r[0].Err != nil {
				got = r[0].Err.Error()
			}
		})
	})
	if want != "waiting" {
		c.await("an answer to WriteTxnMarkers", func() bool { return got != "waiting" })
	}
	c.expect("marker", want, got)
}

// fetchFrom is a consumer's fetch, without waiting, of one partition.
func fetchFrom(tp kafka.TopicPartition, offset kafka.Offset, level IsolationLevel) FetchRequest {
	return FetchRequest{
		ReplicaID: ConsumerReplica, Isolation: level, FromFollowers: true, MinBytes: 1, MaxBytes: 50 << 20,
		Partitions: []FetchPartition{{Partition: tp, Offset: offset, MaxBytes: 1 << 20, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1}},
	}
}

// fetched renders an answer as the litmus tests do.
func fetched(p FetchedPartition) string {
	if p.Err != nil {
		return p.Err.Error()
	}
	var s []string
	for _, b := range p.Records.Batches() {
		s = append(s, b.String())
	}
	if len(s) == 0 {
		s = []string{"empty"}
	}
	ab := "null"
	if p.Aborted != nil {
		var list []string
		for _, a := range p.Aborted {
			list = append(list, fmt.Sprintf("(%d,%d)", a.ProducerID, a.FirstOffset))
		}
		ab = "[" + strings.Join(list, " ") + "]"
	}
	return fmt.Sprintf("%s ab=%s (HWM %d LSO %d start %d)", strings.Join(s, " "), ab, p.HighWatermark, p.LastStableOffset, p.LogStartOffset)
}

func (c *cluster) read(r FetchRequest, want string) {
	c.t.Helper()
	var got *FetchResult
	tp := r.Partitions[0].Partition
	c.loop.Do(func() { c.leader(tp).Broker.Fetch(r, func(res FetchResult) { got = &res }) })
	c.await("an answer to Fetch", func() bool { return got != nil })
	c.expect(fmt.Sprintf("fetch %v@%d", tp, r.Partitions[0].Offset), want, fetched(got.Partitions[0]))
}

// rc expects the answer to a read_committed fetch.
func (c *cluster) rc(tp kafka.TopicPartition, offset kafka.Offset, want string) {
	c.t.Helper()
	c.read(fetchFrom(tp, offset, ReadCommitted), want)
}

// producers expects DescribeProducers at a broker.
func (c *cluster) producers(id kafka.BrokerID, tp kafka.TopicPartition, want string) {
	c.t.Helper()
	states, err := c.nodes[id].DescribeProducers(tp)
	if err != nil {
		c.expect("DescribeProducers", want, err.Error())
		return
	}
	s := []string{}
	for _, p := range states {
		s = append(s, fmt.Sprintf("P%d epoch %d seq %d ce %d start %d", p.Producer.ID, p.Producer.Epoch, p.LastSequence, p.CoordinatorEpoch, p.CurrentTxnStartOffset))
	}
	if len(s) == 0 {
		s = []string{"none"}
	}
	c.expect("DescribeProducers", want, strings.Join(s, "; "))
}

// list expects an answer to ListOffsets, offset and timestamp.
func (c *cluster) list(id kafka.BrokerID, r ListOffsetsRequest, want string) {
	c.t.Helper()
	o, err := c.nodes[id].ListOffsets(r)
	got := fmt.Sprintf("%d ts %d epoch %d", o.Offset, o.TimestampMs, o.LeaderEpoch)
	if err != nil {
		got = err.Error()
	}
	c.expect(fmt.Sprintf("ListOffsets %d", r.Timestamp), want, got)
}

func (c *cluster) delete(tp kafka.TopicPartition, offset kafka.Offset, want string) {
	c.t.Helper()
	var got []DeletedRecords
	c.loop.Do(func() {
		c.leader(tp).DeleteRecords([]DeleteRecordsPartition{{tp, offset}}, 30*time.Second, func(d []DeletedRecords) { got = d })
	})
	c.await("an answer to DeleteRecords", func() bool { return got != nil })
	s := fmt.Sprintf("low %d", got[0].LowWatermark)
	if got[0].Err != nil {
		s = got[0].Err.Error()
	}
	c.expect("DeleteRecords", want, s)
}

// unverified switches verification off.
func unverified(c *Config) { c.TransactionPartitionVerification = false }

func one(id kafka.BrokerID) []kafka.BrokerID { return []kafka.BrokerID{id} }
