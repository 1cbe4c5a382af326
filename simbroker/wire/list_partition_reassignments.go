package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// listPartitionReassignments serves ListPartitionReassignments (KIP-455), from
// the broker's image. Null topics ask for all; partitions that are not being
// reassigned, or do not exist, are left out.
func (c *call) listPartitionReassignments(req *kmsg.ListPartitionReassignmentsRequest) {
	if !c.mayCluster(acl.Describe) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	for _, t := range c.image().Topics() {
		topic := kmsg.NewListPartitionReassignmentsResponseTopic()
		topic.Topic = t.Name
		for i, p := range t.Partitions {
			if len(p.Adding)+len(p.Removing) > 0 && asksForReassignment(req, t.Name, int32(i)) {
				topic.Partitions = append(topic.Partitions, reassignedPartition(int32(i), p))
			}
		}
		if len(topic.Partitions) > 0 {
			resp.Topics = append(resp.Topics, topic)
		}
	}
	c.send(resp)
}

func asksForReassignment(req *kmsg.ListPartitionReassignmentsRequest, topic string, partition int32) bool {
	return req.Topics == nil || slices.ContainsFunc(req.Topics, func(t kmsg.ListPartitionReassignmentsRequestTopic) bool {
		return t.Topic == topic && slices.Contains(t.Partitions, partition)
	})
}

func reassignedPartition(number int32, p *controller.Partition) kmsg.ListPartitionReassignmentsResponseTopicPartition {
	partition := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
	partition.Partition, partition.Replicas = number, int32s(p.Replicas)
	partition.AddingReplicas, partition.RemovingReplicas = int32s(p.Adding), int32s(p.Removing)
	return partition
}

func refuseListPartitionReassignments(_ *kmsg.ListPartitionReassignmentsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	resp.ErrorCode = code
	return resp
}
