package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/litmus"
)

// A real coordinator is killed, and the one that takes over has much to load:
// the groups of the brokers that live are there in every sweep, whatever those
// answer meanwhile, and those that were taken over are there in the end.
func TestCoordinatorFailoverOnKafka(t *testing.T) {
	kafka.Long(t)
	properties := litmus.Properties()
	maps.Copy(properties, map[string]string{"offsets.topic.replication.factor": "3"})
	cluster := kafka.StartFor(t, kafka.Config{Version: kafka.Version(t), Brokers: 3, Properties: properties})
	own, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	admin := kadm.NewClient(own)
	const topic, partitions = "failover-orders", 100
	if _, err := admin.CreateTopic(t.Context(), partitions, 3, nil, topic); err != nil {
		t.Fatal(err)
	}
	coordinators := map[string]int32{}
	for i := range 12 {
		group := fmt.Sprint("failover-", i)
		commitAll(t, admin, group, topic, 1, "")
		coordinators[group] = coordinatorOf(t, admin, group)
	}
	victim := coordinators["failover-0"]
	for range 200 { // 80 MB
		commitAll(t, admin, "failover-0", topic, partitions, strings.Repeat("m", 4000))
	}

	client, err := collector.NewKafka(kgo.SeedBrokers(cluster.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	e := newExporter(t, t.Name(), client, time.Now, collector.Options{Period: 10 * time.Second, BrokerTimeout: 5 * time.Second}, metrics.Options{})
	sweep := func() map[string]bool {
		shown := map[string]bool{}
		for _, m := range parsePage(e.sweep())["kafka_group_info"] {
			shown[labelsOf(m)["group"]] = true
		}
		return shown
	}
	if got := sweep(); len(got) != len(coordinators) {
		t.Fatalf("%d groups before, missed %v", len(got), e.runner.View().Missed)
	}
	if err := cluster.Kill(context.Background(), victim); err != nil {
		t.Fatal(err)
	}
	loading, absent := 0, 0
	for deadline := time.Now().Add(60 * time.Second); ; {
		shown := sweep()
		for group, coordinator := range coordinators {
			if coordinator != victim && !shown[group] {
				t.Errorf("%s at broker %d is absent; missed %v", group, coordinator, e.runner.View().Missed)
			}
		}
		for _, m := range e.runner.View().Missed {
			if strings.Contains(m.Detail, "COORDINATOR_LOAD_IN_PROGRESS") {
				loading++
			}
		}
		if len(shown) < len(coordinators) {
			absent++
		} else if absent > 0 {
			break
		}
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("%d of %d groups are shown; missed %v", len(shown), len(coordinators), e.runner.View().Missed)
		}
	}
	t.Logf("groups of the broker were absent in %d sweeps; %d answers said that a coordinator loads", absent, loading)
}

// commitAll commits an offset for a group without members on some partitions.
func commitAll(t *testing.T, admin *kadm.Client, group, topic string, partitions int32, metadata string) {
	t.Helper()
	var commits kadm.Offsets
	for p := range partitions {
		commits.Add(kadm.Offset{Topic: topic, Partition: p, At: 0, LeaderEpoch: -1, Metadata: metadata})
	}
	// A broker may not know of the topic yet.
	err := fmt.Errorf("no try was made")
	for deadline := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(deadline); {
		err = admin.CommitAllOffsets(t.Context(), group, commits)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// coordinatorOf returns the broker that coordinates a group.
func coordinatorOf(t *testing.T, admin *kadm.Client, group string) int32 {
	t.Helper()
	found := admin.FindGroupCoordinators(t.Context(), group)
	if err := found.Error(); err != nil {
		t.Fatal(err)
	}
	return found[group].NodeID
}
