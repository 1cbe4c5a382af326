package diagnose

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// ongoing is a transaction within its timeout.
func ongoing(age time.Duration) lag.Blocker {
	b := blocker(lag.OngoingTransaction, lag.Ongoing, age)
	b.Deadline = lag.Known(noon.Add(3 * time.Minute))
	return b
}

// verdicts has a scene for every verdict, and for every word of a coordinator
// that makes a difference.
var verdicts = map[string]scene{
	"ongoing": once(func(v *lag.View) {
		held(v, "orders", 3, ongoing(12*time.Minute))
		held(v, "payments", 0, ongoing(12*time.Minute))
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
	}),
	"ongoing-young": once(func(v *lag.View) {
		held(v, "orders", 3, ongoing(4*time.Second))
		group(v, "billing", "orders", 3, 9123, lag.StateCaughtUp)
	}),
	"ongoing-at-its-deadline": once(func(v *lag.View) {
		b := ongoing(15 * time.Minute)
		b.Deadline = lag.Known(noon.Add(-4 * time.Second))
		held(v, "orders", 3, b)
	}),
	"overdue": once(func(v *lag.View) {
		b := blocker(lag.Overdue, lag.Ongoing, 16*time.Minute)
		b.Deadline = lag.Known(noon.Add(-time.Minute))
		held(v, "orders", 3, b)
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
		group(v, "audit", "orders", 3, 9123, lag.StateBlocked)
		slices.SortFunc(v.Groups, func(a, b lag.GroupView) int { return strings.Compare(a.Name, b.Name) })
		partition(v, "__transaction_state", 1).InSync = 1
		partition(v, "__transaction_state", 2).Leader = lag.NoBroker
	}),
	"completing-at-first": once(func(v *lag.View) {
		held(v, "orders", 3, blocker(lag.Completing, lag.PrepareCommit, 30*time.Second))
	}),
	"completing-marker-not-written": over(12*time.Second, func(v *lag.View) {
		held(v, "orders", 3, blocker(lag.Completing, lag.PrepareCommit, 30*time.Second)).InSync = 1
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
	}),
	"completing-marker-not-replicated": over(12*time.Second, func(v *lag.View) {
		b := blocker(lag.Completing, lag.PrepareAbort, 30*time.Second)
		b.Producer = lag.Known(lag.Producer{ID: 4012, Epoch: 3})
		b.Reason = lag.ReasonAmbiguous
		held(v, "orders", 3, b)
	}),
	"completing-by-nobody-known": over(12*time.Second, func(v *lag.View) {
		held(v, "orders", 3, lag.Blocker{
			Verdict: lag.Completing, Reason: lag.ReasonCoordinatorLoading, Coordinator: lag.NoBroker, Age: 12 * time.Second, AgeSource: lag.AgeByObservation,
		})
	}),
	"hanging-committed": once(func(v *lag.View) {
		held(v, "orders", 3, blocker(lag.Hanging, lag.CompleteCommit, 2*time.Hour+4*time.Minute))
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
	}),
	"hanging-aborted": once(func(v *lag.View) {
		b := blocker(lag.Hanging, lag.CompleteAbort, 26*time.Hour)
		b.AgeSource = lag.AgeByProducer
		held(v, "orders", 3, b)
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
	}),
	"hanging-never-registered": once(func(v *lag.View) {
		b := blocker(lag.Hanging, lag.Empty, 40*time.Second)
		b.AgeSource = lag.AgeByObservation
		b.Producer = lag.Known(lag.Producer{ID: 4012, Epoch: 3, CoordinatorEpoch: -1, Start: lag.Known[lag.Offset](9123)})
		held(v, "orders", 3, b)
	}),
	"hanging-elsewhere": once(func(v *lag.View) {
		held(v, "orders", 3, blocker(lag.Hanging, lag.Ongoing, 2*time.Hour))
	}),
	"hanging-coordinator-away": once(func(v *lag.View) {
		held(v, "orders", 3, blocker(lag.Hanging, "", 2*time.Hour))
	}),
	// The log starts where retention or DeleteRecords has put it, above the
	// start of the transaction.
	"hanging-below-log-start": once(func(v *lag.View) {
		b := blocker(lag.Hanging, lag.CompleteAbort, 2*time.Hour)
		b.Producer = lag.Known(lag.Producer{ID: 4012, Epoch: 3, CoordinatorEpoch: 5, Start: lag.Known[lag.Offset](7000)})
		held(v, "orders", 3, b).LogStart = lag.Known[lag.Offset](9123)
	}),
	"hanging-odd-names": once(func(v *lag.View) {
		b := blocker(lag.Hanging, lag.CompleteAbort, 2*time.Hour)
		b.TransactionalID = "Source: Custom Source -> Sink: it's 1"
		held(v, "orders", 3, b)
		group(v, "a \"quoted\"\ngroup", "orders", 3, 9123, lag.StateBlocked)
	}),
	"hanging-offsets-topic": once(func(v *lag.View) {
		held(v, "__consumer_offsets", 1, blocker(lag.Hanging, lag.CompleteCommit, 2*time.Hour))
	}),
	"ownerless": once(func(v *lag.View) {
		b := blocker(lag.Ownerless, "", 2*time.Hour)
		b.TransactionalID, b.Coordinator = "", lag.NoBroker
		held(v, "orders", 3, b)
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
	}),
	"unknown-at-first": once(func(v *lag.View) {
		b := blocker(lag.Unknown, lag.CompleteCommit, 2*time.Second)
		b.Reason = lag.ReasonNotYetConfirmed
		held(v, "orders", 3, b)
	}),
	"unknown-no-read": once(func(v *lag.View) {
		b := lag.Blocker{Verdict: lag.Unknown, Reason: lag.ReasonNoReadOnTopic, Coordinator: lag.NoBroker, Age: 12 * time.Second, AgeSource: lag.AgeByObservation}
		held(v, "orders", 3, b).StalledFor = 12 * time.Second
		held(v, "orders", 2, b).StalledFor = 12 * time.Second
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
		v.Missed = []lag.Miss{{Kind: lag.MissUnauthorized, Subject: "topic orders", Count: 2, Detail: "DescribeProducers: TOPIC_AUTHORIZATION_FAILED"}}
	}),
	// The age by a client's timestamp may be that of a backfill: it proves
	// nothing.
	"unknown-by-a-clients-clock": once(func(v *lag.View) {
		b := blocker(lag.Unknown, "", 6*365*24*time.Hour)
		b.TransactionalID, b.Coordinator, b.AgeSource, b.Reason = "", lag.NoBroker, lag.AgeByProducer, lag.ReasonNoDescribeOnTransactionalID
		held(v, "orders", 3, b)
	}),
	"several": once(func(v *lag.View) {
		held(v, "orders", 0, ongoing(12*time.Minute))
		held(v, "orders", 1, blocker(lag.Hanging, lag.CompleteCommit, 2*time.Hour))
		b := ongoing(20 * time.Second)
		b.TransactionalID = "billing-8"
		held(v, "orders", 2, b)
		for n := range 3 {
			group(v, "billing", "orders", n, 9123, lag.StateBlocked)
		}
	}),
}

func TestVerdicts(t *testing.T) { play(t, "verdict", verdicts) }

// play compares the report of each scene with its golden text.
func play(t *testing.T, prefix string, scenes map[string]scene) {
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) { golden(t, prefix+"-"+name+".txt", s.report()) })
	}
}

// stood has a group stand still for a minute.
func stood(change func(v *lag.View)) scene { return over(time.Minute, change) }

// states has a scene for everything there is to say of a group.
var states = map[string]scene{
	"ahead": over(2*time.Second, func(v *lag.View) { group(v, "billing", "orders", 3, 10600, lag.StateAhead) }),
	"ahead-at-first": once(func(v *lag.View) {
		group(v, "billing", "orders", 3, 10600, lag.StateCaughtUp).Ahead = lag.Known[lag.Count](0)
	}),
	"lost": stood(func(v *lag.View) {
		partition(v, "orders", 3).LogStart = lag.Known[lag.Offset](5000)
		group(v, "billing", "orders", 3, 880, lag.StateLost)
	}),
	"lost-not-yet": over(2*time.Second, func(v *lag.View) {
		partition(v, "orders", 3).LogStart = lag.Known[lag.Offset](5000)
		group(v, "billing", "orders", 3, 880, lag.StateLost)
	}),
	// Nobody looked up what holds the partition.
	"blocked": over(12*time.Second, func(v *lag.View) {
		p := held(v, "orders", 3, ongoing(0))
		p.Blocker, p.StalledFor = nil, 12*time.Second
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
	}),
	// A marker lies between its commit and what is held.
	"blocked-behind-a-marker": over(2*time.Second, func(v *lag.View) {
		held(v, "orders", 3, ongoing(12*time.Minute))
		group(v, "billing", "orders", 3, 9122, lag.StateBlocked).Readable = lag.Known[lag.Count](0)
	}),
	"blocked-asked-about": once(func(v *lag.View) {
		held(v, "orders", 3, ongoing(12*time.Minute))
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
		group(v, "other", "orders", 3, 9123, lag.StateBlocked)
	}).about(func(o *Options) { o.Groups = []string{"billing"} }),
	"reads-uncommitted": over(2*time.Second, func(v *lag.View) {
		held(v, "orders", 3, ongoing(12*time.Minute))
		group(v, "billing", "orders", 3, 10000, lag.StateConsuming)
		v.Groups[0].Topics[0].ReadUncommitted = true
	}),
	// What it has not read lies above the last stable offset.
	"reads-uncommitted-undetermined": stood(func(v *lag.View) {
		held(v, "orders", 3, ongoing(12*time.Minute))
		group(v, "billing", "orders", 3, 10000, lag.StateUndetermined)
		v.Groups[0].Topics[0].ReadUncommitted = true
	}),
	"reads-uncommitted-slow": (scene{sweeps: []time.Duration{10 * time.Second, 0}, change: func(v *lag.View, n int) {
		held(v, "orders", 3, ongoing(12*time.Minute))
		group(v, "billing", "orders", 3, []lag.Offset{9500, 10000}[n], lag.StateConsuming).HWMLagFor = lag.Known(5 * time.Minute)
	}}).about(func(o *Options) { o.Groups, o.ReadUncommitted = []string{"billing"}, func(string) bool { return true } }),
	"stopped": stood(func(v *lag.View) {
		group(v, "billing", "orders", 2, 10000, lag.StateStopped)
		group(v, "billing", "orders", 3, 9123, lag.StateStopped).Readable = lag.Known[lag.Count](1400)
	}),
	"stopped-not-yet": over(2*time.Second, func(v *lag.View) { group(v, "billing", "orders", 3, 9123, lag.StateStopped) }),
	"at-first":        once(func(v *lag.View) { group(v, "billing", "orders", 3, 9123, lag.StateUndetermined) }),
	"moved": {sweeps: []time.Duration{4 * time.Second, 2 * time.Second, 0}, change: func(v *lag.View, n int) {
		group(v, "billing", "orders", 3, []lag.Offset{9000, 9123, 9123}[n], lag.StateStopped)
	}},
	"undetermined": stood(func(v *lag.View) {
		group(v, "billing", "orders", 3, 9123, lag.StateUndetermined)
		v.Missed = []lag.Miss{{Kind: lag.MissUnauthorized, Subject: "topic orders", Count: 1, Detail: "Fetch: TOPIC_AUTHORIZATION_FAILED"}}
	}),
	"slow": {sweeps: []time.Duration{10 * time.Second, 0}, change: func(v *lag.View, n int) {
		group(v, "billing", "orders", 3, []lag.Offset{8000, 9123}[n], lag.StateConsuming).LSOLagFor = lag.Known(5 * time.Minute)
	}},
	"consuming": {sweeps: []time.Duration{10 * time.Second, 0}, change: func(v *lag.View, n int) {
		group(v, "billing", "orders", 3, []lag.Offset{8000, 10500}[n], lag.StateConsuming).LSOLagFor = lag.Known(2 * time.Second)
	}},
	"consuming-asked-about": (scene{sweeps: []time.Duration{10 * time.Second, 0}, change: func(v *lag.View, n int) {
		group(v, "billing", "orders", 3, []lag.Offset{8000, 10500}[n], lag.StateConsuming).LSOLagFor = lag.Known(2 * time.Second)
		group(v, "billing", "payments", 0, 10586, lag.StateCaughtUp)
	}}).about(func(o *Options) { o.Groups = []string{"billing"} }),
	"unassigned": stood(func(v *lag.View) {
		row := group(v, "billing", "orders", 3, 9123, lag.StateStopped)
		row.Owner, row.Unassigned = nil, true
	}),
	"inactive": over(2*time.Second, func(v *lag.View) {
		group(v, "billing", "orders", 3, 9123, lag.StateInactive).Owner = nil
		v.Groups[0].Members, v.Groups[0].State = lag.Known(0), "Empty"
	}),
	// It waits for a transaction, but nobody runs it.
	"inactive-behind-a-transaction": stood(func(v *lag.View) {
		held(v, "orders", 3, ongoing(12*time.Minute))
		group(v, "billing", "orders", 3, 9123, lag.StateInactive).Owner = nil
		v.Groups[0].Members, v.Groups[0].State = lag.Known(0), "Empty"
	}),
	"lost-without-members": over(2*time.Second, func(v *lag.View) {
		partition(v, "orders", 3).LogStart = lag.Known[lag.Offset](5000)
		group(v, "billing", "orders", 3, 880, lag.StateLost).Owner = nil
		v.Groups[0].Members, v.Groups[0].State = lag.Known(0), "Empty"
	}),
	"lost-and-caught-up": stood(func(v *lag.View) {
		partition(v, "orders", 3).LogStart = lag.Known[lag.Offset](10586)
		group(v, "billing", "orders", 3, 880, lag.StateLost)
	}),
	"share": once(func(v *lag.View) {
		v.Groups = []lag.GroupView{{Name: "queue", Type: lag.ShareGroup, State: "Stable", Members: lag.Known(2), Shares: []lag.ShareView{
			{Topic: "orders", SharePartition: lag.SharePartition{Partition: 0, Lag: lag.Known[lag.Count](3)}},
			{Topic: "orders", SharePartition: lag.SharePartition{Partition: 1}},
		}}}
	}).about(func(o *Options) { o.Groups = []string{"queue"} }),
	"without-commits": once(func(v *lag.View) {
		v.Groups = []lag.GroupView{{Name: "billing", Type: lag.Classic, State: "Stable", Members: lag.Known(2), Orphans: lag.Known[lag.Count](0)}}
	}).about(func(o *Options) { o.Groups = []string{"billing"} }),
	"end-markers": over(2*time.Second, func(v *lag.View) {
		for n := range 4 {
			group(v, "billing", "orders", n, 10585, lag.StateCaughtUp).Readable = lag.Known[lag.Count](0)
		}
	}),
	"pending-offset-commit": once(func(v *lag.View) {
		held(v, "__consumer_offsets", int(lag.Keeper("billing", 4)), ongoing(12*time.Minute)).Blocker.Groups = []string{"billing", "payments"}
		group(v, "billing", "orders", 3, 10000, lag.StateConsuming)
		v.Groups[0].Pending = []lag.PendingCommit{{Topic: "orders", Partition: 3}, {Topic: "payments", Partition: 0, For: 3 * time.Second}}
	}),
	// It stands still because its next commit is in a transaction.
	"stopped-with-a-pending-offset-commit": stood(func(v *lag.View) {
		held(v, "__consumer_offsets", int(lag.Keeper("billing", 4)), ongoing(12*time.Minute)).Blocker.Groups = []string{"billing"}
		group(v, "billing", "orders", 3, 9123, lag.StateStopped)
		group(v, "billing", "payments", 0, 9123, lag.StateStopped)
		group(v, "billing", "payments", 1, 9123, lag.StateStopped)
		v.Groups[0].Pending = []lag.PendingCommit{{Topic: "orders", Partition: 3, For: time.Minute}, {Topic: "payments", Partition: 0, For: time.Minute}}
	}),
	// Nobody has looked up what holds the partition that keeps it.
	"undetermined-with-a-pending-offset-commit": stood(func(v *lag.View) {
		group(v, "billing", "orders", 3, 9123, lag.StateUndetermined)
		v.Groups[0].Pending = []lag.PendingCommit{{Topic: "orders", Partition: 3, For: time.Minute}}
	}),
	"pending-offset-commit-on-a-topic-asked-about": stood(func(v *lag.View) {
		held(v, "__consumer_offsets", int(lag.Keeper("billing", 4)), ongoing(12*time.Minute)).Blocker.Groups = []string{"billing"}
		held(v, "__consumer_offsets", int(lag.Keeper("billing", 4))+1, ongoing(12*time.Minute))
		group(v, "billing", "orders", 3, 10586, lag.StateCaughtUp)
		v.Groups[0].Pending = []lag.PendingCommit{{Topic: "orders", Partition: 3, For: time.Minute}}
	}).about(func(o *Options) { o.Topics = []string{"orders"} }),
	"pending-offset-commit-young": once(func(v *lag.View) {
		group(v, "billing", "orders", 3, 10586, lag.StateCaughtUp)
		v.Groups[0].Pending = []lag.PendingCommit{{Topic: "orders", Partition: 3, For: 3 * time.Second}}
	}),
}

func TestGroupStates(t *testing.T) { play(t, "group", states) }

// sight is an audit of a principal that may see some of it.
func sight(topics, groups, ids bool) *lag.Audit {
	return &lag.Audit{At: noon, Sight: lag.Sight{AllTopics: lag.Known(topics), AllGroups: lag.Known(groups), AllTransactionalIDs: lag.Known(ids)}}
}

// refused has one thing be refused.
func refused(subject, detail string) func(*lag.View) {
	return func(v *lag.View) {
		v.Missed = []lag.Miss{{Kind: lag.MissUnauthorized, Subject: subject, Count: 1, Detail: detail}}
	}
}

// unknownFor has a partition be held by something that a reason hides.
func unknownFor(reason lag.Reason) func(*lag.View) {
	return func(v *lag.View) {
		b := blocker(lag.Unknown, "", 12*time.Second)
		b.TransactionalID, b.Coordinator, b.Reason, b.AgeSource = "", lag.NoBroker, reason, lag.AgeByObservation
		held(v, "orders", 3, b).StalledFor = 12 * time.Second
	}
}

// rightScenes has a scene for every right that can be missed.
var rightScenes = map[string]scene{
	"describe-topic":            over(0, refused("topic orders", "TOPIC_AUTHORIZATION_FAILED")),
	"describe-group":            over(0, refused("group billing", "DescribeGroups: GROUP_AUTHORIZATION_FAILED")),
	"describe-topics-of-group":  over(0, refused("group billing", "ConsumerGroupDescribe: TOPIC_AUTHORIZATION_FAILED")),
	"describe-hidden-topic":     over(0, refused("group billing", "no right to describe topic secret")),
	"describe-transactional-id": once(unknownFor(lag.ReasonNoDescribeOnTransactionalID)),
	// All are granted, and a single one is denied.
	"describe-denied-ids": once(func(v *lag.View) {
		unknownFor(lag.ReasonNoDescribeOnTransactionalID)(v)
		refused("transactional ids", "DescribeTransactions: TRANSACTIONAL_ID_AUTHORIZATION_FAILED")(v)
	}).audited(sight(true, true, true)),
	"describe-transaction-state": once(unknownFor(lag.ReasonNoTransactionState)),
	"describe-cluster":           once(unknownFor(lag.ReasonNoDescribeOnCluster)),
	"describe-unneeded-ids":      once(func(*lag.View) {}).audited(sight(true, true, false)),
	"hidden-topics-and-groups":   once(func(*lag.View) {}).audited(sight(false, false, true)),
	"hidden-but-not-asked-about": once(func(v *lag.View) { group(v, "billing", "orders", 3, 10586, lag.StateCaughtUp) }).audited(sight(false, false, false)).about(func(o *Options) { o.Groups, o.Topics = []string{"billing"}, []string{"orders"} }),
	"of-another-group":           over(0, refused("group other", "DescribeGroups: GROUP_AUTHORIZATION_FAILED")).about(func(o *Options) { o.Groups = []string{"billing"} }),
	"of-a-broker":                over(0, refused("broker 2", "ListGroups: CLUSTER_AUTHORIZATION_FAILED")),
	"not-listed":                 once(func(*lag.View) {}).about(func(o *Options) { o.Groups, o.Topics = []string{"biling"}, []string{"order"} }),
}

func TestRights(t *testing.T) { play(t, "right", rightScenes) }

// wholeAudit is an audit in which every check has a result.
func wholeAudit(result func(lag.CheckName) lag.Check) *lag.Audit {
	a := sight(true, true, true)
	for _, name := range lag.CheckNames() {
		c := result(name)
		c.Name = name
		a.Checks = append(a.Checks, c)
	}
	return a
}

func TestAuditFindings(t *testing.T) {
	values := map[lag.CheckName]lag.Check{
		lag.TransactionStateReplication: {Value: "1"}, lag.TransactionStateMinInSync: {Value: "1"},
		lag.ConsumerOffsetsReplication: {Value: "2"}, lag.ConsumerOffsetsMinInSync: {Value: "1"},
		lag.Coordinators:          {Value: "2", Subjects: []string{"__transaction_state-3", "__consumer_offsets-0"}},
		lag.FragilePartitions:     {Value: "14", Subjects: []string{"orders: 12 partitions with a single replica", "payments: 2 partitions with min.insync.replicas=1"}, Unchecked: 3, Gap: lag.GapNoLeader},
		lag.UncleanElection:       {Value: "1", Subjects: []string{"orders"}},
		lag.MaxTransactionTimeout: {Value: "3600000"}, lag.Verification: {Value: "2", Subjects: []string{"broker 1", "broker 2"}},
		lag.TransactionVersion: {Value: "1"}, lag.GroupVersion: {Value: "0"},
	}
	gaps := lag.Gaps()
	n := 0
	scenes := map[string]scene{
		"weak": once(func(*lag.View) {}).audited(wholeAudit(func(name lag.CheckName) lag.Check {
			c := values[name]
			c.Result = lag.Weak
			return c
		})),
		"good": once(func(*lag.View) {}).audited(wholeAudit(func(lag.CheckName) lag.Check { return lag.Check{Result: lag.Good} })),
		"not-checked": once(func(*lag.View) {}).audited(wholeAudit(func(lag.CheckName) lag.Check {
			n++
			return lag.Check{Result: lag.NotChecked, Unchecked: 1, Gap: gaps[(n-1)%len(gaps)]}
		})),
		"failed": once(func(*lag.View) {}).audited(&lag.Audit{Failure: "connection refused"}),
	}
	play(t, "audit", scenes)
	if n < len(gaps) {
		t.Errorf("%d checks for %d gaps: not all have been told", n, len(gaps))
	}
}

// Everything that package lag can say has its sentence.
func TestEverySentence(t *testing.T) {
	for _, reason := range lag.Reasons() {
		if unknownReasons[reason].meaning == "" {
			t.Errorf("no sentence for the reason %s", reason)
		}
	}
	for _, verdict := range lag.Verdicts() {
		if _, ok := severity[verdict]; !ok {
			t.Errorf("no place for the verdict %s", verdict)
		}
	}
	for _, gap := range lag.Gaps() {
		if gapSentences[gap] == "" {
			t.Errorf("no sentence for the gap %s", gap)
		}
	}
	for _, state := range lag.GroupStates() {
		if !slices.Contains(Kinds(), Kind(state)) {
			t.Errorf("no kind for the group state %s", state)
		}
	}
}

// Every reason of an unknown verdict, in one page.
func TestReasons(t *testing.T) {
	var b strings.Builder
	for _, reason := range lag.Reasons() {
		r := once(unknownFor(reason)).watch().Report()
		fmt.Fprintf(&b, "%s (exit %d)\n", reason, r.Status.ExitCode())
		for _, s := range append(r.Transactions[0].Meaning, r.Transactions[0].Remedy...) {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	golden(t, "reasons.txt", b.String())
}

// Every kind of miss, in one page, and whether it keeps the answer from being
// healthy.
func TestMisses(t *testing.T) {
	s := once(func(v *lag.View) {
		for i, kind := range slices.Sorted(keys(missSentences)) {
			subject := "topic orders"
			switch kind {
			case lag.MissInconsistent:
				subject = "partitions"
			case lag.MissNoCoordinator:
				subject = "group billing"
			case lag.MissUnreachable, lag.MissTimeout, lag.MissSuspended, lag.MissDeadline, lag.MissAPIMissing, lag.MissOther:
				subject = "broker 2"
			}
			v.Missed = append(v.Missed, lag.Miss{Kind: kind, Subject: subject, Count: i%2 + 1, Detail: "detail"})
		}
	})
	golden(t, "misses.txt", s.report())
	for kind := range missSentences {
		r := once(func(v *lag.View) { v.Missed = []lag.Miss{{Kind: kind, Subject: "topic orders", Count: 1}} }).watch().Report()
		if r.Status != Unknown {
			t.Errorf("after a miss of the kind %s the answer is %s, want %s", kind, r.Status, Unknown)
		}
	}
}

// An API that a broker lacks keeps the answer from being healthy if the answer
// depends on what is asked with it.
func TestAPIsThatAreMissing(t *testing.T) {
	for detail, want := range map[string]Status{
		"ListGroups": Unknown, "ListGroups: UNSUPPORTED_VERSION": Unknown, "DescribeGroups": Unknown, "ConsumerGroupDescribe": Unknown,
		"StreamsGroupDescribe": Unknown, "OffsetFetch": Unknown, "OffsetFetch (require stable)": Unknown, "log start offset": Unknown,
		"high watermark": Unknown, "last stable offset": Unknown, "an API of tomorrow": Unknown, "": Unknown,
		"ShareGroupDescribe": Healthy, "DescribeShareGroupOffsets": Healthy, "log end offset: UNSUPPORTED_VERSION": Healthy, "Fetch": Healthy,
		"ListOffsets (timestamp)": Healthy, "DescribeProducers": Healthy, "ListTransactions": Healthy, "DescribeTransactions": Healthy,
	} {
		r := once(func(v *lag.View) {
			v.Missed = []lag.Miss{{Kind: lag.MissAPIMissing, Subject: "broker 2", Count: 1, Detail: detail}}
		}).watch().Report()
		if r.Status != want {
			t.Errorf("without %q the answer is %s, want %s", detail, r.Status, want)
		}
	}
}

// That a group has no commits is told only where somebody has read them.
func TestCommitsThatWereNotRead(t *testing.T) {
	for _, read := range []bool{true, false} {
		r := once(func(v *lag.View) {
			g := lag.GroupView{Name: "billing", Type: lag.Classic, State: "Stable", Members: lag.Known(2)}
			if read {
				g.Orphans = lag.Known[lag.Count](0)
			}
			v.Groups = []lag.GroupView{g}
		}).about(func(o *Options) { o.Groups = []string{"billing"} }).watch().Report()
		if told := slices.ContainsFunc(r.Untold, func(u Untold) bool { return u.Kind == "no_commits" }); told != read {
			t.Errorf("commits read: %v; told that there are none: %v", read, told)
		}
	}
}

// Whole reports of other kinds.
func TestReports(t *testing.T) {
	play(t, "report", map[string]scene{
		"healthy":  once(func(v *lag.View) { group(v, "billing", "orders", 3, 10586, lag.StateCaughtUp) }),
		"failure":  once(func(v *lag.View) { *v = lag.View{Ended: noon, Failure: "connection refused"} }),
		"one-id":   verdicts["several"].about(func(o *Options) { o.TransactionalIDs = []string{"billing-8"} }),
		"other-id": verdicts["several"].about(func(o *Options) { o.TransactionalIDs = []string{"nobody"} }),
		"one-topic": once(func(v *lag.View) {
			held(v, "orders", 0, ongoing(12*time.Minute))
			held(v, "payments", 0, ongoing(12*time.Minute))
			v.Missed = []lag.Miss{{Kind: lag.MissNoLeader, Subject: "topic orders", Count: 1}}
		}).about(func(o *Options) { o.Topics = []string{"payments"} }),
		"many": once(func(v *lag.View) {
			for i := range v.Topics {
				for n := range v.Topics[i].Partitions {
					for k := range 5 {
						b := blocker(lag.Hanging, lag.CompleteAbort, time.Hour)
						b.TransactionalID = fmt.Sprintf("id-%d", k)
						if k == n {
							held(v, v.Topics[i].Name, n, b)
						}
					}
				}
			}
			t := &v.Topics[2]
			for n := int32(4); n < 90; n++ {
				p := t.Partitions[0]
				p.Number = n
				b := ongoing(time.Duration(n) * time.Minute)
				b.TransactionalID = fmt.Sprintf("long-%d", n)
				p.Blocker = &b
				t.Partitions = append(t.Partitions, p)
			}
		}),
	})
}

// A terminal gets colours, and nothing else that a pipe does not get.
func TestColours(t *testing.T) {
	for name, s := range verdicts {
		r := s.watch().Report()
		var plain, painted bytes.Buffer
		if err := r.Text(&plain, false); err != nil {
			t.Fatal(err)
		}
		if err := r.Text(&painted, true); err != nil {
			t.Fatal(err)
		}
		stripped := painted.String()
		for _, code := range []string{bold, red, green, yellow, faint, reset} {
			stripped = strings.ReplaceAll(stripped, code, "")
		}
		if strings.Contains(plain.String(), "\x1b") || !strings.Contains(painted.String(), "\x1b") {
			t.Errorf("%s: colours in the wrong place", name)
		}
		if strings.Join(strings.Fields(stripped), " ") != strings.Join(strings.Fields(plain.String()), " ") {
			t.Errorf("%s: painted, the text is another one", name)
		}
	}
}

// Only what is about as old as everyday life may be no more than that.
func TestUnconfirmedAges(t *testing.T) {
	for age, moment := range map[time.Duration]bool{2 * time.Second: true, 15 * time.Second: true, 20 * time.Second: false, 40 * time.Minute: false} {
		text := once(func(v *lag.View) {
			b := blocker(lag.Unknown, "", age)
			b.AgeSource, b.Reason = lag.AgeByProducer, lag.ReasonNotYetConfirmed
			held(v, "orders", 3, b)
		}).report()
		if strings.Contains(text, "no more than the moment") != moment || strings.Contains(text, "It has stood for "+span(age)) == moment {
			t.Errorf("of one that is %v old:\n%s", age, text)
		}
	}
}

// Where entries are cut to headlines, the report says how to get their commands.
func TestCommandsOfManyEntries(t *testing.T) {
	for n, want := range map[int]string{fullEntries: "", fullEntries + 2: "For the commands of 2 more of these, use --output=json"} {
		transactions := once(func(v *lag.View) {
			for i := range n {
				b := blocker(lag.Hanging, lag.CompleteAbort, time.Hour)
				b.TransactionalID = fmt.Sprintf("id-%d", i)
				held(v, []string{"orders", "payments"}[i%2], i/2, b)
			}
		})
		groups := stood(func(v *lag.View) {
			for i := range n {
				group(v, fmt.Sprintf("group-%d", i), "orders", 0, 10600, lag.StateAhead)
			}
		})
		// Groups that have stopped have no commands.
		stopped := stood(func(v *lag.View) {
			for i := range n {
				group(v, fmt.Sprintf("group-%d", i), "orders", 0, 9000, lag.StateStopped)
			}
		})
		for what, text := range map[string]string{"transactions": transactions.report(), "groups": groups.report()} {
			if got := strings.Contains(text, "For the commands of"); got != (want != "") || !strings.Contains(text, want) {
				t.Errorf("%d %s: no %q in\n%s", n, what, want, text)
			}
		}
		if text := stopped.report(); strings.Contains(text, "For the commands of") {
			t.Errorf("%d groups that have no commands:\n%s", n, text)
		}
	}
}

// Nothing that others have named or answered controls a terminal, and no name is
// taken for an option.
func TestNamesThatDoNotPrint(t *testing.T) {
	const red = "\x1b[31mred"
	for what, s := range map[string]scene{
		"commands": stood(func(v *lag.View) {
			late := ongoing(12 * time.Minute)
			late.TransactionalID = red
			held(v, "orders", 3, late)
			dashed := ongoing(12 * time.Minute)
			dashed.TransactionalID, dashed.State = "-rf", lag.TransactionState(red)
			held(v, "orders", 2, dashed)
			for n, kind := range []lag.GroupState{lag.StateBlocked, lag.StateStopped, lag.StateAhead} {
				group(v, []string{red, "-rf"}[n%2], "payments", n, []lag.Offset{9123, 9123, 10600}[n], kind)
			}
			group(v, red, "orders", 3, 9123, lag.StateBlocked).Owner.ClientID = red
			slices.SortFunc(v.Groups, func(a, b lag.GroupView) int { return strings.Compare(a.Name, b.Name) })
		}),
		"misses": once(func(v *lag.View) {
			v.Missed = []lag.Miss{
				{Kind: lag.MissNoCoordinator, Subject: "group " + red, Count: 1, Detail: red},
				{Kind: lag.MissUnauthorized, Subject: "group " + red, Count: 1, Detail: "DescribeGroups: GROUP_AUTHORIZATION_FAILED"},
				{Kind: lag.MissUnauthorized, Subject: "group -rf", Count: 1, Detail: "DescribeGroups: GROUP_AUTHORIZATION_FAILED"},
				{Kind: lag.MissUnauthorized, Subject: "broker 2", Count: 1, Detail: red},
			}
		}).audited(&lag.Audit{Failure: red}),
		"failure": once(func(v *lag.View) { *v = lag.View{Ended: noon, Failure: "broker 1: " + red} }),
	} {
		text := s.report()
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); i >= 0 {
			t.Errorf("%s: a character that does not print: %q", what, text[max(0, i-60):min(len(text), i+20)])
		}
		for _, want := range map[string][]string{
			"commands": {`--transactionalId $'\x1b[31mred'`, "--transactionalId=-rf", `--group $'\x1b[31mred' --topic payments`, `transaction "\x1b[31mred"`},
			"misses":   {`group "\x1b[31mred" has no coordinator`, "--group=-rf", `--group $'\x1b[31mred'`},
		}[what] {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", what, want, text)
			}
		}
	}
}

// The same views give the same report, and a report changes no view.
func TestReportsAgain(t *testing.T) {
	for name, s := range verdicts {
		w := s.watch()
		var a, b bytes.Buffer
		if err := w.Report().JSON(&a); err != nil {
			t.Fatal(err)
		}
		w.Pending()
		if err := w.Report().JSON(&b); err != nil {
			t.Fatal(err)
		}
		if a.String() != b.String() {
			t.Errorf("%s: the second report differs", name)
		}
	}
}

// The JSON form, of a report that has one of everything.
func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := everythingAtOnce().watch().Report().JSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", b.String())
}

// everythingAtOnce fills every field of a report.
func everythingAtOnce() scene {
	return stood(func(v *lag.View) {
		b := blocker(lag.Hanging, lag.CompleteCommit, 2*time.Hour)
		held(v, "orders", 3, b)
		late := ongoing(12 * time.Minute)
		late.TransactionalID = "billing-8"
		late.Groups = []string{"billing"}
		held(v, "__consumer_offsets", int(lag.Keeper("billing", 4)), late)
		group(v, "billing", "orders", 3, 9123, lag.StateBlocked)
		row := group(v, "copy", "orders", 2, 9000, lag.StateStopped)
		row.Readable, row.LSOLagFor = lag.Known[lag.Count](100), lag.Known(90*time.Second)
		row.Owner.InstanceID = "static-1"
		group(v, "gone", "orders", 1, 10600, lag.StateAhead)
		partition(v, "payments", 0).LogStart = lag.Known[lag.Offset](5000)
		group(v, "late", "payments", 0, 880, lag.StateLost)
		v.Groups[0].Pending = []lag.PendingCommit{{Topic: "orders", Partition: 1, For: 20 * time.Second}}
		v.Missed = []lag.Miss{
			{Kind: lag.MissAPIMissing, Subject: "broker 3", Count: 1, Detail: "ConsumerGroupDescribe"},
			{Kind: lag.MissUnauthorized, Subject: "group other", Count: 1, Detail: "DescribeGroups: GROUP_AUTHORIZATION_FAILED"},
		}
	}).audited(&lag.Audit{At: noon, Sight: lag.Sight{AllTransactionalIDs: lag.Known(false)}, Checks: []lag.Check{
		{Name: lag.TransactionStateReplication, Result: lag.Good, Value: "3"},
		{Name: lag.UncleanElection, Result: lag.Weak, Value: "1", Subjects: []string{"orders"}, Unchecked: 1, Gap: lag.GapError},
	}})
}
