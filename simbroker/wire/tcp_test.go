package wire_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// deadline bounds what a test waits for at a socket.
const deadline = 30 * time.Second

// listen starts a cluster on the wall clock, and says for how long to wait.
func listen(t *testing.T, brokers int) (*simbroker.Cluster, context.Context) {
	t.Helper()
	cluster, err := simbroker.Start(simbroker.Config{
		Brokers: brokers, ListenAddress: "127.0.0.1:0",
		Properties: map[string]string{"group.initial.rebalance.delay.ms": "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	return cluster, ctx
}

// exchange sends one request over a connection of its own and returns the
// content of the response's frame.
func exchange(t *testing.T, address string, req kmsg.Request) []byte {
	t.Helper()
	socket, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	socket.SetDeadline(time.Now().Add(deadline))
	if _, err := socket.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 7)); err != nil {
		t.Fatal(err)
	}
	return readFrame(t, socket)
}

// readFrame reads the content of a frame.
func readFrame(t *testing.T, socket net.Conn) []byte {
	t.Helper()
	var size [4]byte
	if _, err := io.ReadFull(socket, size[:]); err != nil {
		t.Fatal(err)
	}
	content := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(socket, content); err != nil {
		t.Fatal(err)
	}
	return content
}

// A version of ApiVersions that is not offered gets an answer in v0, with the
// range that is (rule J3): franz-go asks in v5 first.
func TestUnsupportedAPIVersionsIsAnsweredInV0(t *testing.T) {
	cluster, _ := listen(t, 1)
	for _, version := range []int16{5, 99} {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "test", "1"
		content := exchange(t, cluster.Bootstrap()[0], req)
		want := []byte{
			0, 0, 0, 7, // correlation id, no tags
			0, 35, // UNSUPPORTED_VERSION
			0, 0, 0, 1, 0, 18, 0, 0, 0, 4, // one API: ApiVersions, v0 to v4
		}
		if string(content) != string(want) {
			t.Errorf("v%d: % x, want % x", version, content, want)
		}
	}
}

func TestAPIVersionsByVersion(t *testing.T) {
	cluster, _ := listen(t, 1)
	for version := int16(0); version <= 4; version++ {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "test", "1.2-x"
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.Version = version
		if err := resp.ReadFrom(exchange(t, cluster.Bootstrap()[0], req)[4:]); err != nil {
			t.Fatalf("v%d: %v", version, err)
		}
		supported, finalized := make(map[string]int16), make(map[string]int16)
		for _, f := range resp.SupportedFeatures {
			supported[f.Name] = f.MaxVersion
		}
		for _, f := range resp.FinalizedFeatures {
			finalized[f.Name] = f.MaxVersionLevel
		}
		if resp.ErrorCode != 0 || len(resp.ApiKeys) < 30 {
			t.Errorf("v%d: error %d, %d APIs", version, resp.ErrorCode, len(resp.ApiKeys))
		}
		if version < 3 {
			continue // without features
		}
		if finalized["transaction.version"] != 2 || finalized["group.version"] != 1 || resp.FinalizedFeaturesEpoch < 0 {
			t.Errorf("v%d: finalized %v, epoch %d (rule J4)", version, finalized, resp.FinalizedFeaturesEpoch)
		}
		if _, shown := supported["transaction.version"]; shown != (version >= 4) || supported["metadata.version"] == 0 {
			t.Errorf("v%d: supported %v: a minimum of 0 is shown from v4 on (rule J3)", version, supported)
		}
	}
	nameless := kmsg.NewPtrApiVersionsRequest()
	nameless.Version, nameless.ClientSoftwareName = 3, "no name"
	if content := exchange(t, cluster.Bootstrap()[0], nameless); binary.BigEndian.Uint16(content[4:]) != 42 {
		t.Errorf("a client with an impossible name: % x", content)
	}
}

// franz-go produces in transactions, consumes in a group, commits, and
// administers, through the newest versions that it and the broker have.
func TestFranzGo(t *testing.T) {
	cluster, ctx := listen(t, 3)
	producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.TransactionalID("x"), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	admin := kadm.NewClient(producer)
	if _, err := admin.CreateTopic(ctx, 1, 3, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	for i, commit := range []bool{true, false, true} {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for j := range 10 {
			producer.Produce(ctx, kgo.StringRecord(fmt.Sprintf("%d.%d", i, j)), func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("produce %d.%d: %v", i, j, err)
				}
			})
		}
		if err := producer.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if err := producer.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
			t.Fatal(err)
		}
	}

	consumer, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	var values []string
	for len(values) < 20 {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	if len(values) != 20 || values[0] != "0.0" || values[9] != "0.9" || values[10] != "2.0" || values[19] != "2.9" {
		t.Errorf("consumed %v", values)
	}
	if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}

	lags, err := admin.Lag(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	lag := lags["g"].Lag["orders"][0]
	if lag.Commit.At != 32 || lag.End.Offset != 33 || lag.Lag != 1 || lag.Member == nil {
		t.Errorf("lag %+v, want commit 32, before the marker that ends at 33", lag)
	}
	for state := ""; state != "CompleteCommit"; { // at latest, ctx ends it
		transactions, err := admin.DescribeTransactions(ctx, "x")
		if err != nil {
			t.Fatalf("transaction in state %q: %v", state, err)
		}
		state = transactions["x"].State
	}
	producers, err := admin.DescribeProducers(ctx, kadm.TopicsSet{"orders": {0: {}}})
	if err != nil || len(producers["orders"].Partitions[0].ActiveProducers) != 1 {
		t.Errorf("producers %+v, %v", producers, err)
	}
	if deleted, err := admin.DeleteTopics(ctx, "orders"); err != nil || deleted["orders"].Err != nil {
		t.Errorf("delete: %v, %v", deleted, err)
	}
}
