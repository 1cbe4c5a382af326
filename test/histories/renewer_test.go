package histories

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/histories/check"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// fleetingTopic is created, written to, deleted, and created again.
const fleetingTopic = "fleeting"

// renew gives the topic one life after the other until the history is over. A group
// commits offsets of each. A broker that stands still with a request would do it when
// it goes on, to another life: creations go to brokers that run, and deletions name
// the topic by its id.
func (c *client) renew() {
	at := partition{Topic: fleetingTopic}
	reader := &consumer{client: c, group: "fleeting-group", position: map[partition]int64{}}
	for !c.over {
		c.pause(c.some(100*time.Millisecond, 8*time.Second))
		if c.over || !c.createFleeting() {
			return
		}
		for till := c.since() + c.some(3*time.Second, 25*time.Second); c.since() < till; {
			c.pause(c.some(50*time.Millisecond, 2*time.Second))
			b := batch{at: at, producer: check.NoProducer, sequence: -1, acks: -1, version: 11, values: c.values(c.name, 1+c.random.IntN(4)), timestamp: c.sim.Now().UnixMilli()}
			c.ledger.Wrote(at, nil, false, b.values...)
			if base, err := c.produce(b); err == nil && c.chance(2) {
				reader.position[at] = base + c.random.Int64N(int64(len(b.values))+1)
				reader.commit(at)
			}
		}
		if !c.deleteFleeting() {
			return
		}
	}
}

// createFleeting creates the topic. It asks again until it knows that it is there.
func (c *client) createFleeting() bool {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 2000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = fleetingTopic, -1, -1
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	first := int32(c.random.IntN(brokers))
	for r := range int32(brokers) {
		a.Replicas = append(a.Replicas, (first+r)%brokers+1)
	}
	t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	req.Topics = append(req.Topics, t)
	act := oracle.Act{Kind: oracle.CreateTopic, Topic: fleetingTopic, Replicas: [][]int32{a.Replicas}, MinInSync: 2}
	return c.change(act, kerr.TopicAlreadyExists, func() error {
		broker := c.anyBroker()
		if c.sim.State(kafka.BrokerID(broker)) != simbroker.Running {
			return errNowhere
		}
		resp, err := send[*kmsg.CreateTopicsResponse](c, broker, 7, req)
		if err != nil {
			return err
		}
		c.ids[fleetingTopic] = resp.Topics[0].TopicID
		return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	})
}

// deleteFleeting deletes the topic. It asks again until it knows that it is gone.
func (c *client) deleteFleeting() bool {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 2000
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.TopicID = c.ids[fleetingTopic]
	req.Topics = append(req.Topics, t)
	c.forget(fleetingTopic)
	return c.change(oracle.Act{Kind: oracle.DeleteTopic, Topic: fleetingTopic}, kerr.UnknownTopicID, func() error {
		resp, err := send[*kmsg.DeleteTopicsResponse](c, c.anyBroker(), 6, req)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	})
}

// change does something to a topic until it is told that it is done. The error done,
// after a request without an answer, says that this had done it: then it is recorded.
func (c *client) change(act oracle.Act, done error, do func() error) bool {
	unanswered := false
	for ; !c.over; c.pause(c.some(20*time.Millisecond, time.Second)) {
		if !unanswered {
			act.Sent = c.sim.Now()
		}
		err := do()
		switch {
		case err == nil:
			return true
		case err == done && unanswered:
			act.Answered = c.sim.Now()
			c.witness.Add(act)
			return true
		case errors.Is(err, errNoAnswer), err == kerr.RequestTimedOut:
			unanswered = true
		case !later(err):
			c.t.Errorf("%s: %s: %v", c.name, act.Kind, err)
			return false
		}
	}
	if unanswered {
		c.witness.Add(act)
	}
	return false
}
