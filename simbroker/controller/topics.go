package controller

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// topicControl creates topics and deletes them.
type topicControl struct {
	*metadata
	random *rand.Rand // of topic ids, and of where replicas go
}

// CreateTopics creates topics, one result each in their order. With
// validateOnly nothing is done but checking.
func (c *topicControl) CreateTopics(topics []NewTopic, validateOnly bool) []CreatedTopic {
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
func (c *topicControl) createTopic(t NewTopic, validateOnly bool, before []NewTopic) CreatedTopic {
	if err := c.checkName(t.Name, before); err != nil {
		return CreatedTopic{Err: err}
	}
	config, err := changeConfigs(property.Topic, nil, t.Configs)
	if err != nil {
		return CreatedTopic{Err: err}
	}
	if err := c.checkTogether(property.Topic, config); err != nil {
		return CreatedTopic{Err: err}
	}
	if t.Partitions > maxNewPartitions {
		return CreatedTopic{Err: refuse(kafka.ErrPolicyViolation, "Excessively large number of partitions per request.")}
	}
	assignments, err := c.assign(t)
	if err != nil {
		return CreatedTopic{Err: err}
	}
	topic := &Topic{Name: t.Name, ID: newID(c.random), Config: config}
	for _, replicas := range assignments {
		topic.Partitions = append(topic.Partitions, newPartition(c.image, replicas))
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
func (c *topicControl) checkName(name string, before []NewTopic) error {
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
func (c *topicControl) assign(t NewTopic) ([][]kafka.BrokerID, error) {
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
	return place(c.image, count, factor, c.random)
}

func (c *topicControl) manual(t NewTopic) ([][]kafka.BrokerID, error) {
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
		if err := checkReplicas(c.image, replicas); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(replicas, c.image.active) {
			return nil, refuse(kafka.ErrInvalidReplicaAssignment, "All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", n)
		}
		assignments[n] = replicas
	}
	return assignments, nil
}

// newID is a random UUID (version 4), which topics and clusters are named by.
func newID(random *rand.Rand) kafka.TopicID {
	var id kafka.TopicID
	for i := range id {
		id[i] = byte(random.Uint32())
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// DeleteTopics deletes topics, each given by Name or, if that is empty, by ID,
// and answers with both. Errors: ErrUnknownTopicOrPartition, ErrUnknownTopicID,
// ErrInvalidRequest when delete.topic.enable is false.
func (c *topicControl) DeleteTopics(topics []TopicResult) []TopicResult {
	results := slices.Clone(topics)
	for i := range results {
		c.delete(&results[i])
	}
	c.commit()
	return results
}

func (c *topicControl) delete(r *TopicResult) {
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
func (c *topicControl) CreatePartitions(topics []MorePartitions, validateOnly bool) []TopicResult {
	results := make([]TopicResult, len(topics))
	for i, t := range topics {
		results[i] = TopicResult{Name: t.Topic, Err: c.createPartitions(t, validateOnly)}
	}
	c.commit()
	return results
}

func (c *topicControl) createPartitions(m MorePartitions, validateOnly bool) error {
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
		assignments, err = place(c.image, more, len(t.Partitions[0].Replicas), c.random)
	} else if len(assignments) != more {
		err = refuse(kafka.ErrInvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(assignments))
	}
	if err != nil {
		return err
	}
	grown := *t
	grown.Partitions = slices.Clone(t.Partitions)
	for _, replicas := range assignments {
		if err := checkReplicas(c.image, replicas); err != nil {
			return err
		}
		if factor := len(t.Partitions[0].Replicas); len(replicas) != factor {
			return inconsistent(len(replicas), factor)
		}
		grown.Partitions = append(grown.Partitions, newPartition(c.image, replicas))
	}
	if !validateOnly {
		c.setTopic(&grown)
	}
	return nil
}

// CreateAutomatically creates one of Kafka's own topics with the properties that
// the brokers have for it (rule G0), or an ordinary one with the defaults. One
// that exists is left alone.
func (c *topicControl) CreateAutomatically(name string) error {
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
