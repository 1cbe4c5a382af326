package metrics

import (
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// seconds emits a duration that may be unknown.
func seconds(value lag.Optional[time.Duration], add emit) {
	if v, ok := value.Get(); ok {
		add(v.Seconds())
	}
}

// ofShare declares a metric of each partition of a share group.
func ofShare(m Metric, samples func(*lag.ShareView, emit)) source {
	m.Collector = "groups"
	s := declare(m, groupPartitionLabels, nil, func(o *objects) []labelled[*lag.ShareView] { return o.shares }, samples)
	s.level = perPartition
	return s
}

// ofPending declares a metric of each pending commit of a group.
func ofPending(m Metric, samples func(*lag.PendingCommit, emit)) source {
	m.Collector = "groups"
	s := declare(m, groupPartitionLabels, nil, func(o *objects) []labelled[*lag.PendingCommit] { return o.pending }, samples)
	s.level = perPartition
	return s
}

// groupProgressSources are the metrics of what groups are doing, beyond their
// lags.
var groupProgressSources = []source{
	ofGroupTopic(Metric{
		Name: "kafka_group_topic_state", Type: Gauge, Section: 5,
		Meaning: "Always 1, on the state of the group on the topic, which is the first of its partitions' states in this order: ahead, lost, inactive, blocked, stopped, undetermined, consuming, caught_up. No sample while a partition is unknown that might come first.",
	}, func(t *lag.GroupTopicView, add emit) {
		if t.State != "" {
			add(1, string(t.State))
		}
	}, "state"),

	ofGroupTopic(Metric{
		Name: "kafka_group_topic_max_lso_lag_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 5,
		Meaning: "Greatest kafka_group_partition_lso_lag_seconds of the topic's partitions, without those on which nothing is readable. No sample while one is unknown, or if there is none.",
	}, func(t *lag.GroupTopicView, add emit) { seconds(t.LSOLagFor, add) }),

	ofGroupTopic(Metric{
		Name: "kafka_group_topic_max_hwm_lag_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 5,
		Meaning: "Greatest kafka_group_partition_hwm_lag_seconds of the topic's partitions, without those on which nothing is readable. No sample while one is unknown, or if there is none.",
	}, func(t *lag.GroupTopicView, add emit) { seconds(t.HWMLagFor, add) }),

	ofGroup(Metric{
		Name: "kafka_group_max_lso_lag_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 5,
		Meaning: "Greatest kafka_group_partition_lso_lag_seconds of the group's partitions, without those on which nothing is readable. No sample while one is unknown, or if there is none.",
	}, func(g *lag.GroupView, add emit) { seconds(g.LSOLagFor(), add) }),

	ofGroup(Metric{
		Name: "kafka_group_max_hwm_lag_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 5,
		Meaning: "Greatest kafka_group_partition_hwm_lag_seconds of the group's partitions, without those on which nothing is readable. No sample while one is unknown, or if there is none.",
	}, func(g *lag.GroupView, add emit) { seconds(g.HWMLagFor(), add) }),

	ofGroupTopic(Metric{
		Name: "kafka_group_read_uncommitted_evidence", Type: Gauge, Section: 5,
		Meaning: "Always 1. Within the last 24 hours the group had a commit above the last stable offset of the topic, and not above the high watermark: a read_uncommitted reader, or a reset. The group is judged by the high watermark there, and never called blocked.",
		Sparse:  "while there is such evidence",
	}, func(t *lag.GroupTopicView, add emit) {
		if t.ReadUncommitted {
			add(1)
		}
	}),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_lso_lag_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 5,
		Meaning: "How long ago the next unread record below the last stable offset was appended. 0 when everything up to the high watermark was read; no sample where nothing is readable although not everything was read, or where it is not known to two sweep intervals or an eighth of itself.",
	}, func(p *lag.GroupPartitionView, add emit) { seconds(p.LSOLagFor, add) }),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_hwm_lag_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 5,
		Meaning: "How long ago the next unread record below the high watermark was appended. 0 when everything was read; no sample where nothing is readable although not everything was read, or where it is not known to two sweep intervals or an eighth of itself.",
	}, func(p *lag.GroupPartitionView, add emit) { seconds(p.HWMLagFor, add) }),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_readable_lag", Type: Gauge, Unit: "records", Section: 5,
		Meaning: "Records that a read_committed consumer would still get below the last stable offset: the LSO lag without end markers, aborted records and gaps. Looked up for groups that stand still or are held by a transaction.",
		Sparse:  "while it is looked up and the whole range could be read",
	}, func(p *lag.GroupPartitionView, add emit) { known(p.Readable, add) }),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_blocked_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 5,
		Meaning: "How long this exporter has seen the group blocked here: everything readable was read, and a transaction that stands still holds the rest.",
		Sparse:  "while the state lasts, 0 at first sight included",
	}, func(p *lag.GroupPartitionView, add emit) { seconds(p.BlockedFor, add) }),

	ofGroupPartition(Metric{
		Name: "kafka_group_partition_unassigned", Type: Gauge, Section: 5,
		Meaning: "Always 1. The group has a commit here and members, and none of them is assigned the partition: it was abandoned, and its lag says nothing of the group's work.",
		Sparse:  "while that is so",
	}, func(p *lag.GroupPartitionView, add emit) {
		if p.Unassigned {
			add(1)
		}
	}),

	ofPending(Metric{
		Name: "kafka_group_partition_pending_offset_commit_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 6,
		Meaning: "How long this exporter has seen a commit of the group here in a transaction that has not ended. A consumer that starts waits for it.",
		Sparse:  "while there is one, 0 at first sight included",
	}, func(p *lag.PendingCommit, add emit) { add(p.For.Seconds()) }),

	ofShare(Metric{
		Name: "kafka_share_group_partition_start_offset", Type: Gauge, Unit: "offsets", Section: 5,
		Meaning: "Share-partition start offset of a share group: everything below it is done. No sample before the first acknowledgement.",
	}, func(p *lag.ShareView, add emit) { known(p.Start, add) }),

	ofShare(Metric{
		Name: "kafka_share_group_partition_lag", Type: Gauge, Unit: "offsets", Section: 5,
		Meaning: "Lag of a share group against the high watermark, as the broker counts it: it is not high watermark minus start offset, as what is done above the start offset does not count. No sample before the first acknowledgement.",
	}, func(p *lag.ShareView, add emit) { known(p.Lag, add) }),
}
