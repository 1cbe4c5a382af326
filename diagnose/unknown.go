package diagnose

import (
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// explainUnknown says why it could not be told what holds partitions back, and
// what to do about that.
func (r *reporter) explainUnknown(t *Transaction) {
	e, ok := unknownReasons[t.Reason]
	if !ok {
		panic(fmt.Sprintf("diagnose: no sentence for the reason %q of an unknown verdict", t.Reason))
	}
	t.meaning("%s", e.meaning)
	switch {
	case t.Reason == lag.ReasonNoDescribeOnTransactionalID && r.someIDsDenied():
		t.remedy("Take back what is denied to it (see the rights that were missed), and look again.")
	case e.remedy != "":
		t.remedy("%s", e.remedy)
	}
	if t.HeldBack {
		return
	}
	age := time.Duration(t.AgeSeconds * float64(time.Second))
	if age < nearly*r.HeldAfter {
		t.meaning("It may be no more than the moment that every transaction takes.")
		return
	}
	whose := ""
	if t.AgeSource == lag.AgeByProducer {
		whose = " by its producer's clock, which may be that of a backfill"
	}
	t.meaning("It has stood for %s%s. What is not confirmed is that it stands still: that was seen for %s, and takes %s.", span(age), whose, span(t.stalled()), span(r.HeldAfter))
	t.remedy("Look again, for longer (--wait), to confirm that.")
}

// nearly is up to how many times the age from which on a transaction holds
// something back one may still be everyday life.
const nearly = 2

// stalled is for how long the last stable offset was seen to stand still, on the
// partition where that is longest.
func (t *Transaction) stalled() time.Duration {
	seconds := 0.0
	for i := range t.Partitions {
		seconds = max(seconds, t.Partitions[i].StalledSeconds)
	}
	return time.Duration(seconds * float64(time.Second))
}

// explanation is what a reason means and what to do.
type explanation struct{ meaning, remedy string }

// unknownReasons has a sentence for every reason.
var unknownReasons = map[lag.Reason]explanation{
	lag.ReasonNone: {"What holds it could not be told.", ""},
	lag.ReasonNotYetConfirmed: {
		"Everything says that nobody will end it; the proof needs a second look, and more than half of the brokers to say who leads.",
		"Look again, for longer.",
	},
	lag.ReasonStaleAnswer: {
		"The producers that the leader described are not those of its offsets.",
		"Look again. If it stays, report it.",
	},
	lag.ReasonAmbiguous: {
		"Several transactions wait for their end markers here.",
		"Look again.",
	},
	lag.ReasonUnexpectedState: {
		"The coordinator is just fencing an old producer, or forgetting the id.",
		"Look again. If it stays, read the coordinator's log.",
	},
	lag.ReasonNoReadOnTopic: {
		"Which producer holds it is hidden from this principal: DescribeProducers needs READ on the topic, though it reads no records.",
		"Grant it (see the rights that were missed), and look again.",
	},
	lag.ReasonNoDescribeOnTransactionalID: {
		"Which transactional id holds it may be hidden from this principal: Kafka leaves out ids that it may not DESCRIBE, without an error. So nobody can tell a transaction that nobody owns from one that is hidden.",
		"Grant it (see the rights that were missed), and look again.",
	},
	lag.ReasonNoTransactionState: {
		"The cluster does not show " + stateTopic + " to this principal, so that nobody can tell whether all coordinators were asked.",
		"Grant it (see the rights that were missed), and look again.",
	},
	lag.ReasonNoDescribeOnCluster: {
		"No coordinator lists it. Whether single transactional ids are denied to this principal, so that it would be left out without an error, stands in the cluster's ACLs, which this principal may not DESCRIBE.",
		"Grant DESCRIBE on the cluster (see the rights that were missed), and look again.",
	},
	lag.ReasonLeaderChanged: {
		"The partition's leader changed while it was looked up, or another broker knows of a newer one.",
		"Look again.",
	},
	lag.ReasonLeaderUnreachable: {
		"The partition's leader did not answer the look-up.",
		"Look at that broker, and look again.",
	},
	lag.ReasonCoordinatorLoading: {
		"A transaction coordinator still loads its part of " + stateTopic + ", after a failover or a restart.",
		"It passes; look again.",
	},
	lag.ReasonCoordinatorUnreachable: {
		"A transaction coordinator did not answer.",
		"Look at the brokers that did not answer, and look again.",
	},
	lag.ReasonCoordinatorUnavailable: {
		"A partition of " + stateTopic + " has no leader, or has just got another one, of which not all brokers know.",
		"Bring back the replicas of " + stateTopic + ", and look again.",
	},
	lag.ReasonAPIMissing: {
		"A broker does not speak DescribeProducers, ListTransactions or DescribeTransactions: it is older than Kafka 3.0, or not Kafka.",
		"On brokers before Kafka 3.0, find the producer id, its epoch and the coordinator epoch with kafka-dump-log.sh in the partition's log and producer snapshot; kafka-transactions.sh abort takes them as --producer-id, --producer-epoch and --coordinator-epoch.",
	},
	lag.ReasonBudget: {
		"There was no time left to look it up, or more partitions stand still than are looked up at a time.",
		"Look again, with a longer --sweep.timeout, or at fewer topics with --topic.",
	},
	lag.ReasonError: {
		"A broker answered another error; it stands under what could not be read.",
		"Look again.",
	},
}
