package histories

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/histories/check"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

const (
	pipelineGroup  = "pipeline"
	sessionTimeout = 8 * time.Second
)

// pipeline is one instance of an exactly-once application (KIP-447): a member of a
// group that reads partitions of one topic in read_committed, writes a record to
// another for each that it has read, and commits both in one transaction.
type pipeline struct {
	*transactor
	consumer   bool // it is a member by the consumer protocol (KIP-848)
	member     string
	generation int32               // or epoch
	told       bool                // the coordinator what it owns, by the consumer protocol
	position   map[partition]int64 // of what it is assigned
	heard      time.Time           // when a coordinator last knew it
}

// errRejoin: the group has moved on.
var errRejoin = errors.New("the group has moved on")

// run lives until the history is over and everything is read. It crashes now and
// then: it is silent for a while, or until its session is over, and begins anew.
func (p *pipeline) run() {
	for !p.finished {
		if !p.join() {
			p.pause(p.some(100*time.Millisecond, time.Second))
			continue
		}
		err := p.process()
		switch {
		case p.finished:
			p.leave()
		case err == nil && p.chance(2): // a crash, and another process soon
			p.gone(time.Time{})
			p.member = ""
			p.pause(p.some(0, sessionTimeout/2))
		case err == nil: // it hangs
			p.gone(time.Time{})
			p.pause(p.some(sessionTimeout/2, 2*sessionTimeout))
		}
		p.position = nil
	}
}

// gone records that the group may be without it since its last heartbeat, or is by
// a moment.
func (p *pipeline) gone(by time.Time) {
	p.witness.Add(oracle.Act{Kind: oracle.LeaveGroup, Group: pipelineGroup, Member: p.member, Sent: p.heard, Answered: by})
}

// known notes that a coordinator knows it. After a session without a word the group
// may have been without it meanwhile: a coordinator that stood still knows it as before
// though another took it out, and so does one that loads the group if the generation
// without it was not written (rule H2).
func (p *pipeline) known() {
	now := p.sim.Now()
	if now.Sub(p.heard) > sessionTimeout {
		p.gone(time.Time{})
		p.witness.Add(oracle.Act{Kind: oracle.JoinGroup, Group: pipelineGroup, Member: p.member, Topics: []string{inputTopic}, Sent: p.heard, Answered: now})
	}
	p.heard = now
}

// expelled says whether an error says that the group is without it, and records it.
func (p *pipeline) expelled(err error) bool {
	if err != kerr.UnknownMemberID {
		return false
	}
	if p.member != "" {
		p.gone(p.sim.Now())
	}
	p.member = ""
	return true
}

// join becomes a member of the group with an assignment, a producer id of its own,
// and positions.
func (p *pipeline) join() bool {
	if !p.initialise() {
		return false
	}
	join := p.joinGroup
	if p.consumer {
		join = p.joinConsumers
	}
	for range 10 {
		err := join()
		if err == nil {
			return p.resumeAt(p.assigned()...)
		}
		p.expelled(err)
		p.pause(p.some(20*time.Millisecond, 400*time.Millisecond))
		if p.finished {
			return false
		}
	}
	return false
}

// joinGroup joins and gets an assignment; the leader makes it.
func (p *pipeline) joinGroup() error {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics = 1, []string{inputTopic}
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = pipelineGroup, p.member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(sessionTimeout.Milliseconds()), int32((2 * sessionTimeout).Milliseconds())
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "range", meta.AppendTo(nil)
	req.Protocols = append(req.Protocols, protocol)
	coordinator := p.coordinator(ofGroup, pipelineGroup)
	if coordinator < 0 {
		return errNowhere
	}
	sent := p.sim.Now()
	joined, err := sendWithin[*kmsg.JoinGroupResponse](p.client, coordinator, 9, req, 3*sessionTimeout)
	if err != nil {
		p.witness.Add(oracle.Act{Kind: oracle.JoinGroup, Group: pipelineGroup, Member: p.member, Topics: meta.Topics, Sent: sent})
		p.forgetCoordinator(ofGroup, pipelineGroup)
		return err
	}
	if kerr.ErrorForCode(joined.ErrorCode) == kerr.MemberIDRequired {
		p.member, p.heard = joined.MemberID, sent
		return kerr.MemberIDRequired
	}
	if err := p.settle(ofGroup, pipelineGroup, joined.ErrorCode); err != nil {
		p.witness.Add(oracle.Act{Kind: oracle.JoinGroup, Group: pipelineGroup, Member: p.member, Topics: meta.Topics, Sent: sent})
		return err
	}
	p.member, p.generation = joined.MemberID, joined.Generation
	p.known()
	if err := p.sync(joined); err != nil {
		p.gone(time.Time{}) // a coordinator that takes over knows only members that were synced
		return err
	}
	return nil
}

func (p *pipeline) sync(joined *kmsg.JoinGroupResponse) error {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = pipelineGroup, p.member, p.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	if joined.LeaderID == p.member {
		members := slices.Clone(joined.Members)
		slices.SortFunc(members, func(a, b kmsg.JoinGroupResponseMember) int { return cmp.Compare(a.MemberID, b.MemberID) })
		for i, m := range members {
			assignment := kmsg.NewConsumerMemberAssignment()
			topic := kmsg.NewConsumerMemberAssignmentTopic()
			topic.Topic = inputTopic
			for n := range int32(partitionsOf(inputTopic)) {
				if int(n)%len(members) == i {
					topic.Partitions = append(topic.Partitions, n)
				}
			}
			assignment.Topics = append(assignment.Topics, topic)
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			a.MemberID, a.MemberAssignment = m.MemberID, assignment.AppendTo(nil)
			req.GroupAssignment = append(req.GroupAssignment, a)
		}
	}
	resp, err := toCoordinator[*kmsg.SyncGroupResponse](p.client, ofGroup, pipelineGroup, 5, req)
	if err != nil {
		return err
	}
	if err := p.settle(ofGroup, pipelineGroup, resp.ErrorCode); err != nil {
		return err
	}
	var assignment kmsg.ConsumerMemberAssignment
	if err := assignment.ReadFrom(resp.MemberAssignment); err != nil {
		p.t.Errorf("%s: assignment: %v", p.name, err)
	}
	p.position = map[partition]int64{}
	for _, topic := range assignment.Topics {
		for _, n := range topic.Partitions {
			p.position[partition{Topic: topic.Topic, Index: n}] = -1
		}
	}
	return nil
}

// assigned are its partitions, in order.
func (p *pipeline) assigned() []partition {
	var list []partition
	for n := range int32(partitionsOf(inputTopic)) {
		if _, mine := p.position[partition{Topic: inputTopic, Index: n}]; mine {
			list = append(list, partition{Topic: inputTopic, Index: n})
		}
	}
	return list
}

// resumeAt sets the positions in partitions to what the group has committed. A commit that is
// still to be decided is waited for (KIP-447).
func (p *pipeline) resumeAt(of ...partition) bool {
	for range 60 {
		offsets, err := p.committed(pipelineGroup, of, true)
		if err == nil {
			for at, offset := range offsets {
				p.position[at] = max(offset, 0)
			}
			return true
		}
		if !p.consumer && p.heartbeat() != nil || p.consumer && p.sim.Now().Sub(p.heard) > sessionTimeout/4 && p.beat() != nil {
			return false
		}
		if _, assigned := p.position[of[0]]; !assigned {
			return false
		}
		p.pause(p.some(100*time.Millisecond, 500*time.Millisecond))
	}
	return false
}

// committed are the commits of a group; -1 where there is none.
func (c *client) committed(group string, of []partition, stable bool) (map[partition]int64, error) {
	out := map[partition]int64{}
	if len(of) == 0 {
		return out, nil
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = stable
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	for _, at := range of {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = at.Topic, []int32{at.Index}
		g.Topics = append(g.Topics, t)
	}
	req.Groups = append(req.Groups, g)
	resp, err := toCoordinator[*kmsg.OffsetFetchResponse](c, ofGroup, group, 9, req)
	if err != nil {
		return nil, err
	}
	if err := c.settle(ofGroup, group, resp.Groups[0].ErrorCode); err != nil {
		return nil, err
	}
	for _, t := range resp.Groups[0].Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, err
			}
			out[partition{Topic: t.Topic, Index: p.Partition}] = p.Offset
		}
	}
	return out, nil
}

// heartbeat tells the coordinator that it lives, if that is due.
func (p *pipeline) heartbeat() error {
	if p.consumer {
		return p.consumerHeartbeat()
	}
	if p.sim.Now().Sub(p.heard) < sessionTimeout/4 {
		return nil
	}
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = pipelineGroup, p.member, p.generation
	resp, err := toCoordinator[*kmsg.HeartbeatResponse](p.client, ofGroup, pipelineGroup, 4, req)
	if err != nil {
		return nil // the next may reach it
	}
	err = p.settle(ofGroup, pipelineGroup, resp.ErrorCode)
	switch {
	case err == nil:
		p.known()
		return nil
	case kerr.IsRetriable(err):
		return nil
	}
	p.expelled(err)
	return errRejoin
}

// process reads, writes and commits until something makes it begin anew, which is
// told by an error but for a crash.
func (p *pipeline) process() error {
	for !p.finished {
		if err := p.heartbeat(); err != nil {
			return err
		}
		if p.chance(60) && !p.over {
			return nil
		}
		p.pause(p.some(20*time.Millisecond, 600*time.Millisecond))
		read := p.read()
		if len(read) == 0 {
			continue
		}
		if p.chance(80) && !p.over { // a crash amid a transaction
			p.transform(read)
			return nil
		}
		if err := p.transform(read); err != nil {
			p.end(false)
			return err
		}
		commit := !p.chance(10)
		if err := p.end(commit); err != nil {
			return err
		}
		if !commit {
			return errRejoin // its positions are ahead of its commits
		}
	}
	return nil
}

// read is what there is to read in the assigned partitions.
func (p *pipeline) read() map[partition][]check.Record {
	read := map[partition][]check.Record{}
	for _, at := range p.assigned() {
		records, next, err := p.fetch(at, p.position[at], true)
		if err != nil {
			continue
		}
		p.ledger.Saw(p.name, at, true, records)
		if next > p.position[at] {
			p.position[at] = next
			read[at] = records
		}
	}
	return read
}

// transform writes what was made of the records, and commits the positions in the
// same transaction.
func (p *pipeline) transform(read map[partition][]check.Record) error {
	for _, at := range p.assigned() {
		for _, r := range read[at] {
			to := partition{Topic: outputTopic, Index: at.Index % int32(partitionsOf(outputTopic))}
			p.written++
			if err := p.write(to, check.Output(at, r.Offset, p.written)); err != nil {
				return err
			}
		}
	}
	return p.commitIn(read)
}

// commitIn commits the positions in the transaction.
func (p *pipeline) commitIn(read map[partition][]check.Record) error {
	if !p.second {
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = p.id, p.producer.ID, p.producer.Epoch, pipelineGroup
		if err := p.retry(func() error {
			resp, err := toCoordinator[*kmsg.AddOffsetsToTxnResponse](p.client, ofTransaction, p.id, 3, add)
			if err != nil {
				return err
			}
			return p.settle(ofTransaction, p.id, resp.ErrorCode)
		}); err != nil {
			return err
		}
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, p.producer.ID, p.producer.Epoch
	req.Group, req.MemberID, req.Generation = pipelineGroup, p.member, p.generation
	for _, at := range p.assigned() {
		if _, some := read[at]; !some {
			continue
		}
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = at.Topic
		o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		o.Partition, o.Offset, o.LeaderEpoch = at.Index, p.position[at], -1
		t.Partitions = append(t.Partitions, o)
		req.Topics = append(req.Topics, t)
	}
	version := int16(4)
	if p.second {
		version = 5
	}
	return p.retry(func() error {
		resp, err := toCoordinator[*kmsg.TxnOffsetCommitResponse](p.client, ofGroup, pipelineGroup, version, req)
		if err != nil {
			return err
		}
		for _, t := range resp.Topics {
			for _, o := range t.Partitions {
				if err := p.settle(ofGroup, pipelineGroup, o.ErrorCode); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// leave leaves the group.
func (p *pipeline) leave() {
	if p.member == "" {
		return
	}
	if p.consumer {
		p.leaveConsumers()
		return
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = pipelineGroup
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = p.member
	req.Members = append(req.Members, m)
	resp, err := toCoordinator[*kmsg.LeaveGroupResponse](p.client, ofGroup, pipelineGroup, 5, req)
	if err != nil || resp.ErrorCode != 0 || resp.Members[0].ErrorCode != 0 {
		p.gone(time.Time{})
	}
}
