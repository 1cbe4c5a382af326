package generate

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// groupRow shows what groups are doing, and how far behind both ends they are.
func groupRow() row {
	const (
		lsoLag, hwmLag         = "_lso_lag", "_hwm_lag"
		lsoSeconds, hwmSeconds = "_max_lso_lag_seconds", "_max_hwm_lag_seconds"
		state                  = "kafka_group_topic_state"
		legend                 = "{{group}} on {{topic}} {{cluster}}"
	)
	known := func(lag, at string) string { return finest("kafka_group_topic"+lag, "kafka_group"+lag, at) }
	behind := func(lag string) string {
		return top(graphSeries, byGroupTopic, "("+known(lag, "")+")", known(lag, end))
	}
	// A row for each group and topic with a state or a lag.
	rows := most(byGroupTopic+", state", of(state)) + " or (" + known(hwmLag, "") + ") unless on (" + byGroupTopic + ") " + of(state)
	commits := func(name string) string {
		return number(most(byGroupPartition, of(name)), of("kafka_group_info"))
	}
	return row{title: "Consumer groups", panels: []cog.Builder[dashboard.Panel]{
		columns("Groups: state and both lags", "measurements.md",
			"A row for each group and topic, or for each group where exporters tell no more (granularity group). LSO lag: readable under read_committed and unread, the consumer's own part. HWM lag: up to the high watermark, what other tools call lag. Times: how long the next unread record has been there. Empty: not known, or nothing is readable.",
			fullWidth, 10, "HWM lag", []column{
				{label: "cluster", title: "cluster", width: 100},
				{label: "group", title: "group", properties: leadsTo("The group over time", here("var-group=${__data.fields.group:percentencode}"), false)},
				{label: "topic", title: "topic", properties: leadsTo("The topic", here("var-topic=${__data.fields.topic:percentencode}"), false)},
				{value: rows},
				{label: "state", title: "state", width: 130, properties: inColours(stateColours)},
				{value: known(lsoLag, ""), title: "LSO lag", unit: unitExact, width: 120},
				{value: known(hwmLag, ""), title: "HWM lag", unit: unitExact, width: 120},
				{value: known(lsoSeconds, ""), title: "LSO lag in time", unit: unitSeconds, width: 140},
				{value: known(hwmSeconds, ""), title: "HWM lag in time", unit: unitSeconds, width: 140},
				{value: each(most(byGroupTopic, rows)) + "\n* on (" + byGroup + ") group_left () " + most(byGroup, of("kafka_group_members")),
					title: "members", unit: unitExact, width: 90},
			}),
		graph("LSO lag", "runbooks/group-lag.md",
			"Offsets that a read_committed consumer can read and has not: slow or stopped consumers. The ten groups and topics that are the furthest behind at the end of the time shown.",
			halfWidth, unitOffsets, over(behind(lsoLag), legend)),
		graph("HWM lag", "runbooks/group-blocked.md",
			"Offsets up to the high watermark. High here and low on the left: a transaction holds the group back, and the consumer is not to blame. The ten groups and topics that are the furthest behind at the end of the time shown.",
			halfWidth, unitOffsets, over(behind(hwmLag), legend)),
		graph("LSO lag in time", "runbooks/group-lag.md",
			"How long the next unread record below the last stable offset has been there.",
			halfWidth, unitSeconds, over(behind(lsoSeconds), legend)),
		graph("HWM lag in time", "runbooks/group-blocked.md",
			"How long the next unread record below the high watermark has been there.",
			halfWidth, unitSeconds, over(behind(hwmSeconds), legend)),
		stacked(coloured(counts("What groups are doing", "measurements.md",
			"Groups by their state, counted once for each topic. Caught up and consuming are well; blocked waits for a transaction; the others want a look.",
			over(numberBy("state", most(byGroupTopic+", state", of(state))), "{{state}}")),
			exactly(stateColours))),
		coloured(counts("Commits that are not where they should be", "runbooks/commits-lost.md",
			"Partitions of groups with a commit below the log start (records were removed before they were read), above the high watermark (a reset, a mirrored offset, an unclean election), or in a transaction that has not ended (a consumer that starts waits for it; for moments that is normal).",
			over(commits("kafka_group_partition_lost_offsets"), "lost: below the log start"),
			over(commits("kafka_group_partition_ahead_offsets"), "ahead of the high watermark"),
			over(commits("kafka_group_partition_pending_offset_commit_seconds"), "pending in a transaction")),
			map[string]string{"/^lost/": bad, "/^ahead/": worrying, "/^pending/": neutral}),
	}}
}

// exactly gives lines with these names their colours.
func exactly(colours map[string]string) map[string]string {
	whole := make(map[string]string)
	for name, colour := range colours {
		whole["/^"+name+"$/"] = colour
	}
	return whole
}
