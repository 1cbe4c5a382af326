package metrics

import (
	"github.com/lso-exporter/lso-exporter/lag"
)

var partitionLabels = []string{"topic", "partition"}

// ofPartition declares a metric of each partition.
func ofPartition(m Metric, samples func(*lag.PartitionView, emit), extra ...string) source {
	return declare(m, partitionLabels, extra, func(o *objects) []labelled[*lag.PartitionView] { return o.partitions }, samples)
}

// known emits a value that may be unknown.
func known[T ~int64 | ~int](value lag.Optional[T], add emit) {
	if v, ok := value.Get(); ok {
		add(float64(v))
	}
}

// nonZero emits an amount that may be unknown, unless it is zero.
func nonZero[T ~int64](value lag.Optional[T], add emit) {
	if v, ok := value.Get(); ok && v != 0 {
		add(float64(v))
	}
}

// partitionSources are the metrics of partitions.
var partitionSources = []source{
	ofPartition(Metric{
		Name: "kafka_partition_log_start_offset", Type: Gauge, Unit: "offsets", Section: 1, Collector: "offsets",
		Meaning: "First offset that is still in the log.",
	}, func(p *lag.PartitionView, add emit) { known(p.LogStart, add) }),

	ofPartition(Metric{
		Name: "kafka_partition_last_stable_offset", Type: Gauge, Unit: "offsets", Section: 1, Collector: "offsets",
		Meaning: "Last stable offset (LSO): read_committed consumers can read below it.",
	}, func(p *lag.PartitionView, add emit) { known(p.LastStable, add) }),

	ofPartition(Metric{
		Name: "kafka_partition_high_watermark", Type: Gauge, Unit: "offsets", Section: 1, Collector: "offsets",
		Meaning: "High watermark (HWM): read_uncommitted consumers can read below it.",
	}, func(p *lag.PartitionView, add emit) { known(p.HighWatermark, add) }),

	ofPartition(Metric{
		Name: "kafka_partition_log_end_offset", Type: Gauge, Unit: "offsets", Section: 1, Collector: "offsets",
		Meaning: "Log end offset (LEO): the leader's log ends here, replicated or not.",
	}, func(p *lag.PartitionView, add emit) { known(p.LogEnd, add) }),

	ofPartition(Metric{
		Name: "kafka_partition_unstable_offsets", Type: Gauge, Unit: "offsets", Section: 3, Collector: "offsets",
		Meaning: "High watermark minus last stable offset: written and replicated, unreadable under read_committed until a transaction ends.",
	}, func(p *lag.PartitionView, add emit) { known(p.Unstable(), add) }),

	ofPartition(Metric{
		Name: "kafka_partition_unreplicated_offsets", Type: Gauge, Unit: "offsets", Section: 3, Collector: "offsets",
		Meaning: "Log end offset minus high watermark: written, not yet replicated.",
		Sparse:  "while it is not zero",
	}, func(p *lag.PartitionView, add emit) { nonZero(p.Unreplicated(), add) }),

	ofPartition(Metric{
		Name: "kafka_partition_lso_below_hwm_seconds_total", Type: Counter, Unit: "seconds", Section: 4, Collector: "offsets",
		Meaning: "Time between sweeps that began with the last stable offset proven below the high watermark. Grows on healthy topics with overlapping transactions too; its rate over that of kafka_partition_observed_seconds_total is the share of time.",
	}, func(p *lag.PartitionView, add emit) {
		if p.LastStable.IsKnown() {
			add(p.BelowFor.Seconds())
		}
	}),

	ofPartition(Metric{
		Name: "kafka_partition_observed_seconds_total", Type: Counter, Unit: "seconds", Section: 4, Collector: "offsets",
		Meaning: "Time between sweeps that was judged for kafka_partition_lso_below_hwm_seconds_total, whether below or not.",
	}, func(p *lag.PartitionView, add emit) {
		if p.LastStable.IsKnown() {
			add(p.ObservedFor.Seconds())
		}
	}),

	ofPartition(Metric{
		Name: "kafka_partition_lso_stalled_seconds", Type: Gauge, Unit: "seconds, as of the sweep", Section: 4, Collector: "offsets",
		Meaning: "How long this exporter has seen the last stable offset stand still below the high watermark; 0 while it does not. Alert on it with a threshold above the longest legal transaction of the topic.",
	}, func(p *lag.PartitionView, add emit) {
		if p.LastStable.IsKnown() {
			add(p.StalledFor.Seconds())
		}
	}),

	ofPartition(Metric{
		Name: "kafka_partition_offset_regressions_total", Type: Counter, Unit: "regressions", Section: 2, Collector: "offsets",
		Meaning: "How often an offset of a topic that was not re-created went back: truncation, an unclean election or lost data.",
		Sparse:  "once it is not zero",
	}, func(p *lag.PartitionView, add emit) {
		r := p.Regressions
		for _, each := range []struct {
			offset string
			count  uint64
		}{
			{"log_start_offset", r.LogStart},
			{"last_stable_offset", r.LastStable},
			{"high_watermark", r.HighWatermark},
			{"log_end_offset", r.LogEnd},
		} {
			if each.count > 0 {
				add(float64(each.count), each.offset)
			}
		}
	}, "offset"),

	ofPartition(Metric{
		Name: "kafka_partition_leader", Type: Gauge, Unit: "broker id", Section: 7, Collector: "replicas",
		Meaning: "Broker that leads the partition. No sample while it has no leader.",
	}, func(p *lag.PartitionView, add emit) {
		if p.Leader != lag.NoBroker {
			add(float64(p.Leader))
		}
	}),

	ofPartition(Metric{
		Name: "kafka_partition_replicas", Type: Gauge, Unit: "replicas", Section: 7, Collector: "replicas",
		Meaning: "Replicas that are assigned.",
	}, func(p *lag.PartitionView, add emit) { add(float64(p.Replicas)) }),

	ofPartition(Metric{
		Name: "kafka_partition_in_sync_replicas", Type: Gauge, Unit: "replicas", Section: 7, Collector: "replicas",
		Meaning: "Replicas that are in sync.",
	}, func(p *lag.PartitionView, add emit) { add(float64(p.InSync)) }),
}
