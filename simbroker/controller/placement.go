package controller

import (
	"math/rand/v2"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// inconsistent is the error for a partition with another number of replicas than
// those before it have.
func inconsistent(replicas, previous int) error {
	return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).", replicas, previous)
}

// checkReplicas refuses replicas that no partition can have.
func checkReplicas(image *Image, replicas []kafka.BrokerID) error {
	if len(replicas) == 0 {
		return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	for i, r := range replicas {
		if _, ok := image.brokers[r]; !ok {
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
func place(image *Image, count, factor int, random *rand.Rand) ([][]kafka.BrokerID, error) {
	brokers := image.Registered()
	if factor > len(brokers) {
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers have all their log directories cordoned.", factor, factor, len(brokers))
	}
	if !slices.ContainsFunc(brokers, (*Broker).active) {
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "Unable to replicate the partition %d time(s): All brokers are currently fenced.", factor)
	}
	start := random.IntN(len(brokers))
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
			return rank(image.active(a)) - rank(image.active(b))
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
func newPartition(image *Image, replicas []kafka.BrokerID) *Partition {
	p := &Partition{Leader: kafka.NoBroker, Replicas: slices.Clone(replicas)}
	for _, r := range replicas {
		if image.active(r) {
			p.ISR = append(p.ISR, r)
		}
	}
	if len(p.ISR) > 0 {
		p.Leader = p.ISR[0]
	}
	return p
}
