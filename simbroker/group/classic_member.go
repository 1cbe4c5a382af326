package group

import (
	"bytes"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
)

// member is one member of a classic group.
type member struct {
	id               string
	instanceID       *string
	clientID         string
	clientHost       string
	rebalanceTimeout time.Duration
	sessionTimeout   time.Duration
	protocolType     string
	protocols        []Protocol
	assignment       []byte
	// fresh says that the member has not been in a generation yet, so that its
	// session can end even while it waits for one.
	fresh   bool
	session *clock.Timer
	join    func(JoinResult, error) // of a member that waits for the generation
	sync    func(SyncResult, error) // of a member that waits for its assignment
}

// metadata is what the member says for a protocol, nil if it does not support
// it.
func (m *member) metadata(protocol string) *[]byte {
	for i := range m.protocols {
		if m.protocols[i].Name == protocol {
			return &m.protocols[i].Metadata
		}
	}
	return nil
}

// matches says whether the member has said the same before.
func (m *member) matches(protocols []Protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// update takes what the member says now.
func (m *member) update(req JoinRequest, done func(JoinResult, error)) {
	m.protocols = req.Protocols
	m.rebalanceTimeout, m.sessionTimeout = req.RebalanceTimeout, req.SessionTimeout
	m.join = done
}

// excused says whether the member need not send heartbeats now.
func (m *member) excused() bool { return !m.fresh && (m.join != nil || m.sync != nil) }

// answerJoin answers a member that waits for the generation.
func (m *member) answerJoin(r JoinResult, err error) {
	if done := m.join; done != nil {
		m.join = nil
		done(r, err)
	}
}

// answerSync answers a member that waits for its assignment.
func (m *member) answerSync(r SyncResult, err error) {
	if done := m.sync; done != nil {
		m.sync = nil
		done(r, err)
	}
}
