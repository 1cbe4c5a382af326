package foreign

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// judge is the version of Kafka that printed the golden texts.
const judge = "4.3.1"

//go:embed server.properties
var serverProperties string

// properties are those of both clusters.
func properties(t *testing.T) map[string]string {
	t.Helper()
	settings, err := property.Parse("server.properties", strings.NewReader(serverProperties))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, s := range settings {
		all[s.Name] = s.Value
	}
	return all
}

const brokers = 3

// startSimulator returns the bootstrap addresses of a simulated cluster that ends
// with the test.
func startSimulator(t *testing.T) []string {
	t.Helper()
	sim, err := simbroker.Start(simbroker.Config{Brokers: brokers, Properties: properties(t), ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	return sim.Bootstrap()
}

// startKafka returns those of a real one.
func startKafka(t *testing.T) []string {
	t.Helper()
	if version := kafka.Version(t); version != judge {
		t.Skipf("not run: the golden texts are those of Kafka %s", judge)
	}
	kafka.Long(t)
	return kafka.StartFor(t, kafka.Config{Version: judge, Brokers: brokers, Properties: properties(t)}).Bootstrap()
}

// assigned are the topics that a program finds when it starts, each with the
// replicas of its partitions.
type assigned map[string][][]int32

// create makes the topics and waits until their leaders serve them.
func (a assigned) create(ctx context.Context, bootstrap []string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		return err
	}
	defer client.Close()
	for topic, partitions := range a {
		req, of := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewCreateTopicsRequestTopic()
		of.Topic, of.NumPartitions, of.ReplicationFactor = topic, -1, -1
		for p, replicas := range partitions {
			on := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			on.Partition, on.Replicas = int32(p), replicas
			of.ReplicaAssignment = append(of.ReplicaAssignment, on)
		}
		req.Topics = append(req.Topics, of)
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		if code := resp.Topics[0].ErrorCode; code != 0 {
			return fmt.Errorf("create %s: error %d", topic, code)
		}
		for p := range partitions {
			for !served(ctx, client, topic, int32(p)) {
				if ctx.Err() != nil {
					return fmt.Errorf("%s-%d is not served: %w", topic, p, ctx.Err())
				}
				<-time.After(20 * time.Millisecond)
			}
		}
	}
	return nil
}

// served says whether a partition's leader tells its end.
func served(ctx context.Context, client *kgo.Client, topic string, partition int32) bool {
	req, of, at := kmsg.NewPtrListOffsetsRequest(), kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	of.Topic, at.Partition, at.Timestamp = topic, partition, -1
	of.Partitions = append(of.Partitions, at)
	req.Topics = append(req.Topics, of)
	resp, err := req.RequestWith(ctx, client)
	return err == nil && resp.Topics[0].Partitions[0].ErrorCode == 0
}
