package alerting

import (
	"fmt"
	"time"
)

// held is the partitions whose last stable offset a transaction has held for
// longer than a time. Its values are seconds: as the exporter counted, else the
// transaction's age, else at least the time.
func (s scope) held(longer time.Duration) string {
	const (
		lso = "kafka_partition_last_stable_offset"
		hwm = "kafka_partition_high_watermark"
	)
	stalled := s.most(byPartition, "kafka_partition_lso_stalled_seconds")
	// The client dates records: a backfill is as old as it says, so that such an
	// age counts once the exporter has seen the stall for some time itself.
	doubtful := fmt.Sprintf("%s\nunless\n%s > %s",
		s.most(byPartition, info, `age_source="producer_timestamp"`), stalled, seconds(longer/10))
	return anyOf(
		comment("As the exporter has seen it.",
			fmt.Sprintf("%s > %s", stalled, seconds(longer))),
		comment("By the transaction's age, which needs no memory. One that the producer's own\ntimestamps tell counts only when the exporter has seen the stall for a tenth of the time.",
			block(fmt.Sprintf("%s > %s\nunless\n%s",
				s.most(byPartition, "kafka_partition_blocking_transaction_age_seconds"), seconds(longer), block(doubtful)))),
		comment(fmt.Sprintf("From Prometheus' own history, whatever the exporter remembers: what lay below the\nhigh watermark %s ago is not stable yet, and the log was not truncated meanwhile.", duration(longer)),
			fmt.Sprintf("%s + 0 * %s", seconds(longer), block(fmt.Sprintf("%s < %s\nand\n%s >= %s",
				s.most(byPartition, lso), s.before(byPartition, hwm, longer),
				s.most(byPartition, lso), s.before(byPartition, lso, longer))))),
	)
}

// verdict is the partitions that are held by a transaction with the verdict.
func (s scope) verdict(verdict string) string {
	return s.most(byPartition, "kafka_partition_blocking_transaction_info", "verdict="+quote(verdict))
}

const onPartition = "{{ $labels.topic }}-{{ $labels.partition }}" + ofCluster

func partitionAlerts(s scope) []Alert {
	alerts := []Alert{{
		Name: "KafkaLSOStalled", Severity: Critical,
		Expr:        s.held(s.Stalled),
		Summary:     onPartition + ": the last stable offset has stood still for {{ $value | humanizeDuration }}",
		Description: "A transaction that has not ended holds the last stable offset. read_committed consumers read nothing that lies behind it, and compaction stops there.",
		NextStep:    "By the verdict: ongoing, ask who owns the transactional id whether it is meant to take so long; another one, follow its runbook; not known, run lso-exporter diagnose, or look which right the exporter lacks.",
		Runbook:     "lso-stalled",
		Meaning:     "The last stable offset of a partition has not moved for the time, although there is more below the high watermark. Needs no transaction to be known.",
		Thresholds:  []Threshold{{"alerts.stalled", duration(s.Stalled)}},
	}, {
		Name: "KafkaTransactionHanging", Severity: Critical,
		Expr:        s.verdict("hanging"),
		Summary:     onPartition + ": a hanging transaction holds the last stable offset",
		Description: "The transaction is open in the partition and over, or elsewhere, for its coordinator. No timeout ends it.",
		NextStep:    "Stop the application that uses the transactional id, read with read_uncommitted what would be lost, then abort the transaction in this partition by hand.",
		Runbook:     "hanging-transaction",
		Meaning:     "A transaction is open in the partition and over, or elsewhere, for its coordinator: proven on two sweeps. No timeout ends it.",
	}, {
		Name: "KafkaTransactionOwnerless", Severity: Critical,
		Expr:        s.verdict("ownerless"),
		Summary:     onPartition + ": a transaction that no coordinator knows holds the last stable offset",
		Description: "The transaction is open in the partition, and no coordinator knows its producer id. No timeout ends it.",
		NextStep:    "Find out from the records, with read_uncommitted, which application wrote them; then abort the transaction in this partition by hand.",
		Runbook:     "ownerless-transaction",
		Meaning:     "A transaction is open in the partition, and no coordinator knows its producer id: proven on two sweeps. No timeout ends it.",
	}, {
		Name: "KafkaTransactionOverdue", Severity: Critical,
		Expr: s.verdict("overdue"), For: s.Overdue,
		Summary:     onPartition + ": a transaction past its deadline holds the last stable offset",
		Description: "The transaction's timeout is over and its coordinator has not aborted it: most often it cannot write to __transaction_state.",
		NextStep:    "Look at the coordinator, and at the in-sync replicas of __transaction_state. Once it can write there, it aborts the transaction by itself.",
		Runbook:     "overdue-transaction",
		Meaning:     "The coordinator has not aborted a transaction whose deadline is over.",
		Thresholds:  []Threshold{{"alerts.overdue", duration(s.Overdue)}},
	}, {
		Name: "KafkaTransactionCompleting", Severity: Warning,
		Expr: s.verdict("completing"), For: s.Completing,
		Summary:     onPartition + ": the end of a transaction does not arrive",
		Description: "The transaction was committed or aborted, and its end marker is not written to the partition, or not replicated.",
		NextStep:    "Look at the in-sync replicas of the partition against min.insync.replicas, and at followers that have stopped fetching.",
		Runbook:     "completing-too-long",
		Meaning:     "A transaction was committed or aborted, and its end marker is not written, or not replicated.",
		Thresholds:  []Threshold{{"alerts.completing", duration(s.Completing)}},
	}}
	blocker := s.blockerOfPartition()
	for i := range alerts {
		a := &alerts[i]
		causes := 1 // the alert about the transaction
		if a.Name != "KafkaLSOStalled" {
			causes = 0
		}
		a.Subject, a.KeepFiring = subject(byPartition), s.keepFiring(causes)
		a.Description += " " + s.heldBy()
		a.Extra = map[string]string{
			"transactional_id": blocker.label("transactional_id"),
			"verdict":          blocker.label("verdict"),
			"blocked_groups":   s.blockedGroups(),
			// What kafka-transactions.sh abort takes as its start offset.
			"last_stable_offset": s.lastStableOffset(),
		}
	}
	return alerts
}
