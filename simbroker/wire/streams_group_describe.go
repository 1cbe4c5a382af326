package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// streamsGroupDescribe serves StreamsGroupDescribe, of streams groups; others
// are GROUP_ID_NOT_FOUND. A group with a topic that the client may not describe
// is refused as a whole.
func (c *call) streamsGroupDescribe(req *kmsg.StreamsGroupDescribeRequest) {
	if !c.finalized("streams.version", "streams") {
		c.refuse(kafka.ErrUnsupportedVersion)
		return
	}
	resp := kmsg.NewPtrStreamsGroupDescribeResponse()
	allowed, forbidden := c.describableGroups(req.Groups)
	for _, id := range forbidden {
		resp.Groups = append(resp.Groups, describedStreamsError(id, kafka.ErrGroupAuthorizationFailed))
	}
	for _, d := range c.broker.Groups.DescribeStreams(allowed) {
		resp.Groups = append(resp.Groups, c.describedStreams(d, req.IncludeAuthorizedOperations))
	}
	c.send(resp)
}

func (c *call) describedStreams(d group.StreamsDescription, operations bool) kmsg.StreamsGroupDescribeResponseGroup {
	if d.Err != nil {
		return describedStreamsError(d.GroupID, d.Err)
	}
	if d.Topology != nil && !c.mayDescribeAll(topologyTopics(d.Topology)) {
		return describedStreamsError(d.GroupID, errHiddenTopic)
	}
	g := kmsg.NewStreamsGroupDescribeResponseGroup()
	g.Group, g.State = d.GroupID, d.State.String()
	g.Epoch, g.AssignmentEpoch, g.Topology = d.Epoch, d.AssignmentEpoch, describedTopology(d.Topology)
	for _, m := range d.Members {
		g.Members = append(g.Members, describedStreamsMember(m))
	}
	if operations {
		g.AuthorizedOperations = c.authorizedOperations(acl.Group, d.GroupID)
	}
	return g
}

func describedStreamsMember(m group.StreamsMemberDescription) kmsg.StreamsGroupDescribeResponseGroupMember {
	member := kmsg.NewStreamsGroupDescribeResponseGroupMember()
	member.MemberID, member.MemberEpoch, member.RackID = m.MemberID, m.MemberEpoch, m.RackID
	member.ClientID, member.ClientHost = m.ClientID, m.ClientHost
	member.TopologyEpoch, member.ProcessID = m.TopologyEpoch, m.ProcessID
	if m.Endpoint != nil {
		endpoint := kmsg.NewStreamsGroupDescribeResponseGroupMemberUserEndpoint()
		endpoint.Host, endpoint.Port = m.Endpoint.Host, m.Endpoint.Port
		member.UserEndpoint = &endpoint
	}
	for _, t := range m.Tags {
		member.ClientTags = append(member.ClientTags, kmsg.StreamsGroupDescribeResponseGroupMemberClientTag{Key: t.Key, Value: t.Value})
	}
	member.Assignment.ActiveTasks, member.Assignment.StandbyTasks = wireTasks(m.Active), wireTasks(m.Standby)
	member.TargetAssignment.ActiveTasks, member.TargetAssignment.StandbyTasks = wireTasks(m.Target), wireTasks(m.TargetStandby)
	return member
}

func describedTopology(t *group.Topology) *kmsg.StreamsGroupDescribeResponseGroupTopology {
	if t == nil {
		return nil
	}
	topology := kmsg.NewStreamsGroupDescribeResponseGroupTopology()
	topology.Epoch = t.Epoch
	for _, s := range t.Subtopologies {
		sub := kmsg.NewStreamsGroupDescribeResponseGroupTopologySubtopology()
		sub.SubtopologyID, sub.SourceTopics, sub.RepartitionSinkTopics = s.ID, slices.Clone(s.SourceTopics), s.RepartitionSinks
		sub.StateChangelogTopics = describedInternal(s.Changelogs)
		sub.RepartitionSourceTopics = describedInternal(s.RepartitionSources)
		topology.Subtopologies = append(topology.Subtopologies, sub)
	}
	return &topology
}

func describedInternal(topics []group.InternalTopic) []kmsg.TopicInfo {
	var infos []kmsg.TopicInfo
	for _, t := range topics {
		info := kmsg.NewTopicInfo()
		info.Topic, info.NumPartitions, info.ReplicationFactor = t.Name, t.Partitions, t.ReplicationFactor
		for _, c := range t.Configs {
			info.Configs = append(info.Configs, kmsg.TopicInfoConfig{Key: c.Key, Value: c.Value})
		}
		infos = append(infos, info)
	}
	return infos
}

func describedStreamsError(id string, err error) kmsg.StreamsGroupDescribeResponseGroup {
	g := kmsg.NewStreamsGroupDescribeResponseGroup()
	g.Group, g.ErrorCode, g.ErrorMessage = id, codeOf(err), messageOf(err)
	return g
}

func refuseStreamsGroupDescribe(req *kmsg.StreamsGroupDescribeRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrStreamsGroupDescribeResponse()
	for _, id := range req.Groups {
		g := kmsg.NewStreamsGroupDescribeResponseGroup()
		g.Group, g.ErrorCode = id, code
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
