package generate

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// logRow shows how transactions end, as the log of the coordinators tells. It
// is closed, as the collector is off by default.
func logRow() row {
	const (
		completed = "kafka_transactions_completed_total"
		results   = "cluster, result, application"
	)
	perSecond := func(by, name, known string) string {
		return "sum by (" + by + ") (" + most(known, rate(of(name))) + ")"
	}
	// The ten applications that complete the most at the end of the time shown.
	busiest := func(query string) string {
		return query + "\nand on (application) topk(10, sum by (application) (" + most(results, "rate("+of(completed)+"[5m] @ end())") + "))"
	}
	length := func(q, name string) string {
		return busiest("histogram_quantile(" + q + ", sum by (application, le) (" + most(results+", le", rate(buckets(name, `result="committed"`))) + ")) >= 0")
	}
	off := func(b *timeseries.PanelBuilder) *timeseries.PanelBuilder {
		return b.NoValue("Not known: the collector txnlog is off, or nothing has ended yet")
	}
	return row{title: "How transactions end (collector txnlog)", closed: true, panels: []cog.Builder[dashboard.Panel]{
		off(stacked(coloured(graph("Transactions completed", "measurements.md",
			"Transactions a second by result. Timed out: aborted by the coordinator, as the producer had not ended it in time.",
			halfWidth, unitPerSec, over(perSecond("result", completed, results), "{{result}}")),
			map[string]string{"/^committed$/": good, "/^aborted$/": worrying, "/^timed_out$/": bad}))),
		off(stacked(graph("Transactions completed, by application", "measurements.md",
			"Transactions a second by application, of the ten that complete the most at the end of the time shown.",
			halfWidth, unitPerSec, over(busiest(perSecond("application", completed, results)), "{{application}}")))),
		off(graph("Length of committed transactions", "measurements.md",
			"How long 99 of 100 committed transactions took from their start to their completion: a read_committed consumer waits as long for the first record of one.",
			8, unitSeconds, over(length("0.99", "kafka_transaction_duration_seconds"), "{{application}}"))),
		off(graph("From decision to completion", "runbooks/coordinator-completing.md",
			"How long 99 of 100 committed transactions took from the decision, which producers wait for, to their completion, when the end markers are written.",
			8, unitSeconds, over(length("0.99", "kafka_transaction_completion_seconds"), "{{application}}"))),
		off(graph("Initializations", "measurements.md",
			"How often a second producers initialize transactional ids. A storm of them is two producers with one id, each of which fences the other.",
			8, unitPerSec, over("topk(10, "+perSecond("application", "kafka_transactional_id_initializations_total", "cluster, application")+")", "{{application}}"))),
	}}
}
