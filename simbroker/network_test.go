package simbroker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// nothing is metadata of a cluster without topics.
type nothing struct{}

func (nothing) Exists(kafka.TopicPartition) bool { return false }
func (nothing) Unfenced(kafka.BrokerID) bool     { return true }
func (nothing) Rack(kafka.BrokerID) string       { return "" }

// Fetches between brokers use one call again and again. One that is given up, since
// its leader is paused or has died, is answered by itself or not at all, and what
// comes after it is answered once.
func TestFetchesBetweenBrokers(t *testing.T) {
	loop := clock.NewSimulated(time.UnixMilli(1_700_000_000_000))
	brokers := &nodes{network: &network{loop: loop, latency: time.Millisecond}}
	for id := kafka.BrokerID(1); id <= 2; id++ {
		n := &node{port: newPort(loop), id: id}
		n.alive = true
		n.replicas = replica.New(id, replica.DefaultConfig(), replica.Deps{Clock: n.host, Metadata: nothing{}})
		brokers.all = append(brokers.all, n)
	}
	follower, leader := brokers.all[0], brokers.all[1]
	p := peers{follower, brokers, &faults{}, map[kafka.BrokerID]*fetchCall{}}
	var answers []string
	fetch := func(topic string) {
		at := replica.FetchPartition{Partition: kafka.TopicPartition{Topic: topic}}
		p.Fetch(leader.id, replica.FetchRequest{ReplicaID: follower.id, Partitions: []replica.FetchPartition{at}}, func(r replica.FetchResult, err error) {
			if err != nil {
				answers = append(answers, fmt.Sprint(topic, " ", err))
				return
			}
			answers = append(answers, fmt.Sprint(topic, " ", r.Partitions[0].Partition, " ", r.Partitions[0].Err))
		})
	}
	expect := func(step string, want ...string) {
		t.Helper()
		loop.Advance(10 * time.Millisecond)
		if !slices.Equal(answers, want) {
			t.Errorf("%s: got answers %q, want %q", step, answers, want)
		}
		if len(leader.waiting) > 0 && !leader.host.Paused() {
			t.Errorf("%s: %d calls wait for an answer", step, len(leader.waiting))
		}
		answers = nil
	}
	fetch("a")
	expect("a fetch", "a a-0 UNKNOWN_TOPIC_OR_PARTITION")
	fetch("b")
	expect("the next", "b b-0 UNKNOWN_TOPIC_OR_PARTITION")

	leader.host.Pause()
	fetch("c")
	expect("a paused leader")
	fetch("d")
	expect("a fetch after one that is given up")
	leader.host.Resume()
	expect("a leader that is resumed", "c c-0 UNKNOWN_TOPIC_OR_PARTITION", "d d-0 UNKNOWN_TOPIC_OR_PARTITION")

	leader.host.Pause()
	fetch("e")
	expect("a paused leader")
	leader.die()
	expect("a leader that dies", "e BROKER_NOT_AVAILABLE")
	fetch("f")
	expect("a dead leader", "f BROKER_NOT_AVAILABLE")
	leader.alive = true
	fetch("g")
	expect("a leader that is back", "g g-0 UNKNOWN_TOPIC_OR_PARTITION")

	fetch("h")
	follower.die()
	follower.alive = true
	fetch("i")
	expect("a follower that has died", "i i-0 UNKNOWN_TOPIC_OR_PARTITION")
}
