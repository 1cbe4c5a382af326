package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Missing is a right that this principal lacks, and what that hides.
type Missing struct {
	// Right is the operation and its object: "READ on topic orders".
	Right string `json:"right"`
	// Hides is what cannot be told without it.
	Hides string `json:"hides"`
	// Grant is the command that grants it; empty where the right is not known, or
	// is granted for all and denied for some.
	Grant string `json:"grant,omitempty"`
	// Find is the command that lists what is denied, where that must be taken back.
	Find string `json:"find,omitempty"`
	// Harmless says that the answer does not depend on it.
	Harmless bool `json:"harmless,omitempty"`
}

// operation is one of Kafka's, in its own form and in that of its tool.
type operation struct{ name, option string }

var (
	read            = operation{"READ", "Read"}
	describe        = operation{"DESCRIBE", "Describe"}
	describeConfigs = operation{"DESCRIBE_CONFIGS", "DescribeConfigs"}
)

// resource is a kind of object that rights are about; without a name it is the
// cluster.
type resource struct{ noun, option string }

var (
	aTopic     = resource{"topic", "--topic"}
	aGroup     = resource{"group", "--group"}
	anID       = resource{"transactional id", "--transactional-id"}
	theCluster = resource{"the cluster", "--cluster"}
)

// whetherDenied is what the cluster's ACLs tell.
const whetherDenied = "whether single transactional ids are denied to this principal, and so whether nobody owns a transaction"

// everything is the name that stands for all.
const everything = "*"

// lacks adds a right that is missed, once. Of what nobody asked about only that
// is told on which the answer depends.
func (r *reporter) lacks(op operation, on resource, object string, harmless bool, hides string, a ...any) {
	if harmless && r.narrowed() {
		return
	}
	m := Missing{Hides: fmt.Sprintf(hides, a...), Harmless: harmless}
	target := on.option
	switch {
	case on == anID && r.someIDsDenied():
		m.Right = op.name + " on transactional ids that are denied to this principal"
		m.Hides += ": all others may be described, so take back what is denied"
		m.Find = fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --list", shell(r.Bootstrap))
	case on == theCluster:
		m.Right = op.name + " on the cluster"
	case object == everything:
		m.Right = fmt.Sprintf("%s on %s *", op.name, plural(on.noun))
		target = option(target, object)
	default:
		m.Right = fmt.Sprintf("%s on %s %s", op.name, on.noun, name(object))
		target = option(target, object)
	}
	if m.Find == "" {
		m.Grant = r.grant(op, target)
	}
	for i := range r.report.Missing {
		if known := &r.report.Missing[i]; known.Right == m.Right {
			known.Harmless = known.Harmless && harmless
			return
		}
	}
	r.report.Missing = append(r.report.Missing, m)
}

// someIDsDenied says, where a transactional id is hidden, whether that is because
// single ones are denied: one that nobody uses is not, so all are granted.
func (r *reporter) someIDsDenied() bool {
	if r.audited == nil {
		return false
	}
	all, known := r.audited.Sight.AllTransactionalIDs.Get()
	return known && all
}

// grant is the command that grants this principal an operation on a target.
func (r *reporter) grant(op operation, target string) string {
	return fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --add --allow-principal %s --operation %s %s",
		shell(r.Bootstrap), shell(r.Principal()), op.option, target)
}

// rights fills in which rights were missed: those that brokers refused
// something for, those that would have told what holds a partition, and those
// without which Kafka leaves things out silently.
func (r *reporter) rights() {
	r.rightsForVerdicts()
	r.rightsRefused()
	r.rightsToSee()
	r.rightsForRecords()
	r.rightsForAudit()
	slices.SortStableFunc(r.report.Missing, func(a, b Missing) int {
		switch {
		case a.Harmless == b.Harmless:
			return 0
		case a.Harmless:
			return 1
		}
		return -1
	})
}

// rightsForVerdicts are those whose lack is the reason of an unknown verdict.
func (r *reporter) rightsForVerdicts() {
	for i := range r.report.Transactions {
		t := &r.report.Transactions[i]
		switch t.Reason {
		case lag.ReasonNoReadOnTopic:
			for _, p := range t.Partitions {
				r.lacks(read, aTopic, p.Topic, false, "which transaction holds its partitions (no record is read)")
			}
		case lag.ReasonNoDescribeOnTransactionalID:
			r.lacks(describe, anID, everything, false, "which transactional id holds a partition, and whether nobody owns it")
		case lag.ReasonNoTransactionState:
			r.lacks(describe, aTopic, stateTopic, false, "whether all transaction coordinators were asked")
		case lag.ReasonNoDescribeOnCluster:
			r.lacks(describe, theCluster, "", false, whetherDenied)
		}
	}
}

// rightsRefused are those that the sweep's misses tell of.
func (r *reporter) rightsRefused() {
	for _, m := range r.view.Missed {
		if m.Kind != lag.MissUnauthorized {
			continue
		}
		kind, object, _ := strings.Cut(m.Subject, " ")
		switch kind {
		case "topic":
			harmless := !picked(r.Topics, object)
			switch {
			case strings.Contains(m.Detail, "DescribeProducers"):
				r.lacks(read, aTopic, object, harmless, "which transaction holds its partitions (no record is read)")
			case strings.Contains(m.Detail, "Fetch"): // matters if a group stands still on it
			default:
				r.lacks(describe, aTopic, object, harmless, "its offsets")
			}
		case "group":
			r.rightOfGroup(object, m.Detail)
		case "transactional":
			r.lacks(describe, anID, everything, len(r.report.Transactions) == 0, "which transactional id holds a partition, and whether nobody owns it")
		case lag.AllTopics, lag.AllGroups: // see rightsToSee
		case "cluster":
			r.lacks(describe, theCluster, "", len(r.report.Transactions) == 0, whetherDenied)
		default:
			r.report.Missing = append(r.report.Missing, Missing{
				Right: "a right that " + subject(m.Subject) + " asks for", Hides: fmt.Sprintf("what was asked (%s); the broker's authorizer log names it", printable(m.Detail)),
			})
		}
	}
}

// rightOfGroup is what a group was refused for: the group itself, or a topic
// that it reads.
func (r *reporter) rightOfGroup(group, detail string) {
	harmless := !picked(r.Groups, group)
	_, topic, named := strings.Cut(detail, "describe topic ")
	switch {
	case named:
		r.lacks(describe, aTopic, topic, harmless, "where group %s is on it", name(group))
	case strings.Contains(detail, "TOPIC_AUTHORIZATION_FAILED"):
		r.lacks(describe, aTopic, everything, harmless, "the members of group %s: one topic that may not be described hides them all", name(group))
	default:
		r.lacks(describe, aGroup, group, harmless, "its members and commits")
	}
}

// rightsToSee are those without which topics, groups or ids are left out
// silently.
func (r *reporter) rightsToSee() {
	var sight lag.Sight
	if r.audited != nil {
		sight = r.audited.Sight
	}
	hidden := func(o lag.Optional[bool]) bool { all, known := o.Get(); return known && !all }
	if hidden(sight.AllTopics) || r.missed(lag.AllTopics) {
		r.lacks(describe, aTopic, everything, r.sees(r.Topics, func(n string) bool { return r.topics[n] != nil }),
			"topics that this principal may not see, and what groups have on them: they are left out without an error")
	}
	if hidden(sight.AllGroups) || r.missed(lag.AllGroups) {
		r.lacks(describe, aGroup, everything, r.sees(r.Groups, r.seesGroup),
			"groups that this principal may not see: they are left out without an error")
	}
	if hidden(sight.AllTransactionalIDs) {
		r.lacks(describe, anID, everything, true, "transactional ids that this principal may not see, when one holds a partition")
	}
}

// missed says whether the sweep missed something for lack of a right to it.
func (r *reporter) missed(subject string) bool {
	return slices.ContainsFunc(r.view.Missed, func(m lag.Miss) bool {
		return m.Kind == lag.MissUnauthorized && m.Subject == subject
	})
}

// sees says whether all of the names that the report is about are there to see.
func (r *reporter) sees(names []string, there func(string) bool) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return !there(n) })
}

// seesGroup says whether a group was listed.
func (r *reporter) seesGroup(group string) bool {
	return slices.ContainsFunc(r.view.Groups, func(g lag.GroupView) bool { return g.Name == group })
}

// rightsForRecords are those without which it could not be told whether a group
// stands still.
func (r *reporter) rightsForRecords() {
	for _, f := range r.report.Groups {
		if f.Kind == KindUndetermined && r.unreadable[f.Topic] {
			r.lacks(read, aTopic, f.Topic, false, "whether there is a record to read for groups that stand still on it")
		}
	}
}

// rightsForAudit are those without which the audit is not whole.
func (r *reporter) rightsForAudit() {
	if r.audited == nil || r.narrowed() {
		return
	}
	for _, c := range r.audited.Checks {
		switch c.Gap {
		case lag.GapNoDescribeConfigsOnCluster:
			r.lacks(describeConfigs, theCluster, "", true, "what brokers allow: the longest transaction timeout, verification")
		case lag.GapNoDescribeConfigsOnTopic:
			r.lacks(describeConfigs, aTopic, everything, true, "how many replicas must be in sync, and whether an unclean leader may be elected")
		case lag.GapNoReadOnTopic:
			r.lacks(read, aTopic, everything, true, "which partitions transactions write to (no record is read)")
		}
	}
}
