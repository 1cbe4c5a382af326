package txn

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// latency is how long the doubles take to answer.
const latency = time.Millisecond

// cluster is what a coordinator sees of the rest, in memory: a log that
// survives coordinators, brokers that take markers, a controller.
type cluster struct {
	t    *testing.T
	loop *clock.Loop

	records   map[int32][]Record
	appendErr error // of the next appends, which then leave no record
	version   int16 // of transactions, finalised

	leaders   map[kafka.TopicPartition]kafka.BrokerID
	markerErr map[kafka.TopicPartition]error
	down      map[kafka.BrokerID]bool
	written   []string // markers, as the litmus transcripts show them

	nextBlock kafka.ProducerID
	blocks    int
	blockErr  error

	host *clock.Host // of the broker's present life
	*Coordinator
}

var (
	orders0 = kafka.TopicPartition{Topic: "orders", Partition: 0}
	orders1 = kafka.TopicPartition{Topic: "orders", Partition: 1}
	sales0  = kafka.TopicPartition{Topic: "sales", Partition: 0}
)

// newCluster has one broker that leads every partition of __transaction_state,
// transaction protocol 2, and three data partitions led by brokers 1 and 2.
func newCluster(t *testing.T) *cluster {
	cl := &cluster{
		t:         t,
		loop:      clock.NewSimulated(time.UnixMilli(1_000_000)),
		records:   make(map[int32][]Record),
		version:   2,
		leaders:   map[kafka.TopicPartition]kafka.BrokerID{orders0: 1, orders1: 2, sales0: 2},
		markerErr: make(map[kafka.TopicPartition]error),
		down:      make(map[kafka.BrokerID]bool),
	}
	cl.restart(0)
	if _, err := cl.init("", 0); err != kafka.ErrCoordinatorLoadInProgress {
		t.Fatalf("first producer id: %v, want the wait for a block", err)
	}
	cl.pass(latency)
	return cl
}

// restart kills the broker and gives it a new coordinator that leads
// everything.
func (cl *cluster) restart(epoch kafka.CoordinatorEpoch) {
	if cl.host != nil {
		cl.host.Kill()
	}
	cl.host = clock.NewHost(cl.loop)
	cl.Coordinator = New(1, cl.host, DefaultConfig(), Environment{Log: cl, Markers: cl, IDs: cl, Features: cl})
	for p := range cl.cfg.Partitions {
		cl.Load(p, epoch)
	}
	cl.pass(0)
}

func (cl *cluster) pass(d time.Duration) { cl.loop.Advance(d) }

func (cl *cluster) TransactionVersion() int16 { return cl.version }

func (cl *cluster) Append(p int32, records []Record, _ time.Duration, done func(error)) {
	err := cl.appendErr
	if err == nil {
		cl.records[p] = append(cl.records[p], records...)
	}
	cl.loop.After(latency, func() { done(err) })
}

func (cl *cluster) Records(p int32) iter.Seq[Record] { return slices.Values(cl.records[p]) }

func (cl *cluster) Leader(tp kafka.TopicPartition) (kafka.BrokerID, bool) {
	leader, ok := cl.leaders[tp]
	return leader, ok
}

func (cl *cluster) Write(leader kafka.BrokerID, m Marker, done func([]error, error)) {
	cl.loop.After(latency, func() {
		if cl.down[leader] {
			done(nil, errors.New("broker unreachable"))
			return
		}
		results := make([]error, len(m.Partitions))
		for i, tp := range m.Partitions {
			if results[i] = cl.markerErr[tp]; results[i] == nil {
				kind := "A"
				if m.Commit {
					kind = "C"
				}
				cl.written = append(cl.written, fmt.Sprintf("%s%s@%s ce %d v%d", kind, m.Producer, tp, m.CoordinatorEpoch, m.TransactionVersion))
			}
		}
		done(results, nil)
	})
}

func (cl *cluster) Block(done func(kafka.ProducerID, int64, error)) {
	cl.blocks++
	cl.loop.After(latency, func() {
		if cl.blockErr != nil {
			done(0, 0, cl.blockErr)
			return
		}
		cl.nextBlock += 1000
		done(cl.nextBlock-1000, 1000, nil)
	})
}

// answered runs events until an answer has come.
func (cl *cluster) answered(done *bool) {
	cl.t.Helper()
	if !cl.loop.RunUntil(func() bool { return *done }, cl.loop.Now().Add(time.Minute)) {
		cl.t.Fatal("no answer")
	}
}

// init asks for a producer, with "" for one without transactions.
func (cl *cluster) init(id string, timeout time.Duration, expected ...kafka.Producer) (p kafka.Producer, err error) {
	cl.t.Helper()
	req := InitProducerIDRequest{Timeout: timeout, Expected: noProducer}
	if id != "" {
		req.TransactionalID = &id
	}
	for _, e := range expected {
		req.Expected = e
	}
	answered := false
	cl.loop.Do(func() {
		cl.InitProducerID(req, func(q kafka.Producer, e error) { p, err, answered = q, e, true })
	})
	cl.answered(&answered)
	return p, err
}

func (cl *cluster) mustInit(id string) kafka.Producer {
	cl.t.Helper()
	p, err := cl.init(id, time.Minute)
	if err != nil {
		cl.t.Fatalf("InitProducerId %s: %v", id, err)
	}
	return p
}

func (cl *cluster) add(v ClientVersion, id string, p kafka.Producer, tps ...kafka.TopicPartition) (err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() {
		cl.AddPartitions(AddPartitionsRequest{TransactionalID: id, Producer: p, Partitions: tps, ClientVersion: v},
			func(e error) { err, answered = e, true })
	})
	cl.answered(&answered)
	return err
}

func (cl *cluster) mustAdd(v ClientVersion, id string, p kafka.Producer, tps ...kafka.TopicPartition) {
	cl.t.Helper()
	if err := cl.add(v, id, p, tps...); err != nil {
		cl.t.Fatalf("AddPartitionsToTxn %s: %v", id, err)
	}
}

func (cl *cluster) verify(id string, p kafka.Producer, tps ...kafka.TopicPartition) []error {
	return cl.VerifyPartitions(VerifyPartitionsRequest{TransactionalID: id, Producer: p, Partitions: tps})
}

func (cl *cluster) end(v ClientVersion, id string, p kafka.Producer, commit bool) (q kafka.Producer, err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() {
		cl.EndTxn(EndTxnRequest{TransactionalID: id, Producer: p, Commit: commit, ClientVersion: v},
			func(p kafka.Producer, e error) { q, err, answered = p, e, true })
	})
	cl.answered(&answered)
	return q, err
}

func (cl *cluster) mustEnd(v ClientVersion, id string, p kafka.Producer, commit bool) kafka.Producer {
	cl.t.Helper()
	q, err := cl.end(v, id, p, commit)
	if err != nil {
		cl.t.Fatalf("EndTxn %s %s: %v", id, p, err)
	}
	return q
}

// describe is a description as the litmus transcripts show it.
func (cl *cluster) describe(id string) string {
	d, err := cl.Describe(id)
	if err != nil {
		return err.Error()
	}
	start := "set"
	if d.Start.IsZero() {
		start = "-1"
	}
	return fmt.Sprintf("%s %s start %s topics %v", d.State, d.Producer, start, d.Partitions)
}

func (cl *cluster) expect(id, want string) {
	cl.t.Helper()
	if got := cl.describe(id); got != want {
		cl.t.Errorf("DescribeTransactions %s: %s, want %s", id, got, want)
	}
}

// settle lets markers and the Complete record be written.
func (cl *cluster) settle() { cl.pass(10 * latency) }

// entries are the records of an id, decoded: "PrepareCommit (0,1) [orders-0]".
func (cl *cluster) entries(id string) []string {
	cl.t.Helper()
	var lines []string
	for _, r := range cl.records[cl.PartitionFor(id)] {
		key, known, err := decodeKey(r.Key)
		if err != nil || !known {
			cl.t.Fatalf("key %x: %v", r.Key, err)
		}
		if key != id {
			continue
		}
		if r.Value == nil {
			lines = append(lines, "tombstone")
			continue
		}
		e, known, err := decodeValue(r.Value)
		if err != nil || !known {
			cl.t.Fatalf("value %x: %v", r.Value, err)
		}
		line := fmt.Sprintf("%s %s", e.state, e.producer)
		if len(e.partitions) > 0 {
			line += fmt.Sprintf(" %v", e.partitions)
		}
		if e.clientVersion != TV1 {
			line += fmt.Sprintf(" v%d", e.clientVersion)
		}
		if e.nextID != kafka.NoProducerID {
			line += fmt.Sprintf(" next %d", e.nextID)
		}
		if e.previousID != e.producer.ID {
			line += fmt.Sprintf(" previous %d", e.previousID)
		}
		lines = append(lines, line)
	}
	return lines
}

func (cl *cluster) expectEntries(id string, want ...string) {
	cl.t.Helper()
	if got := cl.entries(id); !slices.Equal(got, want) {
		cl.t.Errorf("records of %s:\n%s\nwant:\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (cl *cluster) expectMarkers(want ...string) {
	cl.t.Helper()
	if !slices.Equal(cl.written, want) {
		cl.t.Errorf("markers %q, want %q", cl.written, want)
	}
}

func expectErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func producer(id, epoch int) kafka.Producer {
	return kafka.Producer{ID: kafka.ProducerID(id), Epoch: kafka.ProducerEpoch(epoch)}
}
