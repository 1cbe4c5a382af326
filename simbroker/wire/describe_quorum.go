package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// metadataTopic is the log of the controllers; it has one partition.
const metadataTopic = "__cluster_metadata"

// controllerNode is the only voter; the brokers observe.
const controllerNode = 0

// describeQuorum serves DescribeQuorum (KIP-595): one controller, which leads for
// ever and is always caught up with. It needs DESCRIBE on the cluster.
//
// v1: when replicas fetched. v2: error messages, and the controllers' addresses,
// of which there are none (KIP-853).
func (c *call) describeQuorum(req *kmsg.DescribeQuorumRequest) {
	if !c.mayCluster(acl.Describe) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrDescribeQuorumResponse()
	resp.ErrorMessage = new(string) // v2, where Kafka has no null
	for _, t := range req.Topics {
		topic := kmsg.NewDescribeQuorumResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, c.quorum(t.Topic, p.Partition))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if len(req.Topics) > 0 && req.Topics[0].Topic == metadataTopic {
		node := kmsg.NewDescribeQuorumResponseNode()
		node.NodeID = controllerNode
		resp.Nodes = append(resp.Nodes, node)
	}
	c.send(resp)
}

func (c *call) quorum(topic string, number int32) kmsg.DescribeQuorumResponseTopicPartition {
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.Partition, p.ErrorMessage = number, new(string)
	if topic != metadataTopic || number != 0 {
		p.ErrorCode = codeOf(kafka.ErrUnknownTopicOrPartition)
		p.ErrorMessage = fullMessageOf(kafka.ErrUnknownTopicOrPartition)
		return p
	}
	end, now := c.image().Offset()+1, c.broker.Host.Now().UnixMilli()
	replica := func(id int32) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
		r := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		r.ReplicaID, r.LogEndOffset, r.LastFetchTimestamp, r.LastCaughtUpTimestamp = id, end, now, now
		return r
	}
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = controllerNode, 1, end
	p.CurrentVoters = append(p.CurrentVoters, replica(controllerNode))
	for _, b := range c.image().Alive() {
		p.Observers = append(p.Observers, replica(int32(b.ID)))
	}
	return p
}

func refuseDescribeQuorum(_ *kmsg.DescribeQuorumRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeQuorumResponse()
	resp.ErrorCode = code
	return resp
}
