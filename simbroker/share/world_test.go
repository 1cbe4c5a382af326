package share

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

var (
	jobs   = kafka.TopicPartition{Topic: "jobs"}
	jobsID = kafka.TopicID{1}
	key    = Key{"G1", jobsID, 0}
)

// world is one broker with the partition jobs-0, and members of group G1.
type world struct {
	*Broker
	t        *testing.T
	loop     *clock.Loop
	host     *clock.Host
	replicas *replica.Broker
	store    *Store
	settings Settings
	leader   kafka.BrokerID
	epoch    kafka.LeaderEpoch
	end      func(kafka.TopicPartition) (kafka.Offset, error) // of the partition's leader
	sessions map[string]int32                                 // the next epoch of each member
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, loop: clock.NewSimulated(time.UnixMilli(1_000_000)), store: NewStore(),
		settings: DefaultSettings(), leader: 1, sessions: make(map[string]int32),
	}
	w.host = clock.NewHost(w.loop)
	w.settings.Reset.Earliest = true
	w.replicas = replica.New(1, replica.DefaultConfig(), replica.Deps{Clock: w.host, Peers: alone{}, Metadata: alone{}, Verifier: alone{}})
	w.lead(1, 0)
	w.end = func(tp kafka.TopicPartition) (kafka.Offset, error) {
		s, _ := w.replicas.Status(tp)
		return s.HighWatermark, nil
	}
	w.restart()
	if err := w.store.Initialize(key, 3, kafka.NoOffset); err != nil {
		t.Fatal(err)
	}
	return w
}

// restart is a new life of the broker, whose log stays.
func (w *world) restart() {
	w.sessions = make(map[string]int32)
	w.Broker = New(w.host, Environment{
		Replicas: w.replicas, Store: w.store, MaxSessions: 4,
		Topic:     func(id kafka.TopicID) (string, bool) { return jobs.Topic, id == jobsID },
		Settings:  func(string) Settings { return w.settings },
		EndOffset: func(tp kafka.TopicPartition, done func(kafka.Offset, error)) { done(w.end(tp)) },
	})
}

// lead makes a broker the partition's leader.
func (w *world) lead(leader kafka.BrokerID, epoch kafka.LeaderEpoch) {
	w.leader, w.epoch = leader, epoch
	w.loop.Do(func() {
		w.replicas.Apply(replica.PartitionState{
			Partition: jobs, TopicID: jobsID, Leader: leader, LeaderEpoch: epoch, PartitionEpoch: int32(epoch),
			Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{leader}, Config: replica.DefaultTopicConfig(),
		})
	})
}

// alone is what a broker without others has for surroundings.
type alone struct{}

func (alone) Fetch(kafka.BrokerID, replica.FetchRequest, func(replica.FetchResult, error)) {}
func (alone) AlterPartition(replica.ISRChange, func(replica.PartitionState, error))        {}
func (alone) Exists(kafka.TopicPartition) bool                                             { return true }
func (alone) Unfenced(kafka.BrokerID) bool                                                 { return true }
func (alone) Rack(kafka.BrokerID) string                                                   { return "" }
func (alone) Verify(r replica.VerifyRequest, done func([]error)) {
	done(make([]error, len(r.Partitions)))
}

// produce appends batches of so many records each.
func (w *world) produce(batches ...int) {
	w.t.Helper()
	for _, n := range batches {
		w.append(commitlog.Plainly(), n)
	}
}

func (w *world) append(p commitlog.Producing, n int) {
	w.t.Helper()
	records := make([]commitlog.Record, n)
	for i := range records {
		records[i] = commitlog.Record{TimestampMs: w.loop.Now().UnixMilli(), Value: []byte("x")}
	}
	w.loop.Do(func() {
		w.replicas.Produce(replica.ProduceRequest{
			TransactionalID: "X1", Acks: 1, Partitions: []replica.ProducePartition{{Partition: jobs, Records: commitlog.Build(p, records).Raw}},
		}, func(r replica.ProduceResult) {
			if err := r.Partitions[0].Err; err != nil {
				w.t.Fatal(err)
			}
		})
	})
}

// asked is a fetch under way.
type asked struct {
	w      *world
	done   bool
	result FetchResult
	err    error
}

// fetch lets a member fetch in its session, which begins with it.
func (w *world) fetch(member string, change ...func(*FetchRequest)) *asked {
	req := FetchRequest{
		Member:  Member{GroupID: "G1", MemberID: member, Epoch: w.sessions[member]},
		MaxWait: time.Second, MinBytes: 1, MaxBytes: 1 << 20, MaxRecords: 500, BatchSize: 500, AckRules: AckRules{KnowsRenew: true},
	}
	if req.Epoch == firstEpoch {
		req.Add = []TopicPartition{{jobsID, 0}}
	}
	for _, f := range change {
		f(&req)
	}
	a := &asked{w: w}
	w.loop.Do(func() { w.Fetch(req, func(r FetchResult, err error) { a.done, a.result, a.err = true, r, err }) })
	if a.err == nil || !a.done {
		w.sessions[member] = nextEpoch(req.Epoch)
	}
	return a
}

// String is what came: runs of records with their deliveries, as in 0-4*1.
func (a *asked) String() string {
	switch {
	case !a.done:
		return "waits"
	case a.err != nil:
		return a.err.Error()
	}
	var words []string
	for _, p := range a.result.Partitions {
		for _, e := range []error{p.Err, p.AckErr} {
			if e != nil {
				words = append(words, e.Error())
			}
		}
		for _, r := range p.Acquired {
			words = append(words, fmt.Sprintf("%d-%d*%d", r.First, r.Last, r.Deliveries))
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, " ")
}

func (a *asked) is(want string) {
	a.w.t.Helper()
	if got := a.String(); got != want {
		a.w.t.Errorf("got %s, want %s", got, want)
	}
}

func atMost(n int) func(*FetchRequest) { return func(r *FetchRequest) { r.MaxRecords = n } }

// ack acknowledges records by ShareAcknowledge.
func (w *world) ack(member string, batches ...AckBatch) string {
	return w.acknowledge(member, func(r *AckRequest) { r.Acks[0].Batches = batches })
}

func (w *world) acknowledge(member string, change func(*AckRequest)) string {
	req := AckRequest{
		Member:   Member{GroupID: "G1", MemberID: member, Epoch: w.sessions[member]},
		Acks:     []Ack{{TopicID: jobsID}},
		AckRules: AckRules{KnowsRenew: true, Renews: true},
	}
	change(&req)
	var words []string
	w.loop.Do(func() {
		results, _, err := w.Acknowledge(req)
		if err != nil {
			words = append(words, err.Error())
			return
		}
		w.sessions[member] = nextEpoch(req.Epoch)
		for _, r := range results {
			if r.Err != nil {
				words = append(words, r.Err.Error())
			}
		}
	})
	if len(words) == 0 {
		return "ok"
	}
	return strings.Join(words, " ")
}

func all(first, last kafka.Offset, t AckType) AckBatch { return AckBatch{first, last, []AckType{t}} }

// is checks what an acknowledgement came to.
func (w *world) is(got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("got %s, want %s", got, want)
	}
}

// written checks what the store has: start offset and complete deliveries.
func (w *world) written(start kafka.Offset, complete int) {
	w.t.Helper()
	if s := w.store.Summary(key); s.Start != start || s.Complete != complete {
		w.t.Errorf("written are %d and %d, want %d and %d", s.Start, s.Complete, start, complete)
	}
}

// lag checks what the group is told of the partition.
func (w *world) lag(want int64) {
	w.t.Helper()
	w.loop.Do(func() {
		w.Offsets(key, jobs, func(o Offsets) {
			if o.Lag != want || o.Err != nil {
				w.t.Errorf("lag %d (%v), want %d", o.Lag, o.Err, want)
			}
		})
	})
}

func (w *world) advance(d time.Duration) { w.loop.Advance(d) }

// inFlight is the states of the records in flight, from the start offset on, as
// in 3: AAv.
func (w *world) inFlight() string {
	p := w.partitions[key]
	letters := map[RecordState]string{Available: "v", Acquired: "A", Acknowledged: "k", Archived: "x"}
	s := fmt.Sprintf("%d:", p.start)
	for i := range p.inFlight {
		s += letters[p.inFlight[i].State]
	}
	return s
}

func sortedKeys(m map[kafka.Offset]Record) []kafka.Offset {
	var keys []kafka.Offset
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
