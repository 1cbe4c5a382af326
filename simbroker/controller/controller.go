// Package controller is the quorum controller of the simulated cluster: it owns
// the metadata (topics, partitions, replicas, ISR, ELR, leaders and their
// epochs, registered brokers, configurations, rights, credentials of users,
// blocks of producer ids), elects leaders, and fences brokers that it does not
// hear from. What it decides is published as Updates, from which each broker's
// Agent keeps an Image of its own, a moment behind.
//
//	Agent of a broker ──── request ───▶ Controller
//	      Image ◀──────── Update ────────── Image
//
// Each kind of metadata has a control of its own, as in Kafka. They share one
// image, and the update under way; only that of brokers calls another one, as a
// broker that comes or goes changes partitions.
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

// Controller decides. Its methods belong to events.
type Controller struct {
	*metadata
	*brokerControl
	*topicControl
	*partitionControl
	*configControl
	*featureControl
	*securityControl
	*quotaControl
	clk clock.Clock

	nextProducerID kafka.ProducerID
}

// New returns the controller of a new cluster, formatted with the levels of
// features. The static properties are those of a node that every broker has;
// the seed decides topic ids and where first replicas go. publish sends an
// update on its way to a broker; it must keep their order.
func New(clk clock.Clock, static property.Values, features map[string]int16, seed uint64, publish func(to kafka.BrokerID, u *Update)) *Controller {
	m := &metadata{image: newImage(), config: property.NewConfig(static), publish: publish}
	random := rand.New(rand.NewPCG(seed, 0))
	partitions := &partitionControl{m}
	c := &Controller{
		metadata:         m,
		brokerControl:    &brokerControl{metadata: m, clk: clk, partitions: partitions, sessions: make(map[kafka.BrokerID]*clock.Timer)},
		topicControl:     &topicControl{m, random},
		partitionControl: partitions,
		configControl:    &configControl{m},
		featureControl:   &featureControl{m, SupportedFeatures()},
		securityControl:  &securityControl{m},
		quotaControl:     &quotaControl{make(map[string]Quota)},
		clk:              clk,
	}
	id := newID(random)
	c.image.clusterID = base64.RawURLEncoding.EncodeToString(id[:])
	c.image.features.Levels = make(map[string]int16)
	for name, level := range features {
		if level > 0 {
			c.image.features.Levels[name] = level
		}
	}
	c.image.offset = 0
	if c.image.usesELR() {
		// Kafka keeps the minimum of ISRs in the metadata once ELR depends on it.
		c.setConfig(ConfigState{ConfigResource{Type: property.Broker}, property.Values{"min.insync.replicas": c.config.String("min.insync.replicas")}})
		c.commit()
	}
	c.scheduleElections()
	return c
}

// AllocateProducerIDs gives a block of producer ids away: the first, and how
// many there are.
func (c *Controller) AllocateProducerIDs() (first kafka.ProducerID, count int64) {
	first = c.nextProducerID
	c.nextProducerID += producerIDBlock
	return first, producerIDBlock
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
	c.every(c.config.Duration("unclean.leader.election.interval.ms"), func() {
		c.electMissing()
		c.commit()
	})
}

func (c *Controller) every(d time.Duration, f func()) {
	c.clk.After(d, func() {
		f()
		c.every(d, f)
	})
}
