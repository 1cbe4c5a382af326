package generate

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/lso-exporter/lso-exporter/lag"
)

// transactionColours are those of the states of transactions.
var transactionColours = map[string]string{
	string(lag.Empty): quiet, string(lag.Ongoing): neutral,
	string(lag.PrepareCommit): attention, string(lag.PrepareAbort): worrying,
	string(lag.CompleteCommit): good, string(lag.CompleteAbort): "dark-green",
}

// shareRow shows for how much of the time transactions held something back.
func shareRow() row {
	description := "Share of time with the last stable offset below the high watermark. Grows on healthy topics whose transactions overlap, too: a figure for capacity and tuning (how long transactions are, how often they are committed), and none for alerts."
	return row{title: "Share of time below", panels: []cog.Builder[dashboard.Panel]{
		graph("Share of time with LSO below HWM", "measurements.md",
			description+" The ten partitions with the greatest share at the end of the time shown.",
			halfWidth, unitShare,
			over(top(graphSeries, byPartition, share(byPartition, "5m"), shareOf("[5m] @ end()")), "{{topic}}-{{partition}} {{cluster}}")).Max(1),
		bars("The same over the whole time shown, by topic", "measurements.md",
			description+" Of each topic the partition with the greatest share; the ten topics with the greatest.",
			halfWidth, unitShare, "sort_desc(topk(10, "+share(byTopic, "$__range")+"))", "{{topic}} {{cluster}}"),
	}}
}

// transactionRow shows transactions that hold partitions over time, and what
// keeps end markers from arriving.
func transactionRow() row {
	const (
		unstable     = "kafka_partition_unstable_offsets"
		unreplicated = "kafka_partition_unreplicated_offsets"
		logEnd       = "kafka_partition_log_end_offset"
		partition    = "{{topic}}-{{partition}} {{cluster}}"
	)
	age := most(byPartition, of("kafka_partition_blocking_transaction_age_seconds"))
	ids := most("cluster, state, application", of("kafka_transactional_ids"))
	longest := "max(" + of("kafka_transactions_max_completing_seconds") + ") or 0 * count(" + of("kafka_transactional_ids") + ")"
	return row{title: "Transactions", panels: []cog.Builder[dashboard.Panel]{
		stacked(coloured(counts("Transactional ids by state", "measurements.md",
			"Transactional ids that coordinators know, by the state that they are in: counted once a minute, so that short transactions show by chance. Absent while a coordinator does not tell all.",
			over("sum by (state) ("+ids+")", "{{state}}")), exactly(transactionColours))),
		stacked(counts("Transactional ids by application", "measurements.md",
			"The same by application, a name that is made of the id (transactions.applications), for the ten with the most at the end of the time shown. A number that only grows is an application that takes an id of its own for each start or task.",
			over(top(graphSeries, "application", "sum by (application) ("+ids+")",
				"sum by (application) ("+most("cluster, state, application", atTheEnd("kafka_transactional_ids"))+")"), "{{application}}"))),
		stacked(coloured(counts("Partitions held, by verdict", "blocking-transactions.md",
			"Partitions that a transaction holds, by what was found out about it. Ongoing, and for moments completing, belong to every exactly-once pipeline; the others want a look.",
			over(numberBy("verdict", ofBlocker(each(age), "verdict")), "{{verdict}}")), exactly(verdictColours))),
		coloured(graph("Age of the transactions that hold them", "blocking-transactions.md",
			"How long the transaction that holds a partition has been open. It needs no history: right at the first scrape after a restart.",
			halfWidth, unitSeconds,
			over(ofBlocker(age, "transactional_id, verdict"), "{{topic}}-{{partition}} {{transactional_id}} {{verdict}} {{cluster}}")), byVerdict()),
		graph("Unstable offsets", "measurements.md",
			"Offsets between last stable offset and high watermark: written, and unreadable under read_committed until a transaction ends. The ten partitions with the most at the end of the time shown.",
			halfWidth, unitOffsets, over(top(graphSeries, byPartition, most(byPartition, of(unstable)), atTheEnd(unstable)), partition)),
		counts("Open transactions in partitions that are held", "measurements.md",
			"Producers that have a transaction open there: more than one, and the end of the first frees only what lies below the next.",
			over(most(byPartition, of("kafka_partition_open_transactions")), partition)),
		graph("Decided and not completed", "runbooks/coordinator-completing.md",
			"For how long, at most, a coordinator has had a transaction in PrepareCommit or PrepareAbort. It may be stuck when all end markers are written, and no partition is held.",
			8, unitSeconds, over(longest, "the longest of all coordinators")),
		graph("Unreplicated offsets", "runbooks/completing-too-long.md",
			"Offsets between high watermark and log end. While they stay, end markers may be among them: the verdict is then completing. The ten partitions with the most at the end of the time shown.",
			8, unitOffsets, over(top(graphSeries, byPartition, "("+orNone(byPartition, unreplicated, logEnd)+")", atTheEnd(unreplicated)+" or 0 * "+atTheEnd(logEnd)), partition)),
		coloured(counts("Replicas", "runbooks/completing-too-long.md",
			"Partitions with replicas that are not in sync, partitions without a leader, and offsets that went back (truncation, an unclean election, lost data) within the time of a step.",
			over(number(most(byPartition, of("kafka_partition_in_sync_replicas"))+" < "+most(byPartition, of("kafka_partition_replicas")), of("kafka_partition_replicas")), "not all in sync"),
			over(number(most(byPartition, of("kafka_partition_replicas"))+" unless on ("+byPartition+") "+of("kafka_partition_leader"), of("kafka_partition_replicas")), "without a leader"),
			over("sum("+most(byPartition+", offset", "increase("+of("kafka_partition_offset_regressions_total")+"[$__rate_interval])")+") or 0 * count("+of("kafka_partition_replicas")+")", "offsets that went back"),
		), map[string]string{"/^not all/": worrying, "/^without/": bad, "/^offsets/": unknown}).Span(8),
	}}
}
