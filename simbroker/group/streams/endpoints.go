package streams

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// tellEndpoints tells a member the endpoints of all members, if it knows older ones.
// They have a new epoch whenever a member with an endpoint is told other tasks. A
// group that comes to be with this heartbeat has none yet, as in Kafka.
func (p Protocol) tellEndpoints(d *draft, m *member, topology configured, known int32, result *group.StreamsHeartbeatResult) {
	g, ok := p.Groups[d.id].(*Group)
	if !ok {
		g = New(d.id)
	}
	if result.Active != nil && m.endpoint != nil {
		g.endpointEpoch++
	}
	if g.endpointEpoch != known {
		result.Endpoints = []group.EndpointPartitions{}
		for _, other := range d.sorted() {
			if other.id != m.id {
				result.Endpoints = p.appendEndpoint(result.Endpoints, d, other, topology)
			}
		}
		result.Endpoints = p.appendEndpoint(result.Endpoints, d, m, topology)
	}
	if ok {
		result.EndpointEpoch = g.endpointEpoch
	}
}

// appendEndpoint adds a member that has an endpoint, once all topics are there.
func (p Protocol) appendEndpoint(endpoints []group.EndpointPartitions, d *draft, m *member, topology configured) []group.EndpointPartitions {
	if m.endpoint == nil || topology.tasks == nil {
		return endpoints
	}
	return append(endpoints, group.EndpointPartitions{
		Endpoint: *m.endpoint, Active: p.partitionsOf(d, only(m.Assigned, false)), Standby: p.partitionsOf(d, only(m.Assigned, true)),
	})
}

// partitionsOf is what tasks read: of each source and repartition topic of their
// subtopologies as many partitions as it has.
func (p Protocol) partitionsOf(d *draft, tasks map[task]int32) []group.AssignedTopic {
	var topics []group.AssignedTopic
	for _, s := range d.topology.Subtopologies {
		var partitions []int32
		for _, t := range sortedTasks(tasks) {
			if t.subtopology == s.ID {
				partitions = append(partitions, t.partition)
			}
		}
		names := slices.Clone(s.SourceTopics)
		for _, r := range s.RepartitionSources {
			names = append(names, r.Name)
		}
		for _, name := range group.SortedNames(names) {
			if known, ok := p.Env.Topics.Topic(name); ok && len(partitions) > 0 {
				topics = append(topics, group.AssignedTopic{Topic: name, Partitions: partitions[:min(len(partitions), int(known.Partitions))]})
			}
		}
	}
	return topics
}
