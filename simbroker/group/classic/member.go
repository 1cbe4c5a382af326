package classic

import (
	"bytes"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// Member is one member of a classic group.
type Member struct {
	ID               string
	InstanceID       *string
	ClientID         string
	ClientHost       string
	RebalanceTimeout time.Duration
	SessionTimeout   time.Duration
	ProtocolType     string
	Protocols        []group.Protocol
	Assignment       []byte
	// fresh says that the member has not been in a generation yet, so that its
	// session can end even while it waits for one.
	fresh   bool
	session *clock.Timer
	join    func(group.JoinResult, error) // of a member that waits for the generation
	sync    func(group.SyncResult, error) // of a member that waits for its assignment
}

// Metadata is what the member says for a protocol, nil if it does not support
// it.
func (m *Member) Metadata(protocol string) *[]byte {
	for i := range m.Protocols {
		if m.Protocols[i].Name == protocol {
			return &m.Protocols[i].Metadata
		}
	}
	return nil
}

// matches says whether the member has said the same before.
func (m *Member) matches(protocols []group.Protocol) bool {
	return slices.EqualFunc(m.Protocols, protocols, func(a, b group.Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// update takes what the member says now.
func (m *Member) update(req group.JoinRequest, done func(group.JoinResult, error)) {
	m.Protocols = req.Protocols
	m.RebalanceTimeout, m.SessionTimeout = req.RebalanceTimeout, req.SessionTimeout
	m.join = done
}

// excused says whether the member need not send heartbeats now.
func (m *Member) excused() bool { return !m.fresh && (m.join != nil || m.sync != nil) }

// answerJoin answers a member that waits for the generation.
func (m *Member) answerJoin(r group.JoinResult, err error) {
	if done := m.join; done != nil {
		m.join = nil
		done(r, err)
	}
}

// answerSync answers a member that waits for its assignment.
func (m *Member) answerSync(r group.SyncResult, err error) {
	if done := m.sync; done != nil {
		m.sync = nil
		done(r, err)
	}
}
