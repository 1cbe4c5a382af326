package histories

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// consumerProperties are those of brokers whose groups of the consumer protocol notice
// as soon as classic ones that a member is silent.
var consumerProperties = map[string]string{
	"group.consumer.session.timeout.ms":        fmt.Sprint(sessionTimeout.Milliseconds()),
	"group.consumer.min.session.timeout.ms":    "1000",
	"group.consumer.heartbeat.interval.ms":     fmt.Sprint((sessionTimeout / 4).Milliseconds()),
	"group.consumer.min.heartbeat.interval.ms": "1000",
}

// joinConsumers joins by the consumer protocol (KIP-848), in which the coordinator
// assigns, and tells each member by its heartbeats.
func (p *pipeline) joinConsumers() error {
	if p.member == "" {
		p.member, p.heard = fmt.Sprintf("%s-%016x", p.name, p.random.Uint64()), p.sim.Now()
	}
	p.generation, p.position, p.told = 0, map[partition]int64{}, false
	return p.beat()
}

// beat sends a heartbeat of the consumer protocol: with epoch 0 it joins. It says
// everything of the member when what it owns has changed, or an answer may have been
// lost: only then is it told its assignment again. What it is to give up it gives up
// at once, as it is between two transactions.
func (p *pipeline) beat() error {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = pipelineGroup, p.member, p.generation
	joins := p.generation == 0
	if joins || !p.told {
		req.RebalanceTimeoutMillis = int32((2 * sessionTimeout).Milliseconds())
		req.SubscribedTopicNames = []string{inputTopic}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if list := p.assigned(); len(list) > 0 {
			t := kmsg.NewConsumerGroupHeartbeatRequestTopic()
			t.TopicID = p.ids[inputTopic]
			for _, at := range list {
				t.Partitions = append(t.Partitions, at.Index)
			}
			req.Topics = append(req.Topics, t)
		}
	}
	if p.coordinator(ofGroup, pipelineGroup) < 0 {
		return errNowhere
	}
	sent := p.sim.Now()
	resp, err := toCoordinator[*kmsg.ConsumerGroupHeartbeatResponse](p.client, ofGroup, pipelineGroup, 1, req)
	if err == nil {
		err = p.settle(ofGroup, pipelineGroup, resp.ErrorCode)
	}
	if err != nil {
		p.told = false
		if joins { // it may have
			p.witness.Add(oracle.Act{Kind: oracle.JoinGroup, Group: pipelineGroup, Member: p.member, Topics: []string{inputTopic}, Sent: sent})
		}
		return err
	}
	p.told = true
	p.generation = resp.MemberEpoch
	p.known()
	p.heard = sent // the answer may have waited
	if resp.Assignment == nil {
		return nil
	}
	target := map[partition]bool{}
	for _, t := range resp.Assignment.Topics {
		if t.TopicID != p.ids[inputTopic] {
			p.t.Errorf("%s: assigned partitions of topic id %x", p.name, t.TopicID)
		}
		for _, n := range t.Partitions {
			target[partition{Topic: inputTopic, Index: n}] = true
		}
	}
	for at := range target {
		if _, owned := p.position[at]; !owned {
			p.position[at], p.told = -1, false
		}
	}
	for at := range p.position {
		if !target[at] {
			delete(p.position, at)
			p.told = false
		}
	}
	return nil
}

// consumerHeartbeat is heartbeat in the consumer protocol: at once when there is
// something to tell, as what was given up.
func (p *pipeline) consumerHeartbeat() error {
	for range 4 {
		if p.told && p.sim.Now().Sub(p.heard) < sessionTimeout/4 {
			break
		}
		err := p.beat()
		switch {
		case err == nil:
		case later(err):
			return nil // the next may reach it
		default: // unless it is unknown, it is still a member, which joins again
			p.expelled(err)
			return errRejoin
		}
	}
	for _, at := range p.assigned() {
		if p.position[at] < 0 {
			if !p.resumeAt(at) {
				return errRejoin
			}
		}
	}
	return nil
}

// leaveConsumers leaves a group by the consumer protocol.
func (p *pipeline) leaveConsumers() {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = pipelineGroup, p.member, -1
	resp, err := toCoordinator[*kmsg.ConsumerGroupHeartbeatResponse](p.client, ofGroup, pipelineGroup, 1, req)
	if err != nil || resp.ErrorCode != 0 {
		p.gone(time.Time{})
	}
}
