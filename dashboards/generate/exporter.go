package generate

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// exporterRow shows how the exporters themselves fare.
func exporterRow() row {
	const reload = "lso_exporter_config_last_reload_successful"
	sum := func(by, name string) string { return "sum by (" + by + ") (" + rate(of(name)) + ")" }
	return row{title: "Exporters", panels: []cog.Builder[dashboard.Panel]{
		figure("Exporters", "runbooks/exporter-down.md",
			"Exporters that Prometheus scrapes.",
			3, unitExact, steps(bad, from(1, good)), "count("+of("lso_exporter_last_sweep_success")+")"),
		figure("Incomplete", "runbooks/exporter-incomplete.md",
			"Exporters whose last sweep could not read all that it should have.",
			3, unitExact, steps(good, from(1, worrying)),
			number(of("lso_exporter_last_sweep_success")+" == 0", of("lso_exporter_last_sweep_success"))),
		figure("Rights missed", "runbooks/exporter-unauthorized.md",
			"Errors in the last five minutes because Kafka refused the exporter a right.",
			3, unitExact, steps(good, from(0.5, worrying)),
			"sum(increase("+of("lso_exporter_errors_total", `kind="unauthorized"`)+"[5m]))"),
		figure("Bad reloads", "runbooks/exporter-reload-failed.md",
			"Exporters that found mistakes when they read their configuration last, and go on under the one before.",
			3, unitExact, steps(good, from(1, worrying)),
			number(of(reload)+" == 0", of(reload))),
		figure("Clocks ahead", "metrics.md",
			"Answers of brokers in the last hour that dated a record later than it was seen: the clock of its producer, or of the broker, is ahead of the exporter's.",
			3, unitExact, steps(good, from(1, attention)), "sum(increase("+of("lso_exporter_clock_skew_total")+"[1h]))"),
		figure("Partitions seen", "how-it-measures.md", "Partitions that the exporter shows.",
			3, unitExact, steps(neutral), "sum("+most(byCluster, of("lso_exporter_partitions"))+")"),
		figure("Groups seen", "how-it-measures.md", "Groups that the exporter shows.",
			3, unitExact, steps(neutral), "sum("+most(byCluster, of("lso_exporter_groups"))+")"),
		figure("Series cut", "measurements.md", "Series of blocking transactions that were left out in the last hour, as there were more than 1,000.",
			3, unitExact, steps(good, from(1, worrying)), "sum(increase("+of("lso_exporter_series_cut_total")+"[1h]))"),
		graph("Length of sweeps", "how-it-measures.md",
			"How long it takes to read the cluster. A sweep that takes longer than sweep.interval makes the next one be skipped.",
			halfWidth, unitSeconds,
			over(quantile("0.5", byExporter, "lso_exporter_sweep_duration_seconds"), "half are below {{instance}} {{cluster}}"),
			over(quantile("0.99", byExporter, "lso_exporter_sweep_duration_seconds"), "99 of 100 are below {{instance}} {{cluster}}")),
		coloured(graph("Sweeps by result", "runbooks/exporter-incomplete.md",
			"Sweeps a second: complete, partial (something is missing), failed (nothing could be read), skipped (the one before still ran).",
			halfWidth, unitPerSec, over(sum("result", "lso_exporter_sweeps_total"), "{{result}}")),
			map[string]string{"/^complete$/": good, "/^partial$/": worrying, "/^failed$/": bad, "/^skipped$/": unknown}),
		graph("Requests to Kafka", "how-it-measures.md",
			"Requests a second by API. Their number grows with brokers, and neither with partitions and groups nor with scrapes.",
			halfWidth, unitPerSec, over(sum("api", "lso_exporter_requests_total"), "{{api}}")),
		graph("Time to answer", "how-it-measures.md",
			"How long brokers take for 99 of 100 requests, by API.",
			halfWidth, unitSeconds, over(quantile("0.99", "api", "lso_exporter_request_duration_seconds"), "{{api}}")),
		graph("What could not be read", "metrics.md",
			"Errors a second by kind. A broker that fails is one error, whatever the number of its partitions.",
			halfWidth, unitPerSec, over(sum("kind", "lso_exporter_errors_total"), "{{kind}}")).Legend(below("Max")),
		graph("Between two reads", "how-it-measures.md",
			"Time between a broker's answers for high watermark and last stable offset. The share of time below is understated by about this over the length of a transaction.",
			halfWidth, unitSeconds,
			over(quantile("0.5", byExporter, "lso_exporter_read_gap_seconds"), "half are below {{instance}} {{cluster}}"),
			over(quantile("0.99", byExporter, "lso_exporter_read_gap_seconds"), "99 of 100 are below {{instance}} {{cluster}}")),
		columns("Collectors", "runbooks/exporter-incomplete.md",
			"The parts of the last sweep, of each exporter.",
			halfWidth, tableHeight, "took", []column{
				{label: "cluster", title: "cluster", width: 100},
				{label: "instance", title: "exporter"},
				{label: "collector", title: "collector"},
				{value: most(byExporter+", collector", of("lso_exporter_collector_success")), title: "read everything", width: 130, properties: yesOrNo},
				{value: most(byExporter+", collector", of("lso_exporter_collector_duration_seconds")), title: "took", unit: unitSeconds, width: 100},
			}),
		columns("Cluster audit", "audit.md",
			"What in the cluster's configuration makes exactly-once weaker than its users think. lso-exporter diagnose names the topics, with consequence and remedy.",
			halfWidth, tableHeight, "result", []column{
				{label: "cluster", title: "cluster", width: 100},
				{value: most("cluster, check, result, value", of("kafka_cluster_audit_info"))},
				{label: "check", title: "check"},
				{label: "result", title: "result", width: 120, properties: inColours(map[string]string{"good": good, "weak": worrying, "not_checked": unknown})},
				{label: "value", title: "found", width: 120},
			}),
	}}
}

// yesOrNo shows 1 and 0 as words.
var yesOrNo = []dashboard.DynamicConfigValue{
	{Id: "mappings", Value: []dashboard.ValueMap{{Type: dashboard.MappingTypeValueToText, Options: map[string]dashboard.ValueMappingResult{
		"1": {Text: cog.ToPtr("yes"), Color: cog.ToPtr(good), Index: cog.ToPtr(int32(0))},
		"0": {Text: cog.ToPtr("no"), Color: cog.ToPtr(bad), Index: cog.ToPtr(int32(1))},
	}}}},
	{Id: "custom.cellOptions", Value: map[string]string{"type": "color-text"}},
}
