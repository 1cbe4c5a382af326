package lag

import "time"

// Sample is what one sweep read from one cluster, and no more: what was not
// read is absent, with the reason in Missed. A Tracker keeps nothing of a
// sample but its numbers; it never changes one.
type Sample struct {
	// Started is when the sweep began, Ended when it had read all it would.
	Started, Ended time.Time

	// Cluster is known when the sweep's Metadata request was answered. When it
	// was not, Topics and Groups are empty, which says nothing about what
	// exists, and Failure says why.
	Cluster Optional[Cluster]

	// Topics holds every topic that Metadata listed, by name, in order.
	Topics []Topic

	// Groups holds every group that was listed, by name, in order. A group
	// whose coordinator did not answer is not among them.
	Groups []Group

	// Transactions is what coordinators answered about partitions with a Lookup;
	// nil if there was nothing to ask them.
	Transactions *Transactions

	// TransactionRecords are the records that were appended to
	// __transaction_state since the sweep before; those of one transactional id
	// in their order.
	TransactionRecords []TransactionRecord

	// Census is the last census of transactional ids; nil if there is none that
	// still counts.
	Census *Census

	// Audit is the last audit that had ended when the sweep ended; nil if none
	// had.
	Audit *Audit

	// Missed counts what should have been read and was not.
	Missed []Miss

	// Failure is why the sweep could read nothing at all, a line for each address
	// that was asked; empty otherwise.
	Failure string

	// Offsetless is why no offset of any partition could be read, though they
	// were asked for, a line for each leader; empty otherwise.
	Offsetless string
}

// Cluster is the cluster as Metadata describes it.
type Cluster struct {
	ID         string
	Controller BrokerID // NoBroker where unknown
	Brokers    []Broker // by id
}

// Broker is one broker of the cluster.
type Broker struct {
	ID   BrokerID
	Host string
	Port int32
	Rack string
}

// Topic is one topic as Metadata and ListOffsets describe it.
type Topic struct {
	Name     string
	ID       TopicID
	Internal bool

	// Unreadable says that Metadata answered an error in place of the topic's
	// partitions, so that Partitions says nothing about which exist.
	Unreadable bool

	// Partitions is ordered by number.
	Partitions []Partition
}

// Partition is one partition of a sample.
type Partition struct {
	Number      int32
	Leader      BrokerID // NoBroker: no leader
	LeaderEpoch LeaderEpoch
	Replicas    int
	InSync      int
	Preferred   BrokerID // the first of the replicas; NoBroker: there are none

	// The four offsets, read in this order (measurements.md 2): log start and
	// commits, high watermark, last stable offset, log end offset. All were
	// answered by the same leader in the same leader epoch, but for the log
	// start, which may come from the leader before.
	LogStart, HighWatermark, LastStable, LogEnd Reading

	// Lookup is what was found out about what holds the last stable offset; nil
	// if it was not looked into.
	Lookup *Lookup

	// Datings are what the broker's time index answered for Wants.Dates, in the
	// order of the questions.
	Datings []Dating

	// Fetches are what was found for Wants.Fetches.
	Fetches []Fetch
}

// Group is one group of a sample.
type Group struct {
	Name         string
	Type         GroupType
	ProtocolType string // "consumer", "connect", "" for groups that only commit
	Coordinator  BrokerID
	State        string // in Kafka's words; empty where unknown

	// Members is the number of members. It is known when the group was
	// described; MemberList then says who they are, in the order of the answer.
	Members    Optional[int]
	MemberList []Member

	// Assignment is which partitions members are assigned, by topic. It is known
	// when the group was described, but for a classic group in a rebalance; it
	// is known and empty for groups whose protocol does not assign partitions.
	Assignment Optional[[]TopicAssignment]

	// CommitsRead says that the group's committed offsets were read.
	CommitsRead bool

	// Commits holds the group's commits, by topic, in order.
	Commits []TopicCommits

	// OffsetsPartition is the partition of __consumer_offsets that keeps the
	// group's commits; unknown where the topic is not read.
	OffsetsPartition Optional[int32]

	// Pending holds the partitions for which the group has a commit in a
	// transaction that has not ended, by topic. It is known when they were asked
	// for, and known and empty when OffsetsPartition holds no open transaction.
	Pending Optional[[]TopicPartitions]

	// Shares is where a share group is, by topic; known when it was read.
	Shares Optional[[]TopicShares]
}

// Member is one member of a group, as its coordinator describes it.
type Member struct {
	ID         string
	InstanceID string // of a static member (KIP-345); empty otherwise
	ClientID   string
	Host       string // as Kafka has it, "/10.1.2.3"
}

// TopicAssignment is which partitions of one topic the members of a group are
// assigned.
type TopicAssignment struct {
	Topic      string
	Partitions []AssignedPartition // by number
}

// AssignedPartition is a partition that a group has assigned.
type AssignedPartition struct {
	Partition int32
	// Member is the owner's place in Group.MemberList; while it is on its way,
	// −1 − the place of its next owner.
	Member int
}

// TopicShares is where a share group is in one topic (KIP-932).
type TopicShares struct {
	Topic      string
	Partitions []SharePartition // by number
}

// SharePartition is where a share group is in one partition, as the broker
// answers it (DescribeShareGroupOffsets). Both values are unknown before the
// first acknowledgement.
type SharePartition struct {
	Partition int32
	// Start is the share-partition start offset: everything below it is done.
	Start Optional[Offset]
	// Lag is the broker's own figure, against the high watermark. It is not high
	// watermark − Start: what is done above Start does not count.
	Lag Optional[Count]
}

// GroupType is the kind of protocol that a group speaks, in Kafka's words.
type GroupType string

// The group types of Kafka 4.
const (
	Classic       GroupType = "classic"
	ConsumerGroup GroupType = "consumer" // KIP-848
	ShareGroup    GroupType = "share"    // KIP-932; has no commits
	StreamsGroup  GroupType = "streams"  // KIP-1071
	UnknownGroup  GroupType = ""         // the broker does not tell (before ListGroups v5)
)

// TopicCommits holds the commits of one group on one topic.
type TopicCommits struct {
	Topic      string
	Partitions []Commit // by partition
}

// Commit is one committed offset. A partition whose offset could not be read
// has an unknown one; a partition without a commit has no Commit.
type Commit struct {
	Partition int32
	Offset    Optional[Offset]
}

// Miss counts things of one kind that a sweep should have read and did not.
// A broker that fails is one miss, whatever the number of its partitions.
type Miss struct {
	Kind    MissKind
	Subject string // "broker 2", "topic orders", "group billing"
	Count   int
	Detail  string // for people: an error's text; may be empty
}

// What Miss.Subject names when a principal may not see any topic, or group, at
// all.
const (
	AllTopics = "topics"
	AllGroups = "groups"
)

// MissKind is why something could not be read: a closed list, each with its
// remedy in the documentation.
type MissKind string

// The kinds of misses.
const (
	// MissUnreachable: the broker refused the connection, or it broke.
	MissUnreachable MissKind = "unreachable"
	// MissTLS: the broker and the exporter could not agree on how to secure the
	// connection: a certificate that is not trusted, or a port without TLS.
	MissTLS MissKind = "tls"
	// MissAuthentication: the broker refused the login, or there was nothing to
	// log in with.
	MissAuthentication MissKind = "authentication"
	// MissTimeout: the broker did not answer in time.
	MissTimeout MissKind = "timeout"
	// MissSuspended: the broker did not answer in the sweeps before and has
	// not answered this sweep's first request yet; nothing waited for it.
	MissSuspended MissKind = "suspended"
	// MissNoLeader: the partition has no leader.
	MissNoLeader MissKind = "no_leader"
	// MissLeaderChanged: the partition's leader changed in the sweep, and the
	// new one could not be asked within it.
	MissLeaderChanged MissKind = "leader_changed"
	// MissOffsetNotAvailable: a new leader does not know its high watermark
	// yet (KIP-207).
	MissOffsetNotAvailable MissKind = "offset_not_available"
	// MissTopicGone: the topic was deleted in the sweep.
	MissTopicGone MissKind = "topic_gone"
	// MissInconsistent: the offsets read contradict each other, as the log was
	// truncated, deleted or re-created between the reads.
	MissInconsistent MissKind = "inconsistent"
	// MissNoCoordinator: the coordinator of a group, or of transactions, is
	// loading, moved, or none.
	MissNoCoordinator MissKind = "no_coordinator"
	// MissUnauthorized: the principal lacks a right.
	MissUnauthorized MissKind = "unauthorized"
	// MissAPIMissing: the broker does not speak the API in a version that will do.
	MissAPIMissing MissKind = "api_missing"
	// MissDeadline: the sweep was over, or its budget of requests used up.
	MissDeadline MissKind = "deadline"
	// MissOther: any other error; Detail names it.
	MissOther MissKind = "other"
)
