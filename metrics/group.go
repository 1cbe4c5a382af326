package metrics

import (
	"strconv"

	"github.com/lso-exporter/lso-exporter/lag"
)

var (
	groupLabels          = []string{"group"}
	groupTopicLabels     = []string{"group", "topic"}
	groupPartitionLabels = []string{"group", "topic", "partition"}
)

// ofGroup declares a metric of each group.
func ofGroup(m Metric, samples func(*lag.GroupView, emit), extra ...string) source {
	m.Collector = "groups"
	return declare(m, groupLabels, extra, func(o *objects) []labelled[*lag.GroupView] { return o.groups }, samples)
}

// ofGroupTopic declares a metric of each group and topic.
func ofGroupTopic(m Metric, samples func(*lag.GroupTopicView, emit), extra ...string) source {
	m.Collector = "groups"
	s := declare(m, groupTopicLabels, extra, func(o *objects) []labelled[*lag.GroupTopicView] { return o.groupTopics }, samples)
	s.level = perTopic
	return s
}

// ofGroupPartition declares a metric of each group and partition.
func ofGroupPartition(m Metric, samples func(*lag.GroupPartitionView, emit)) source {
	m.Collector = "groups"
	s := declare(m, groupPartitionLabels, nil, func(o *objects) []labelled[*lag.GroupPartitionView] { return o.groupPartitions }, samples)
	s.level = perPartition
	return s
}

// groupSources are the metrics of consumer groups.
var groupSources = []source{
	ofGroupPartition(Metric{
		Name: "kafka_group_partition_committed_offset", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "Offset that the group has committed: the next one it will read after a restart.",
	}, func(p *lag.GroupPartitionView, add emit) { known(p.Committed, add) }),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_hwm_lag", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "High watermark minus position: what a read_uncommitted consumer can read and has not. No commit, no sample.",
	}, func(p *lag.GroupPartitionView, add emit) { known(p.HWMLag, add) }),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_lso_lag", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "Last stable offset minus position: what a read_committed consumer can read and has not. No commit, no sample.",
	}, func(p *lag.GroupPartitionView, add emit) { known(p.LSOLag, add) }),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_lost_offsets", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "Log start offset minus committed offset: removed from the log before the group read it. Never part of a lag.",
		Sparse:  "while it is not zero",
	}, func(p *lag.GroupPartitionView, add emit) { nonZero(p.Lost, add) }),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_ahead_offsets", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "Committed offset minus high watermark, from the second sweep on that saw it: a reset, a mirrored offset, an unclean election or a re-created topic.",
		Sparse:  "while it is not zero",
	}, func(p *lag.GroupPartitionView, add emit) { nonZero(p.Ahead, add) }),

	ofGroupTopic(Metric{
		Name: "kafka_group_topic_hwm_lag", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "Sum of kafka_group_partition_hwm_lag over the topic's partitions with a commit. No sample while one of its parts is unknown.",
	}, func(t *lag.GroupTopicView, add emit) { known(t.HWMLag, add) }),

	ofGroupTopic(Metric{
		Name: "kafka_group_topic_lso_lag", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "Sum of kafka_group_partition_lso_lag over the topic's partitions with a commit. No sample while one of its parts is unknown.",
	}, func(t *lag.GroupTopicView, add emit) { known(t.LSOLag, add) }),

	ofGroup(Metric{
		Name: "kafka_group_hwm_lag", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "Sum of kafka_group_topic_hwm_lag over the group's topics. No commit, no sample, nor while one of its parts is unknown.",
	}, func(g *lag.GroupView, add emit) { known(g.HWMLag(), add) }),

	ofGroup(Metric{
		Name: "kafka_group_lso_lag", Type: Gauge, Unit: "offsets", Section: 3,
		Meaning: "Sum of kafka_group_topic_lso_lag over the group's topics. No commit, no sample, nor while one of its parts is unknown.",
	}, func(g *lag.GroupView, add emit) { known(g.LSOLag(), add) }),

	ofGroup(Metric{
		Name: "kafka_group_info", Type: Gauge, Section: 7,
		Meaning: "Always 1. Type of the group (classic, consumer, share, streams; empty where the broker does not tell), its protocol type, and the broker id of its coordinator (empty where unknown).",
	}, func(g *lag.GroupView, add emit) {
		coordinator := ""
		if g.Coordinator != lag.NoBroker {
			coordinator = strconv.Itoa(int(g.Coordinator))
		}
		add(1, string(g.Type), g.ProtocolType, coordinator)
	}, "type", "protocol_type", "coordinator"),

	ofGroup(Metric{
		Name: "kafka_group_state", Type: Gauge, Section: 7,
		Meaning: "Always 1, on the state that the group is in, in Kafka's words: Empty, Stable, PreparingRebalance and so on.",
	}, func(g *lag.GroupView, add emit) {
		if g.State != "" {
			add(1, g.State)
		}
	}, "state"),

	ofGroup(Metric{
		Name: "kafka_group_members", Type: Gauge, Unit: "members", Section: 7,
		Meaning: "Members of the group. A group that only commits has 0.",
	}, func(g *lag.GroupView, add emit) { known(g.Members, add) }),

	ofGroup(Metric{
		Name: "kafka_group_uncommitted_partitions", Type: Gauge, Unit: "partitions", Section: 3,
		Meaning: "Partitions without a commit, of the topics on which the group has a commit or an assignment. They have no lag.",
	}, func(g *lag.GroupView, add emit) { known(g.Uncommitted, add) }),

	ofGroup(Metric{
		Name: "kafka_group_orphan_commits", Type: Gauge, Unit: "commits", Section: 7,
		Meaning: "Commits for partitions that do not exist.",
	}, func(g *lag.GroupView, add emit) { known(g.Orphans, add) }),
}
