package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// cluster is a controller whose brokers are played by the test.
type cluster struct {
	*Controller
	t      *testing.T
	loop   *clock.Loop
	epochs map[kafka.BrokerID]int64
}

// newCluster has this many brokers, registered and unfenced. Nobody sends
// heartbeats but through live.
func newCluster(t *testing.T, brokers int, properties property.Values) *cluster {
	t.Helper()
	loop := clock.NewSimulated(time.UnixMilli(0))
	c := &cluster{t: t, loop: loop, epochs: make(map[kafka.BrokerID]int64)}
	c.Controller = New(loop, properties, DefaultFeatures(), 1, func(kafka.BrokerID, *Update) {})
	for id := range brokers {
		c.join(kafka.BrokerID(id+1), -1)
	}
	return c
}

// join registers a broker and unfences it.
func (c *cluster) join(id kafka.BrokerID, previous int64) {
	c.epochs[id] = c.Register(Registration{ID: id, Endpoints: []Endpoint{{Host: "127.0.0.1"}}, PreviousEpoch: previous})
	c.beat(id, false)
}

func (c *cluster) beat(id kafka.BrokerID, shutDown bool) HeartbeatResult {
	c.t.Helper()
	r, err := c.Heartbeat(Heartbeat{ID: id, Epoch: c.epochs[id], MetadataOffset: c.image.offset, WantShutDown: shutDown})
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// live lets time pass in which only these brokers are heard of.
func (c *cluster) live(d time.Duration, ids ...kafka.BrokerID) {
	for range d / time.Second {
		c.loop.Advance(time.Second)
		for _, id := range ids {
			c.beat(id, false)
		}
	}
}

func (c *cluster) create(name string, config map[string]string, assignments ...[]kafka.BrokerID) {
	c.t.Helper()
	t := NewTopic{Name: name, Partitions: -1, ReplicationFactor: -1, Assignments: map[int32][]kafka.BrokerID{}}
	for n, a := range assignments {
		t.Assignments[int32(n)] = a
	}
	for k, v := range config {
		t.Configs = append(t.Configs, ConfigChange{Name: k, Value: v})
	}
	if r := c.CreateTopics([]NewTopic{t}, false)[0]; r.Err != nil {
		c.t.Fatal(r.Err)
	}
}

// want compares a partition's state in the form "leader 1 epoch 0 ISR [1 2] ELR
// []".
func (c *cluster) want(tp kafka.TopicPartition, want string) {
	c.t.Helper()
	p, ok := c.image.Partition(tp)
	if !ok {
		c.t.Fatalf("%s does not exist", tp)
	}
	got := fmt.Sprintf("leader %d epoch %d ISR %v ELR %v", p.Leader, p.LeaderEpoch, p.ISR, p.ELR)
	if got != want {
		c.t.Errorf("%s: %s, want %s", tp, got, want)
	}
}

var (
	t0       = kafka.TopicPartition{Topic: "t"}
	replicas = func(ids ...kafka.BrokerID) []kafka.BrokerID { return ids }
)

// A broker that is silent for its session leaves every ISR at once (rule F4),
// and what it led moves on with the next leader epoch (rule F5).
func TestSilentBrokerIsFenced(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.create("t", nil, replicas(1, 2, 3))
	c.want(t0, "leader 1 epoch 0 ISR [1 2 3] ELR []")
	c.live(8*time.Second, 2, 3)
	c.want(t0, "leader 1 epoch 0 ISR [1 2 3] ELR []")
	c.live(time.Second, 2, 3)
	c.want(t0, "leader 2 epoch 1 ISR [2 3] ELR []")
	if b, _ := c.image.Broker(1); !b.Fenced {
		t.Error("broker 1 is not fenced")
	}
}

// Litmus test 36: a sole member of an ISR that dies leaves leader -1 and an
// empty ISR; an unclean election takes whoever lives.
func TestUncleanElection(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.create("t", nil, replicas(1, 2))
	c.live(9*time.Second, 1)
	c.want(t0, "leader 1 epoch 0 ISR [1] ELR []")
	c.live(9 * time.Second)
	c.want(t0, "leader -1 epoch 1 ISR [] ELR [1]")
	c.join(2, -1)
	c.want(t0, "leader -1 epoch 1 ISR [] ELR [1]")
	if r := c.ElectLeaders(PreferredElection, []kafka.TopicPartition{t0}); r[0].Err != kafka.ErrPreferredLeaderNotAvailable {
		t.Errorf("preferred election: %v", r[0].Err)
	}
	if r := c.ElectLeaders(UncleanElection, nil); len(r) != 1 || r[0].Err != nil {
		t.Errorf("unclean election: %v", r)
	}
	c.want(t0, "leader 2 epoch 2 ISR [2] ELR []")
	if r := c.ElectLeaders(UncleanElection, []kafka.TopicPartition{t0}); r[0].Err != kafka.ErrElectionNotNeeded {
		t.Errorf("second unclean election: %v", r[0].Err)
	}
}

// The only replica's restart counts two elections (rule G1): leader lost, leader
// again, after a kill by way of the last known leader, after a clean stop by way
// of the ELR.
func TestOnlyReplicaRestarts(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.create("t", nil, replicas(1))
	c.live(9 * time.Second)
	c.want(t0, "leader -1 epoch 1 ISR [] ELR [1]")
	c.join(1, -1)
	c.want(t0, "leader 1 epoch 2 ISR [1] ELR []")

	c.beat(1, true)
	c.want(t0, "leader -1 epoch 3 ISR [] ELR [1]")
	if r := c.beat(1, true); !r.ShutDown {
		t.Errorf("shutdown is not over: %+v", r)
	}
	c.join(1, c.epochs[1])
	c.want(t0, "leader 1 epoch 4 ISR [1] ELR []")

	// Back before its session expires, it is fenced by its own registration.
	c.join(1, -1)
	c.want(t0, "leader 1 epoch 6 ISR [1] ELR []")
}

// Below min.insync.replicas, what leaves the ISR stays eligible until it may
// have lost records (KIP-966).
func TestEligibleLeaderReplicas(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.create("t", map[string]string{"min.insync.replicas": "2"}, replicas(1, 2, 3))
	c.live(9*time.Second, 1, 2)
	c.want(t0, "leader 1 epoch 0 ISR [1 2] ELR []")
	c.live(9*time.Second, 1)
	c.want(t0, "leader 1 epoch 0 ISR [1] ELR [2]")
	c.live(9 * time.Second)
	c.want(t0, "leader -1 epoch 1 ISR [] ELR [1 2]")
	c.join(2, -1)
	c.want(t0, "leader -1 epoch 1 ISR [] ELR [1]")
	c.join(1, c.epochs[1])
	c.want(t0, "leader 1 epoch 2 ISR [1] ELR []")
}

func TestWithoutELRTheLastMemberStaysInTheISR(t *testing.T) {
	loop := clock.NewSimulated(time.UnixMilli(0))
	c := &cluster{t: t, loop: loop, epochs: make(map[kafka.BrokerID]int64)}
	c.Controller = New(loop, nil, map[string]int16{"metadata.version": 21}, 1, func(kafka.BrokerID, *Update) {})
	c.join(1, -1)
	c.create("t", nil, replicas(1))
	c.live(9 * time.Second)
	c.want(t0, "leader -1 epoch 1 ISR [1] ELR []")
	c.join(1, c.epochs[1])
	c.want(t0, "leader 1 epoch 2 ISR [1] ELR []")
}

func TestControlledShutdownMovesLeadersFirst(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.create("t", nil, replicas(1, 2))
	if r := c.beat(1, true); r.ShutDown {
		t.Error("may shut down before the brokers know")
	}
	c.want(t0, "leader 2 epoch 1 ISR [2] ELR []")
	if r := c.beat(1, true); !r.ShutDown || !r.Fenced {
		t.Errorf("may not shut down: %+v", r)
	}
}

func TestPreferredElectionNeedsAnISRMember(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.create("t", nil, replicas(1, 2))
	c.live(9*time.Second, 2)
	c.join(1, -1)
	c.want(t0, "leader 2 epoch 1 ISR [2] ELR []")
	c.live(300*time.Second, 1, 2) // auto.leader.rebalance.enable
	c.want(t0, "leader 2 epoch 1 ISR [2] ELR []")
	p, _ := c.image.Partition(t0)
	if _, err := c.AlterPartition(2, ISRChange{t0, p.LeaderEpoch, p.Epoch, replicas(2, 1)}); err != nil {
		t.Fatal(err)
	}
	c.live(300*time.Second, 1, 2)
	c.want(t0, "leader 1 epoch 2 ISR [2 1] ELR []")
}

func TestAlterPartitionRefusals(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.create("t", nil, replicas(1, 2))
	for _, r := range []struct {
		name   string
		leader kafka.BrokerID
		change ISRChange
		want   error
	}{
		{"no such partition", 1, ISRChange{kafka.TopicPartition{Topic: "t", Partition: 1}, 0, 0, replicas(1)}, kafka.ErrUnknownTopicOrPartition},
		{"another leader epoch", 1, ISRChange{t0, 1, 0, replicas(1)}, kafka.ErrFencedLeaderEpoch},
		{"not the leader", 2, ISRChange{t0, 0, 0, replicas(1)}, kafka.ErrInvalidRequest},
		{"another partition epoch", 1, ISRChange{t0, 0, 1, replicas(1)}, ErrInvalidUpdateVersion},
		{"member that is no replica", 1, ISRChange{t0, 0, 0, replicas(1, 3)}, ErrIneligibleReplica},
	} {
		if _, err := c.AlterPartition(r.leader, r.change); err != r.want {
			t.Errorf("%s: %v, want %v", r.name, err, r.want)
		}
	}
	p, err := c.AlterPartition(1, ISRChange{t0, 0, 0, replicas(1)})
	if err != nil || p.Epoch != 1 || p.LeaderEpoch != 0 {
		t.Errorf("shrink: %+v, %v", p, err)
	}
	c.live(9*time.Second, 1)
	if _, err := c.AlterPartition(1, ISRChange{t0, 0, 1, replicas(1, 2)}); err != ErrIneligibleReplica {
		t.Errorf("fenced member: %v", err)
	}
}

func TestReassignment(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.create("t", nil, replicas(1, 2))
	move := func(to []kafka.BrokerID) error { return c.Reassign([]Reassignment{{t0, to}})[0].Err }
	if err := move(nil); err != kafka.ErrNoReassignmentInProgress {
		t.Errorf("cancel nothing: %v", err)
	}
	if err := move(replicas(3, 4)); !errors.Is(err, kafka.ErrInvalidReplicaAssignment) {
		t.Errorf("unknown broker: %v", err)
	}
	if err := move(replicas(3, 2)); err != nil {
		t.Fatal(err)
	}
	p, _ := c.image.Partition(t0)
	if !slices.Equal(p.Replicas, replicas(3, 2, 1)) || !slices.Equal(p.Adding, replicas(3)) || !slices.Equal(p.Removing, replicas(1)) {
		t.Errorf("under way: %+v", p)
	}
	if err := move(nil); err != nil {
		t.Fatal(err)
	}
	p, _ = c.image.Partition(t0)
	if !slices.Equal(p.Replicas, replicas(2, 1)) || p.Adding != nil || p.Removing != nil {
		t.Errorf("cancelled: %+v", p)
	}
	if err := move(replicas(3, 2)); err != nil {
		t.Fatal(err)
	}
	p, _ = c.image.Partition(t0)
	if _, err := c.AlterPartition(1, ISRChange{t0, p.LeaderEpoch, p.Epoch, replicas(1, 2, 3)}); err != nil {
		t.Fatal(err)
	}
	c.want(t0, "leader 3 epoch 2 ISR [2 3] ELR []")
	p, _ = c.image.Partition(t0)
	if !slices.Equal(p.Replicas, replicas(3, 2)) || p.Adding != nil || p.Removing != nil {
		t.Errorf("complete: %+v", p)
	}
}

func TestCreateTopicRefusals(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.create("there.is", nil, replicas(1))
	plain := func(name string) NewTopic { return NewTopic{Name: name, Partitions: 1, ReplicationFactor: 1} }
	manual := func(a map[int32][]kafka.BrokerID) NewTopic {
		return NewTopic{Name: "t", Partitions: -1, ReplicationFactor: -1, Assignments: a}
	}
	with := func(t NewTopic, changes ...ConfigChange) NewTopic { t.Configs = changes; return t }
	for _, r := range []struct {
		name  string
		topic NewTopic
		want  error
	}{
		{"empty name", plain(""), kafka.ErrInvalidTopicException},
		{"dots", plain(".."), kafka.ErrInvalidTopicException},
		{"slash", plain("a/b"), kafka.ErrInvalidTopicException},
		{"too long", plain(strings.Repeat("a", 250)), kafka.ErrInvalidTopicException},
		{"exists", plain("there.is"), kafka.ErrTopicAlreadyExists},
		{"metrics would collide", plain("there_is"), kafka.ErrInvalidTopicException},
		{"no partitions", NewTopic{Name: "t", ReplicationFactor: 1}, kafka.ErrInvalidPartitions},
		{"more partitions than a request may create", NewTopic{Name: "t", Partitions: 10_001, ReplicationFactor: 1}, kafka.ErrPolicyViolation},
		{"no replicas", NewTopic{Name: "t", Partitions: 1}, kafka.ErrInvalidReplicationFactor},
		{"too few brokers", NewTopic{Name: "t", Partitions: 1, ReplicationFactor: 3}, kafka.ErrInvalidReplicationFactor},
		{"gap in the assignment", manual(map[int32][]kafka.BrokerID{1: {1}}), kafka.ErrInvalidReplicaAssignment},
		{"broker twice", manual(map[int32][]kafka.BrokerID{0: {1, 1}}), kafka.ErrInvalidReplicaAssignment},
		{"uneven", manual(map[int32][]kafka.BrokerID{0: {1}, 1: {1, 2}}), kafka.ErrInvalidReplicaAssignment},
		{"unknown broker", manual(map[int32][]kafka.BrokerID{0: {9}}), kafka.ErrInvalidReplicaAssignment},
		{"unknown property", with(plain("t"), ConfigChange{Name: "no.such", Value: "1"}), kafka.ErrInvalidConfig},
		{"bad value", with(plain("t"), ConfigChange{Name: "retention.ms", Value: "week"}), kafka.ErrInvalidConfig},
		{"null value", with(plain("t"), ConfigChange{Name: "retention.ms", Null: true}), kafka.ErrInvalidConfig},
	} {
		if got := c.CreateTopics([]NewTopic{r.topic}, false)[0].Err; !errors.Is(got, r.want) {
			t.Errorf("%s: %v, want %v", r.name, got, r.want)
		}
	}
	if _, ok := c.image.Topic("t"); ok {
		t.Error("a refused topic was created")
	}
	if r := c.CreateTopics([]NewTopic{plain("t")}, true)[0]; r.Err != nil || r.Partitions != 1 {
		t.Errorf("validate only: %+v", r)
	}
	if _, ok := c.image.Topic("t"); ok {
		t.Error("a validated topic was created")
	}
	for _, r := range c.CreateTopics([]NewTopic{plain("twice"), plain("twice")}, false) {
		if !errors.Is(r.Err, kafka.ErrInvalidRequest) {
			t.Errorf("named twice: %v", r.Err)
		}
	}
}

// Clients print the words of a refusal.
func TestWordsOfRefusals(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.create("t", nil, replicas(1, 2))
	elect := func(tp kafka.TopicPartition) error {
		return c.ElectLeaders(PreferredElection, []kafka.TopicPartition{tp})[0].Err
	}
	for _, r := range []struct {
		err  error
		want string
	}{
		{
			c.CreateTopics([]NewTopic{{Name: "u", Partitions: 1, ReplicationFactor: 3}}, false)[0].Err,
			"Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 2 broker(s) are registered or some brokers have all their log directories cordoned.",
		},
		{
			c.CreatePartitions([]MorePartitions{{Topic: "t", Count: 2, Assignments: [][]kafka.BrokerID{{2}}}}, false)[0].Err,
			"The manual partition assignment includes a partition with 1 replica(s), but this is not consistent with previous partitions, which have 2 replica(s).",
		},
		{elect(kafka.TopicPartition{Topic: "u"}), "No such topic as u"},
		{elect(kafka.TopicPartition{Topic: "t", Partition: 9}), "No such partition as t-9"},
	} {
		var refused *Refusal
		if !errors.As(r.err, &refused) || refused.Message != r.want {
			t.Errorf("%v, want %q", r.err, r.want)
		}
	}
}

func TestPlacementSpreadsLeadersAndReplicas(t *testing.T) {
	c := newCluster(t, 3, nil)
	r := c.CreateTopics([]NewTopic{{Name: "t", Partitions: 6, ReplicationFactor: 2}}, false)[0]
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	leads, hosts := map[kafka.BrokerID]int{}, map[kafka.BrokerID]int{}
	topic, _ := c.image.Topic("t")
	for _, p := range topic.Partitions {
		leads[p.Leader]++
		for _, id := range p.Replicas {
			hosts[id]++
		}
		if p.Replicas[0] == p.Replicas[1] {
			t.Errorf("replicas %v", p.Replicas)
		}
	}
	for id := kafka.BrokerID(1); id <= 3; id++ {
		if leads[id] != 2 || hosts[id] != 4 {
			t.Errorf("broker %d leads %d and hosts %d, want 2 and 4", id, leads[id], hosts[id])
		}
	}
}

func TestInternalTopicsFollowBrokerProperties(t *testing.T) {
	c := newCluster(t, 1, property.Values{"transaction.state.log.num.partitions": "5", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"})
	if err := c.CreateAutomatically(kafka.ConsumerOffsetsTopic); !errors.Is(err, kafka.ErrInvalidReplicationFactor) {
		t.Errorf("three replicas on one broker: %v", err)
	}
	for range 2 {
		if err := c.CreateAutomatically(kafka.TransactionStateTopic); err != nil {
			t.Fatal(err)
		}
	}
	topic, _ := c.image.Topic(kafka.TransactionStateTopic)
	if len(topic.Partitions) != 5 || topic.Config["cleanup.policy"] != "compact" || topic.Config["min.insync.replicas"] != "1" {
		t.Errorf("got %d partitions, %v", len(topic.Partitions), topic.Config)
	}
}

func TestCreatePartitions(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.create("t", nil, replicas(1, 2))
	grow := func(m MorePartitions) error { return c.CreatePartitions([]MorePartitions{m}, false)[0].Err }
	for _, r := range []struct {
		name string
		more MorePartitions
		want error
	}{
		{"unknown topic", MorePartitions{Topic: "u", Count: 2}, kafka.ErrUnknownTopicOrPartition},
		{"same count", MorePartitions{Topic: "t", Count: 1}, kafka.ErrInvalidPartitions},
		{"fewer", MorePartitions{Topic: "t", Count: 0}, kafka.ErrInvalidPartitions},
		{"more than a request may create", MorePartitions{Topic: "t", Count: 10_002}, kafka.ErrUnknownServerError},
		{"wrong number of assignments", MorePartitions{Topic: "t", Count: 3, Assignments: [][]kafka.BrokerID{{1, 2}}}, kafka.ErrInvalidReplicaAssignment},
	} {
		if got := grow(r.more); !errors.Is(got, r.want) {
			t.Errorf("%s: %v, want %v", r.name, got, r.want)
		}
	}
	if err := grow(MorePartitions{Topic: "t", Count: 3, Assignments: [][]kafka.BrokerID{{2, 1}, {1, 2}}}); err != nil {
		t.Fatal(err)
	}
	c.want(kafka.TopicPartition{Topic: "t", Partition: 1}, "leader 2 epoch 0 ISR [2 1] ELR []")
}

func TestAlterConfigs(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.create("t", nil, replicas(1))
	topic := ConfigResource{property.Topic, "t"}
	alter := func(r ConfigResource, changes ...ConfigChange) error {
		return c.AlterConfigs([]ConfigAlteration{{Resource: r, Changes: changes}}, false)[0].Err
	}
	for _, r := range []struct {
		name     string
		resource ConfigResource
		change   ConfigChange
		want     error // nil: accepted
	}{
		{"topic property", topic, ConfigChange{Name: "retention.ms", Value: "1000"}, nil},
		{"unknown topic", ConfigResource{property.Topic, "u"}, ConfigChange{Name: "retention.ms", Value: "1"}, kafka.ErrUnknownTopicOrPartition},
		{"unknown property", topic, ConfigChange{Name: "log.retention.ms", Value: "1"}, kafka.ErrInvalidConfig},
		{"out of bounds", topic, ConfigChange{Name: "retention.ms", Value: "-2"}, kafka.ErrInvalidConfig},
		{"append to a list", topic, ConfigChange{Name: "cleanup.policy", Op: AppendConfig, Value: "compact"}, nil},
		{"append to a number", topic, ConfigChange{Name: "retention.ms", Op: AppendConfig, Value: "1"}, kafka.ErrInvalidConfig},
		{"broker property", BrokerResource(1), ConfigChange{Name: "producer.id.expiration.ms", Value: "5"}, nil},
		{"broker property of the wrong type", BrokerResource(1), ConfigChange{Name: "producer.id.expiration.ms", Value: "x"}, kafka.ErrInvalidRequest},
		{"read-only broker property", BrokerResource(1), ConfigChange{Name: "broker.session.timeout.ms", Value: "5"}, kafka.ErrInvalidRequest},
		{"cluster-wide", ConfigResource{Type: property.Broker}, ConfigChange{Name: "transaction.partition.verification.enable", Value: "false"}, nil},
		{"per-broker property cluster-wide", ConfigResource{Type: property.Broker}, ConfigChange{Name: "listeners", Value: "PLAINTEXT://:1"}, kafka.ErrInvalidRequest},
		{"broker that is no number", ConfigResource{property.Broker, "one"}, ConfigChange{Name: "producer.id.expiration.ms", Value: "5"}, kafka.ErrInvalidRequest},
		{"unknown broker property", BrokerResource(1), ConfigChange{Name: "my.plugin", Value: "x"}, nil},
		{"properties that do not agree", topic, ConfigChange{Name: "max.compaction.lag.ms", Value: "10"}, nil},
		{"properties that do not agree", topic, ConfigChange{Name: "min.compaction.lag.ms", Value: "11"}, kafka.ErrInvalidConfig},
		{"tiered storage that there is not", topic, ConfigChange{Name: "remote.storage.enable", Value: "true"}, kafka.ErrInvalidConfig},
		{"value as long as can be", BrokerResource(1), ConfigChange{Name: "my.plugin", Value: strings.Repeat("x", 32767)}, nil},
		{"value that is too long", BrokerResource(1), ConfigChange{Name: "my.plugin", Value: strings.Repeat("x", 32768)}, kafka.ErrInvalidConfig},
		{"rate of a running broker", BrokerResource(1), ConfigChange{Name: "leader.replication.throttled.rate", Value: "1"}, nil},
		{"rate that is none", BrokerResource(1), ConfigChange{Name: "leader.replication.throttled.rate", Value: "abc"}, kafka.ErrInvalidRequest},
		{"listeners that are none", BrokerResource(1), ConfigChange{Name: "listeners", Value: "garbage"}, kafka.ErrInvalidRequest},
		{"key without a listener", BrokerResource(1), ConfigChange{Name: "ssl.keystore.key", Value: "x"}, kafka.ErrInvalidRequest},
		{"minimum of ISRs of one broker", BrokerResource(1), ConfigChange{Name: "min.insync.replicas", Value: "1"}, kafka.ErrInvalidConfig},
		{"minimum of ISRs", ConfigResource{Type: property.Broker}, ConfigChange{Name: "min.insync.replicas", Value: "1"}, nil},
		{"no minimum of ISRs", ConfigResource{Type: property.Broker}, ConfigChange{Name: "min.insync.replicas", Op: DeleteConfig}, kafka.ErrInvalidConfig},
		{"group beyond the broker's bounds", ConfigResource{property.Group, "g"}, ConfigChange{Name: "consumer.session.timeout.ms", Value: "44999"}, kafka.ErrInvalidConfig},
		{"group that does not exist", ConfigResource{property.Group, "g"}, ConfigChange{Name: "consumer.session.timeout.ms", Value: "45000"}, nil},
	} {
		err := alter(r.resource, r.change)
		if r.want == nil && err != nil || r.want != nil && !errors.Is(err, r.want) {
			t.Errorf("%s: %v, want %v", r.name, err, r.want)
		}
	}
	got, _ := c.image.Topic("t")
	if got.Config["retention.ms"] != "1000" || got.Config["cleanup.policy"] != "delete,compact" {
		t.Errorf("topic has %v", got.Config)
	}
	if err := alter(topic, ConfigChange{Name: "cleanup.policy", Op: SubtractConfig, Value: "delete"}, ConfigChange{Name: "retention.ms", Op: DeleteConfig}); err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Config["retention.ms"]; ok || got.Config["cleanup.policy"] != "compact" {
		t.Errorf("topic has %v", got.Config)
	}
	replaced := c.AlterConfigs([]ConfigAlteration{{Resource: ConfigResource{Type: property.Broker}, Replace: true}}, false)[0].Err
	if !errors.Is(replaced, kafka.ErrInvalidConfig) {
		t.Errorf("minimum of ISRs left out: %v", replaced)
	}
	if c.image.clusterConfig["transaction.partition.verification.enable"] != "false" {
		t.Errorf("cluster has %v", c.image.clusterConfig)
	}
}

// What an Agent has taken in, from any moment on, is what the controller has.
func TestAgentFollowsTheController(t *testing.T) {
	loop := clock.NewSimulated(time.UnixMilli(0))
	agents := map[kafka.BrokerID]*Agent{}
	var c *Controller
	publish := func(to kafka.BrokerID, u *Update) {
		loop.After(time.Millisecond, func() { agents[to].Update(u) })
	}
	link := func(request func(*Controller) func()) {
		loop.After(time.Millisecond, func() {
			if reply := request(c); reply != nil {
				loop.After(time.Millisecond, reply)
			}
		})
	}
	c = New(loop, nil, DefaultFeatures(), 1, publish)
	start := func(id kafka.BrokerID) {
		agents[id] = NewAgent(Registration{ID: id, PreviousEpoch: -1}, nil, loop, link, func(*Update) {})
		agents[id].Start()
	}
	start(1)
	loop.Advance(time.Second)
	c.CreateTopics([]NewTopic{{Name: "a", Partitions: 2, ReplicationFactor: 1}, {Name: "b", Partitions: 1, ReplicationFactor: 1}}, false)
	c.AlterConfigs([]ConfigAlteration{
		{Resource: ConfigResource{property.Topic, "a"}, Changes: []ConfigChange{{Name: "retention.ms", Value: "1"}}},
		{Resource: BrokerResource(1), Changes: []ConfigChange{{Name: "producer.id.expiration.ms", Value: "5"}}},
		{Resource: ConfigResource{property.Group, "g"}, Changes: []ConfigChange{{Name: "consumer.session.timeout.ms", Value: "50000"}}},
	}, false)
	start(2)
	if r := c.DeleteTopics([]TopicResult{{Name: "b"}, {Name: "c"}, {ID: kafka.TopicID{1}}}); r[0].Err != nil || r[1].Err != kafka.ErrUnknownTopicOrPartition || r[2].Err != kafka.ErrUnknownTopicID {
		t.Errorf("deleted: %v", r)
	}
	loop.Advance(time.Second)
	agents[1].CreatePartitions([]MorePartitions{{Topic: "a", Count: 3}}, false, func(r []TopicResult) {
		if r[0].Err != nil {
			t.Error(r[0].Err)
		}
		if topic, _ := agents[1].Image().Topic("a"); len(topic.Partitions) != 3 {
			t.Error("the answer came before the update")
		}
	})
	loop.Advance(20 * time.Second)
	for id, a := range agents {
		if got, want := describe(a.image), describe(c.image); got != want {
			t.Errorf("broker %d has\n%s\nthe controller\n%s", id, got, want)
		}
		if b, _ := a.Image().Broker(id); b.Fenced {
			t.Errorf("broker %d was fenced", id)
		}
	}
	if got := agents[1].Config().Int("producer.id.expiration.ms"); got != 5 {
		t.Errorf("dynamic property of broker 1 is %d", got)
	}
}

func describe(i *Image) string {
	s := fmt.Sprint(i.offset, i.clusterID, i.features, i.clusterConfig, i.brokerConfigs, i.groupConfigs)
	for _, b := range i.Registered() {
		s += fmt.Sprintf("\n%+v", *b)
	}
	for _, t := range i.Topics() {
		s += fmt.Sprintf("\n%s %v %v", t.Name, t.ID, t.Config)
		for _, p := range t.Partitions {
			s += fmt.Sprintf("\n  %+v", *p)
		}
	}
	return s
}
