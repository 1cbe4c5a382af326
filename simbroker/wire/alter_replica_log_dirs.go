package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// alterReplicaLogDirs serves AlterReplicaLogDirs. Log directories are names only:
// a replica that is here is moved by saying so. It needs ALTER on the cluster.
func (c *call) alterReplicaLogDirs(req *kmsg.AlterReplicaLogDirsRequest) {
	if !c.mayCluster(acl.Alter) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	c.send(movedLogDirs(req, func(dir string, tp kafka.TopicPartition) error {
		_, hosted := c.broker.Replicas.Status(tp)
		_, exists := c.image().Partition(tp)
		switch {
		case !slices.Contains(c.logDirs(), dir):
			return kafka.ErrLogDirNotFound
		case hosted:
			return nil
		case exists:
			return kafka.ErrReplicaNotAvailable
		}
		return kafka.ErrUnknownTopicOrPartition
	}))
}

// movedLogDirs answers with one error for each partition, by topic.
func movedLogDirs(req *kmsg.AlterReplicaLogDirsRequest, move func(dir string, tp kafka.TopicPartition) error) *kmsg.AlterReplicaLogDirsResponse {
	resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
	for _, d := range req.Dirs {
		for _, t := range d.Topics {
			at := slices.IndexFunc(resp.Topics, func(o kmsg.AlterReplicaLogDirsResponseTopic) bool { return o.Topic == t.Topic })
			if at < 0 {
				at = len(resp.Topics)
				topic := kmsg.NewAlterReplicaLogDirsResponseTopic()
				topic.Topic = t.Topic
				resp.Topics = append(resp.Topics, topic)
			}
			for _, number := range t.Partitions {
				p := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
				p.Partition = number
				p.ErrorCode = codeOf(move(d.Dir, kafka.TopicPartition{Topic: t.Topic, Partition: number}))
				resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, p)
			}
		}
	}
	return resp
}

func refuseAlterReplicaLogDirs(req *kmsg.AlterReplicaLogDirsRequest, code int16) kmsg.Response {
	resp := movedLogDirs(req, func(string, kafka.TopicPartition) error { return nil })
	for _, t := range resp.Topics {
		for i := range t.Partitions {
			t.Partitions[i].ErrorCode = code
		}
	}
	return resp
}
