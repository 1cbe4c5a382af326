package diagnose

import (
	"fmt"
	"slices"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Internal topics.
const (
	offsetsTopic = "__consumer_offsets"
	stateTopic   = "__transaction_state"
)

// Runbooks.
const (
	runbooks = "https://github.com/lso-exporter/lso-exporter/blob/main/docs/runbooks/"

	hangingRunbook    = runbooks + "hanging-transaction.md"
	ownerlessRunbook  = runbooks + "ownerless-transaction.md"
	overdueRunbook    = runbooks + "overdue-transaction.md"
	completingRunbook = runbooks + "completing-too-long.md"
	blockedRunbook    = runbooks + "group-blocked.md"
	stoppedRunbook    = runbooks + "group-stopped.md"
	pendingRunbook    = runbooks + "pending-offset-commits.md"
	unknownRunbook    = "https://github.com/lso-exporter/lso-exporter/blob/main/docs/blocking-transactions.md#reasons"
)

// Runbooks lists the pages that reports point to.
func Runbooks() []string {
	return []string{
		hangingRunbook, ownerlessRunbook, overdueRunbook, completingRunbook, blockedRunbook, stoppedRunbook, pendingRunbook, unknownRunbook,
	}
}

// explain fills in what a transaction's verdict means and what to do.
func (r *reporter) explain(t *Transaction) {
	switch t.Verdict {
	case lag.OngoingTransaction:
		t.Runbook = blockedRunbook
		r.explainOngoing(t)
	case lag.Overdue:
		t.Runbook = overdueRunbook
		r.explainOverdue(t)
	case lag.Completing:
		t.Runbook = completingRunbook
		r.explainCompleting(t)
	case lag.Hanging:
		t.Runbook = hangingRunbook
		r.explainHanging(t)
	case lag.Ownerless:
		t.Runbook = ownerlessRunbook
		r.explainOwnerless(t)
	default:
		t.Runbook = unknownRunbook
		r.explainUnknown(t)
	}
	if slices.ContainsFunc(t.Partitions, func(p HeldPartition) bool { return p.Topic == offsetsTopic }) {
		t.meaning("%s", "It holds a partition of "+offsetsTopic+": consumers that require stable offsets do not start in groups that have a commit in it, and compaction of the partition stops. There, records are commits"+t.keeping()+".")
	}
}

// keeping says whose commits its partitions of __consumer_offsets keep; empty if
// no such group is seen.
func (t *Transaction) keeping() string {
	var groups []string
	for _, p := range t.Partitions {
		for _, group := range p.Keeps {
			groups = append(groups, name(group))
		}
	}
	switch slices.Sort(groups); len(groups) {
	case 0:
		return ""
	case 1:
		return ", those of group " + groups[0]
	}
	return ", those of groups " + enumerate(groups)
}

// meaning adds a paragraph on what it is.
func (t *Transaction) meaning(format string, a ...any) {
	t.Meaning = append(t.Meaning, fmt.Sprintf(format, a...))
}

// remedy adds a paragraph on what to do.
func (t *Transaction) remedy(format string, a ...any) {
	t.Remedy = append(t.Remedy, fmt.Sprintf(format, a...))
}

// owner is the application in a sentence.
func (t *Transaction) owner() string {
	if t.TransactionalID == "" {
		return "the application that writes here"
	}
	return "the application that owns " + name(t.TransactionalID)
}

// coordinator is who coordinates it, in a sentence.
func (t *Transaction) coordinator() string {
	if t.Coordinator == nil {
		return "its coordinator"
	}
	return fmt.Sprintf("broker %d, its coordinator,", *t.Coordinator)
}

func (r *reporter) explainOngoing(t *Transaction) {
	switch {
	case t.Deadline == nil:
		t.meaning("It is open. Until it ends, nothing behind it can be read under read_committed.")
	case t.Deadline.After(r.view.Ended):
		t.meaning("It is open and within its timeout. Its coordinator aborts it soon after %s, if it has not ended by then; until it ends, nothing behind it can be read under read_committed.", clock(*t.Deadline))
	default:
		t.meaning("Its timeout has just ended, at %s. Its coordinator looks every few seconds, and aborts it.", clock(*t.Deadline))
		return
	}
	t.remedy("Nothing, if it is meant to take this long. Otherwise %s is stuck, or was killed in the middle. Start it again with the same transactional id, which aborts what was left open; and give its producers a shorter transaction.timeout.ms.", t.owner())
	if t.TransactionalID != "" {
		t.remedy("If it will not come back, abort the transaction at its coordinator, in all its partitions (Kafka 4.0 and above; a producer that still lives is fenced):")
		t.Commands = append(t.Commands, fmt.Sprintf("kafka-transactions.sh --bootstrap-server %s forceTerminateTransaction %s", shell(r.Bootstrap), option("--transactionalId", t.TransactionalID)))
	}
}

func (r *reporter) explainOverdue(t *Transaction) {
	t.meaning("Its timeout is over, and %s has not aborted it although it looks every few seconds: it hangs, or cannot write to its partition of %s.", t.coordinator(), stateTopic)
	if weak := r.outOfSync(stateTopic); len(weak) > 0 {
		t.meaning("Not fully in sync: %s.", enumerate(weak))
	}
	t.remedy("Bring back the replicas of %s, of which min.insync.replicas must be in sync, and look at the log of that broker. Once it can write, it aborts the transaction by itself.", stateTopic)
	t.remedy("Do not abort it by hand: that ends it in one partition only, its coordinator goes on, and a commit that comes later makes half a transaction visible.")
}

// outOfSync lists the partitions of a topic of which not all replicas are in
// sync.
func (r *reporter) outOfSync(topic string) []string {
	var list []string
	if t := r.topics[topic]; t != nil {
		for i := range t.Partitions {
			switch p := &t.Partitions[i]; {
			case p.Leader == lag.NoBroker:
				list = append(list, fmt.Sprintf("%s-%d (no leader)", topic, p.Number))
			case p.InSync < p.Replicas:
				list = append(list, fmt.Sprintf("%s-%d (%d of %d)", topic, p.Number, p.InSync, p.Replicas))
			}
		}
	}
	return list
}

func (r *reporter) explainCompleting(t *Transaction) {
	outcome := "over"
	switch t.State {
	case lag.PrepareCommit:
		outcome = "committed"
	case lag.PrepareAbort:
		outcome = "aborted"
	}
	written := slices.ContainsFunc(t.Partitions, func(p HeldPartition) bool { return p.StartOffset == nil })
	what := "written"
	if written {
		what = "replicated"
	}
	if !t.HeldBack {
		t.meaning("It is %s, and its end marker is on its way: every transaction takes this moment.", outcome)
		return
	}
	t.meaning("It is %s, and that is decided. Its end marker is not %s here, and until it is, nothing behind the transaction can be read under read_committed.", outcome, what)
	var weak []string
	for _, p := range t.Partitions {
		if p.InSync < p.Replicas || p.Replicas == 1 {
			weak = append(weak, fmt.Sprintf("%s (%d of %d)", p.name(), p.InSync, p.Replicas))
		}
	}
	if len(weak) > 0 {
		t.meaning("Replicas in sync: %s.", enumerate(weak))
	}
	if t.Reason == lag.ReasonAmbiguous {
		t.meaning("Several transactions wait for their end markers here; this is the one that started first.")
	}
	if written {
		t.remedy("The followers do not fetch: look at the brokers that hold replicas of these partitions. As soon as they have the marker, or are out of sync and enough others are in sync, the partition goes on.")
	} else {
		t.remedy("The leader takes the marker only when min.insync.replicas are in sync: bring the replicas back, or lower min.insync.replicas of the topic until they are. The coordinator sends the marker again and again.")
	}
	if t.State != lag.PrepareAbort {
		t.remedy("Do not abort it by hand: an abort marker in one partition of a committed transaction drops its records there, and nowhere else.")
	}
}

// joins says what ends a hanging transaction besides an abort by hand.
func (t *Transaction) joins() string {
	if t.TransactionalID == "" {
		return "The next transaction of the same producer in that partition ends it too, and commits or aborts its records with its own."
	}
	return fmt.Sprintf("The next transaction of %s in that partition ends it too, and commits or aborts these records with its own.", name(t.TransactionalID))
}

func (r *reporter) explainHanging(t *Transaction) {
	id := name(t.TransactionalID)
	switch t.State {
	case lag.CompleteCommit:
		t.meaning("Its coordinator has finished it as committed, but here its end marker never came. Most often the partition had no leader when the marker was due: then the coordinator passes it over.")
		t.meaning("These records were acknowledged as committed: their application, and the other partitions of the transaction, count on them. %s If that aborts, by a failure or a timeout, they are dropped for ever.", t.joins())
		t.remedy("First stop every application that uses %s, so that none of its next transactions aborts here. Then save the records (the command below), and choose:", id)
		t.remedy("To keep them: commit one transaction with the id %s that writes to each of these partitions, a record that its readers ignore. Its commit covers the records that hang.", id)
		t.remedy("To drop them: abort by hand (the command below), and if they are needed write them again.")
	case lag.CompleteAbort:
		t.meaning("Its coordinator has finished it as aborted. Here its end marker never came, or these records came after it and opened the transaction again.")
		t.meaning("%s If that commits, records of an aborted transaction become visible.", t.joins())
		t.remedy("Stop every application that uses %s, so that none of its next transactions commits here, and abort by hand (the command below): they were to be aborted.", id)
	case lag.Empty:
		t.meaning("Its coordinator never heard of it: its producer wrote without having registered the partition. Nobody has committed these records, and nobody will.")
		t.meaning("%s", t.joins())
		t.remedy("Stop every application that uses %s, find out whether its records are needed (the command below shows them), and abort by hand. Producers that do this are older than KIP-890, or verification is off.", id)
	case lag.Ongoing, lag.PrepareCommit, lag.PrepareAbort:
		t.meaning("%s is in another transaction by now, in which this partition has no part. How the one that hangs here ended is not known: it may have been acknowledged as committed.", id)
		t.meaning("%s", t.joins())
		t.remedy("Stop every application that uses %s, so that its next transaction does not end this one with its own outcome. Find out whether the records were acknowledged as committed; save them (the command below), and abort by hand.", id)
	default:
		t.meaning("Its coordinator has contradicted the partition on two sweeps, and cannot be asked now. How it ended is not known: it may have been acknowledged as committed.")
		t.meaning("%s", t.joins())
		t.remedy("Stop every application that may use its transactional id. Find out whether the records were acknowledged as committed; save them (the command below), and abort by hand.")
	}
}

func (r *reporter) explainOwnerless(t *Transaction) {
	t.meaning("All coordinators were asked, twice, and none knows its producer: its transactional id has expired, was given to another producer, or its record was lost. How it ended is not known: it may have been acknowledged as committed.")
	t.remedy("Find out which application wrote these records (the command below shows them), and whether it took them for committed; if it did, save them and write them again. Stop it, if it still runs. Then abort by hand.")
}
