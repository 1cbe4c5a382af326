package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// alterPartitionReassignments serves AlterPartitionReassignments (KIP-455),
// which kmsg calls AlterPartitionAssignments; any broker forwards it to the
// controller. Null replicas cancel a reassignment.
//
// v1: the client can forbid that the replication factor changes.
func (c *call) alterPartitionReassignments(req *kmsg.AlterPartitionAssignmentsRequest) {
	if !c.mayCluster(acl.Alter) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	var reassignments []controller.Reassignment
	var asked []*kmsg.AlterPartitionAssignmentsResponseTopicPartition
	for _, t := range req.Topics {
		topic := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		topic.Topic = t.Topic
		topic.Partitions = make([]kmsg.AlterPartitionAssignmentsResponseTopicPartition, len(t.Partitions))
		for i, p := range t.Partitions {
			answer := &topic.Partitions[i]
			answer.Partition = p.Partition
			r := controller.Reassignment{TopicPartition: kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}}
			if p.Replicas != nil {
				r.Replicas = brokerIDs(p.Replicas)
			}
			if err := c.checkReplicationFactor(r); err != nil && req.Version >= 1 && !req.AllowReplicationFactorChange {
				answer.ErrorCode, answer.ErrorMessage = codeOf(err), messageOf(err)
				continue
			}
			reassignments, asked = append(reassignments, r), append(asked, answer)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	c.cluster().Reassign(reassignments, func(results []controller.PartitionResult) {
		for i, r := range results {
			asked[i].ErrorCode, asked[i].ErrorMessage = codeOf(r.Err), messageOf(r.Err)
		}
		c.send(resp)
	})
}

// checkReplicationFactor is the error for a target with more or fewer replicas
// than now.
func (c *call) checkReplicationFactor(r controller.Reassignment) error {
	p, ok := c.image().Partition(r.TopicPartition)
	if !ok || len(r.Replicas) == 0 {
		return nil // the controller has its own words for these
	}
	if now := len(p.Replicas) - len(p.Adding); now != len(r.Replicas) {
		return &controller.Refusal{
			Err:     kafka.ErrInvalidReplicationFactor,
			Message: fmt.Sprintf("The replication factor is changed from %d to %d", now, len(r.Replicas)),
		}
	}
	return nil
}

func refuseAlterPartitionReassignments(req *kmsg.AlterPartitionAssignmentsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.ErrorCode, resp.AllowReplicationFactorChange = code, req.AllowReplicationFactorChange
	for _, t := range req.Topics {
		topic := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			partition := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
