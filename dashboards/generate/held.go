package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/lso-exporter/lso-exporter/lag"
)

// verdictColours are those of verdicts: red for what no timeout ends.
var verdictColours = map[string]string{
	string(lag.Hanging): bad, string(lag.Ownerless): bad, string(lag.Overdue): worrying,
	string(lag.Completing): attention, string(lag.OngoingTransaction): neutral, string(lag.Unknown): unknown,
}

// stateColours are those of the states of groups.
var stateColours = map[string]string{
	string(lag.StateAhead): bad, string(lag.StateLost): bad, string(lag.StateStopped): bad, string(lag.StateBlocked): worrying,
	string(lag.StateUndetermined): unknown, string(lag.StateInactive): quiet,
	string(lag.StateConsuming): neutral, string(lag.StateCaughtUp): good,
}

// stuckStates are the states of groups that do not go on although no transaction
// holds them back.
var stuckStates = []lag.GroupState{lag.StateStopped, lag.StateLost, lag.StateAhead}

// heldRow says what is held back at the end of the time shown, and by whom.
func heldRow() row {
	held := fmt.Sprintf("(%s >= %v or %s and on (%s) %s)", most(byPartition, of(stalled)), heldAfter, most(byPartition, of(stalled)), byPartition, of(info))
	endless := fmt.Sprintf("verdict=~%q", string(lag.Hanging)+"|"+string(lag.Ownerless))
	return row{title: "What is held back, and by whom", panels: []cog.Builder[dashboard.Panel]{
		figure("Partitions held back", "runbooks/lso-stalled.md",
			fmt.Sprintf("Partitions whose last stable offset has stood still below the high watermark for %v s or longer, or that a transaction was found to hold: read_committed consumers read nothing that lies behind it.", heldAfter),
			4, unitExact, steps(good, from(1, worrying)), number(held, of(stalled))),
		figure("Held the longest", "runbooks/lso-stalled.md",
			fmt.Sprintf("For how long, at most, a last stable offset has stood still. Red from where the alert KafkaLSOStalled fires by default (%v).", defaults.Alerts.Stalled),
			4, unitSeconds, steps(good, from(heldAfter, attention), from(defaults.Alerts.Stalled.Seconds(), bad)),
			"max("+of(stalled)+")"),
		figure("No timeout ends them", "runbooks/hanging-transaction.md",
			"Partitions that are held by a hanging or ownerless transaction: somebody has to end it by hand.",
			4, unitExact, steps(good, from(1, bad)), number(most(byPartition, of(info, endless)), of(stalled))),
		figure("Groups blocked", "runbooks/group-blocked.md",
			"Groups, counted once for each topic, that have read all that they can and wait for a transaction. Their lag against the last stable offset is 0: only its distance to the high watermark shows it.",
			4, unitExact, steps(good, from(1, worrying)), number(groupsIn(lag.StateBlocked), of("kafka_group_info"))),
		figure("Groups stopped or lost", "runbooks/group-stopped.md",
			"Groups, counted once for each topic, that have records to read and do not commit, or whose commit lies below the log start or above the high watermark. No transaction is to blame.",
			4, unitExact, steps(good, from(1, bad)),
			number(groupsIn(stuckStates...), of("kafka_group_info"))),
		figure("Since the last sweep", "runbooks/exporter-stale.md",
			"How old all that is shown here is: time since the last look at the cluster, by the exporter that looked last. With several clusters, that of the oldest; one that nobody has looked at for an hour does not count any more.",
			4, unitSeconds, steps(good, from(60, attention), from(defaults.Alerts.ExporterStale.Seconds(), bad)),
			"max(time() - "+most(byCluster, "last_over_time("+of("lso_exporter_last_sweep_timestamp_seconds")+"[1h])")+")"),
		columns("Transactions that hold partitions back", "blocking-transactions.md",
			"A row for each partition whose last stable offset a transaction holds, with what was found out about it. A red verdict: no timeout ends it. A click on the verdict leads to what it means, one on the topic to the partition over time.",
			fullWidth, tableHeight, "held for", blockerColumns()),
		columns("Groups that do not go on", "runbooks/group-blocked.md",
			"Groups that are blocked, a row for each partition, with the transaction that they wait for; and those that have stopped, or whose commit is lost or ahead, with a row for each topic and no transaction to blame.",
			14, graphHeight, "HWM lag", stuckColumns()),
		coloured(graph("How long partitions have been held", "runbooks/lso-stalled.md",
			fmt.Sprintf("Last stable offsets that stand still (for %v s or longer, or with a transaction that was found to hold them), with the transaction that holds the partition. A stall that ends by itself at the same height each time is a transaction that runs into its timeout.", heldAfter),
			fullWidth-14, unitSeconds,
			over(ofBlocker(held, "transactional_id, verdict")+"\nor\n"+held+"\nunless on ("+byPartition+") "+of(info),
				"{{topic}}-{{partition}} {{transactional_id}} {{verdict}} {{cluster}}")),
			byVerdict()),
	}}
}

// byVerdict gives lines whose names hold a verdict its colour.
func byVerdict() map[string]string {
	colours := make(map[string]string)
	for verdict, colour := range verdictColours {
		colours["/ "+verdict+" /"] = colour
	}
	return colours
}

// blockerColumns are those of the table of transactions that hold partitions.
func blockerColumns() []column {
	const labels = "transactional_id, verdict, reason, producer_id, coordinator"
	heldOnly := func(name string) string { return "\nand on (" + byPartition + ") " + of(name) }
	age := most(byPartition, of("kafka_partition_blocking_transaction_age_seconds"))
	deadline := most(byPartition, of("kafka_partition_blocking_transaction_deadline_timestamp_seconds"))
	return []column{
		{label: "cluster", title: "cluster", width: 80},
		{label: "topic", title: "topic", properties: leadsTo("The partition over time",
			here("var-topic=${__data.fields.topic:percentencode}&var-partition=${__data.fields.partition:percentencode}"), false)},
		{label: "partition", title: "partition", width: 80},
		{value: ofBlocker(each(age), labels)},
		{label: "verdict", title: "verdict", width: 110, properties: slices.Concat(
			inColours(verdictColours), leadsTo("What it means, and what to do", docs+"blocking-transactions.md#verdicts", true))},
		{label: "transactional_id", title: "transactional id"},
		{value: age, title: "age", unit: unitSeconds, width: 90},
		{value: "1000 * " + deadline, title: "deadline", unit: unitFromNow, width: 150},
		{value: most(byPartition, of(stalled)) + heldOnly(info), title: "held for", unit: unitSeconds, width: 90},
		{value: most(byPartition, of("kafka_partition_unstable_offsets")) + heldOnly(info), title: "offsets behind", unit: unitExact, width: 120},
		{value: numberBy(byPartition, most(byGroupPartition, of("kafka_group_partition_blocked_seconds"))) + heldOnly(info), title: "groups", unit: unitExact, width: 75},
		{label: "reason", title: "not known because", width: 150, properties: slices.Concat(
			instead(string(lag.ReasonNone), "–"), leadsTo("What is missing", docs+"blocking-transactions.md#reasons", true))},
		{label: "producer_id", title: "producer", width: 90},
		{label: "coordinator", title: "coordinator", width: 100},
	}
}

// stuckColumns are those of the table of groups that do not go on.
func stuckColumns() []column {
	const waits = "kafka_group_partition_blocked_seconds"
	blocked := each(most(byGroupPartition, of(waits)))
	held := ofBlocker(blocked, "transactional_id") + "\nor\n" + blocked + "\nunless on (" + byPartition + ") " + of(info)
	stuck := fmt.Sprintf("state=~%q", strings.Join(textsOf(stuckStates), "|"))
	others := of("kafka_group_topic_state", stuck)
	return []column{
		{label: "cluster", title: "cluster", width: 65},
		{label: "group", title: "group", properties: leadsTo("The group over time", here("var-group=${__data.fields.group:percentencode}"), false)},
		{label: "topic", title: "topic"},
		{label: "partition", title: "partition", width: 75},
		{value: fmt.Sprintf("label_replace(%s, \"state\", %q, \"\", \"\")\nor %s", held, lag.StateBlocked, most(byGroupTopic+", state", others))},
		{label: "state", title: "state", width: 85, properties: inColours(stateColours)},
		{value: most(byGroupPartition, of(waits)), title: "blocked for", unit: unitSeconds, width: 100},
		{value: most(byGroupPartition, of("kafka_group_partition_hwm_lag")) + "\nand on (" + byGroupPartition + ") " + of(waits) +
			"\nor " + most(byGroupTopic, of("kafka_group_topic_hwm_lag")) + "\nand on (" + byGroupTopic + ") " + others,
			title: "HWM lag", unit: unitExact, width: 85},
		{label: "transactional_id", title: "transactional id"},
	}
}
