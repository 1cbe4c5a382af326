package classic

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Leave takes members out, one result each in the order asked.
func (p Protocol) Leave(req group.LeaveRequest) []group.LeftMember {
	g, _ := p.Groups[req.GroupID].(*Group)
	left := make([]group.LeftMember, len(req.Members))
	gone := false
	for i, leaving := range req.Members {
		left[i] = group.LeftMember{MemberID: leaving.MemberID, InstanceID: leaving.InstanceID, Err: p.leaveOne(g, leaving)}
		gone = gone || left[i].Err == nil
	}
	if gone {
		p.afterLeaving(g)
	}
	return left
}

// leaveOne takes one member out. Without a member id it is an administrator who
// removes a static member.
func (p Protocol) leaveOne(g *Group, leaving group.LeavingMember) error {
	if g == nil {
		return kafka.ErrUnknownMemberID
	}
	if leaving.MemberID == "" {
		if leaving.InstanceID == nil || g.static(*leaving.InstanceID) == nil {
			return kafka.ErrUnknownMemberID
		}
		p.drop(g, g.static(*leaving.InstanceID))
		return nil
	}
	if g.pendingJoin[leaving.MemberID] != nil {
		g.remove(leaving.MemberID)
		return nil
	}
	m, err := g.validate(leaving.MemberID, leaving.InstanceID)
	if err != nil {
		return err
	}
	p.drop(g, m)
	m.answerSync(group.SyncResult{}, kafka.ErrUnknownMemberID)
	return nil
}

// afterLeaving lets a group go on without those that left.
func (p Protocol) afterLeaving(g *Group) {
	switch g.state {
	case group.Stable, group.CompletingRebalance:
		p.rebalance(g)
	case group.PreparingRebalance:
		p.joinedMaybe(g)
	}
}
