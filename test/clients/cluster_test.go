package clients

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// patience is how long anything is waited for: a machine on which much else
// runs takes tens of seconds to start some Java programs.
const patience = 90 * time.Second

// properties are those of both clusters.
var properties = map[string]string{
	"auto.create.topics.enable":                "false",
	"group.initial.rebalance.delay.ms":         "0",
	"offsets.topic.num.partitions":             "3",
	"offsets.topic.replication.factor":         "1",
	"transaction.state.log.num.partitions":     "3",
	"transaction.state.log.replication.factor": "1",
	"transaction.state.log.min.isr":            "1",
}

// cluster is what the clients are pointed at: three brokers, simulated or not.
type cluster struct {
	t         *testing.T
	version   string // of Kafka's tools and Java client
	bootstrap []string
	admin     *kadm.Client
}

func startSimulator(t *testing.T) *cluster {
	version := kafka.Version(t)
	sim, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: maps.Clone(properties), ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	return newCluster(t, version, sim.Bootstrap())
}

func startKafka(t *testing.T) *cluster {
	version := kafka.Version(t)
	c := kafka.StartFor(t, kafka.Config{Version: version, Brokers: 3, Properties: properties})
	return newCluster(t, version, c.Bootstrap())
}

func newCluster(t *testing.T, version string, bootstrap []string) *cluster {
	c := &cluster{t: t, version: version, bootstrap: bootstrap}
	c.admin = kadm.NewClient(c.client())
	return c
}

// client returns a client that ends with the test.
func (c *cluster) client(options ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.bootstrap...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
	}, options...)...)
	c.must(err)
	c.t.Cleanup(client.Close)
	return client
}

// offers says whether a feature is finalised.
func (c *cluster) offers(feature string) bool {
	c.t.Helper()
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "clients", "1"
	answer, err := req.RequestWith(c.context(), c.client())
	c.must(err)
	return slices.ContainsFunc(answer.FinalizedFeatures, func(f kmsg.ApiVersionsResponseFinalizedFeature) bool {
		return f.Name == feature && f.MaxVersionLevel > 0
	})
}

// must fails the test on an error.
func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// context is one with the test's patience.
func (c *cluster) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// createTopics makes topics of so many partitions on one replica each, and waits
// until their leaders know of it.
func (c *cluster) createTopics(partitions int32, topics ...string) {
	c.t.Helper()
	ctx := c.context()
	created, err := c.admin.CreateTopics(ctx, partitions, 1, nil, topics...)
	c.must(err)
	c.must(created.Error())
	for {
		ends, err := c.admin.ListEndOffsets(ctx, topics...)
		if err == nil && ends.Error() == nil && len(ends) == len(topics) {
			return
		}
		c.must(ctx.Err())
		<-time.After(20 * time.Millisecond)
	}
}

// produce writes records.
func (c *cluster) produce(client *kgo.Client, topic string, partition int32, records int) {
	c.t.Helper()
	for range records {
		c.must(client.ProduceSync(c.context(), &kgo.Record{Topic: topic, Partition: partition, Value: []byte("record")}).FirstErr())
	}
}

// transaction writes records in a transaction that stays open.
func (c *cluster) transaction(id, topic string, partition int32, records int) *kgo.Client {
	c.t.Helper()
	client := c.client(kgo.TransactionalID(id), kgo.TransactionTimeout(10*time.Minute))
	c.must(client.BeginTransaction())
	c.produce(client, topic, partition, records)
	return client
}

// end ends a client's transaction, and waits until the end marker is there.
func (c *cluster) end(client *kgo.Client, how kgo.TransactionEndTry, topic string, partition int32) {
	c.t.Helper()
	c.must(client.EndTransaction(c.context(), how))
	for ctx := c.context(); ; {
		stable, err := c.admin.ListCommittedOffsets(ctx, topic)
		c.must(err)
		end, err := c.admin.ListEndOffsets(ctx, topic)
		c.must(err)
		s, _ := stable.Lookup(topic, partition)
		e, _ := end.Lookup(topic, partition)
		c.must(s.Err)
		c.must(e.Err)
		if s.Offset == e.Offset {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// commit commits an offset for a group that has no members.
func (c *cluster) commit(group, topic string, partition int32, offset int64) {
	c.t.Helper()
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: topic, Partition: partition, At: offset, LeaderEpoch: -1})
	answers, err := c.admin.CommitOffsets(c.context(), group, offsets)
	c.must(err)
	c.must(answers.Error())
}

// pendingCommit commits an offset in a transaction that stays open.
func (c *cluster) pendingCommit(id, group, topic string, partition int32, offset int64) {
	c.t.Helper()
	client := c.client(kgo.TransactionalID(id), kgo.TransactionTimeout(10*time.Minute))
	c.must(client.BeginTransaction())
	producer, epoch, err := client.ProducerID(c.context())
	c.must(err)
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = id, producer, epoch, group
	added, err := add.RequestWith(c.context(), client)
	c.must(err)
	c.must(kerr.ErrorForCode(added.ErrorCode))
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group, commit.Generation = id, producer, epoch, group, -1
	of := kmsg.NewTxnOffsetCommitRequestTopic()
	at := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	topics, err := c.admin.ListTopics(c.context(), topic)
	c.must(err)
	of.Topic, of.TopicID, at.Partition, at.Offset = topic, topics[topic].ID, partition, offset
	of.Partitions = append(of.Partitions, at)
	commit.Topics = append(commit.Topics, of)
	answer, err := commit.RequestWith(c.context(), client)
	c.must(err)
	c.must(kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode))
}
