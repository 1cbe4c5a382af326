package lag

import (
	"strings"
	"time"
)

// View is what there is to say after a sweep. It is immutable: renderers share
// it without locks. All durations are as of the sweep; a renderer does not
// extrapolate.
type View struct {
	// Started and Ended are the sweep's; Period is the tracker's.
	Started, Ended time.Time
	Period         time.Duration

	// Cluster is known when the sweep's Metadata request was answered.
	Cluster Optional[Cluster]

	Topics []TopicView // by name
	Groups []GroupView // by name

	// Audit is what was last found of how the cluster is set up, at its own
	// time; nil if nobody looked.
	Audit *Audit

	// TransactionalIDs counts the transactional ids by state and application, and
	// Completing tells of each coordinator with transactions that complete for
	// how long, by broker; both as of the last census.
	TransactionalIDs Optional[[]IDCount]
	Completing       []Completion

	// TransactionLog is what this sweep's records of __transaction_state say; nil
	// if there were none. It counts once: the next view tells of later records.
	TransactionLog *TransactionLog

	// Missed counts what the sweep should have read and did not. It is empty
	// after a complete sweep.
	Missed []Miss

	// Failure is why the sweep could read nothing at all; empty otherwise.
	Failure string

	// Offsetless is why no offset of any partition could be read, though they
	// were asked for, a line for each leader; empty otherwise.
	Offsetless string

	// Skewed counts the answers of the sweep that dated a record later than it
	// was seen: the clock of who dated it is ahead of the exporter's.
	Skewed int
}

// Expired says whether the view is too old to be shown at a time: no sweep has
// ended for three periods (measurements.md 2, Freshness).
func (v *View) Expired(now time.Time) bool { return now.Sub(v.Ended) > intervalPeriods*v.Period }

// Complete says whether the sweep read everything that it should have read.
// What a broker has no API for is not among it.
func (v *View) Complete() bool {
	for i := range v.Missed {
		if v.Missed[i].Kind != MissAPIMissing {
			return false
		}
	}
	return v.Failure == ""
}

// FailureTitle is what a Failure comes down to.
func (v *View) FailureTitle() string {
	for i := range v.Missed {
		if !v.Missed[i].Kind.silent() {
			return "the brokers answered Metadata with errors"
		}
	}
	return "no broker reachable"
}

// Silent says whether a miss is of a broker that gave no answer.
func (m *Miss) Silent() bool { return m.Kind.silent() && m.Kind != MissDeadline }

// silent says whether a kind is of requests without an answer.
func (k MissKind) silent() bool {
	switch k {
	case MissUnreachable, MissTimeout, MissSuspended, MissTLS, MissAuthentication, MissDeadline:
		return true
	}
	return false
}

// FailureLine is Failure on one line.
func (v *View) FailureLine() string { return strings.ReplaceAll(v.Failure, "\n", "; ") }

// TopicView is one topic of a view.
type TopicView struct {
	Name       string
	ID         TopicID
	Internal   bool
	Unreadable bool            // Metadata answered an error in place of the partitions
	Partitions []PartitionView // by number
}

// PartitionView is one partition of a view. Always
// LogStart ≤ LastStable ≤ HighWatermark ≤ LogEnd, as far as they are known.
type PartitionView struct {
	Number    int32
	Leader    BrokerID // NoBroker: no leader
	Replicas  int
	InSync    int
	Preferred BrokerID // the first of the replicas; NoBroker: there are none

	// The four offsets; LastStable is known only with HighWatermark.
	LogStart, LastStable, HighWatermark, LogEnd Optional[Offset]

	// Below, BelowFor, ObservedFor and StalledFor have a meaning only where
	// LastStable is known (measurements.md 4).
	//
	// Below says that the sweep proved LastStable < HighWatermark.
	Below bool
	// BelowFor is the length of all intervals between two sweeps that began
	// below, since the tracker first saw the partition.
	BelowFor time.Duration
	// ObservedFor is the length of all intervals that were judged.
	ObservedFor time.Duration
	// StalledFor is how long this last stable offset has been seen below the
	// high watermark; 0 when it is not.
	StalledFor time.Duration

	// Blocker is the transaction that holds the last stable offset; nil if none
	// does, or if it was not looked up.
	Blocker *Blocker

	// Regressions counts how often each offset went back in a partition that
	// stayed the same.
	Regressions Regressions
}

// Unstable is HighWatermark − LastStable: written and replicated, unreadable
// under read_committed until a transaction ends.
func (p *PartitionView) Unstable() Optional[Count] { return distance(p.LastStable, p.HighWatermark) }

// Unreplicated is LogEnd − HighWatermark: written, not replicated.
func (p *PartitionView) Unreplicated() Optional[Count] { return distance(p.HighWatermark, p.LogEnd) }

// distance is to − from where both are known.
func distance(from, to Optional[Offset]) Optional[Count] {
	if !from.known || !to.known {
		return Optional[Count]{}
	}
	return Known(Count(to.value - from.value))
}

// Regressions counts, per offset, how often it went back.
type Regressions struct {
	LogStart, LastStable, HighWatermark, LogEnd uint64
}

// GroupView is one group of a view.
type GroupView struct {
	Name         string
	Type         GroupType
	ProtocolType string
	Coordinator  BrokerID // NoBroker: not known
	State        string   // in Kafka's words; empty where unknown
	Members      Optional[int]
	MemberList   []Member // as in the sample

	// Uncommitted counts the partitions without a commit among the topics on
	// which the group has a commit or an assignment. It is known when commits
	// and assignment are.
	Uncommitted Optional[Count]

	// Orphans counts the commits for partitions that do not exist. It is
	// known when the commits are.
	Orphans Optional[Count]

	// Topics holds the topics on which the group has commits, by name.
	Topics []GroupTopicView

	// Pending holds the commits in transactions that have not ended, by topic
	// and partition.
	Pending []PendingCommit

	// Shares is where a share group is, by topic and partition.
	Shares []ShareView
}

// PendingCommit is a commit of a group in a transaction that has not ended:
// consumers of the group that require stable offsets do not start until it has
// (KIP-447).
type PendingCommit struct {
	Topic     string
	Partition int32
	// For is how long this tracker has seen it; 0 at the first sight.
	For time.Duration
}

// ShareView is where a share group is in one partition.
type ShareView struct {
	Topic string
	SharePartition
}

// GroupTopicView is what a group has committed on one topic.
type GroupTopicView struct {
	Topic      string
	Partitions []GroupPartitionView // those with a commit, by number

	// LSOLag and HWMLag are the sums over Partitions. Each is known only when
	// all its parts are.
	LSOLag, HWMLag Optional[Count]

	// LSOLagFor and HWMLagFor are the maxima over Partitions, of those that have
	// something to read or have read everything. Each is known only when none of
	// its parts is unknown.
	LSOLagFor, HWMLagFor Optional[time.Duration]

	// State is the first of the partitions' states; empty where one of them is
	// unknown that might come first.
	State GroupState

	// ReadUncommitted says that there is evidence of a read_uncommitted reader:
	// within the last day a commit was seen above the last stable offset.
	ReadUncommitted bool
}

// GroupPartitionView is what a group has committed on one partition.
type GroupPartitionView struct {
	Partition int32

	// Committed is unknown where the broker refused to tell this partition's.
	Committed Optional[Offset]

	// LSOLag is what a read_committed consumer can read and has not, HWMLag
	// what a read_uncommitted one can: from max(Committed, LogStart) to either
	// end, never negative (measurements.md 3).
	LSOLag, HWMLag Optional[Count]

	// Lost is how much was removed before the group read it: LogStart −
	// Committed, or 0. Never part of a lag.
	Lost Optional[Count]

	// Ahead is Committed − HighWatermark, from the second consecutive sweep
	// on that saw the commit above it; 0 before and otherwise.
	Ahead Optional[Count]

	// LSOLagFor and HWMLagFor are how long ago the next unread record was
	// appended, up to either end, as of the sweep: 0 when everything up to the
	// high watermark was read. Each is unknown where nothing is readable up to
	// that end, although not everything was read.
	LSOLagFor, HWMLagFor Optional[time.Duration]

	// Readable is the number of records that a read_committed consumer would get
	// between position and last stable offset: LSOLag without end markers,
	// aborted records and gaps. It is known where it was looked up.
	Readable Optional[Count]

	// State is what the group is doing here; empty where unknown. BlockedFor is
	// how long that is StateBlocked; known only while it is.
	State      GroupState
	BlockedFor Optional[time.Duration]

	// Owner is the member that is assigned the partition; nil if none is, or if
	// it is not known. Unassigned says that the group has members and none of
	// them is assigned the partition, nor about to be.
	Owner      *Member
	Unassigned bool

	// recordless says that there is no record at all between position and high
	// watermark, but for end markers.
	recordless bool
}
