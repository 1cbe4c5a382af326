package generate

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// partitionRow shows one partition: that which is picked, or of several the one
// that is held the longest at the end of the time shown.
func partitionRow() row {
	const which = " Of several partitions that are picked, the one that is held the longest at the end of the time shown; pick one above."
	one := func(query string) string { return top(1, byPartition, query, atTheEnd(stalled)) }
	offset := func(name string) string { return one(most(byPartition, of(name))) }

	offsets := lines("Offsets of a partition", "measurements.md",
		"Flat last stable offset under a rising high watermark: a transaction is open. Flat commit under a rising last stable offset: a consumer stands still. Log start is hidden until it is clicked in the legend, as it would flatten the others."+which,
		halfWidth, unitOffsets,
		over(offset("kafka_partition_log_end_offset"), "log end {{topic}}-{{partition}} {{cluster}}"),
		over(offset("kafka_partition_high_watermark"), "high watermark {{topic}}-{{partition}} {{cluster}}"),
		over(offset("kafka_partition_last_stable_offset"), "last stable offset {{topic}}-{{partition}} {{cluster}}"),
		over(one(most(byGroupPartition, of("kafka_group_partition_committed_offset"))), "committed by {{group}} {{topic}}-{{partition}} {{cluster}}"),
		over(offset("kafka_partition_log_start_offset"), "log start {{topic}}-{{partition}} {{cluster}}"),
	)
	offsets.FillOpacity(0).LineWidth(2).Legend(beside())
	coloured(offsets, map[string]string{
		"/^log end /": colourLEO, "/^high watermark /": colourHWM, "/^last stable offset /": colourLSO, "/^log start /": quiet,
	})
	offsets.OverrideByRegexp("/^committed by /", []dashboard.DynamicConfigValue{
		{Id: "color", Value: map[string]string{"mode": "shades", "fixedColor": colourRead}},
		{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 6}}},
	})
	offsets.OverrideByRegexp("/^log start /", []dashboard.DynamicConfigValue{
		{Id: "custom.hideFrom", Value: map[string]bool{"viz": true, "legend": false, "tooltip": true}},
	})
	return row{title: "A partition over time", panels: []cog.Builder[dashboard.Panel]{
		offsets,
		stacked(coloured(graph("Parts of the lag on it", "measurements.md",
			"What lies between the log end and the slowest of the groups that are picked, by whose part it is. Consumer: readable and unread. Isolation: held by transactions. Replication: not on all in-sync replicas yet. Consumer and isolation together are what kafka-consumer-groups.sh calls lag."+which,
			halfWidth, unitOffsets,
			over(offset("kafka_group_partition_lso_lag"), "consumer: LSO lag {{topic}}-{{partition}} {{cluster}}"),
			over(offset("kafka_partition_unstable_offsets"), "isolation: unstable {{topic}}-{{partition}} {{cluster}}"),
			over(one("("+orNone(byPartition, "kafka_partition_unreplicated_offsets", "kafka_partition_log_end_offset")+")"), "replication: unreplicated {{topic}}-{{partition}} {{cluster}}"),
		), map[string]string{"/^consumer/": colourRead, "/^isolation/": colourLSO, "/^replication/": colourLEO})).Legend(beside()),
	}}
}
