package controller

import (
	"errors"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// Link takes a broker's request to the controller and brings the reply that it
// returns back, each as an event of its own. Requests arrive in order, and a
// reply after the updates that were published before it. What is sent by a
// broker that dies meanwhile may be lost.
type Link func(request func(*Controller) (reply func()))

// Agent is a broker's side of the controller: it registers the broker, sends
// its heartbeats, keeps its Image and its configuration up to date, and
// forwards what only the controller can do (KIP-590). Functions named done are
// called once, from a later event, unless the broker dies.
type Agent struct {
	id      kafka.BrokerID
	clk     clock.Clock
	link    Link
	image   *Image
	config  *property.Config
	changed func(*Update)

	registration Registration
	epoch        int64  // 0 until registered
	stopped      func() // called when a controlled shutdown may end
	heartbeat    *clock.Timer
}

// NewAgent returns the agent of a broker that has just been started with these
// static properties. changed is called after each update that the image has
// taken in.
func NewAgent(r Registration, static property.Values, clk clock.Clock, link Link, changed func(*Update)) *Agent {
	return &Agent{
		id:           r.ID,
		clk:          clk,
		link:         link,
		image:        newImage(),
		config:       property.NewConfig(static),
		changed:      changed,
		registration: r,
	}
}

// Image is what the broker knows now. It changes with every update: look
// things up anew in each event.
func (a *Agent) Image() *Image { return a.image }

// Config is the broker's configuration, dynamic changes included.
func (a *Agent) Config() *property.Config { return a.config }

// Epoch is the broker's registration; 0 until it has one.
func (a *Agent) Epoch() int64 { return a.epoch }

// Start reads the metadata, then registers the broker. An image that is read
// before the registration may still show the broker as leader (rule G18).
func (a *Agent) Start() {
	a.link(func(c *Controller) func() {
		c.Subscribe(a.id)
		return func() { a.register() }
	})
}

// Update takes an update in, as the controller published it.
func (a *Agent) Update(u *Update) {
	if a.image.offset < 0 && !u.Snapshot {
		return // the snapshot that is on its way has it
	}
	a.image.apply(u)
	a.config.SetDynamic(a.image.clusterConfig, a.image.brokerConfigs[a.id])
	a.changed(u)
}

func (a *Agent) register() {
	a.link(func(c *Controller) func() {
		epoch := c.Register(a.registration)
		return func() {
			a.epoch = epoch
			a.beat()
		}
	})
}

// beat sends a heartbeat, and the next one after broker.heartbeat.interval.ms.
func (a *Agent) beat() {
	a.heartbeat.Stop()
	a.heartbeat = a.clk.After(a.config.Duration("broker.heartbeat.interval.ms"), a.beat)
	h := Heartbeat{ID: a.id, Epoch: a.epoch, MetadataOffset: a.image.offset, WantShutDown: a.stopped != nil}
	a.link(func(c *Controller) func() {
		r, err := c.Heartbeat(h)
		return func() { a.beaten(h, r, err) }
	})
}

func (a *Agent) beaten(h Heartbeat, r HeartbeatResult, err error) {
	switch {
	case errors.Is(err, ErrStaleBrokerEpoch):
		// A paused broker whose registration was replaced; it cannot be here twice.
		panic("broker registered twice")
	case r.ShutDown:
		a.heartbeat.Stop()
		a.stopped()
	case h.WantShutDown:
		a.beat() // the updates that came before the answer are in the image
	}
}

// Stop asks for a controlled shutdown; done is called when the broker leads
// nothing any more, with the epoch to give as PreviousEpoch at the next start.
func (a *Agent) Stop(done func(epoch int64)) {
	a.stopped = func() { done(a.epoch) }
	if a.epoch != 0 {
		a.beat()
	}
}

// DescribeConfigs describes one resource, or its properties of these names,
// from the broker's own image. A broker answers for itself and for the
// cluster-wide default only (ErrInvalidRequest); ErrUnknownTopicOrPartition for
// a topic that does not exist.
func (a *Agent) DescribeConfigs(r ConfigResource, names []string) ([]property.Entry, error) {
	switch r.Type {
	case property.Topic:
		t, ok := a.image.topics[r.Name]
		if !ok {
			return nil, kafka.ErrUnknownTopicOrPartition
		}
		return a.config.Topic(t.Config).Describe(names), nil
	case property.Group:
		return a.config.Group(a.image.groupConfigs[r.Name]).Describe(names), nil
	}
	if r.Name == "" {
		return property.DescribeClusterDefault(a.image.clusterConfig, names), nil
	}
	id, ok := r.broker()
	if !ok {
		return nil, refuse(kafka.ErrInvalidRequest, "Broker id must be an integer, but it is: %s", r.Name)
	}
	if id != a.id {
		return nil, refuse(kafka.ErrInvalidRequest, "Unexpected broker id, expected %d or empty string, but received %s", a.id, r.Name)
	}
	return a.config.Describe(names), nil
}

// Coordinator is the broker that coordinates a key (rules G0, G1, H1): the
// leader of its partition of topic, which is one of the internal two and is
// created when it is not there. Errors: ErrCoordinatorNotAvailable until the
// partition has a live leader.
func (a *Agent) Coordinator(topic, key string) (*Broker, error) {
	t, ok := a.image.topics[topic]
	if !ok {
		a.createAutomatically(topic)
		return nil, kafka.ErrCoordinatorNotAvailable
	}
	partition := kafka.PartitionFor(key, int32(len(t.Partitions)))
	b, ok := a.image.Leader(kafka.TopicPartition{Topic: topic, Partition: partition})
	if !ok {
		return nil, kafka.ErrCoordinatorNotAvailable
	}
	return b, nil
}

// AutoCreate asks for a topic that a client named in Metadata, if
// auto.create.topics.enable; an internal one is always made. There is no
// answer: the client asks again.
func (a *Agent) AutoCreate(topic string) {
	if kafka.IsInternal(topic) || a.config.Bool("auto.create.topics.enable") {
		a.createAutomatically(topic)
	}
}

func (a *Agent) createAutomatically(topic string) {
	a.link(func(c *Controller) func() {
		c.CreateAutomatically(topic) // refused while there are too few brokers
		return nil
	})
}

// CreateTopics forwards to Controller.CreateTopics.
func (a *Agent) CreateTopics(topics []NewTopic, validateOnly bool, done func([]CreatedTopic)) {
	ask(a, func(c *Controller) []CreatedTopic { return c.CreateTopics(topics, validateOnly) }, done)
}

// DeleteTopics forwards to Controller.DeleteTopics.
func (a *Agent) DeleteTopics(topics []TopicResult, done func([]TopicResult)) {
	ask(a, func(c *Controller) []TopicResult { return c.DeleteTopics(topics) }, done)
}

// CreatePartitions forwards to Controller.CreatePartitions.
func (a *Agent) CreatePartitions(topics []MorePartitions, validateOnly bool, done func([]TopicResult)) {
	ask(a, func(c *Controller) []TopicResult { return c.CreatePartitions(topics, validateOnly) }, done)
}

// ElectLeaders forwards to Controller.ElectLeaders.
func (a *Agent) ElectLeaders(kind Election, partitions []kafka.TopicPartition, done func([]PartitionResult)) {
	ask(a, func(c *Controller) []PartitionResult { return c.ElectLeaders(kind, partitions) }, done)
}

// Reassign forwards to Controller.Reassign.
func (a *Agent) Reassign(r []Reassignment, done func([]PartitionResult)) {
	ask(a, func(c *Controller) []PartitionResult { return c.Reassign(r) }, done)
}

// AlterConfigs forwards to Controller.AlterConfigs.
func (a *Agent) AlterConfigs(alterations []ConfigAlteration, validateOnly bool, done func([]ConfigResult)) {
	ask(a, func(c *Controller) []ConfigResult { return c.AlterConfigs(alterations, validateOnly) }, done)
}

// AlterQuotas forwards to Controller.AlterQuotas.
func (a *Agent) AlterQuotas(alterations []QuotaAlteration, validateOnly bool, done func([]error)) {
	ask(a, func(c *Controller) []error { return c.AlterQuotas(alterations, validateOnly) }, done)
}

// Quotas forwards to Controller.Quotas.
func (a *Agent) Quotas(done func([]Quota)) { ask(a, (*Controller).Quotas, done) }

// UpdateFeatures forwards to Controller.UpdateFeatures.
func (a *Agent) UpdateFeatures(updates []FeatureUpdate, validateOnly bool, done func(error)) {
	ask(a, func(c *Controller) error { return c.UpdateFeatures(updates, validateOnly) }, done)
}

// Unregister forwards to Controller.Unregister.
func (a *Agent) Unregister(id kafka.BrokerID, done func(error)) {
	ask(a, func(c *Controller) error { return c.Unregister(id) }, done)
}

// CreateACLs forwards to Controller.CreateACLs.
func (a *Agent) CreateACLs(bindings []acl.Binding, done func([]error)) {
	ask(a, func(c *Controller) []error { return c.CreateACLs(bindings) }, done)
}

// DeleteACLs forwards to Controller.DeleteACLs.
func (a *Agent) DeleteACLs(filters []acl.Filter, done func([][]acl.Binding)) {
	ask(a, func(c *Controller) [][]acl.Binding { return c.DeleteACLs(filters) }, done)
}

// AlterCredentials forwards to Controller.AlterCredentials.
func (a *Agent) AlterCredentials(changes []CredentialChange, done func([]CredentialResult)) {
	ask(a, func(c *Controller) []CredentialResult { return c.AlterCredentials(changes) }, done)
}

// AlterPartition forwards to Controller.AlterPartition.
func (a *Agent) AlterPartition(change ISRChange, done func(*Partition, error)) {
	a.link(func(c *Controller) func() {
		p, err := c.AlterPartition(a.id, change)
		return func() { done(p, err) }
	})
}

// AllocateProducerIDs forwards to Controller.AllocateProducerIDs.
func (a *Agent) AllocateProducerIDs(done func(first kafka.ProducerID, count int64)) {
	a.link(func(c *Controller) func() {
		first, count := c.AllocateProducerIDs()
		return func() { done(first, count) }
	})
}

func ask[T any](a *Agent, request func(*Controller) T, done func(T)) {
	a.link(func(c *Controller) func() {
		result := request(c)
		return func() { done(result) }
	})
}
