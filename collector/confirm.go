package collector

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// stance is what a broker says of a leadership that a sweep went by. The greater
// outweighs.
type stance int

const (
	agrees stance = iota
	differs
	knowsNewer
)

// confirmation is what the brokers answered about who leads.
type confirmation struct {
	told    map[int32]map[topicPartition]tenure // by broker
	brokers int                                 // the most that any broker lists

	// keepers is what each broker says of the partitions of __transaction_state.
	keepers map[int32][]stance
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
	c := &confirmation{told: make(map[int32]map[topicPartition]tenure), brokers: len(u.brokers), keepers: make(map[int32][]stance)}
	u.askAll(ctx, "Metadata", one(requests),
		func(id int32, a answered) {
			resp := a.resp.(*kmsg.MetadataResponse)
			c.told[id] = tenuresOf(resp)
			c.brokers = max(c.brokers, len(resp.Brokers))
		},
		func(int32, lag.MissKind) {})
	for _, broker := range u.brokers {
		for number, term := range u.layout.transactionState {
			c.keepers[broker] = append(c.keepers[broker], c.stance(broker, topicPartition{transactionStateTopic, int32(number)}, tenure{Term: term}))
		}
	}
	for _, want := range wants {
		if place, ok := u.layout.place(want.Topic, want.Partition); ok {
			u.partitions[place].Lookup.Confirmed = u.confirmed(c, want, place)
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

// stance is what a broker says of who leads a partition; one that says nothing differs.
func (c *confirmation) stance(broker int32, key topicPartition, held tenure) stance {
	switch t, known := c.told[broker][key]; {
	case !known, !t.isOf(held.topic):
		return differs
	case t.isNewer(held.Term):
		return knowsNewer
	case t.Epoch >= 0 && t.Term != held.Term:
		return differs
	}
	return agrees
}

// coordination is what a broker says of who coordinates a transactional id, or any id
// where it is empty. Where __transaction_state is not listed, nothing rests on that.
func (c *confirmation) coordination(broker int32, id string) stance {
	switch keepers := c.keepers[broker]; {
	case len(keepers) == 0:
		return agrees
	case id == "":
		return slices.Max(keepers)
	default:
		return keepers[lag.Keeper(id, len(keepers))]
	}
}

// confirmed says whether more than half of all brokers tell the leaders that a verdict
// on a partition would rest on, and none a newer one. One that does is asked first in
// the next sweep.
func (u *lookUp) confirmed(c *confirmation, want lag.WantedConfirmation, place int) lag.Reason {
	p := &u.partitions[place]
	held := tenure{lag.Term{Leader: p.Leader, Epoch: p.LeaderEpoch}, u.layout.topicAt(place).id}
	agree := 0
	for _, broker := range u.brokers {
		leads := c.stance(broker, topicPartition{want.Topic, want.Partition}, held)
		coordinates := c.coordination(broker, want.TransactionalID)
		switch {
		case leads == knowsNewer:
			u.ahead = broker
			return lag.ReasonLeaderChanged
		case coordinates == knowsNewer:
			u.ahead = broker
			return lag.ReasonCoordinatorUnavailable
		case leads == agrees && coordinates == agrees:
			agree++
		}
	}
	if 2*agree <= c.brokers {
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
