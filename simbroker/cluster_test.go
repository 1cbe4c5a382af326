package simbroker_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/control"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

var _ control.Cluster = (*simbroker.Cluster)(nil)

// small are the properties of a cluster whose internal topics are quickly made.
var small = map[string]string{
	"offsets.topic.num.partitions":             "5",
	"offsets.topic.replication.factor":         "1",
	"transaction.state.log.num.partitions":     "5",
	"transaction.state.log.replication.factor": "1",
	"transaction.state.log.min.isr":            "1",
	"group.initial.rebalance.delay.ms":         "0",
}

// overTCP is a cluster of three brokers on the wall clock, closed and checked
// with the test.
func overTCP(t *testing.T, properties map[string]string) *simbroker.Cluster {
	t.Helper()
	c, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: properties, ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	giveProducerIDs(t, c)
	return c
}

// giveProducerIDs asks each broker for a producer id: a fresh one refuses the
// first, until its block has come (rule G0), and clients wait long after that.
func giveProducerIDs(t *testing.T, c *simbroker.Cluster) {
	t.Helper()
	for _, id := range c.Brokers() {
		for asked := time.Now(); ; {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.Version = 5
			resp, err := c.Request(context.Background(), id, req)
			if err != nil || time.Since(asked) > 10*time.Second {
				t.Fatalf("no producer id at broker %d: %v", id, err)
			}
			if resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0 {
				break
			}
		}
	}
}

func client(t *testing.T, c *simbroker.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Bootstrap()...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// within is a context that ends a test that hangs.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func createTopic(t *testing.T, ctx context.Context, c *simbroker.Cluster, topic string, partitions int32, replicas int16) {
	t.Helper()
	r, err := kadm.NewClient(client(t, c)).CreateTopic(ctx, partitions, replicas, nil, topic)
	if err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
}

// values polls until there are n records, and returns their values in the order
// of arrival.
func values(t *testing.T, ctx context.Context, cl *kgo.Client, n int) []string {
	t.Helper()
	var got []string
	for len(got) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(got), n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	return got
}

func TestProduceAndConsumeOverTCP(t *testing.T) {
	c := overTCP(t, small)
	ctx := within(t, 20*time.Second)
	createTopic(t, ctx, c, "orders", 3, 3)
	cl := client(t, c, kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	const n = 1000
	for i := range n {
		cl.Produce(ctx, &kgo.Record{Topic: "orders", Key: []byte(fmt.Sprint(i)), Value: []byte("v")}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if got := values(t, ctx, cl, n); len(got) != n {
		t.Errorf("consumed %d records, produced %d", len(got), n)
	}
}

// A read_committed consumer gets what was committed and nothing else, with
// clients of either transaction protocol.
func TestTransactionsOverTCP(t *testing.T) {
	for _, protocol := range []struct {
		name string
		opts []kgo.Opt
	}{
		{"TV2", nil},
		{"TV1", []kgo.Opt{kgo.MaxVersions(kversion.V3_7_0())}},
	} {
		t.Run(protocol.name, func(t *testing.T) {
			c := overTCP(t, small)
			ctx := within(t, 20*time.Second)
			createTopic(t, ctx, c, "orders", 1, 3)
			producer := client(t, c, append(protocol.opts, kgo.TransactionalID("x"), kgo.DefaultProduceTopic("orders"))...)
			for i, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
				if err := producer.BeginTransaction(); err != nil {
					t.Fatal(err)
				}
				if err := producer.ProduceSync(ctx, kgo.StringRecord(fmt.Sprintf("%d %v", i, end))).FirstErr(); err != nil {
					t.Fatal(err)
				}
				if err := producer.EndTransaction(ctx, end); err != nil {
					t.Fatal(err)
				}
			}
			consumer := client(t, c, kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
			if got := strings.Join(values(t, ctx, consumer, 2), ", "); got != "0 true, 2 true" {
				t.Errorf("read %s", got)
			}
		})
	}
}

// Two members share a topic, and the one that stays takes over.
func TestConsumerGroupOverTCP(t *testing.T) {
	c := overTCP(t, small)
	ctx := within(t, 30*time.Second)
	createTopic(t, ctx, c, "orders", 4, 1)
	member := func() *kgo.Client {
		return client(t, c, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.DisableAutoCommit(), kgo.HeartbeatInterval(100*time.Millisecond))
	}
	first, second := member(), member()
	admin := kadm.NewClient(client(t, c))
	awaitMembers(t, ctx, admin, 2)
	if err := client(t, c).ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("a")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	second.Close()
	awaitMembers(t, ctx, admin, 1)
	if got := values(t, ctx, first, 1); got[0] != "a" {
		t.Errorf("read %v", got)
	}
	if err := first.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	committed, err := admin.FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	committed.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) })
	if sum != 1 {
		t.Errorf("committed %v", committed)
	}
}

// awaitMembers waits until group g is stable with n members.
func awaitMembers(t *testing.T, ctx context.Context, admin *kadm.Client, n int) {
	t.Helper()
	for {
		groups, err := admin.DescribeGroups(ctx, "g")
		if err == nil && groups["g"].State == "Stable" && len(groups["g"].Members) == n {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("group is %+v, %v", groups["g"], err)
		}
	}
}

// Consume, transform, produce: offsets go into the transaction.
func TestExactlyOnceOverTCP(t *testing.T) {
	c := overTCP(t, small)
	ctx := within(t, 30*time.Second)
	createTopic(t, ctx, c, "in", 2, 1)
	createTopic(t, ctx, c, "out", 1, 1)
	const n = 20
	source := client(t, c, kgo.DefaultProduceTopic("in"))
	for i := range n {
		source.Produce(ctx, kgo.StringRecord(fmt.Sprint(i)), nil)
	}
	if err := source.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(c.Bootstrap()...), kgo.TransactionalID("pipe"), kgo.ConsumerGroup("pipe"),
		kgo.ConsumeTopics("in"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DefaultProduceTopic("out"))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for moved := 0; moved < n; {
		fetches := session.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		if err := session.Begin(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { session.Produce(ctx, &kgo.Record{Value: r.Value}, nil) })
		committed, err := session.End(ctx, kgo.TryCommit)
		if err != nil {
			t.Fatal(err)
		}
		if committed {
			moved += fetches.NumRecords()
		}
	}
	sink := client(t, c, kgo.ConsumeTopics("out"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	seen := make(map[string]bool)
	for _, v := range values(t, ctx, sink, n) {
		seen[v] = true
	}
	if len(seen) != n {
		t.Errorf("%d distinct records came out of %d", len(seen), n)
	}
}

// request sends one Metadata request on a connection of its own.
func request(t *testing.T, address string) (net.Conn, error) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { conn.Close() })
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	_, err = conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1))
	return conn, err
}

func answered(conn net.Conn) error {
	var size [4]byte
	from := bufio.NewReader(conn)
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, from, int64(binary.BigEndian.Uint32(size[:])))
	return err
}

// A paused broker's sockets accept and stay silent; what was sent is answered
// when it is resumed. The others go on.
func TestPausedBrokerOverTCP(t *testing.T) {
	c := overTCP(t, small)
	if err := c.Pause(2); err != nil {
		t.Fatal(err)
	}
	silent, err := request(t, c.Addr(2))
	if err != nil {
		t.Fatal(err)
	}
	silent.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if err := answered(silent); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		t.Errorf("paused broker: %v", err)
	}
	other, err := request(t, c.Addr(1))
	if err != nil {
		t.Fatal(err)
	}
	other.SetReadDeadline(time.Now().Add(10 * time.Second))
	if err := answered(other); err != nil {
		t.Errorf("another broker: %v", err)
	}
	if err := c.Resume(2); err != nil {
		t.Fatal(err)
	}
	silent.SetReadDeadline(time.Now().Add(10 * time.Second))
	if err := answered(silent); err != nil {
		t.Errorf("resumed broker: %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// A killed broker resets its connections and refuses new ones; started again it
// is where it was, with what it had.
func TestKilledBrokerOverTCP(t *testing.T) {
	c := overTCP(t, small)
	ctx := within(t, 20*time.Second)
	createTopic(t, ctx, c, "orders", 3, 2)
	cl := client(t, c, kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	for range 9 {
		if err := cl.ProduceSync(ctx, kgo.StringRecord("v")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := request(t, c.Addr(1))
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if err := answered(conn); err != nil {
		t.Fatal(err)
	}
	address := c.Addr(1)
	if err := c.Kill(1); err != nil {
		t.Fatal(err)
	}
	if err := answered(conn); err == nil || isTimeout(err) {
		t.Errorf("open connection: %v", err)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("a dead broker accepts connections")
	}
	if err := c.Start(1); err != nil {
		t.Fatal(err)
	}
	if c.Addr(1) != address {
		t.Errorf("moved from %s to %s", address, c.Addr(1))
	}
	consumer := client(t, c, kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	values(t, ctx, consumer, 9)
}

func TestControlOverHTTP(t *testing.T) {
	c := overTCP(t, small)
	server := httptest.NewServer(control.Handler(c))
	defer server.Close()
	for _, step := range []struct {
		act    string
		status int
		state  simbroker.State
	}{
		{"pause", 200, simbroker.Paused},
		{"resume", 200, simbroker.Running},
		{"kill", 200, simbroker.Killed},
		{"resume", 409, simbroker.Killed},
		{"start", 200, simbroker.Running},
		{"stop", 200, simbroker.Stopped},
		{"start", 200, simbroker.Running},
	} {
		resp, err := http.Post(server.URL+"/brokers/3/"+step.act, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != step.status || c.State(3) != step.state {
			t.Errorf("%s: status %d, broker is %v", step.act, resp.StatusCode, c.State(3))
		}
	}
}

func TestStartRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		config simbroker.Config
		want   string
	}{
		{"bad value", simbroker.Config{Properties: map[string]string{"broker.session.timeout.ms": "4s"}}, "broker.session.timeout.ms=4s"},
		{"bad value of one broker", simbroker.Config{Brokers: 2, BrokerProperties: map[kafka.BrokerID]map[string]string{2: {"num.partitions": "0"}}}, "broker 2: num.partitions=0"},
		{"properties of no broker", simbroker.Config{BrokerProperties: map[kafka.BrokerID]map[string]string{2: {}}}, "no such broker"},
		{"fewer than no brokers", simbroker.Config{Brokers: -1}, "-1 brokers"},
		{"address without a port", simbroker.Config{ListenAddress: "127.0.0.1"}, "missing port"},
		{"port that is no number", simbroker.Config{ListenAddress: "127.0.0.1:kafka"}, `port "kafka"`},
		{"simulated clock over TCP", simbroker.Config{ListenAddress: "127.0.0.1:0", Clock: simbroker.Simulated(epoch)}, "excludes TCP"},
	} {
		cluster, err := simbroker.Start(c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
		if cluster != nil {
			cluster.Close()
		}
	}
}

func TestConsecutivePorts(t *testing.T) {
	// A free port is likely to have a free one behind it; try a few.
	for range 20 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		first := free.Addr().(*net.TCPAddr).Port
		if _, err := simbroker.Start(simbroker.Config{ListenAddress: free.Addr().String()}); err == nil {
			t.Error("listens where another does")
		}
		free.Close()
		c, err := simbroker.Start(simbroker.Config{Brokers: 2, ListenAddress: "127.0.0.1:" + strconv.Itoa(first)})
		if err != nil {
			continue
		}
		defer c.Close()
		want := fmt.Sprintf("[127.0.0.1:%d 127.0.0.1:%d]", first, first+1)
		if got := fmt.Sprint(c.Bootstrap()); got != want {
			t.Errorf("listens at %s, want %s", got, want)
		}
		return
	}
	t.Fatal("no two consecutive ports were free in 20 attempts")
}

func TestUnknownPropertiesAreLoggedOnce(t *testing.T) {
	var lines []string
	c, err := simbroker.Start(simbroker.Config{
		Brokers:    3,
		Properties: map[string]string{"no.such.property": "x", "num.io.threads": "4"},
		Clock:      simbroker.Simulated(epoch),
		Log:        func(line string) { lines = append(lines, line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	log := strings.Join(lines, "\n")
	if strings.Count(log, "no.such.property") != 1 || strings.Contains(log, "num.io.threads") {
		t.Errorf("log:\n%s", log)
	}
}

func TestClosedClusterRefuses(t *testing.T) {
	c, err := simbroker.Start(simbroker.Config{ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	address := c.Addr(1)
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("still listens")
	}
	if err := c.Pause(1); !errors.Is(err, simbroker.ErrClosed) {
		t.Errorf("pause: %v", err)
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	if _, err := c.Request(context.Background(), 1, req); !errors.Is(err, simbroker.ErrClosed) {
		t.Errorf("request: %v", err)
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c, err := simbroker.Start(simbroker.Config{Brokers: 3, ListenAddress: "127.0.0.1:0"})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		c.Close()
		b.StartTimer()
	}
}
