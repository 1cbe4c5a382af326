package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// streamsGroupHeartbeat serves StreamsGroupHeartbeat (KIP-1071). It needs
// streams.version 1, and the right to describe every topic of the topology. The
// broker creates the internal topics that the group needs, in the client's name
// and without waiting.
func (c *call) streamsGroupHeartbeat(req *kmsg.StreamsGroupHeartbeatRequest) {
	topology := streamsTopology(req.Topology)
	err := c.checkTopology(topology)
	switch {
	case !c.finalized("streams.version", "streams"):
		err = kafka.ErrUnsupportedVersion
	case !c.may(acl.Read, acl.Group, req.Group):
		err = kafka.ErrGroupAuthorizationFailed
	}
	if err != nil {
		c.send(streamsHeartbeatError(err))
		return
	}
	room := group.StreamsHeartbeatRequest{
		GroupID:          req.Group,
		MemberID:         req.MemberID,
		MemberEpoch:      req.MemberEpoch,
		InstanceID:       req.InstanceID,
		RackID:           req.RackID,
		ClientID:         c.conn.ClientID,
		ClientHost:       c.conn.ClientHost,
		RebalanceTimeout: milliseconds(req.RebalanceTimeoutMillis),
		Topology:         topology,
		Active:           taskIDs(req.ActiveTasks),
		Standby:          taskIDs(req.StandbyTasks),
		Warmup:           taskIDs(req.WarmupTasks),
		ProcessID:        req.ProcessID,
		EndpointEpoch:    req.EndpointInformationEpoch,
	}
	if e := req.UserEndpoint; e != nil {
		room.Endpoint = &group.Endpoint{Host: e.Host, Port: e.Port}
	}
	for _, t := range req.ClientTags {
		room.Tags = append(room.Tags, group.KeyValue{Key: t.Key, Value: t.Value})
	}
	c.broker.Groups.StreamsHeartbeat(room, func(r group.StreamsHeartbeatResult, err error) {
		if err != nil {
			c.send(streamsHeartbeatError(err))
			return
		}
		if forbidden := c.createInternal(r.Create); len(forbidden) > 0 {
			r.Status = withForbidden(r.Status, forbidden)
		}
		c.send(streamsHeartbeat(r))
	})
}

func streamsHeartbeatError(err error) kmsg.Response {
	resp := kmsg.NewPtrStreamsGroupHeartbeatResponse()
	resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
	return resp
}

func streamsHeartbeat(r group.StreamsHeartbeatResult) kmsg.Response {
	resp := kmsg.NewPtrStreamsGroupHeartbeatResponse()
	resp.MemberID, resp.MemberEpoch = r.MemberID, r.MemberEpoch
	resp.HeartbeatIntervalMillis = int32(r.Interval / time.Millisecond)
	for _, s := range r.Status {
		resp.Status = append(resp.Status, kmsg.StreamsGroupHeartbeatResponseStatus{StatusCode: s.Code, StatusDetail: s.Detail})
	}
	if r.Active != nil {
		resp.ActiveTasks, resp.StandbyTasks = wireTasks(r.Active), wireTasks(r.Standby)
		resp.WarmupTasks = []kmsg.TaskIDs{}
	}
	resp.EndpointInformationEpoch = r.EndpointEpoch
	if r.Endpoints != nil {
		resp.PartitionsByUserEndpoint = []kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpoint{}
	}
	for _, e := range r.Endpoints {
		told := kmsg.NewStreamsGroupHeartbeatResponsePartitionsByUserEndpoint()
		told.UserEndpoint.Host, told.UserEndpoint.Port = e.Host, e.Port
		for _, t := range e.Active {
			told.ActivePartitions = append(told.ActivePartitions, kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpointActivePartition{Topic: t.Topic, Partitions: t.Partitions})
		}
		for _, t := range e.Standby {
			told.StandbyPartitions = append(told.StandbyPartitions, kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpointStandbyPartition{Topic: t.Topic, Partitions: t.Partitions})
		}
		resp.PartitionsByUserEndpoint = append(resp.PartitionsByUserEndpoint, told)
	}
	return resp
}

// checkTopology refuses topics that no application may use, and those that the
// client may not know of.
func (c *call) checkTopology(t *group.Topology) error {
	if t == nil {
		return nil
	}
	topics := topologyTopics(t)
	if internal := filter(topics, kafka.IsInternal); len(internal) > 0 {
		return invalidTopology("Use of Kafka internal topics %s in a Kafka Streams topology is prohibited.", strings.Join(internal, ","))
	}
	if invalid := filter(topics, func(t string) bool { return checkTopicName(t) != nil }); len(invalid) > 0 {
		return invalidTopology("Topic names %s are not valid topic names.", strings.Join(invalid, ","))
	}
	if !c.mayDescribeAll(topics) {
		return kafka.ErrTopicAuthorizationFailed
	}
	return nil
}

func invalidTopology(format string, args ...any) error {
	return &group.Refusal{Err: kafka.ErrStreamsInvalidTopology, Message: fmt.Sprintf(format, args...)}
}

func filter(names []string, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !keep(s) })
}

// topologyTopics is all topics that a topology names, each once.
func topologyTopics(t *group.Topology) []string {
	var topics []string
	add := func(names ...string) {
		for _, n := range names {
			if !slices.Contains(topics, n) {
				topics = append(topics, n)
			}
		}
	}
	for _, s := range t.Subtopologies {
		add(s.SourceTopics...)
		add(s.RepartitionSinks...)
		for _, i := range slices.Concat(s.RepartitionSources, s.Changelogs) {
			add(i.Name)
		}
	}
	return topics
}

// createInternal has topics created, or says for which of them the client lacks
// the right.
func (c *call) createInternal(topics []group.InternalTopic) (forbidden []string) {
	var create []controller.NewTopic
	for _, t := range topics {
		if !c.mayCluster(acl.Create) && !c.may(acl.Create, acl.Topic, t.Name) {
			forbidden = append(forbidden, t.Name)
		}
		n := controller.NewTopic{Name: t.Name, Partitions: t.Partitions, ReplicationFactor: t.ReplicationFactor}
		if n.ReplicationFactor <= 0 {
			n.ReplicationFactor = -1
		}
		for _, kv := range t.Configs {
			n.Configs = append(n.Configs, configChange(kv.Key, controller.SetConfig, &kv.Value))
		}
		create = append(create, n)
	}
	if len(forbidden) == 0 && len(create) > 0 {
		c.cluster().CreateTopics(create, false, func([]controller.CreatedTopic) {}) // what failed is asked for again
	}
	return forbidden
}

// withForbidden adds to the status of missing internal topics that the client
// may not create them.
func withForbidden(status []group.StreamsStatus, topics []string) []group.StreamsStatus {
	text := "Unauthorized to CREATE on topics " + strings.Join(topics, ", ") + "."
	for i := range status {
		if status[i].Code == group.StatusMissingInternalTopics {
			status[i].Detail += "; " + text
			return status
		}
	}
	return append(status, group.StreamsStatus{Code: group.StatusMissingInternalTopics, Detail: text})
}

func streamsTopology(t *kmsg.StreamsGroupHeartbeatRequestTopology) *group.Topology {
	if t == nil {
		return nil
	}
	topology := &group.Topology{Epoch: t.Epoch}
	for _, s := range t.Subtopologies {
		sub := group.Subtopology{
			ID:                 s.SubtopologyID,
			SourceTopics:       s.SourceTopics,
			SourceRegexes:      s.SourceTopicRegex,
			RepartitionSinks:   s.RepartitionSinkTopics,
			RepartitionSources: internalTopics(s.RepartitionSourceTopics),
			Changelogs:         internalTopics(s.StateChangelogTopics),
		}
		for _, g := range s.CopartitionGroups {
			sub.CopartitionGroups = append(sub.CopartitionGroups, group.CopartitionGroup{
				SourceTopics: g.SourceTopics, SourceRegexes: g.SourceTopicRegex, RepartitionSources: g.RepartitionSourceTopics,
			})
		}
		topology.Subtopologies = append(topology.Subtopologies, sub)
	}
	return topology
}

func internalTopics(infos []kmsg.TopicInfo) []group.InternalTopic {
	var topics []group.InternalTopic
	for _, i := range infos {
		t := group.InternalTopic{Name: i.Topic, Partitions: i.NumPartitions, ReplicationFactor: i.ReplicationFactor}
		for _, c := range i.Configs {
			t.Configs = append(t.Configs, group.KeyValue{Key: c.Key, Value: c.Value})
		}
		topics = append(topics, t)
	}
	return topics
}

// taskIDs keeps null (unchanged) and none apart.
func taskIDs(tasks []kmsg.TaskIDs) []group.TaskIDs {
	if tasks == nil {
		return nil
	}
	ids := []group.TaskIDs{}
	for _, t := range tasks {
		ids = append(ids, group.TaskIDs{Subtopology: t.SubtopologyID, Partitions: t.Partitions})
	}
	return ids
}

func wireTasks(tasks []group.TaskIDs) []kmsg.TaskIDs {
	ids := []kmsg.TaskIDs{}
	for _, t := range tasks {
		id := kmsg.NewTaskIDs()
		id.SubtopologyID, id.Partitions = t.Subtopology, t.Partitions
		ids = append(ids, id)
	}
	return ids
}

func refuseStreamsGroupHeartbeat(_ *kmsg.StreamsGroupHeartbeatRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrStreamsGroupHeartbeatResponse()
	resp.ErrorCode = code
	return resp
}
