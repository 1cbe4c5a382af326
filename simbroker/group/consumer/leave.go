package consumer

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// leave is a heartbeat by which a member leaves.
func (p Protocol) leave(req group.ConsumerHeartbeatRequest) (group.ConsumerHeartbeatResult, *draft, error) {
	fail := func(err error) (group.ConsumerHeartbeatResult, *draft, error) {
		return group.ConsumerHeartbeatResult{}, nil, err
	}
	g, ok := p.Groups[req.GroupID].(*Group)
	switch {
	case p.Groups[req.GroupID] == nil:
		return fail(group.NotFound(req.GroupID))
	case !ok:
		return fail(group.NotA("consumer", req.GroupID))
	}
	result := group.ConsumerHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}
	d := &draft{Group: g}
	m := g.members[req.MemberID]
	if req.InstanceID != nil {
		m = g.static(*req.InstanceID)
		if err := g.checkStatic(m, req.MemberID, *req.InstanceID); err != nil {
			return fail(err)
		}
	} else if _, err := g.member(req.MemberID); err != nil {
		return fail(err)
	}
	if req.InstanceID != nil && req.MemberEpoch == group.StaticLeaveEpoch {
		d.emit(currentRecord(g.id, m.away()))
		return result, d, nil
	}
	p.fence(d, m)
	return result, d, nil
}

// away is a static member that left and keeps its place and its partitions.
func (m *member) away() *member {
	n := *m
	n.Epoch, n.Revoking = group.StaticLeaveEpoch, nil
	n.Assigned = make(assignment.Ownership, len(m.Assigned))
	for p := range m.Assigned {
		n.Assigned[p] = group.JoinEpoch
	}
	return &n
}

// LeaveMixed serves LeaveGroup to a group of the consumer protocol.
func (p Protocol) LeaveMixed(g *Group, req group.LeaveRequest, done func([]group.LeftMember, error)) {
	left := make([]group.LeftMember, len(req.Members))
	var gone []*member
	for i, leaving := range req.Members {
		left[i] = group.LeftMember{MemberID: leaving.MemberID, InstanceID: leaving.InstanceID}
		m := g.members[leaving.MemberID]
		if leaving.InstanceID != nil {
			m = g.static(*leaving.InstanceID)
			if m == nil || leaving.MemberID != "" {
				left[i].Err = g.checkStatic(m, leaving.MemberID, *leaving.InstanceID)
			}
		} else if m == nil {
			left[i].Err = kafka.ErrUnknownMemberID
		}
		if left[i].Err == nil && !slices.Contains(gone, m) {
			gone = append(gone, m)
		}
	}
	d := &draft{Group: g}
	p.fence(d, gone...)
	p.WriteChanges(d.Changes, func(err error) {
		if err != nil {
			left = nil
		}
		done(left, err)
	})
}
