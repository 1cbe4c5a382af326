package producer

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// verification is the state of a producer that is to be verified: the guard,
// and the lowest sequence seen meanwhile, so that of batches in flight none
// can be appended before the first (rule C4).
type verification struct {
	guard          Guard
	timestampMs    int64
	epoch          kafka.ProducerEpoch
	lowestSequence int32
	epochBump      bool // the client bumps its epoch with every transaction
}

// StartVerification gives the guard for a transaction that a batch with this
// first sequence is about to open, or the zero Guard if the producer has one
// open in this epoch. epochBump says that the client speaks transaction
// protocol 2. The guard of a pending verification is shared.
func (m *Manager) StartVerification(p kafka.Producer, firstSequence int32, epochBump bool, nowMs int64) Guard {
	if m.HasOngoing(p) {
		return Guard{}
	}
	v := m.verifications[p.ID]
	if v == nil {
		m.guards++
		v = &verification{
			guard: Guard{m.guards}, timestampMs: nowMs,
			epoch: p.Epoch, lowestSequence: firstSequence, epochBump: epochBump,
		}
		if m.verifications == nil {
			m.verifications = make(map[kafka.ProducerID]*verification)
		}
		m.verifications[p.ID] = v
	}
	if p.Epoch > v.epoch {
		v.epoch, v.lowestSequence = p.Epoch, firstSequence
	}
	if p.Epoch == v.epoch {
		v.lowestSequence = min(v.lowestSequence, firstSequence)
	}
	return v.guard
}

// holds says whether the guard is still that of the producer's verification.
func (m *Manager) holds(id kafka.ProducerID, guard Guard) bool {
	v := m.verifications[id]
	return v != nil && guard.Needed() && v.guard == guard
}
