package collector

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// office is the leadership of a partition that a verdict rests on, as the sweep went
// by it, and why there is no verdict if a broker knows of a newer one.
type office struct {
	key   topicPartition
	held  tenure
	newer lag.Reason
}

// tenure is who leads a partition of a topic, which is not always the one of that
// name: zero where the id is not known.
type tenure struct {
	lag.Term
	topic lag.TopicID
}

// confirm asks all brokers who leads, where a verdict would rest on it that was not
// given before. A broker that is cut off from the controller goes on leading what it
// led; others that are cut off agree with it, but more than half of the brokers do
// not, and the one that has taken over says so. What is cut off may list fewer brokers
// than there are: the longest list that any of them tells counts. Asked after all else,
// the answer is of the time at which the transaction was looked into, too.
func (u *lookUp) confirm(ctx context.Context) {
	if u.advisor == nil {
		return
	}
	wants := u.advisor.WantConfirmations(&lag.Sample{Cluster: lag.Known(u.layout.cluster), Topics: u.sweep.topics(), Transactions: u.result})
	if len(wants) == 0 {
		return
	}
	var names []string
	for _, want := range wants {
		names = append(names, want.Topic)
	}
	if len(u.layout.transactionState) > 0 {
		names = append(names, transactionStateTopic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	requests := make(map[int32]kmsg.Request)
	for _, broker := range u.brokers {
		requests[broker] = metadataFor(names...)
	}
	told := make(map[int32]map[topicPartition]tenure)
	all := len(u.brokers)
	u.askAll(ctx, "Metadata", one(requests),
		func(id int32, a answered) {
			resp := a.resp.(*kmsg.MetadataResponse)
			told[id] = tenuresOf(resp)
			all = max(all, len(resp.Brokers))
		},
		func(int32, lag.MissKind) {})
	for _, want := range wants {
		if place, ok := u.layout.place(want.Topic, want.Partition); ok {
			u.partitions[place].Lookup.Confirmed = u.confirmed(u.officesOf(want, place), told, all)
		}
	}
}

// tenuresOf is who leads each partition of a Metadata answer.
func tenuresOf(resp *kmsg.MetadataResponse) map[topicPartition]tenure {
	tenures := make(map[topicPartition]tenure)
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			p := partitionOf(&topic.Partitions[j])
			tenures[topicPartition{nameOf(*topic), p.Number}] = tenure{lag.Term{Leader: p.Leader, Epoch: p.LeaderEpoch}, topic.TopicID}
		}
	}
	return tenures
}

// officesOf are the leaderships that a verdict on a partition would rest on. Where
// __transaction_state is not listed, who coordinates is not among them.
func (u *lookUp) officesOf(want lag.WantedConfirmation, place int) []office {
	terms, p := u.layout.transactionState, &u.partitions[place]
	offices := []office{{
		topicPartition{want.Topic, want.Partition}, tenure{lag.Term{Leader: p.Leader, Epoch: p.LeaderEpoch}, u.layout.topicAt(place).id}, lag.ReasonLeaderChanged,
	}}
	for number, term := range terms {
		if want.TransactionalID == "" || lag.Keeper(want.TransactionalID, len(terms)) == int32(number) {
			offices = append(offices, office{topicPartition{transactionStateTopic, int32(number)}, tenure{Term: term}, lag.ReasonCoordinatorUnavailable})
		}
	}
	return offices
}

// confirmed says whether more than half of all brokers tell the same leaders, and
// none a newer one. One that does is asked first in the next sweep.
func (u *lookUp) confirmed(offices []office, told map[int32]map[topicPartition]tenure, all int) lag.Reason {
	agree := 0
	for _, broker := range u.brokers {
		tenures, answered := told[broker]
		agrees := answered
		for _, o := range offices {
			switch t, known := tenures[o.key]; {
			case !known, !t.isOf(o.held.topic):
				agrees = false
			case t.isNewer(o.held.Term):
				u.ahead = broker
				return o.newer
			case t.Epoch >= 0 && t.Term != o.held.Term:
				agrees = false
			}
		}
		if agrees {
			agree++
		}
	}
	if 2*agree <= all {
		return lag.ReasonNotYetConfirmed
	}
	return lag.ReasonNone
}

// isOf says whether the topic may be that of an id.
func (t tenure) isOf(id lag.TopicID) bool {
	return t.topic == id || t.topic == (lag.TopicID{}) || id == (lag.TopicID{})
}

// isNewer says whether a leadership may be newer than another one: brokers that tell
// no leader epochs leave that open where they name different leaders.
func (t tenure) isNewer(other lag.Term) bool {
	if t.Epoch < 0 || other.Epoch < 0 {
		return t.Leader != other.Leader
	}
	return t.Epoch > other.Epoch
}
