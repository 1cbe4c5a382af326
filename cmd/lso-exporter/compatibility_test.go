package main

import (
	"strings"
	"testing"
	"time"
)

// What kafka_exporter shows of the same cluster: its names, its labels, and lags
// against the high watermark, whatever a transaction holds back.
func TestCompatibilityWithKafkaExporter(t *testing.T) {
	s := newSite(t, newCluster(t), 500*time.Millisecond, "--compatibility.kafka-exporter", "--topics.exclude=__.*")
	s.create("orders", []int32{2, 1}, []int32{3, 1})
	s.produce("orders", 0, 5)
	s.begin(s.writer("billing"), "orders", 0, 2)
	s.commit("settlement", "orders", 0, 3)
	want := page{
		`kafka_brokers{}`:                        3,
		`kafka_topic_partitions{topic="orders"}`: 2,
		`kafka_topic_partition_current_offset{partition="0",topic="orders"}`:                          7,
		`kafka_topic_partition_current_offset{partition="1",topic="orders"}`:                          0,
		`kafka_topic_partition_oldest_offset{partition="0",topic="orders"}`:                           0,
		`kafka_topic_partition_oldest_offset{partition="1",topic="orders"}`:                           0,
		`kafka_topic_partition_leader{partition="0",topic="orders"}`:                                  2,
		`kafka_topic_partition_leader{partition="1",topic="orders"}`:                                  3,
		`kafka_topic_partition_leader_is_preferred{partition="0",topic="orders"}`:                     1,
		`kafka_topic_partition_leader_is_preferred{partition="1",topic="orders"}`:                     1,
		`kafka_topic_partition_replicas{partition="0",topic="orders"}`:                                2,
		`kafka_topic_partition_replicas{partition="1",topic="orders"}`:                                2,
		`kafka_topic_partition_in_sync_replica{partition="0",topic="orders"}`:                         2,
		`kafka_topic_partition_in_sync_replica{partition="1",topic="orders"}`:                         2,
		`kafka_topic_partition_under_replicated_partition{partition="0",topic="orders"}`:              0,
		`kafka_topic_partition_under_replicated_partition{partition="1",topic="orders"}`:              0,
		`kafka_consumergroup_members{consumergroup="settlement"}`:                                     0,
		`kafka_consumergroup_current_offset{consumergroup="settlement",partition="0",topic="orders"}`: 3,
		`kafka_consumergroup_current_offset_sum{consumergroup="settlement",topic="orders"}`:           3,
		`kafka_consumergroup_lag{consumergroup="settlement",partition="0",topic="orders"}`:            4,
		`kafka_consumergroup_lag_sum{consumergroup="settlement",topic="orders"}`:                      4,
	}
	p := s.await(has(want))
	for series := range p {
		if _, wanted := want[series]; !wanted && (strings.HasPrefix(series, "kafka_brokers") || strings.HasPrefix(series, "kafka_topic_partition") || strings.HasPrefix(series, "kafka_consumergroup_")) {
			t.Errorf("the page also has %s", series)
		}
	}
	// Ours, beside them, tells how much of that can be read.
	s.await(has(page{`kafka_group_topic_lso_lag{group="settlement",topic="orders"}`: 2}))

	// The leader of partition 0 fails: the other replica takes over.
	if err := s.cluster.Kill(2); err != nil {
		t.Fatal(err)
	}
	s.await(has(page{
		`kafka_brokers{}`: 2,
		`kafka_topic_partition_leader{partition="0",topic="orders"}`:                     1,
		`kafka_topic_partition_leader_is_preferred{partition="0",topic="orders"}`:        0,
		`kafka_topic_partition_in_sync_replica{partition="0",topic="orders"}`:            1,
		`kafka_topic_partition_under_replicated_partition{partition="0",topic="orders"}`: 1,
	}))
}
