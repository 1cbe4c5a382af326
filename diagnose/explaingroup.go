package diagnose

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

func keys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// meaning adds a paragraph on what it is.
func (f *Group) meaning(format string, a ...any) {
	f.Meaning = append(f.Meaning, fmt.Sprintf(format, a...))
}

// remedy adds a paragraph on what to do.
func (f *Group) remedy(format string, a ...any) {
	f.Remedy = append(f.Remedy, fmt.Sprintf(format, a...))
}

// lagOf is a lag in a sentence.
func lagOf(lag *lag.Count, noun string) string {
	if lag == nil {
		return "an unknown number of " + noun + "s"
	}
	return count(*lag, noun)
}

// explainGroup fills in what an entry's kind means and what to do.
func (r *reporter) explainGroup(f *Group) {
	who, where := "group "+name(f.Group), f.names()
	switch f.Kind {
	case KindAhead:
		most := f.most(func(p *GroupPartition) *lag.Count { return p.Ahead })
		f.Headline = fmt.Sprintf("%s on %s is ahead: it has committed up to %s above the end of the log", who, where, count(most, "offset"))
		f.meaning("Its consumers find no such offset. They start again where auto.offset.reset says: from the beginning, or from the end, past what comes meanwhile.")
		f.meaning("That comes of an unclean election or lost data, of a topic that was created anew, or of commits that were copied from another cluster.")
		f.remedy("Find out which, and set the commits while the group has no members, for example to the end of the log (with --execute in place of --dry-run it is done):")
		f.Commands = append(f.Commands, fmt.Sprintf("kafka-consumer-groups.sh --bootstrap-server %s --reset-offsets %s %s --to-latest --dry-run", shell(r.Bootstrap), option("--group", f.Group), option("--topic", f.Topic)))
	case KindLost:
		most := f.most(func(p *GroupPartition) *lag.Count { return p.Lost })
		f.Headline = fmt.Sprintf("%s on %s has lost up to %s: they were removed from the log before it read them", who, where, count(most, "offset"))
		f.meaning("Its commit lies below the beginning of the log and has not moved for %s. When its consumers fetch next, they start again where auto.offset.reset says.", span(r.watched()))
		f.remedy("Lengthen the retention of the topic before the rest goes too, and find out why the group stands still.")
		f.Runbook = stoppedRunbook
	case KindBlocked:
		f.Headline = fmt.Sprintf("%s on %s is blocked: it has read all that is readable under read_committed, and a transaction holds back %s behind that", who, where, lagOf(f.HWMLag, "offset"))
		f.meaning("The group itself is well: it goes on as soon as the last stable offset does.")
		f.remedy("See what holds the partition.")
		f.Runbook = blockedRunbook
	case KindStopped:
		f.Headline = fmt.Sprintf("%s on %s is stopped: there are records to read (%s under read_committed), and its commit has not moved for the %s that it was watched",
			who, where, lagOf(f.LSOLag, "offset"), span(f.longest(func(p *GroupPartition) float64 { return p.UnmovedSeconds })))
		r.explainOwners(f)
		f.Runbook = stoppedRunbook
		nothing := "No transaction holds it back."
		switch r.explainCommitInside(f) {
		case 0:
		case len(f.Partitions):
			return
		default:
			nothing = "On its other partitions no transaction holds it back."
		}
		f.remedy("%s Look at these members: one that is stuck in a record, fails and retries, or polls and does not commit.", nothing)
	case KindUndetermined:
		r.explainUndetermined(f, who, where)
	case KindSlow, KindConsuming:
		r.explainConsuming(f, who, where)
	case KindUnassigned:
		f.Headline = fmt.Sprintf("%s is not assigned %s any more: its commits there are left over, %s behind", who, where, lagOf(f.LSOLag, "offset"))
		f.meaning("The group has members, and none of them has these partitions: it has changed its subscription. Nothing is held back.")
		f.remedy("If it is not to read them again, delete the commits:")
		f.Commands = append(f.Commands, fmt.Sprintf("kafka-consumer-groups.sh --bootstrap-server %s --delete-offsets %s %s", shell(r.Bootstrap), option("--group", f.Group), option("--topic", f.Topic)))
	case KindInactive:
		f.Headline = fmt.Sprintf("%s on %s is inactive: it has no members, and none of its commits has moved for the %s that it was watched (%s behind)",
			who, where, span(r.watched()), lagOf(f.LSOLag, "offset"))
		if lost := f.most(func(p *GroupPartition) *lag.Count { return p.Lost }); lost > 0 {
			f.meaning("Up to %s were removed from the log before it read them.", count(lost, "offset"))
		}
		f.meaning("Nobody reads for it now. Some applications (Flink, Spark) commit without members, as seldom as their checkpoints.")
		f.remedy("Nothing, if it is not meant to run.")
	case KindEndMarkers:
		f.Headline = fmt.Sprintf("%s on %s has read everything: its lag of %s is end markers of transactions, or aborted records, and there is nothing to read", who, where, lagOf(f.LSOLag, "offset"))
		f.meaning("An end marker takes an offset and is no record. A consumer that commits its last record plus one stays this far behind until the next record comes.")
	case KindShare:
		f.Headline = fmt.Sprintf("share %s on %s has %s that it has not acknowledged, by its coordinator's own count", who, where, lagOf(f.HWMLag, "offset"))
		f.meaning("A share group has no commits, and reads uncommitted records unless it is configured otherwise: what holds a last stable offset need not hold it.")
	case KindCaughtUp:
		f.Headline = fmt.Sprintf("%s on %s has read everything", who, where)
	}
}

// most is the greatest of the counts that of picks.
func (f *Group) most(of func(*GroupPartition) *lag.Count) lag.Count {
	greatest := lag.Count(0)
	for i := range f.Partitions {
		if n := of(&f.Partitions[i]); n != nil {
			greatest = max(greatest, *n)
		}
	}
	return greatest
}

// explainOwners says who has the partitions.
func (r *reporter) explainOwners(f *Group) {
	var owners []string
	for _, p := range f.Partitions {
		if p.Owner == nil {
			continue
		}
		text := fmt.Sprintf("%s at %s", name(p.Owner.ClientID), name(p.Owner.Host))
		if p.Owner.InstanceID != "" {
			text += " (instance " + name(p.Owner.InstanceID) + ")"
		}
		if !slices.Contains(owners, text) {
			owners = append(owners, text)
		}
	}
	switch {
	case len(owners) > 0:
		f.meaning("Assigned to %s.", enumerate(owners))
	case f.Members != nil && *f.Members == 0:
		f.meaning("The group has no members.")
	}
}

// explainUndetermined says why it could not be told whether a group stands
// still.
func (r *reporter) explainUndetermined(f *Group, who, where string) {
	if f.beyond {
		f.Headline = fmt.Sprintf("%s on %s may be ahead: its commit lies above the end of the log", who, where)
		f.meaning("A leader that has just changed can look like that; a second look tells.")
		f.remedy("Look again, for longer (--wait).")
		return
	}
	unmoved := f.longest(func(p *GroupPartition) float64 { return p.UnmovedSeconds })
	behind, _ := f.unread()
	f.Headline = fmt.Sprintf("%s on %s may be stopped: it is %s behind, and its commit has not moved for the %s that it was watched",
		who, where, lagOf(behind, "offset"), span(unmoved))
	r.explainOwners(f)
	f.Runbook = stoppedRunbook
	if r.explainCommitInside(f) == len(f.Partitions) {
		return
	}
	switch {
	case unmoved < r.StillAfter:
		f.meaning("That is not long: a group stands still when its commit has not moved for %s.", span(r.StillAfter))
		f.remedy("Look again, for longer (--wait).")
	case f.uncommitted && f.LSOLag != nil && *f.LSOLag == 0:
		f.meaning("It reads uncommitted, and what it has not read lies above the last stable offset, where nobody can look from outside: it may be records, or end markers of transactions.")
		f.remedy("Look again when the transaction that holds the partition has ended.")
	default:
		f.meaning("Nobody could look whether there is a record to read: what lies between its commit and the last stable offset may be end markers of transactions. That takes READ on the topic.")
		f.remedy("Grant it (see the rights that were missed), and look again.")
	}
}

// explainCommitInside says of a group that stands still on which of its partitions
// a commit waits for the end of a transaction. It returns how many these are.
func (r *reporter) explainCommitInside(f *Group) int {
	inside := r.pendingAmong(f)
	if len(inside) == 0 {
		return 0
	}
	partition, transaction := r.keeper(f.Group)
	if transaction == "" {
		transaction = "one"
	}
	f.meaning("Its next commit on %s is in a transaction that has not ended (%s holds %s, which keeps its commits): until it ends the commit does not move, and members that require stable offsets do not start.", enumerate(inside), transaction, partition)
	f.remedy("End that transaction: see what holds %s. Look at the members only if the commit stands still after that.", partition)
	f.Runbook = pendingRunbook
	return len(inside)
}

// explainConsuming says of a group that reads how far it is behind, and whether
// it catches up.
func (r *reporter) explainConsuming(f *Group, who, where string) {
	unread, end := f.unread()
	behind := lagOf(unread, "offset") + " behind " + end
	if f.LagSeconds != nil {
		behind += fmt.Sprintf(", its next record %s old", span(time.Duration(*f.LagSeconds*float64(time.Second))))
	}
	if f.Kind == KindConsuming {
		f.Headline = fmt.Sprintf("%s on %s is consuming: %s", who, where, behind)
		return
	}
	f.Headline = fmt.Sprintf("%s on %s is slow: %s", who, where, behind)
	f.meaning("It reads, and nothing holds it back.")
	if f.pace >= 1 && r.watched() > 0 {
		pace := fmt.Sprintf("It has read %s a second", count(int64(f.pace), "offset"))
		if unread != nil {
			pace += fmt.Sprintf("; if nothing were written meanwhile, it would have read everything in %s", span(time.Duration(float64(*unread)/f.pace*float64(time.Second))))
		}
		f.meaning("%s.", pace)
	}
	r.explainOwners(f)
	f.remedy("Give it more members, up to one for each partition, or make the work for each record quicker.")
}

// explainPending says what a commit that waits for the end of a transaction
// does.
func (r *reporter) explainPending(f *Group) {
	since := f.longest(func(p *GroupPartition) float64 { return p.PendingSeconds })
	f.Headline = fmt.Sprintf("group %s waits for a transaction: its commits on %s are in one that has not ended", name(f.Group), f.names())
	if since > 0 {
		f.Headline += ", seen for " + span(since)
	}
	f.meaning("Consumers that require stable offsets (every exactly-once application) do not start on these partitions until it ends, though they may have lag to read.")
	partition, transaction := r.keeper(f.Group)
	switch {
	case transaction != "":
		f.meaning("The group's commits are kept in %s, which %s holds: that is the one, or one that began after it.", partition, transaction)
	case r.topics[offsetsTopic] != nil:
		f.meaning("The group's commits are kept in %s; the transaction that holds that partition is the one.", partition)
	}
	f.remedy("End that transaction: see what holds %s.", partition)
	f.Runbook = pendingRunbook
}
