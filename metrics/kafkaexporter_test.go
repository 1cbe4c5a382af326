package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// kafkaExporterPage keeps the samples that kafka_exporter has too.
func kafkaExporterPage(page string) string {
	var kept strings.Builder
	for line := range strings.Lines(page) {
		for _, prefix := range []string{"kafka_brokers ", "kafka_brokers{", "kafka_topic_partition", "kafka_consumergroup_"} {
			if strings.HasPrefix(line, prefix) {
				kept.WriteString(line)
			}
		}
	}
	return kept.String()
}

// aViewForKafkaExporter has a partition whose leader is not the preferred one, one
// without a leader, a commit that was overtaken by retention, and one that was
// not told.
func aViewForKafkaExporter() *lag.View {
	return &lag.View{
		Ended: sweepEnd, Period: 10 * time.Second,
		Cluster: lag.Known(lag.Cluster{ID: "c", Brokers: []lag.Broker{{ID: 1, Host: "a", Port: 1}, {ID: 2, Host: "b", Port: 1}}}),
		Topics: []lag.TopicView{
			{Name: "orders", Partitions: []lag.PartitionView{
				{Number: 0, Leader: 1, Preferred: 1, Replicas: 2, InSync: 2, LogStart: offset(5), LastStable: offset(8), HighWatermark: offset(10), LogEnd: offset(12)},
				{Number: 1, Leader: 2, Preferred: 1, Replicas: 2, InSync: 1, LogStart: offset(0), HighWatermark: offset(7)},
				{Number: 2, Leader: lag.NoBroker, Preferred: 1, Replicas: 2, InSync: 0},
			}},
			{Name: "secret", Unreadable: true},
		},
		Groups: []lag.GroupView{{
			Name: "billing", State: "Stable", Members: lag.Known(2), Uncommitted: count(1), Orphans: count(0),
			Topics: []lag.GroupTopicView{{Topic: "orders", Partitions: []lag.GroupPartitionView{
				{Partition: 0, Committed: offset(3), LSOLag: count(3), HWMLag: count(5), Lost: count(2), Ahead: count(0)},
				{Partition: 1, Committed: offset(6), HWMLag: count(1), Lost: count(0), Ahead: count(0)},
			}}},
		}, {
			Name: "hidden",
			Topics: []lag.GroupTopicView{{Topic: "orders", Partitions: []lag.GroupPartitionView{
				{Partition: 0}, {Partition: 1, Committed: offset(6), HWMLag: count(1), Lost: count(0), Ahead: count(0)},
			}}},
		}},
	}
}

func TestKafkaExporter(t *testing.T) {
	e := at(0, Options{KafkaExporter: true})
	e.Publish(aViewForKafkaExporter())
	const want = `kafka_brokers 2
kafka_consumergroup_current_offset{consumergroup="billing",partition="0",topic="orders"} 3
kafka_consumergroup_current_offset{consumergroup="billing",partition="1",topic="orders"} 6
kafka_consumergroup_current_offset{consumergroup="hidden",partition="1",topic="orders"} 6
kafka_consumergroup_current_offset_sum{consumergroup="billing",topic="orders"} 9
kafka_consumergroup_lag{consumergroup="billing",partition="0",topic="orders"} 7
kafka_consumergroup_lag{consumergroup="billing",partition="1",topic="orders"} 1
kafka_consumergroup_lag{consumergroup="hidden",partition="1",topic="orders"} 1
kafka_consumergroup_lag_sum{consumergroup="billing",topic="orders"} 8
kafka_consumergroup_members{consumergroup="billing"} 2
kafka_topic_partition_current_offset{partition="0",topic="orders"} 10
kafka_topic_partition_current_offset{partition="1",topic="orders"} 7
kafka_topic_partition_in_sync_replica{partition="0",topic="orders"} 2
kafka_topic_partition_in_sync_replica{partition="1",topic="orders"} 1
kafka_topic_partition_in_sync_replica{partition="2",topic="orders"} 0
kafka_topic_partition_leader{partition="0",topic="orders"} 1
kafka_topic_partition_leader{partition="1",topic="orders"} 2
kafka_topic_partition_leader_is_preferred{partition="0",topic="orders"} 1
kafka_topic_partition_leader_is_preferred{partition="1",topic="orders"} 0
kafka_topic_partition_leader_is_preferred{partition="2",topic="orders"} 0
kafka_topic_partition_oldest_offset{partition="0",topic="orders"} 5
kafka_topic_partition_oldest_offset{partition="1",topic="orders"} 0
kafka_topic_partition_replicas{partition="0",topic="orders"} 2
kafka_topic_partition_replicas{partition="1",topic="orders"} 2
kafka_topic_partition_replicas{partition="2",topic="orders"} 2
kafka_topic_partition_under_replicated_partition{partition="0",topic="orders"} 0
kafka_topic_partition_under_replicated_partition{partition="1",topic="orders"} 1
kafka_topic_partition_under_replicated_partition{partition="2",topic="orders"} 1
kafka_topic_partitions{topic="orders"} 3
`
	if got := kafkaExporterPage(text(t, e)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Only who asks gets them, and what is switched off stays off.
func TestKafkaExporterIsOptIn(t *testing.T) {
	for _, c := range []struct {
		options Options
		absent  []string
		present []string
	}{
		{Options{}, []string{"kafka_brokers", "kafka_topic_partition", "kafka_consumergroup_"}, nil},
		{Options{KafkaExporter: true, Granularity: PerTopic}, []string{"kafka_consumergroup_lag{"}, []string{"kafka_consumergroup_lag_sum{"}},
		{Options{KafkaExporter: true, Granularity: PerGroup}, []string{"kafka_consumergroup_lag"}, []string{"kafka_consumergroup_members{"}},
		{Options{KafkaExporter: true, Without: []string{"groups"}}, []string{"kafka_consumergroup_"}, []string{"kafka_topic_partition_leader{"}},
		{Options{KafkaExporter: true, Cluster: "blue"}, nil, []string{`kafka_brokers{cluster="blue"} 2`, `kafka_consumergroup_lag{cluster="blue",consumergroup="billing",partition="0",topic="orders"} 7`}},
	} {
		e := at(0, c.options)
		e.Publish(aViewForKafkaExporter())
		page := "\n" + kafkaExporterPage(text(t, e))
		for _, each := range c.absent {
			if strings.Contains(page, "\n"+each) {
				t.Errorf("%+v shows %s", c.options, each)
			}
		}
		for _, each := range c.present {
			if !strings.Contains(page, "\n"+each) {
				t.Errorf("%+v does not show %s", c.options, each)
			}
		}
	}
}
