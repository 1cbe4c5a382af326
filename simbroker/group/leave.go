package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// leave takes members out, one result each in the order asked.
func (c classicGroups) leave(req LeaveRequest) []LeftMember {
	g, _ := c.groups[req.GroupID].(*classic)
	left := make([]LeftMember, len(req.Members))
	gone := false
	for i, leaving := range req.Members {
		left[i] = LeftMember{MemberID: leaving.MemberID, InstanceID: leaving.InstanceID, Err: c.leaveOne(g, leaving)}
		gone = gone || left[i].Err == nil
	}
	if gone {
		c.afterLeaving(g)
	}
	return left
}

// leaveOne takes one member out. Without a member id it is an administrator who
// removes a static member.
func (c classicGroups) leaveOne(g *classic, leaving LeavingMember) error {
	if g == nil {
		return kafka.ErrUnknownMemberID
	}
	if leaving.MemberID == "" {
		if leaving.InstanceID == nil || g.static(*leaving.InstanceID) == nil {
			return kafka.ErrUnknownMemberID
		}
		c.drop(g, g.static(*leaving.InstanceID))
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
	c.drop(g, m)
	m.answerSync(SyncResult{}, kafka.ErrUnknownMemberID)
	return nil
}

// afterLeaving lets a group go on without those that left.
func (c classicGroups) afterLeaving(g *classic) {
	switch g.state {
	case Stable, CompletingRebalance:
		c.rebalance(g)
	case PreparingRebalance:
		c.joinedMaybe(g)
	}
}
