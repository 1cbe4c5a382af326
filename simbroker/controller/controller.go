// Package controller is the quorum controller of the simulated cluster: it owns
// the metadata (topics, partitions, replicas, ISR, ELR, leaders and their
// epochs, registered brokers, configurations, rights, credentials of users,
// blocks of producer ids), elects
// leaders, and fences brokers that it does not hear from. What it decides is
// published as Updates, from which each broker's Agent keeps an Image of its
// own, a moment behind.
//
//	Agent of a broker ──── request ───▶ Controller
//	      Image ◀──────── Update ────────── Image
//
// The controller is a state machine on the cluster's event loop and answers at
// once; messages take their time elsewhere. It never fails and is never paused;
// a quorum of several and delegation tokens are left out, and nothing keeps to
// quotas.
package controller

import (
	"encoding/base64"
	"math/rand/v2"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// producerIDBlock is how many producer ids a broker gets at a time (rule G0).
const producerIDBlock = 1000

// eligibleLeaderReplicas is the feature behind ELR (KIP-966).
const eligibleLeaderReplicas = "eligible.leader.replicas.version"

// DefaultFeatures are the levels that Kafka 4.3 finalises when it formats a new
// cluster (rule J4).
func DefaultFeatures() map[string]int16 {
	return map[string]int16{
		"metadata.version":     30,
		"transaction.version":  2,
		"group.version":        1,
		eligibleLeaderReplicas: 1,
		"kraft.version":        1,
		"share.version":        1,
		"streams.version":      1,
	}
}

// Controller decides. Its methods belong to events.
type Controller struct {
	clk     clock.Clock
	config  *property.Config
	random  *rand.Rand
	publish func(to kafka.BrokerID, u *Update)

	image    *Image
	pending  *Update // of the act under way
	receives []kafka.BrokerID
	sessions map[kafka.BrokerID]*clock.Timer // each ends in a fencing

	nextProducerID kafka.ProducerID
	quotas         map[string]Quota // by entity
}

// New returns the controller of a new cluster, formatted with the levels of
// features. The static properties are those of a node that every broker has;
// the seed decides topic ids and where first replicas go. publish sends an
// update on its way to a broker; it must keep their order.
func New(clk clock.Clock, static property.Values, features map[string]int16, seed uint64, publish func(to kafka.BrokerID, u *Update)) *Controller {
	c := &Controller{
		clk:      clk,
		config:   property.NewConfig(static),
		random:   rand.New(rand.NewPCG(seed, 0)),
		publish:  publish,
		image:    newImage(),
		sessions: make(map[kafka.BrokerID]*clock.Timer),
		quotas:   make(map[string]Quota),
	}
	id := c.newID()
	c.image.clusterID = base64.RawURLEncoding.EncodeToString(id[:])
	c.image.features.Levels = make(map[string]int16)
	for name, level := range features {
		if level > 0 {
			c.image.features.Levels[name] = level
		}
	}
	c.image.offset = 0
	if c.usesELR() {
		// Kafka keeps the minimum of ISRs in the metadata once ELR depends on it.
		c.setConfig(ConfigState{ConfigResource{Type: property.Broker}, property.Values{"min.insync.replicas": c.config.String("min.insync.replicas")}})
		c.commit()
	}
	c.scheduleElections()
	return c
}

// Subscribe sends a broker a snapshot, and from then on every update.
func (c *Controller) Subscribe(id kafka.BrokerID) {
	for _, known := range c.receives {
		if known == id {
			c.publish(id, c.image.snapshot())
			return
		}
	}
	c.receives = append(c.receives, id)
	c.publish(id, c.image.snapshot())
}

// AllocateProducerIDs gives a block of producer ids away: the first, and how
// many there are.
func (c *Controller) AllocateProducerIDs() (first kafka.ProducerID, count int64) {
	first = c.nextProducerID
	c.nextProducerID += producerIDBlock
	return first, producerIDBlock
}

// Image is the metadata as the controller knows it.
func (c *Controller) Image() *Image { return c.image }

// change is the update that the act under way is collecting.
func (c *Controller) change() *Update {
	if c.pending == nil {
		c.pending = &Update{}
	}
	return c.pending
}

func (c *Controller) setBroker(b *Broker) {
	u := c.change()
	u.Brokers = append(u.Brokers, b)
	c.image.brokers[b.ID] = b
}

func (c *Controller) setTopic(t *Topic) {
	u := c.change()
	u.Topics = append(u.Topics, t)
	c.image.apply(&Update{Offset: c.image.offset, Topics: []*Topic{t}})
}

func (c *Controller) deleteTopic(t *Topic) {
	u := c.change()
	u.Deleted = append(u.Deleted, t)
	c.image.apply(&Update{Offset: c.image.offset, Deleted: []*Topic{t}})
}

func (c *Controller) setPartition(tp kafka.TopicPartition, p *Partition) {
	u := c.change()
	u.Partitions = append(u.Partitions, PartitionChange{tp, p})
	c.image.topics[tp.Topic].Partitions[tp.Partition] = p
}

func (c *Controller) setConfig(s ConfigState) {
	u := c.change()
	u.Configs = append(u.Configs, s)
	c.image.setConfig(s)
	c.config.SetDynamic(c.image.clusterConfig, nil)
}

// commit publishes what the act under way has changed, if anything.
func (c *Controller) commit() {
	if c.pending == nil {
		return
	}
	u := c.pending
	c.pending = nil
	c.image.offset++
	u.Offset = c.image.offset
	for _, id := range c.receives {
		c.publish(id, u)
	}
}

func (c *Controller) usesELR() bool { return c.image.features.Levels[eligibleLeaderReplicas] > 0 }

// newID is a random UUID (version 4), which topics and clusters are named by.
func (c *Controller) newID() kafka.TopicID {
	var id kafka.TopicID
	for i := range id {
		id[i] = byte(c.random.Uint32())
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// scheduleElections looks for partitions to elect leaders for, from time to
// time: away from replicas that are not preferred, and unclean ones where they
// are allowed.
func (c *Controller) scheduleElections() {
	balance := time.Duration(c.config.Int("leader.imbalance.check.interval.seconds")) * time.Second
	c.every(balance, func() {
		if c.config.Bool("auto.leader.rebalance.enable") {
			c.ElectLeaders(PreferredElection, nil)
		}
	})
	c.every(c.config.Duration("unclean.leader.election.interval.ms"), c.electUnclean)
}

func (c *Controller) every(d time.Duration, f func()) {
	c.clk.After(d, func() {
		f()
		c.every(d, f)
	})
}
