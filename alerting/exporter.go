package alerting

import (
	"fmt"
	"time"
)

// remembered is how long a cluster or an exporter is missed that is gone.
const remembered = 24 * time.Hour

// alive is a metric that each exporter has from its start on.
const alive = "lso_exporter_last_sweep_success"

const (
	ofExporter = "{{ $labels.instance }}" + ofCluster
	toCluster  = "{{ with $labels.cluster }}cluster {{ . }}{{ else }}the cluster{{ end }}"
)

func exporterAlerts(s scope) []Alert {
	return []Alert{
		s.exporterDown(), s.exporterTargetDown(), s.exporterStale(), s.exporterBlind(), s.exporterIncomplete(),
		s.exporterAuthenticationFailed(), s.exporterUnauthorized(), s.exporterReloadFailed(),
	}
}

func (s scope) exporterDown() Alert {
	gone := fmt.Sprintf("absent(%s)", s.series(alive))
	if s.cluster == "" {
		// Where history names the clusters, that there is none at all says no more.
		gone = fmt.Sprintf("%s\nunless on (%s)\n%s\nor on ()\n%s",
			block(s.seen(byCluster, alive, ">= 0", remembered)), byCluster, alive, gone)
	}
	return Alert{
		Name: "LSOExporterDown", Severity: Critical, Subject: subject(byCluster),
		Expr: gone, For: s.ExporterDown,
		Summary:     "No exporter watches " + toCluster,
		Description: "Prometheus gets nothing from any lso-exporter of " + toCluster + ", so that no other alert of these rules can fire for it.",
		NextStep:    "Look at the targets in Prometheus, then at the exporter's process and its log.",
		Runbook:     "exporter-down",
		Meaning:     "No exporter of a cluster can be scraped. Without `cluster` in the configuration: of a cluster that was watched within a day, or at all.",
		Thresholds:  []Threshold{{"alerts.exporter_down", duration(s.ExporterDown)}},
	}
}

func (s scope) exporterTargetDown() Alert {
	return Alert{
		Name: "LSOExporterTargetDown", Severity: Warning, Subject: subject(byTarget),
		Expr: fmt.Sprintf("%s\nand on (job, instance)\nup == 0", block(s.seen(byTarget, alive, ">= 0", remembered))),
		For:  s.ExporterDown, KeepFiring: 0,
		Summary:     "Exporter " + ofExporter + " cannot be scraped",
		Description: "Prometheus gets no answer from this exporter. Another one may watch the same cluster; what only this one shows is missing.",
		NextStep:    "Look at the error of the target in Prometheus, then at the exporter's process and its log.",
		Runbook:     "exporter-down",
		Meaning:     "Prometheus cannot scrape an exporter that it has scraped within a day.",
		Thresholds:  []Threshold{{"alerts.exporter_down", duration(s.ExporterDown)}},
	}
}

func (s scope) exporterStale() Alert {
	const ended = "lso_exporter_last_sweep_timestamp_seconds"
	return Alert{
		Name: "LSOExporterStale", Severity: Critical, Subject: subject(byTarget), For: time.Minute,
		Expr: anyOf(
			fmt.Sprintf("time() - max by (%s) (%s) > %s", byTarget, s.series(ended), seconds(s.ExporterStale)),
			comment("None has ended since it started.",
				fmt.Sprintf("max by (%s) (%s)\nunless on (%s)\n%s", byTarget, s.series(alive), byTarget, s.series(ended)))),
		Summary:     "Exporter " + ofExporter + " can be scraped, and its sweeps do not end",
		Description: "The last sweep of this exporter ended more than " + duration(s.ExporterStale) + " ago, or none has since it started. No other alert relies on what it shows.",
		NextStep:    "Compare the clocks of Prometheus and exporter, then look into the exporter's log and at its processor time.",
		Runbook:     "exporter-stale",
		Meaning:     "An exporter can be scraped, and has ended no sweep for the time: it is frozen, or its clock differs from Prometheus' own.",
		Thresholds:  []Threshold{{"alerts.exporter_stale", duration(s.ExporterStale)}},
	}
}

func (s scope) exporterBlind() Alert {
	return Alert{
		Name: "LSOExporterBlind", Severity: Critical, Subject: subject(byCluster), For: s.ExporterDown,
		Expr: fmt.Sprintf("%s == 0\nand\n%s == 0",
			s.most(byCluster, "lso_exporter_partitions"), s.most(byCluster, alive)),
		Summary:     "No exporter can read anything of " + toCluster,
		Description: "Exporters of " + toCluster + " can be scraped, and their sweeps fail and show no partition, so that no other alert about partitions and groups can fire for it.",
		NextStep:    "See whether the brokers are up; then read in the exporter's log, or at its /readyz, why they cannot be reached, or refuse it.",
		Runbook:     "exporter-incomplete",
		Meaning:     "Exporters of a cluster can be scraped, and none can read a partition: brokers that are away, a login or TLS that fails at all of them, no rights.",
		Thresholds:  []Threshold{{"alerts.exporter_down", duration(s.ExporterDown)}},
	}
}

func (s scope) exporterIncomplete() Alert {
	return Alert{
		Name: "LSOExporterIncomplete", Severity: Warning, Subject: subject(byTarget), For: s.ExporterIncomplete,
		Expr:        fmt.Sprintf("max by (%s) (%s) == 0", byTarget, s.series(alive)),
		Summary:     "Exporter " + ofExporter + " cannot read everything",
		Description: "Every sweep misses something that it should have read; it has no samples, and no alert is raised about it. Kinds of errors: " + s.errors() + ".",
		NextStep:    "Look up the kind of error in docs/metrics.md; the exporter's log names what was not read.",
		Runbook:     "exporter-incomplete",
		Meaning:     "An exporter's sweeps miss something all the time: a broker that does not answer, a partition without a leader, the whole cluster.",
		Thresholds:  []Threshold{{"alerts.exporter_incomplete", duration(s.ExporterIncomplete)}},
	}
}

func (s scope) exporterAuthenticationFailed() Alert {
	return Alert{
		Name: "LSOExporterAuthenticationFailed", Severity: Warning, Subject: subject(byTarget), For: s.ExporterDown,
		// Errors are remembered for five minutes; a password that was wrong for one
		// is over when a sweep is complete again.
		Expr: fmt.Sprintf("max by (%s) (increase(%s[5m])) > 0\nand on (%s)\nmax by (%s) (%s) == 0",
			byTarget, s.series("lso_exporter_errors_total", securing("kind")), byTarget, byTarget, s.series(alive)),
		Summary: "Exporter " + ofExporter + " fails to log in, or to set up TLS",
		Description: s.howRefused() + " Brokers: " + s.refusing() + ". What only they can tell has no samples, and no alert is raised about it; " +
			"if they are all there are, this exporter sees nothing of the cluster.",
		NextStep:   "Find what is refused in the exporter's log, or run lso-exporter diagnose with its configuration, and look the sentence up in the runbook.",
		Runbook:    "exporter-authentication-failed",
		Meaning:    "A broker refuses the login of an exporter, or the two cannot agree on TLS: a password that has changed, a certificate that has expired or is not trusted.",
		Thresholds: []Threshold{{"alerts.exporter_down", duration(s.ExporterDown)}},
	}
}

func (s scope) exporterUnauthorized() Alert {
	return Alert{
		Name: "LSOExporterUnauthorized", Severity: Warning, Subject: subject(byTarget), For: s.ExporterDown,
		Expr: anyOf(
			fmt.Sprintf("max by (%s) (increase(%s[5m])) > 0", byTarget, s.series("lso_exporter_errors_total", `kind="unauthorized"`)),
			comment("A blocking transaction that it may not look up.",
				fmt.Sprintf("max by (%s) (%s)", byTarget, s.series(info, `reason=~"no_read_on_topic|no_describe_on_.*"`)))),
		Summary:     "Exporter " + ofExporter + " lacks a right",
		Description: "Kafka refuses this exporter's principal something that it needs; what it may not see has no samples, and no alert is raised about it.",
		NextStep:    "Grant the principal what the runbook lists; the exporter's log names what was refused.",
		Runbook:     "exporter-unauthorized",
		Meaning:     "Kafka refuses an exporter's principal a right that it needs, or one that it needs to name a blocking transaction.",
		Thresholds:  []Threshold{{"alerts.exporter_down", duration(s.ExporterDown)}},
	}
}

func (s scope) exporterReloadFailed() Alert {
	return Alert{
		Name: "LSOExporterReloadFailed", Severity: Warning, Subject: subject(byTarget), For: s.ExporterReload,
		Expr: comment("What is told of the process has no label cluster, and takes that of the sweeps.",
			fmt.Sprintf("max by (%s) (%s)\nand on (job, instance)\nlso_exporter_config_last_reload_successful == 0", byTarget, s.series(alive))),
		Summary:     "Exporter " + ofExporter + " could not reload its configuration",
		Description: "The configuration that this exporter read last is bad. The one before is in effect, and everything is watched as that says. With most mistakes, the exporter would not start again.",
		NextStep:    "Find the mistakes in the exporter's log, or by lso-exporter config check on its host, and correct them.",
		Runbook:     "exporter-reload-failed",
		Meaning:     "The configuration that an exporter read last is bad, and the one before is in effect.",
		Thresholds:  []Threshold{{"alerts.exporter_reload", duration(s.ExporterReload)}},
	}
}
