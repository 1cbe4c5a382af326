package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/lag"
)

// conclude fills in the answer: something that is held back for certain wins
// over what could not be told.
func (r *reporter) conclude() {
	out := r.report
	switch {
	case r.holdsSomething():
		out.Status = HeldBack
		out.Summary = r.heldSummary()
	case r.untold() != "":
		out.Status = Unknown
		out.Summary = "could not tell whether something is held back: " + r.untold()
	default:
		out.Status = Healthy
		out.Summary = "nothing is held back"
		if r.narrowed() {
			out.Summary += " of what was asked about"
		}
	}
}

// holdsSomething says whether anything is held back for certain.
func (r *reporter) holdsSomething() bool {
	return slices.ContainsFunc(r.report.Transactions, func(t Transaction) bool { return t.HeldBack }) ||
		slices.ContainsFunc(r.report.Groups, func(g Group) bool { return g.HeldBack })
}

// heldSummary counts what is held back.
func (r *reporter) heldSummary() string {
	var parts []string
	var held []Transaction
	blocked := make(map[string]bool)
	unknown := 0 // partitions
	for _, t := range r.report.Transactions {
		if !t.HeldBack {
			continue
		}
		if t.Verdict == lag.Unknown {
			unknown += len(t.Partitions)
		} else {
			held = append(held, t)
		}
		for _, p := range t.Partitions {
			for _, g := range p.Groups {
				blocked[g] = true
			}
		}
	}
	if len(held) > 0 {
		parts = append(parts, summaryOf(held))
	}
	if unknown > 0 {
		parts = append(parts, count(unknown, "partition")+be(unknown)+"held back, by what could not be told")
	}
	byKind := make(map[Kind]map[string]bool)
	for _, g := range r.report.Groups {
		if g.HeldBack {
			if byKind[g.Kind] == nil {
				byKind[g.Kind] = make(map[string]bool)
			}
			byKind[g.Kind][g.Group] = true
		}
	}
	for g := range byKind[KindBlocked] {
		blocked[g] = true
	}
	for _, each := range []struct {
		groups map[string]bool
		what   string
	}{
		{blocked, "blocked"}, {byKind[KindPending], "waiting for a commit in a transaction"}, {byKind[KindStopped], "stopped"},
		{byKind[KindLost], "behind the beginning of the log"}, {byKind[KindAhead], "ahead of the end of the log"},
	} {
		if n := len(each.groups); n > 0 {
			parts = append(parts, count(n, "group")+be(n)+each.what)
		}
	}
	return strings.Join(parts, "; ")
}

// be is the verb for n things.
func be(n int) string {
	if n == 1 {
		return " is "
	}
	return " are "
}

// summaryOf counts transactions by their verdicts, and what they hold.
func summaryOf(held []Transaction) string {
	partitions := 0
	var verdicts []string
	for _, verdict := range []lag.Verdict{lag.Hanging, lag.Ownerless, lag.Overdue, lag.Completing, lag.OngoingTransaction} {
		n := 0
		for _, t := range held {
			if t.Verdict == verdict {
				n++
				partitions += len(t.Partitions)
			}
		}
		if n > 0 {
			verdicts = append(verdicts, number(n)+" "+string(verdict))
		}
	}
	if len(held) == 1 {
		return fmt.Sprintf("%s transaction holds back %s", verdicts[0], count(partitions, "partition"))
	}
	return fmt.Sprintf("%s (%s) hold back %s", count(len(held), "transaction"), strings.Join(verdicts, ", "), count(partitions, "partition"))
}

// untold says what keeps the answer from being healthy; empty for nothing.
func (r *reporter) untold() string {
	var parts []string
	add := func(n int, noun, what string) {
		if n > 0 {
			parts = append(parts, count(n, noun)+" "+what)
		}
	}
	for _, u := range r.report.Untold {
		if u.Kind == "failure" {
			return u.Sentence
		}
	}
	partitions := 0
	for _, t := range r.report.Transactions {
		partitions += len(t.Partitions)
	}
	add(partitions, "partition", "with a last stable offset that may stand still")
	groups := make(map[string]bool)
	for _, g := range r.report.Groups {
		if g.Kind == KindUndetermined {
			groups[g.Group] = true
		}
	}
	add(len(groups), "group", "that may stand still")
	missing, unread := 0, 0
	for _, m := range r.report.Missing {
		if !m.Harmless {
			missing++
		}
	}
	for _, u := range r.report.Untold {
		if !u.Harmless {
			unread += u.Count
		}
	}
	add(missing, "right", "missed")
	add(unread, "thing", "not read")
	if len(parts) == 0 && !r.view.Cluster.IsKnown() {
		parts = append(parts, "the cluster did not describe itself")
	}
	return strings.Join(parts, ", ")
}
