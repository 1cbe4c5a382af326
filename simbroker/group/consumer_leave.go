package group

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// leaveConsumer is a heartbeat by which a member leaves.
func (c consumerGroups) leaveConsumer(req ConsumerHeartbeatRequest) (ConsumerHeartbeatResult, *consumerDraft, error) {
	fail := func(err error) (ConsumerHeartbeatResult, *consumerDraft, error) {
		return ConsumerHeartbeatResult{}, nil, err
	}
	g, ok := c.groups[req.GroupID].(*consumer)
	switch {
	case c.groups[req.GroupID] == nil:
		return fail(notFound(req.GroupID))
	case !ok:
		return fail(notA("consumer", req.GroupID))
	}
	result := ConsumerHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}
	d := &consumerDraft{consumer: g}
	m := g.members[req.MemberID]
	if req.InstanceID != nil {
		m = g.static(*req.InstanceID)
		if err := g.checkStatic(m, req.MemberID, *req.InstanceID); err != nil {
			return fail(err)
		}
	} else if _, err := g.member(req.MemberID); err != nil {
		return fail(err)
	}
	if req.InstanceID != nil && req.MemberEpoch == staticLeaveEpoch {
		d.emit(currentAssignmentRecord(g.id, m.away()))
		return result, d, nil
	}
	c.fence(d, m)
	return result, d, nil
}

// away is a static member that left and keeps its place and its partitions.
func (m *consumerMember) away() *consumerMember {
	n := *m
	n.epoch, n.revoking = staticLeaveEpoch, nil
	n.assigned = make(ownership, len(m.assigned))
	for p := range m.assigned {
		n.assigned[p] = joinEpoch
	}
	return &n
}

// leaveMixed serves LeaveGroup to a group of the consumer protocol.
func (c consumerGroups) leaveMixed(g *consumer, req LeaveRequest, done func([]LeftMember, error)) {
	left := make([]LeftMember, len(req.Members))
	var gone []*consumerMember
	for i, leaving := range req.Members {
		left[i] = LeftMember{MemberID: leaving.MemberID, InstanceID: leaving.InstanceID}
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
	d := &consumerDraft{consumer: g}
	c.fence(d, gone...)
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			left = nil
		}
		done(left, err)
	})
}
