package lag

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// AuditSample is what one audit read of how a cluster is set up, and no more:
// what was not read is unknown, with a Gap that says why.
type AuditSample struct {
	// At is when the audit had read all it would.
	At time.Time

	// Failure is why nothing at all could be read; empty otherwise.
	Failure string

	Brokers []AuditedBroker // by id
	Topics  []AuditedTopic  // by name

	// Features are the finalised feature levels by name (KIP-584). A feature
	// that is not among them has level 0. FeaturesGap says why they are unknown.
	Features    Optional[map[string]int16]
	FeaturesGap Gap

	Sight Sight
}

// AuditedBroker is what a broker says of itself.
type AuditedBroker struct {
	ID BrokerID

	// MaxTransactionTimeout is the longest timeout that a producer may ask for
	// (transaction.max.timeout.ms).
	MaxTransactionTimeout Optional[time.Duration]
	// Verification says whether the broker asks the coordinator before it
	// accepts a transaction's first record in a partition from a client that
	// does not add partitions by itself (transaction.partition.verification.enable,
	// KIP-890). Brokers before Kafka 3.6 have no such property.
	Verification Optional[bool]

	// Gap says why they are unknown; empty where the broker answered, and knows
	// no such property.
	Gap Gap
}

// gap is why a property of the broker is unknown.
func (b *AuditedBroker) gap() Gap { return cmp.Or(b.Gap, GapAPIMissing) }

// AuditedTopic is a topic as Metadata and its configuration describe it.
type AuditedTopic struct {
	Name       string
	Internal   bool
	Partitions []AuditedPartition // by number

	// MinInSync is min.insync.replicas, Unclean unclean.leader.election.enable,
	// as they are in effect for the topic. ConfigGap says why they are unknown.
	MinInSync Optional[int]
	Unclean   Optional[bool]
	ConfigGap Gap
}

// AuditedPartition is one partition of an AuditedTopic.
type AuditedPartition struct {
	Number   int32
	Leader   BrokerID // NoBroker: no leader
	Replicas int

	// Transactional says whether a transaction has written to the partition, as
	// far back as its leader remembers producers (producer.id.expiration.ms,
	// a day by default). It is asked only where Fragile; Gap says why it is
	// unknown there.
	Transactional Optional[bool]
	Gap           Gap
}

// Fragile says whether a partition's whole in-sync set can be lost with one
// broker, and whether that is known: it has a single replica, or a single one
// in sync is enough to acknowledge a record.
func (t *AuditedTopic) Fragile(p *AuditedPartition) (fragile, known bool) {
	minInSync, known := t.MinInSync.Get()
	return p.Replicas == 1 || known && minInSync <= 1, known || p.Replicas == 1
}

// Gap is why an audit could not read something: a closed list.
type Gap string

// The gaps. The empty one is none.
const (
	// GapNoDescribeConfigsOnCluster: brokers tell their properties only to who
	// has DESCRIBE_CONFIGS on the cluster.
	GapNoDescribeConfigsOnCluster Gap = "no_describe_configs_on_cluster"
	// GapNoDescribeConfigsOnTopic: the same for topics.
	GapNoDescribeConfigsOnTopic Gap = "no_describe_configs_on_topic"
	// GapNoReadOnTopic: DescribeProducers needs READ on the topic.
	GapNoReadOnTopic Gap = "no_read_on_topic"
	// GapNotListed: Metadata does not list the topic. It does not exist (no
	// transaction, or no commit, was ever made), or needs DESCRIBE to be seen.
	GapNotListed Gap = "not_listed"
	// GapNoLeader: the partition has no leader to ask.
	GapNoLeader Gap = "no_leader"
	// GapAPIMissing: the broker does not speak the API, or does not know the
	// property.
	GapAPIMissing Gap = "api_missing"
	// GapUnreachable: the broker did not answer.
	GapUnreachable Gap = "unreachable"
	// GapBudget: there is more than an audit asks for.
	GapBudget Gap = "budget"
	// GapError: the broker answered another error.
	GapError Gap = "error"
)

// Gaps lists every gap.
func Gaps() []Gap {
	return []Gap{
		GapNoDescribeConfigsOnCluster, GapNoDescribeConfigsOnTopic, GapNoReadOnTopic, GapNotListed,
		GapNoLeader, GapAPIMissing, GapUnreachable, GapBudget, GapError,
	}
}

// Sight is how much of the cluster this principal may see. Kafka leaves out
// silently what it may not. Each is found out by asking for a name that nobody
// uses: who may see everything is told that it does not exist.
type Sight struct {
	// AllTopics: DESCRIBE on every topic.
	AllTopics Optional[bool]
	// AllGroups: DESCRIBE on every group.
	AllGroups Optional[bool]
	// AllTransactionalIDs: DESCRIBE on every transactional id.
	AllTransactionalIDs Optional[bool]
}

// Audit is what is to be said of how a cluster is set up: of all that makes
// exactly-once weaker than its users think.
type Audit struct {
	// At is when it was read.
	At time.Time
	// Failure is why nothing at all could be read; empty otherwise.
	Failure string
	// Checks has one of each name, in the order of CheckNames.
	Checks []Check
	Sight  Sight
}

// Coordinating is how many of the topics the audit saw that keep what
// coordinators know: __transaction_state and __consumer_offsets.
func (a *Audit) Coordinating() int {
	n := 0
	for i := range a.Checks {
		switch c := &a.Checks[i]; c.Name {
		case TransactionStateReplication, ConsumerOffsetsReplication:
			if c.Gap != GapNotListed {
				n++
			}
		}
	}
	return n
}

// Check is one thing that an audit looks at.
type Check struct {
	Name   CheckName
	Result CheckResult

	// Value is what was found, in short: the value that decides, in the
	// property's own unit, or the number of Subjects. Empty where it is not known,
	// as it is not while part of it was not looked at and the rest is good.
	Value string

	// Subjects are what is weak: topics, partitions or brokers, in order. Empty
	// where the value says it all.
	Subjects []string

	// Unchecked is how much could not be looked at, and Gap why (the first
	// reason of several).
	Unchecked int
	Gap       Gap
}

// CheckResult is how a check ended.
type CheckResult string

// The results of checks.
const (
	// Good: nothing to say.
	Good CheckResult = "good"
	// Weak: it makes exactly-once weaker. It may be worse than that, as far as
	// Unchecked goes.
	Weak CheckResult = "weak"
	// NotChecked: it could not be looked at, or not at all of it, and nothing
	// weak was found.
	NotChecked CheckResult = "not_checked"
)

// CheckName names a check: a closed list, each explained in docs/audit.md.
type CheckName string

// The checks.
const (
	TransactionStateReplication CheckName = "transaction_state_replication_factor"
	TransactionStateMinInSync   CheckName = "transaction_state_min_insync_replicas"
	ConsumerOffsetsReplication  CheckName = "consumer_offsets_replication_factor"
	ConsumerOffsetsMinInSync    CheckName = "consumer_offsets_min_insync_replicas"
	Coordinators                CheckName = "coordinators_without_leader"
	FragilePartitions           CheckName = "fragile_transactional_partitions"
	UncleanElection             CheckName = "unclean_leader_election"
	MaxTransactionTimeout       CheckName = "transaction_max_timeout"
	Verification                CheckName = "transaction_partition_verification"
	TransactionVersion          CheckName = "transaction_version"
	GroupVersion                CheckName = "group_version"
)

// What is looked for.
const (
	// enoughReplicas is Kafka's default for both internal topics: one broker
	// may be away and another one fail.
	enoughReplicas = 3
	// enoughInSync is Kafka's default for __transaction_state: what was
	// acknowledged survives a broker.
	enoughInSync = 2
	// longestTimeout is Kafka's default of transaction.max.timeout.ms.
	longestTimeout = 15 * time.Minute
	// completeTransactions is the transaction.version that has all of KIP-890.
	completeTransactions = 2
	// consumerProtocol is the group.version that has KIP-848.
	consumerProtocol = 1

	transactionStateTopic = "__transaction_state"
	consumerOffsetsTopic  = "__consumer_offsets"
)

// Judge returns what is to be said of a sample.
func (s *AuditSample) Judge() *Audit {
	a := &Audit{At: s.At, Failure: s.Failure, Sight: s.Sight}
	if s.Failure != "" {
		return a
	}
	state, offsets := s.topic(transactionStateTopic), s.topic(consumerOffsetsTopic)
	a.Checks = []Check{
		replication(TransactionStateReplication, state),
		minInSync(TransactionStateMinInSync, state),
		replication(ConsumerOffsetsReplication, offsets),
		minInSync(ConsumerOffsetsMinInSync, offsets),
		coordinators(state, offsets),
		s.fragilePartitions(),
		s.uncleanElection(),
		s.maxTransactionTimeout(),
		s.verification(),
		s.feature(TransactionVersion, "transaction.version", completeTransactions),
		s.feature(GroupVersion, "group.version", consumerProtocol),
	}
	return a
}

// topic returns a topic by name; nil if it is not listed.
func (s *AuditSample) topic(name string) *AuditedTopic {
	for i := range s.Topics {
		if s.Topics[i].Name == name {
			return &s.Topics[i]
		}
	}
	return nil
}

// lack notes that n things could not be looked at. The first gap stays.
func (c *Check) lack(n int, gap Gap) {
	c.Unchecked += n
	if c.Gap == "" {
		c.Gap = gap
	}
}

// decide sets the result of a check: weak wins over what is unknown, and what is
// unknown over what was good.
func (c *Check) decide(weak bool) Check {
	switch {
	case weak:
		c.Result = Weak
	case c.Unchecked > 0:
		c.Result, c.Value = NotChecked, ""
	default:
		c.Result = Good
	}
	return *c
}

// replication checks the replicas of an internal topic: of the partition that
// has the fewest.
func replication(name CheckName, t *AuditedTopic) Check {
	c := Check{Name: name}
	if t == nil || len(t.Partitions) == 0 {
		c.lack(1, GapNotListed)
		return c.decide(false)
	}
	fewest := t.Partitions[0].Replicas
	for _, p := range t.Partitions {
		fewest = min(fewest, p.Replicas)
	}
	c.Value = strconv.Itoa(fewest)
	return c.decide(fewest < enoughReplicas)
}

// minInSync checks how many replicas of an internal topic must have a record.
func minInSync(name CheckName, t *AuditedTopic) Check {
	c := Check{Name: name}
	if t == nil {
		c.lack(1, GapNotListed)
		return c.decide(false)
	}
	n, known := t.MinInSync.Get()
	if !known {
		c.lack(1, t.ConfigGap)
		return c.decide(false)
	}
	c.Value = strconv.Itoa(n)
	return c.decide(n < enoughInSync)
}

// coordinators looks for partitions of the internal topics without a leader:
// their ids and groups have no coordinator.
func coordinators(topics ...*AuditedTopic) Check {
	c := Check{Name: Coordinators}
	for _, t := range topics {
		if t == nil {
			c.lack(1, GapNotListed)
			continue
		}
		for _, p := range t.Partitions {
			if p.Leader == NoBroker {
				c.Subjects = append(c.Subjects, fmt.Sprintf("%s-%d", t.Name, p.Number))
			}
		}
	}
	c.Value = strconv.Itoa(len(c.Subjects))
	return c.decide(len(c.Subjects) > 0)
}

// fragilePartitions looks for partitions of users' topics that transactions
// write to and whose whole in-sync set can be lost with one broker.
func (s *AuditSample) fragilePartitions() Check {
	c := Check{Name: FragilePartitions}
	found := 0
	for i := range s.Topics {
		t := &s.Topics[i]
		if t.Internal {
			continue // has checks of its own
		}
		n := 0
		for j := range t.Partitions {
			p := &t.Partitions[j]
			fragile, known := t.Fragile(p)
			transactional, asked := p.Transactional.Get()
			switch {
			case !known:
				c.lack(1, t.ConfigGap)
			case !fragile:
			case !asked:
				c.lack(1, p.Gap)
			case transactional:
				n++
			}
		}
		if n > 0 {
			found += n
			c.Subjects = append(c.Subjects, t.fragility(n))
		}
	}
	c.Value = strconv.Itoa(found)
	return c.decide(found > 0)
}

// fragility says of n partitions of the topic why they are fragile.
func (t *AuditedTopic) fragility(n int) string {
	unit := "partitions"
	if n == 1 {
		unit = "partition"
	}
	text := fmt.Sprintf("%s: %d %s", t.Name, n, unit)
	if !slices.ContainsFunc(t.Partitions, func(p AuditedPartition) bool { return p.Replicas > 1 }) {
		return text + " with a single replica"
	}
	if least, known := t.MinInSync.Get(); known {
		return fmt.Sprintf("%s with min.insync.replicas=%d", text, least)
	}
	return text
}

// uncleanElection looks for topics on which a replica may become leader that
// lacks acknowledged records.
func (s *AuditSample) uncleanElection() Check {
	c := Check{Name: UncleanElection}
	for i := range s.Topics {
		t := &s.Topics[i]
		switch unclean, known := t.Unclean.Get(); {
		case !known:
			c.lack(1, t.ConfigGap)
		case unclean:
			c.Subjects = append(c.Subjects, t.Name)
		}
	}
	c.Value = strconv.Itoa(len(c.Subjects))
	return c.decide(len(c.Subjects) > 0)
}

// maxTransactionTimeout checks the longest timeout that any broker allows.
func (s *AuditSample) maxTransactionTimeout() Check {
	c := Check{Name: MaxTransactionTimeout}
	var longest time.Duration
	for i := range s.Brokers {
		b := &s.Brokers[i]
		d, known := b.MaxTransactionTimeout.Get()
		if !known {
			c.lack(1, b.gap())
		}
		longest = max(longest, d)
	}
	c.Value = strconv.FormatInt(longest.Milliseconds(), 10)
	return c.decide(longest > longestTimeout)
}

// verification looks for brokers that accept records of transactions that their
// coordinator does not know.
func (s *AuditSample) verification() Check {
	c := Check{Name: Verification}
	for i := range s.Brokers {
		b := &s.Brokers[i]
		switch on, known := b.Verification.Get(); {
		case !known:
			c.lack(1, b.gap())
		case !on:
			c.Subjects = append(c.Subjects, fmt.Sprintf("broker %d", b.ID))
		}
	}
	c.Value = strconv.Itoa(len(c.Subjects))
	return c.decide(len(c.Subjects) > 0)
}

// feature checks a finalised feature level.
func (s *AuditSample) feature(name CheckName, feature string, enough int16) Check {
	c := Check{Name: name}
	levels, known := s.Features.Get()
	if !known {
		c.lack(1, s.FeaturesGap)
		return c.decide(false)
	}
	c.Value = strconv.Itoa(int(levels[feature]))
	return c.decide(levels[feature] < enough)
}

// CheckNames lists every check in the order in which an audit has them.
func CheckNames() []CheckName {
	return []CheckName{
		TransactionStateReplication, TransactionStateMinInSync, ConsumerOffsetsReplication, ConsumerOffsetsMinInSync,
		Coordinators, FragilePartitions, UncleanElection, MaxTransactionTimeout, Verification, TransactionVersion, GroupVersion,
	}
}
