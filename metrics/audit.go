package metrics

import (
	"github.com/lso-exporter/lso-exporter/lag"
)

// auditSources are the metrics of how the cluster is set up.
var auditSources = []source{
	declare(Metric{
		Name: "kafka_cluster_audit_info", Type: Gauge, Section: 7, Collector: "audit",
		Meaning: "Always 1. What the cluster's configuration means for exactly-once, one series a check: result good, weak or not_checked, and value, what was found (the value of the property, or how many topics, partitions or brokers are weak; empty where it is not known). It is read once in every audit.interval, not in every sweep; lso-exporter diagnose names what is weak, with the consequence and the remedy.",
	}, nil, []string{"check", "result", "value"}, func(o *objects) []labelled[*lag.Check] { return o.checks },
		func(c *lag.Check, add emit) { add(1, string(c.Name), string(c.Result), c.Value) }),
}

// setChecks lists the checks of the view's audit.
func (o *objects) setChecks(audit *lag.Audit) {
	if audit == nil {
		return
	}
	for i := range audit.Checks {
		o.checks = append(o.checks, labelled[*lag.Check]{&audit.Checks[i], o.base})
	}
}
