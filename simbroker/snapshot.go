package simbroker

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// Snapshot is the state of a cluster at one moment, as nobody can see it from
// outside: the controller's metadata, and what each broker keeps.
type Snapshot struct {
	Now     time.Time     `json:"now"`
	Brokers []BrokerState `json:"brokers"`
	Topics  []TopicState  `json:"topics"`
	// Transactions and Groups are those that a living broker coordinates and has
	// loaded.
	Transactions []TransactionState `json:"transactions"`
	Groups       []GroupState       `json:"groups"`
	ACLs         []string           `json:"acls"`
	// Users are those with a SCRAM credential, each with its mechanism.
	Users []string `json:"users"`
}

// BrokerState is a broker's process as it is, and as the controller takes it.
type BrokerState struct {
	ID        kafka.BrokerID    `json:"id"`
	State     string            `json:"state"`
	Fenced    bool              `json:"fenced"`
	Listeners map[string]string `json:"listeners"` // addresses by name; none without TCP
}

// TopicState is a topic.
type TopicState struct {
	Name       string           `json:"name"`
	Partitions []PartitionState `json:"partitions"`
}

// PartitionState is a partition with all replicas of it that are on a disk.
type PartitionState struct {
	Partition   int32             `json:"partition"`
	Leader      kafka.BrokerID    `json:"leader"` // -1 for none
	LeaderEpoch kafka.LeaderEpoch `json:"leader_epoch"`
	Replicas    []kafka.BrokerID  `json:"replicas"`
	ISR         []kafka.BrokerID  `json:"isr"`
	Logs        []LogState        `json:"logs"`
}

// LogState is one replica's log.
type LogState struct {
	Broker           kafka.BrokerID `json:"broker"`
	LogStartOffset   kafka.Offset   `json:"log_start_offset"`
	LastStableOffset kafka.Offset   `json:"last_stable_offset"`
	HighWatermark    kafka.Offset   `json:"high_watermark"`
	LogEndOffset     kafka.Offset   `json:"log_end_offset"`
}

// TransactionState is a transactional id.
type TransactionState struct {
	TransactionalID string         `json:"transactional_id"`
	Coordinator     kafka.BrokerID `json:"coordinator"`
	State           string         `json:"state"`
	ProducerID      int64          `json:"producer_id"`
	ProducerEpoch   int16          `json:"producer_epoch"`
	Partitions      []string       `json:"partitions"`
}

// GroupState is a group.
type GroupState struct {
	Group       string         `json:"group"`
	Coordinator kafka.BrokerID `json:"coordinator"`
	Type        string         `json:"type"`
	State       string         `json:"state"`
}

// Snapshot takes one.
func (c *Cluster) Snapshot() Snapshot {
	var s Snapshot
	c.loop.Do(func() {
		image := c.controller.Image()
		s = Snapshot{
			Now: c.loop.Now(), Brokers: []BrokerState{}, Topics: []TopicState{}, Transactions: []TransactionState{},
			Groups: []GroupState{}, ACLs: []string{}, Users: []string{},
		}
		for _, b := range c.brokers {
			s.Brokers = append(s.Brokers, b.snapshot())
			s.Transactions = append(s.Transactions, b.transactions()...)
			s.Groups = append(s.Groups, b.groupStates()...)
		}
		for _, t := range image.Topics() {
			topic := TopicState{Name: t.Name, Partitions: []PartitionState{}}
			for n, p := range t.Partitions {
				topic.Partitions = append(topic.Partitions, PartitionState{
					Partition: int32(n), Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR,
					Logs: c.logs(kafka.TopicPartition{Topic: t.Name, Partition: int32(n)}),
				})
			}
			s.Topics = append(s.Topics, topic)
		}
		for _, b := range image.ACLs() {
			s.ACLs = append(s.ACLs, b.String())
		}
		for _, u := range image.Credentials() {
			s.Users = append(s.Users, u.User+" "+string(u.Mechanism))
		}
	})
	return s
}

func (b *broker) snapshot() BrokerState {
	s := BrokerState{ID: b.id, State: b.state.String(), Fenced: true, Listeners: make(map[string]string)}
	if known, ok := b.common.controller.Image().Broker(b.id); ok {
		s.Fenced = known.Fenced
	}
	for _, e := range b.entrances {
		if e.address != nil {
			s.Listeners[e.name] = e.address.String()
		}
	}
	return s
}

func (c *Cluster) logs(tp kafka.TopicPartition) []LogState {
	logs := []LogState{}
	for _, b := range c.brokers {
		if b.replicas == nil {
			continue
		}
		if l, ok := b.replicas.Status(tp); ok {
			logs = append(logs, LogState{b.id, l.LogStartOffset, l.LastStableOffset, l.HighWatermark, l.LogEndOffset})
		}
	}
	return logs
}

func (b *broker) transactions() []TransactionState {
	if !b.alive {
		return nil
	}
	listed, err := b.txn.List(txn.ListRequest{Duration: -1})
	if err != nil {
		return nil // one of its partitions is loading: it lists nothing
	}
	var states []TransactionState
	for _, l := range listed.Transactions {
		d, err := b.txn.Describe(l.TransactionalID)
		if err != nil {
			continue
		}
		s := TransactionState{
			TransactionalID: l.TransactionalID, Coordinator: b.id, State: d.State.String(),
			ProducerID: int64(d.Producer.ID), ProducerEpoch: int16(d.Producer.Epoch), Partitions: []string{},
		}
		for _, tp := range d.Partitions {
			s.Partitions = append(s.Partitions, tp.String())
		}
		states = append(states, s)
	}
	return states
}

func (b *broker) groupStates() []GroupState {
	if !b.alive {
		return nil
	}
	listed, err := b.groups.List(group.ListRequest{})
	if err != nil {
		return nil // one of its partitions is loading: it lists nothing
	}
	var states []GroupState
	for _, l := range listed {
		states = append(states, GroupState{Group: l.GroupID, Coordinator: b.id, Type: l.Kind.String(), State: l.State.String()})
	}
	return states
}
