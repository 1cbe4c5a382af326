package controller

import (
	"reflect"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// edit is what is to become of a partition; what is nil stays.
type edit struct {
	isr      []kafka.BrokerID
	replicas []kafka.BrokerID // with adding and removing
	adding   []kafka.BrokerID
	removing []kafka.BrokerID
	election Election
	// lost is a broker that may have lost records, 0 for none.
	lost kafka.BrokerID
}

// partitionControl changes partitions: their ISR, leader and replicas.
type partitionControl struct{ *metadata }

// update edits a partition and draws the consequences: a reassignment that is
// complete, the ELR, the leader, the epochs.
func (c *partitionControl) update(tp kafka.TopicPartition, p *Partition, e edit) *Partition {
	next := *p
	if e.isr != nil {
		next.ISR = e.isr
	}
	if e.replicas != nil {
		next.Replicas, next.Adding, next.Removing = e.replicas, e.adding, e.removing
	}
	completeReassignment(&next)
	if c.image.usesELR() {
		c.updateELR(tp.Topic, p, &next, e.lost)
	} else if len(next.ISR) == 0 {
		next.ISR = p.ISR // without ELR, the last one stays
	}
	c.elect(tp.Topic, &next, e.election)
	if c.image.usesELR() && len(next.ISR) == 0 && len(p.ISR) > 0 && p.Leader != kafka.NoBroker {
		next.LastKnownELR = []kafka.BrokerID{p.Leader}
	}
	if reflect.DeepEqual(*p, next) {
		return p
	}
	next.Epoch++
	if next.Leader != p.Leader || slices.ContainsFunc(p.Replicas, func(r kafka.BrokerID) bool { return !slices.Contains(next.Replicas, r) }) {
		next.LeaderEpoch++
	}
	c.setPartition(tp, &next)
	return &next
}

// updateELR keeps the eligible leader replicas (KIP-966): what left the ISR
// while it was below its minimum, but for a broker that may have lost records.
func (c *partitionControl) updateELR(topic string, p, next *Partition, lost kafka.BrokerID) {
	if len(next.ISR) >= c.minISR(topic, next) {
		next.ELR, next.LastKnownELR = nil, nil
		return
	}
	var elr []kafka.BrokerID
	for _, r := range next.Replicas {
		if (slices.Contains(p.ISR, r) || slices.Contains(p.ELR, r)) && !slices.Contains(next.ISR, r) && r != lost {
			elr = append(elr, r)
		}
	}
	next.ELR = elr
}

// minISR is the size below which an ISR is too small: min.insync.replicas, but
// never more than there are replicas.
func (c *partitionControl) minISR(topic string, p *Partition) int {
	minimum := int(c.config.Topic(c.image.topics[topic].Config).Int("min.insync.replicas"))
	return min(minimum, len(p.Replicas))
}

// elect gives a partition a leader (rules F4 to F6).
func (c *partitionControl) elect(topic string, p *Partition, kind Election) {
	fit := func(r kafka.BrokerID) bool {
		return (slices.Contains(p.ISR, r) || slices.Contains(p.ELR, r)) && c.image.active(r)
	}
	if kind == PreferredElection && fit(p.Replicas[0]) {
		c.lead(topic, p, p.Replicas[0], false)
		return
	}
	if fit(p.Leader) {
		return
	}
	if i := slices.IndexFunc(p.Replicas, fit); i >= 0 {
		c.lead(topic, p, p.Replicas[i], false)
		return
	}
	if len(p.ISR) == 0 && len(p.ELR) == 0 && len(p.LastKnownELR) == 1 && c.image.active(p.LastKnownELR[0]) {
		c.lead(topic, p, p.LastKnownELR[0], true)
		return
	}
	if kind == UncleanElection || c.config.Topic(c.image.topics[topic].Config).Bool("unclean.leader.election.enable") {
		if i := slices.IndexFunc(p.Replicas, c.image.active); i >= 0 {
			c.lead(topic, p, p.Replicas[i], true)
			return
		}
	}
	p.Leader = kafka.NoBroker
}

// lead makes a replica the leader. One that was out of the ISR is all of the
// new one.
func (c *partitionControl) lead(topic string, p *Partition, r kafka.BrokerID, unclean bool) {
	p.Leader = r
	if !unclean && slices.Contains(p.ISR, r) {
		return
	}
	p.ISR = []kafka.BrokerID{r}
	p.ELR = without(p.ELR, r)
	if unclean || len(p.ELR) == 0 || len(p.ISR) >= c.minISR(topic, p) {
		p.ELR, p.LastKnownELR = nil, nil
	}
}

// completeReassignment ends a reassignment when all added replicas are in sync
// (KIP-455).
func completeReassignment(p *Partition) {
	if len(p.Adding) == 0 && len(p.Removing) == 0 {
		return
	}
	left := func(ids []kafka.BrokerID) []kafka.BrokerID {
		return slices.DeleteFunc(slices.Clone(ids), func(r kafka.BrokerID) bool { return slices.Contains(p.Removing, r) })
	}
	isr := left(p.ISR)
	if len(isr) == 0 || slices.ContainsFunc(p.Adding, func(r kafka.BrokerID) bool { return !slices.Contains(isr, r) }) {
		return
	}
	p.ISR, p.Replicas, p.Adding, p.Removing = isr, left(p.Replicas), nil, nil
}

// electMissing gives a leader to each partition that has none, where one is fit.
func (c *partitionControl) electMissing() {
	c.image.eachPartition(func(tp kafka.TopicPartition, p *Partition) {
		if p.Leader == kafka.NoBroker {
			c.update(tp, p, edit{})
		}
	})
}

// removeFromISRs takes a broker out of every ISR and, when it may have lost
// records, out of every ELR.
func (c *partitionControl) removeFromISRs(id kafka.BrokerID, lost bool) {
	c.image.eachPartition(func(tp kafka.TopicPartition, p *Partition) {
		inISR, inELR := slices.Contains(p.ISR, id), slices.Contains(p.ELR, id)
		if !inISR && !(lost && inELR) {
			return
		}
		e := edit{isr: without(p.ISR, id)}
		if lost {
			e.lost = id
		}
		c.update(tp, p, e)
	})
}

func without(ids []kafka.BrokerID, id kafka.BrokerID) []kafka.BrokerID {
	left := make([]kafka.BrokerID, 0, len(ids))
	for _, other := range ids {
		if other != id {
			left = append(left, other)
		}
	}
	return left
}

// AlterPartition changes an ISR as its leader wishes (KIP-497) and returns the
// partition as it then is. Errors: ErrUnknownTopicOrPartition,
// ErrFencedLeaderEpoch, ErrInvalidRequest (not the leader),
// ErrInvalidUpdateVersion, ErrIneligibleReplica.
func (c *partitionControl) AlterPartition(leader kafka.BrokerID, change ISRChange) (*Partition, error) {
	p, ok := c.image.Partition(change.TopicPartition)
	switch {
	case !ok:
		return nil, kafka.ErrUnknownTopicOrPartition
	case change.LeaderEpoch != p.LeaderEpoch:
		return p, kafka.ErrFencedLeaderEpoch
	case leader != p.Leader:
		return p, kafka.ErrInvalidRequest
	case change.PartitionEpoch != p.Epoch:
		return p, ErrInvalidUpdateVersion
	}
	for _, r := range change.ISR {
		if !slices.Contains(p.Replicas, r) || !c.image.active(r) {
			return p, ErrIneligibleReplica
		}
	}
	p = c.update(change.TopicPartition, p, edit{isr: slices.Clone(change.ISR)})
	c.commit()
	return p, nil
}

// ElectLeaders elects leaders of partitions. With nil partitions it looks at
// all, and reports only those for which there was something to do. Errors of a
// partition: ErrUnknownTopicOrPartition, ErrElectionNotNeeded,
// ErrPreferredLeaderNotAvailable, ErrEligibleLeadersNotAvailable.
func (c *partitionControl) ElectLeaders(kind Election, partitions []kafka.TopicPartition) []PartitionResult {
	var results []PartitionResult
	if partitions == nil {
		c.image.eachPartition(func(tp kafka.TopicPartition, p *Partition) {
			if err := c.electLeader(kind, tp, p); err != kafka.ErrElectionNotNeeded {
				results = append(results, PartitionResult{tp, err})
			}
		})
	}
	for _, tp := range partitions {
		if _, ok := c.image.Topic(tp.Topic); !ok {
			results = append(results, PartitionResult{tp, refuse(kafka.ErrUnknownTopicOrPartition, "No such topic as %s", tp.Topic)})
			continue
		}
		p, ok := c.image.Partition(tp)
		if !ok {
			results = append(results, PartitionResult{tp, refuse(kafka.ErrUnknownTopicOrPartition, "No such partition as %s", tp)})
			continue
		}
		results = append(results, PartitionResult{tp, c.electLeader(kind, tp, p)})
	}
	c.commit()
	return results
}

func (c *partitionControl) electLeader(kind Election, tp kafka.TopicPartition, p *Partition) error {
	if kind == PreferredElection && p.Leader == p.Replicas[0] || kind == UncleanElection && p.Leader != kafka.NoBroker {
		return kafka.ErrElectionNotNeeded
	}
	next := c.update(tp, p, edit{election: kind})
	switch {
	case kind == PreferredElection && next.Leader != next.Replicas[0]:
		return kafka.ErrPreferredLeaderNotAvailable
	case next.Leader == kafka.NoBroker:
		return kafka.ErrEligibleLeadersNotAvailable
	}
	return nil
}

// Reassign changes the replicas of partitions (KIP-455). Errors of a partition:
// ErrUnknownTopicOrPartition, ErrInvalidReplicaAssignment,
// ErrNoReassignmentInProgress.
func (c *partitionControl) Reassign(reassignments []Reassignment) []PartitionResult {
	results := make([]PartitionResult, len(reassignments))
	for i, r := range reassignments {
		results[i] = PartitionResult{r.TopicPartition, c.reassign(r)}
	}
	c.commit()
	return results
}

func (c *partitionControl) reassign(r Reassignment) error {
	p, ok := c.image.Partition(r.TopicPartition)
	if !ok {
		return refuse(kafka.ErrUnknownTopicOrPartition, "Unable to find a topic named %s.", r.TopicPartition.Topic)
	}
	before := slices.DeleteFunc(slices.Clone(p.Replicas), func(id kafka.BrokerID) bool { return slices.Contains(p.Adding, id) })
	target := r.Replicas
	if target == nil {
		if len(p.Adding) == 0 && len(p.Removing) == 0 {
			return kafka.ErrNoReassignmentInProgress
		}
		// Cancelled: added replicas go at once, removed ones stay.
		isr := slices.DeleteFunc(slices.Clone(p.ISR), func(id kafka.BrokerID) bool { return slices.Contains(p.Adding, id) })
		c.update(r.TopicPartition, p, edit{isr: isr, replicas: before})
		return nil
	}
	if err := checkReplicas(c.image, target); err != nil {
		return err
	}
	e := edit{replicas: slices.Clone(target)}
	for _, id := range target {
		if !slices.Contains(before, id) {
			e.adding = append(e.adding, id)
		}
	}
	for _, id := range before {
		if !slices.Contains(target, id) {
			e.removing = append(e.removing, id)
			e.replicas = append(e.replicas, id)
		}
	}
	c.update(r.TopicPartition, p, e)
	return nil
}
