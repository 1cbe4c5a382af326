package diagnose

import (
	"fmt"
	"strconv"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Audit is what the cluster's set-up means for exactly-once. It does not count
// for the answer: what is weak today holds nothing back yet.
type Audit struct {
	// At is when it was read; absent if it was not.
	At *time.Time `json:"at,omitempty"`
	// Failure is why nothing could be read.
	Failure string    `json:"failure,omitempty"`
	Checks  []Finding `json:"checks"`
}

// Finding is the result of one check.
type Finding struct {
	Check  lag.CheckName   `json:"check"`
	Result lag.CheckResult `json:"result"`
	// Value is what was found, in the property's own unit.
	Value    string   `json:"value,omitempty"`
	Subjects []string `json:"subjects,omitempty"`
	// Unchecked is how much could not be looked at, and Gap why.
	Unchecked int     `json:"unchecked,omitempty"`
	Gap       lag.Gap `json:"gap,omitempty"`

	// What a person reads; empty for good.
	Headline    string `json:"headline,omitempty"`
	Consequence string `json:"consequence,omitempty"`
	Remedy      string `json:"remedy,omitempty"`
}

// auditTexts are the texts of a check: what is checked, how a weak value is
// told, what it means and what to do.
type auditTexts struct {
	subject     string
	weak        func(*Finding) string
	consequence string
	remedy      string
}

// valued tells a weak value by a form with one %s.
func valued(form string) func(*Finding) string {
	return func(f *Finding) string { return fmt.Sprintf(form, f.Value) }
}

// listed tells what is weak by a form with one %s for the list of it.
func listed(form string) func(*Finding) string {
	return func(f *Finding) string { return fmt.Sprintf(form, enumerate(f.Subjects)) }
}

// checkTexts has the texts of every check.
var checkTexts = map[lag.CheckName]auditTexts{
	lag.TransactionStateReplication: {
		"replicas of " + stateTopic, valued(stateTopic + " has a partition with %s of 3 replicas"),
		"With one broker away its coordinators may decide no transaction; with the last replica their memory of decided transactions is lost, and what they had not told all partitions hangs.",
		"Reassign its partitions to three replicas, and set transaction.state.log.replication.factor=3.",
	},
	lag.TransactionStateMinInSync: {
		"in-sync replicas of " + stateTopic, valued(stateTopic + " has min.insync.replicas=%s"),
		"A commit that was acknowledged can be forgotten with one broker: some partitions see it, others do not.",
		"Set min.insync.replicas=2 on the topic.",
	},
	lag.ConsumerOffsetsReplication: {
		"replicas of " + offsetsTopic, valued(offsetsTopic + " has a partition with %s of 3 replicas"),
		"With the last replica a group's commits are lost: it reads again, or skips, what transactions had counted as read.",
		"Reassign its partitions to three replicas, and set offsets.topic.replication.factor=3.",
	},
	lag.ConsumerOffsetsMinInSync: {
		"in-sync replicas of " + offsetsTopic, valued(offsetsTopic + " has min.insync.replicas=%s"),
		"A commit, one inside a transaction too, can be forgotten with one broker; its input is then processed twice.",
		"Set min.insync.replicas=2 on the topic.",
	},
	lag.Coordinators: {
		"leaders of " + stateTopic + " and " + offsetsTopic, listed("no leader: %s"),
		"Their transactional ids, or groups, have no coordinator: transactions cannot end, not even by timeout, and groups cannot commit.",
		"Bring back a broker that holds a replica in sync.",
	},
	lag.FragilePartitions: {
		"partitions that transactions write to", listed("transactions write to partitions that can be lost with one broker: %s"),
		"Committed records can be lost. And if that broker is away while an end marker is due, the coordinator passes the partition over: the transaction hangs there when it is back, and the next transaction of its id can drop records that were acknowledged as committed.",
		"Three replicas, and min.insync.replicas=2 on the topic.",
	},
	lag.UncleanElection: {
		"unclean election", listed("unclean.leader.election.enable=true on %s"),
		"A replica that lacks acknowledged records can become leader: committed records are lost, and end markers, so that finished transactions are open again.",
		"Set it to false; elect an unclean leader by hand when there is no other.",
	},
	lag.MaxTransactionTimeout: {
		"the longest transaction", func(f *Finding) string {
			ms, err := strconv.ParseInt(f.Value, 10, 64)
			if err != nil {
				panic("diagnose: transaction.max.timeout.ms is " + f.Value)
			}
			return fmt.Sprintf("transaction.max.timeout.ms=%s allows transactions of %s", f.Value, span(time.Duration(ms)*time.Millisecond))
		},
		"A producer that dies in the middle of a transaction may hold every partition that it wrote to for as long as that.",
		"As long as the longest checkpoint of an application needs, and not longer; look at the applications' transaction.timeout.ms.",
	},
	lag.Verification: {
		"verification", listed("transaction.partition.verification.enable=false on %s"),
		"A write that arrives late, after its transaction has ended, opens it again behind its coordinator's back, and it hangs.",
		"Set it to true (KIP-890).",
	},
	lag.TransactionVersion: {
		"transaction.version", valued("the finalised transaction.version is %s"),
		"Records of one transaction can end up in the next one of the same producer, and a late write can hang: epochs rise only when a producer starts anew.",
		"kafka-features.sh upgrade --feature transaction.version=2, once all brokers run Kafka 4.0 (KIP-890).",
	},
	lag.GroupVersion: {
		"group.version", valued("the finalised group.version is %s"),
		"Groups can only use the classic protocol, in which a rebalance stops all members at once, in the middle of their transactions.",
		"kafka-features.sh upgrade --feature group.version=1, once all brokers run Kafka 4.0 (KIP-848).",
	},
}

// gapSentences has a sentence for every gap.
var gapSentences = map[lag.Gap]string{
	lag.GapNoDescribeConfigsOnCluster: "it takes DESCRIBE_CONFIGS on the cluster",
	lag.GapNoDescribeConfigsOnTopic:   "it takes DESCRIBE_CONFIGS on the topics",
	lag.GapNoReadOnTopic:              "it takes READ on the topics",
	lag.GapNotListed:                  "the topic is not listed: nobody has used it yet, or it may not be described",
	lag.GapNoLeader:                   "a partition has no leader",
	lag.GapAPIMissing:                 "the brokers do not know it",
	lag.GapUnreachable:                "a broker did not answer",
	lag.GapBudget:                     "there was more than is looked at, or no time left",
	lag.GapError:                      "a broker answered an error",
}

// findings fills in the audit.
func (r *reporter) findings() {
	out := &r.report.Audit
	out.Checks = []Finding{}
	a := r.audited
	if a == nil {
		return
	}
	out.At, out.Failure = &a.At, a.Failure
	for _, c := range a.Checks {
		texts, ok := checkTexts[c.Name]
		if !ok {
			panic(fmt.Sprintf("diagnose: no texts for the check %q", c.Name))
		}
		f := Finding{Check: c.Name, Result: c.Result, Value: c.Value, Subjects: c.Subjects, Unchecked: c.Unchecked, Gap: c.Gap}
		switch c.Result {
		case lag.Weak:
			f.Headline, f.Consequence, f.Remedy = texts.weak(&f), texts.consequence, texts.remedy
			if c.Unchecked > 0 {
				f.Headline += fmt.Sprintf(" (and %s not checked: %s)", number(c.Unchecked), gapSentences[c.Gap])
			}
		case lag.NotChecked:
			f.Headline = fmt.Sprintf("not checked: %s; %s", texts.subject, gapSentences[c.Gap])
		}
		out.Checks = append(out.Checks, f)
	}
}
