package controller

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// CreateTopics creates topics, one result each in their order. With
// validateOnly nothing is done but checking.
func (c *Controller) CreateTopics(topics []NewTopic, validateOnly bool) []CreatedTopic {
	results := make([]CreatedTopic, len(topics))
	for i, t := range topics {
		if named := func(o NewTopic) bool { return o.Name == t.Name }; slices.ContainsFunc(topics[:i], named) || slices.ContainsFunc(topics[i+1:], named) {
			results[i] = CreatedTopic{Name: t.Name, Err: refuse(kafka.ErrInvalidRequest, "Duplicate topic name.")}
			continue
		}
		results[i] = c.createTopic(t, validateOnly, topics[:i])
		results[i].Name = t.Name
	}
	c.commit()
	return results
}

// maxNewPartitions is how many partitions one request may create, as in Kafka's
// controller.
const maxNewPartitions = 10_000

// createTopic creates a topic of a request, of which others came before it.
func (c *Controller) createTopic(t NewTopic, validateOnly bool, before []NewTopic) CreatedTopic {
	if err := c.checkName(t.Name, before); err != nil {
		return CreatedTopic{Err: err}
	}
	config, err := changeConfigs(property.Topic, nil, t.Configs)
	if err != nil {
		return CreatedTopic{Err: err}
	}
	if t.Partitions > maxNewPartitions {
		return CreatedTopic{Err: refuse(kafka.ErrPolicyViolation, "Excessively large number of partitions per request.")}
	}
	assignments, err := c.assign(t)
	if err != nil {
		return CreatedTopic{Err: err}
	}
	topic := &Topic{Name: t.Name, ID: c.newID(), Config: config}
	for _, replicas := range assignments {
		topic.Partitions = append(topic.Partitions, c.newPartition(replicas))
	}
	if !validateOnly {
		c.setTopic(topic)
	}
	return CreatedTopic{
		ID:                topic.ID,
		Partitions:        int32(len(assignments)),
		ReplicationFactor: int16(len(assignments[0])),
		Config:            c.config.Topic(config).Describe(nil),
	}
}

var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// checkName refuses what cannot be the name of a topic. Names collide with those
// of topics that were there before the request, but not of its own.
func (c *Controller) checkName(name string, before []NewTopic) error {
	switch {
	case name == "":
		return refuse(kafka.ErrInvalidTopicException, "Topic name is invalid: the empty string is not allowed")
	case name == "." || name == "..":
		return refuse(kafka.ErrInvalidTopicException, "Topic name is invalid: '%s' is not allowed", name)
	case len(name) > 249:
		return refuse(kafka.ErrInvalidTopicException, "Topic name is invalid: the length of '%s' is longer than the max allowed length 249", name)
	case !legalName.MatchString(name):
		return refuse(kafka.ErrInvalidTopicException, "Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
	}
	if _, ok := c.image.topics[name]; ok {
		return refuse(kafka.ErrTopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if !strings.ContainsAny(name, "._") {
		return nil
	}
	for _, t := range c.image.Topics() {
		own := slices.ContainsFunc(before, func(o NewTopic) bool { return o.Name == t.Name })
		if strings.ReplaceAll(t.Name, ".", "_") == strings.ReplaceAll(name, ".", "_") && !own {
			return refuse(kafka.ErrInvalidTopicException, "Topic '%s' collides with existing topic: %s", name, t.Name)
		}
	}
	return nil
}

// assign says where the replicas of a new topic go.
func (c *Controller) assign(t NewTopic) ([][]kafka.BrokerID, error) {
	if len(t.Assignments) > 0 {
		return c.manual(t)
	}
	count, factor := int(t.Partitions), int(t.ReplicationFactor)
	if count == -1 {
		count = int(c.config.Int("num.partitions"))
	}
	if factor == -1 {
		factor = int(c.config.Int("default.replication.factor"))
	}
	if count <= 0 {
		return nil, refuse(kafka.ErrInvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	if factor <= 0 {
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	return c.place(count, factor)
}

func (c *Controller) manual(t NewTopic) ([][]kafka.BrokerID, error) {
	if t.ReplicationFactor != -1 {
		return nil, refuse(kafka.ErrInvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	}
	if t.Partitions != -1 {
		return nil, refuse(kafka.ErrInvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	assignments := make([][]kafka.BrokerID, len(t.Assignments))
	for n := range assignments {
		replicas, ok := t.Assignments[int32(n)]
		if !ok {
			return nil, refuse(kafka.ErrInvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		if n > 0 && len(replicas) != len(assignments[0]) {
			return nil, inconsistent(len(replicas), len(assignments[0]))
		}
		if err := c.checkReplicas(replicas); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(replicas, c.active) {
			return nil, refuse(kafka.ErrInvalidReplicaAssignment, "All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", n)
		}
		assignments[n] = replicas
	}
	return assignments, nil
}

// inconsistent is the error for a partition with another number of replicas than
// those before it have.
func inconsistent(replicas, previous int) error {
	return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).", replicas, previous)
}

// checkReplicas refuses replicas that no partition can have.
func (c *Controller) checkReplicas(replicas []kafka.BrokerID) error {
	if len(replicas) == 0 {
		return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	for i, r := range replicas {
		if _, ok := c.image.brokers[r]; !ok {
			return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", r)
		}
		if slices.Contains(replicas[:i], r) {
			return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", r)
		}
	}
	return nil
}

// place spreads replicas over the brokers: leaders round robin from a random
// one, followers on those that come after, one further in each round. Fenced
// brokers get replicas and lead nothing.
func (c *Controller) place(count, factor int) ([][]kafka.BrokerID, error) {
	brokers := c.image.Registered()
	if factor > len(brokers) {
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers have all their log directories cordoned.", factor, factor, len(brokers))
	}
	if !slices.ContainsFunc(brokers, (*Broker).active) {
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "Unable to replicate the partition %d time(s): All brokers are currently fenced.", factor)
	}
	start := c.random.IntN(len(brokers))
	assignments := make([][]kafka.BrokerID, count)
	for n := range assignments {
		first, shift := start+n, n/len(brokers)
		replicas := make([]kafka.BrokerID, 0, len(brokers))
		for i := range len(brokers) {
			at := first
			if i > 0 {
				at += 1 + (shift+i-1)%(len(brokers)-1)
			}
			replicas = append(replicas, brokers[at%len(brokers)].ID)
		}
		// One that can lead goes first.
		slices.SortStableFunc(replicas, func(a, b kafka.BrokerID) int {
			return rank(c.active(a)) - rank(c.active(b))
		})
		assignments[n] = replicas[:factor]
	}
	return assignments, nil
}

func rank(active bool) int {
	if active {
		return 0
	}
	return 1
}

// newPartition is a partition that was just created, led by the first replica
// that is alive.
func (c *Controller) newPartition(replicas []kafka.BrokerID) *Partition {
	p := &Partition{Leader: kafka.NoBroker, Replicas: slices.Clone(replicas)}
	for _, r := range replicas {
		if c.active(r) {
			p.ISR = append(p.ISR, r)
		}
	}
	if len(p.ISR) > 0 {
		p.Leader = p.ISR[0]
	}
	return p
}

// DeleteTopics deletes topics, each given by Name or, if that is empty, by ID,
// and answers with both. Errors: ErrUnknownTopicOrPartition, ErrUnknownTopicID,
// ErrInvalidRequest when delete.topic.enable is false.
func (c *Controller) DeleteTopics(topics []TopicResult) []TopicResult {
	results := slices.Clone(topics)
	for i := range results {
		c.delete(&results[i])
	}
	c.commit()
	return results
}

func (c *Controller) delete(r *TopicResult) {
	t, ok := c.image.topics[r.Name]
	if r.Name == "" {
		t, ok = c.image.byID[r.ID]
	}
	switch {
	case !c.config.Bool("delete.topic.enable"):
		r.Err = refuse(kafka.ErrInvalidRequest, "Topic deletion is disabled.")
	case !ok && r.Name == "":
		r.Err = kafka.ErrUnknownTopicID
	case !ok:
		r.Err = kafka.ErrUnknownTopicOrPartition
	default:
		r.Name, r.ID = t.Name, t.ID
		c.deleteTopic(t)
	}
}

// CreatePartitions adds partitions to topics, one result each in their order.
func (c *Controller) CreatePartitions(topics []MorePartitions, validateOnly bool) []TopicResult {
	results := make([]TopicResult, len(topics))
	for i, t := range topics {
		results[i] = TopicResult{Name: t.Topic, Err: c.createPartitions(t, validateOnly)}
	}
	c.commit()
	return results
}

func (c *Controller) createPartitions(m MorePartitions, validateOnly bool) error {
	t, ok := c.image.topics[m.Topic]
	if !ok {
		return kafka.ErrUnknownTopicOrPartition
	}
	have := len(t.Partitions)
	switch {
	case int(m.Count) == have:
		return refuse(kafka.ErrInvalidPartitions, "Topic already has %d partition(s).", have)
	case int(m.Count) < have:
		return refuse(kafka.ErrInvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", m.Topic, have, m.Count)
	}
	more := int(m.Count) - have
	if more > maxNewPartitions {
		return kafka.ErrUnknownServerError
	}
	assignments, err := m.Assignments, error(nil)
	if assignments == nil {
		assignments, err = c.place(more, len(t.Partitions[0].Replicas))
	} else if len(assignments) != more {
		err = refuse(kafka.ErrInvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(assignments))
	}
	if err != nil {
		return err
	}
	grown := *t
	grown.Partitions = slices.Clone(t.Partitions)
	for _, replicas := range assignments {
		if err := c.checkReplicas(replicas); err != nil {
			return err
		}
		if factor := len(t.Partitions[0].Replicas); len(replicas) != factor {
			return inconsistent(len(replicas), factor)
		}
		grown.Partitions = append(grown.Partitions, c.newPartition(replicas))
	}
	if !validateOnly {
		c.setTopic(&grown)
	}
	return nil
}

// CreateAutomatically creates one of Kafka's own topics with the properties that
// the brokers have for it (rule G0), or an ordinary one with the defaults. One
// that exists is left alone.
func (c *Controller) CreateAutomatically(name string) error {
	t := NewTopic{Name: name, Partitions: -1, ReplicationFactor: -1}
	set := func(name, value string) {
		t.Configs = append(t.Configs, ConfigChange{Name: name, Value: value})
	}
	switch name {
	case kafka.ConsumerOffsetsTopic:
		t.Partitions = int32(c.config.Int("offsets.topic.num.partitions"))
		t.ReplicationFactor = int16(c.config.Int("offsets.topic.replication.factor"))
		set("cleanup.policy", "compact")
		set("compression.type", "producer")
		set("segment.bytes", c.config.String("offsets.topic.segment.bytes"))
	case kafka.TransactionStateTopic:
		t.Partitions = int32(c.config.Int("transaction.state.log.num.partitions"))
		t.ReplicationFactor = int16(c.config.Int("transaction.state.log.replication.factor"))
		set("cleanup.policy", "compact")
		set("compression.type", "uncompressed")
		set("segment.bytes", c.config.String("transaction.state.log.segment.bytes"))
		set("min.insync.replicas", c.config.String("transaction.state.log.min.isr"))
		set("unclean.leader.election.enable", "false")
	}
	err := c.CreateTopics([]NewTopic{t}, false)[0].Err
	if errors.Is(err, kafka.ErrTopicAlreadyExists) {
		return nil
	}
	return err
}
