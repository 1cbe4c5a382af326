package consumer

import "github.com/lso-exporter/lso-exporter/simbroker/group/assignment"

// raiseEpoch raises the group's epoch if it must rise, or if its topics are not
// what they were.
func (p Protocol) raiseEpoch(d *draft, must bool) {
	if hash := assignment.Hash(d.allTopics(), p.Env.Topics); must || hash != d.metadataHash {
		d.emit(epochRecord(d.id, d.epoch+1, hash))
	}
}
