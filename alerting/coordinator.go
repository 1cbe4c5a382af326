package alerting

import (
	"fmt"
	"strings"
)

func coordinatorAlerts(s scope) []Alert {
	const completing = "kafka_transactions_max_completing_seconds"
	return []Alert{{
		Name: "KafkaCoordinatorCompleting", Severity: Warning, Subject: strings.Split(byBroker, ", "), KeepFiring: s.KeepFiring,
		Expr:        fmt.Sprintf("%s > %s", s.most(byBroker, completing), seconds(s.CoordinatorCompleting)),
		Summary:     "Broker {{ $labels.broker }}" + ofCluster + ": a transaction has been completing for {{ $value | humanizeDuration }}",
		Description: "The coordinator has decided a transaction and does not get it completed. Its transactional id cannot begin the next one until it is. Partitions may be held or not: a coordinator can be stuck when all end markers are written.",
		NextStep:    "List what the coordinator completes (kafka-transactions.sh list), and describe it: partitions that are named lack the end marker; if none is, restart the coordinator.",
		Runbook:     "coordinator-completing",
		Meaning:     "A coordinator has decided a transaction and not completed it for the time, whether or not a partition is held by it.",
		Thresholds:  []Threshold{{"alerts.coordinator_completing", duration(s.CoordinatorCompleting)}},
	}}
}
