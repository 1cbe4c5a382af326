package metrics

import (
	"slices"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/lso-exporter/lso-exporter/lag"
)

// compatible marks a metric that has the name and labels of one of kafka_exporter
// (github.com/danielqsj/kafka_exporter), so that dashboards and rules which were
// made for that one go on. Lags are against the high watermark, and where
// kafka_exporter shows −1 for what it does not know there is no sample.
func compatible(s source) source {
	s.kafkaExporter = true
	return s
}

// onlyCompatible says when the metrics of this file are there.
const onlyCompatible = " Only with compatibility.kafka_exporter."

// asConsumerGroup are objects of groups with their label called consumergroup.
func asConsumerGroup[T any](objects []labelled[T]) []labelled[T] {
	name := proto.String("consumergroup")
	renamed := make([]labelled[T], len(objects))
	for i, l := range objects {
		// The order of labels stays: both names are after "cluster" and before
		// "partition".
		labels := slices.Clone(l.labels)
		for j, pair := range labels {
			if pair.GetName() == "group" {
				labels[j] = &dto.LabelPair{Name: name, Value: pair.Value}
			}
		}
		renamed[i] = labelled[T]{l.object, labels}
	}
	return renamed
}

// lagWithLost is what kafka_exporter calls the lag: high watermark minus commit,
// with what was removed from the log before it was read.
func lagWithLost(p *lag.GroupPartitionView) lag.Optional[lag.Count] {
	behind, ok := p.HWMLag.Get()
	lost, known := p.Lost.Get()
	if !ok || !known {
		return lag.Optional[lag.Count]{}
	}
	return lag.Known(behind + lost)
}

// sum adds up a value over the partitions of a topic; unknown if one of them is.
func sum[T ~int64](t *lag.GroupTopicView, of func(*lag.GroupPartitionView) lag.Optional[T]) lag.Optional[T] {
	var total T
	for i := range t.Partitions {
		v, ok := of(&t.Partitions[i]).Get()
		if !ok {
			return lag.Optional[T]{}
		}
		total += v
	}
	return lag.Known(total)
}

// oneIf is 1 for true and 0 for false.
func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// kafkaExporterSources are the metrics of kafka_exporter.
var kafkaExporterSources = []source{
	compatible(declare(Metric{
		Name: "kafka_brokers", Type: Gauge, Section: 7, Unit: "brokers",
		Meaning: "Brokers that the cluster lists as alive." + onlyCompatible,
	}, nil, nil, func(o *objects) []labelled[*lag.Cluster] { return o.clusters },
		func(c *lag.Cluster, add emit) { add(float64(len(c.Brokers))) })),

	compatible(declare(Metric{
		Name: "kafka_topic_partitions", Type: Gauge, Section: 7, Unit: "partitions",
		Meaning: "Partitions of the topic." + onlyCompatible,
	}, []string{"topic"}, nil, func(o *objects) []labelled[*lag.TopicView] { return o.topics },
		func(t *lag.TopicView, add emit) {
			if !t.Unreadable {
				add(float64(len(t.Partitions)))
			}
		})),

	compatible(ofPartition(Metric{
		Name: "kafka_topic_partition_current_offset", Type: Gauge, Section: 1, Unit: "offsets", Collector: "offsets",
		Meaning: "High watermark of the partition." + onlyCompatible,
	}, func(p *lag.PartitionView, add emit) { known(p.HighWatermark, add) })),

	compatible(ofPartition(Metric{
		Name: "kafka_topic_partition_oldest_offset", Type: Gauge, Section: 1, Unit: "offsets", Collector: "offsets",
		Meaning: "First offset that is still in the log." + onlyCompatible,
	}, func(p *lag.PartitionView, add emit) { known(p.LogStart, add) })),

	compatible(ofPartition(Metric{
		Name: "kafka_topic_partition_leader", Type: Gauge, Section: 7, Unit: "broker id", Collector: "replicas",
		Meaning: "Broker that leads the partition. No sample while it has no leader." + onlyCompatible,
	}, func(p *lag.PartitionView, add emit) {
		if p.Leader != lag.NoBroker {
			add(float64(p.Leader))
		}
	})),

	compatible(ofPartition(Metric{
		Name: "kafka_topic_partition_leader_is_preferred", Type: Gauge, Section: 7, Collector: "replicas",
		Meaning: "1 while the first of the assigned replicas leads the partition, else 0." + onlyCompatible,
	}, func(p *lag.PartitionView, add emit) {
		add(oneIf(p.Leader != lag.NoBroker && p.Leader == p.Preferred))
	})),

	compatible(ofPartition(Metric{
		Name: "kafka_topic_partition_replicas", Type: Gauge, Section: 7, Unit: "replicas", Collector: "replicas",
		Meaning: "Replicas that are assigned." + onlyCompatible,
	}, func(p *lag.PartitionView, add emit) { add(float64(p.Replicas)) })),

	compatible(ofPartition(Metric{
		Name: "kafka_topic_partition_in_sync_replica", Type: Gauge, Section: 7, Unit: "replicas", Collector: "replicas",
		Meaning: "Replicas that are in sync." + onlyCompatible,
	}, func(p *lag.PartitionView, add emit) { add(float64(p.InSync)) })),

	compatible(ofPartition(Metric{
		Name: "kafka_topic_partition_under_replicated_partition", Type: Gauge, Section: 7, Collector: "replicas",
		Meaning: "1 while fewer replicas are in sync than are assigned, else 0." + onlyCompatible,
	}, func(p *lag.PartitionView, add emit) { add(oneIf(p.InSync < p.Replicas)) })),

	compatible(ofConsumerGroupPartition(Metric{
		Name: "kafka_consumergroup_current_offset", Type: Gauge, Section: 3, Unit: "offsets",
		Meaning: "Offset that the group has committed. No commit, no sample." + onlyCompatible,
	}, func(p *lag.GroupPartitionView, add emit) { known(p.Committed, add) })),

	compatible(ofConsumerGroupPartition(Metric{
		Name: "kafka_consumergroup_lag", Type: Gauge, Section: 3, Unit: "offsets",
		Meaning: "High watermark minus committed offset, with what was removed from the log before the group read it; never negative. No commit, no sample." + onlyCompatible,
	}, func(p *lag.GroupPartitionView, add emit) { known(lagWithLost(p), add) })),

	compatible(ofConsumerGroupTopic(Metric{
		Name: "kafka_consumergroup_current_offset_sum", Type: Gauge, Section: 3, Unit: "offsets",
		Meaning: "Sum of kafka_consumergroup_current_offset over the topic's partitions with a commit. No sample while one of its parts is unknown." + onlyCompatible,
	}, func(t *lag.GroupTopicView, add emit) {
		known(sum(t, func(p *lag.GroupPartitionView) lag.Optional[lag.Offset] { return p.Committed }), add)
	})),

	compatible(ofConsumerGroupTopic(Metric{
		Name: "kafka_consumergroup_lag_sum", Type: Gauge, Section: 3, Unit: "offsets",
		Meaning: "Sum of kafka_consumergroup_lag over the topic's partitions with a commit. No sample while one of its parts is unknown." + onlyCompatible,
	}, func(t *lag.GroupTopicView, add emit) { known(sum(t, lagWithLost), add) })),

	compatible(declare(Metric{
		Name: "kafka_consumergroup_members", Type: Gauge, Section: 7, Unit: "members", Collector: "groups",
		Meaning: "Members of the group." + onlyCompatible,
	}, []string{"consumergroup"}, nil, func(o *objects) []labelled[*lag.GroupView] { return asConsumerGroup(o.groups) },
		func(g *lag.GroupView, add emit) { known(g.Members, add) })),
}

func ofConsumerGroupPartition(m Metric, samples func(*lag.GroupPartitionView, emit)) source {
	m.Collector = "groups"
	s := declare(m, []string{"consumergroup", "topic", "partition"}, nil,
		func(o *objects) []labelled[*lag.GroupPartitionView] { return asConsumerGroup(o.groupPartitions) }, samples)
	s.level = perPartition
	return s
}

func ofConsumerGroupTopic(m Metric, samples func(*lag.GroupTopicView, emit)) source {
	m.Collector = "groups"
	s := declare(m, []string{"consumergroup", "topic"}, nil,
		func(o *objects) []labelled[*lag.GroupTopicView] { return asConsumerGroup(o.groupTopics) }, samples)
	s.level = perTopic
	return s
}
