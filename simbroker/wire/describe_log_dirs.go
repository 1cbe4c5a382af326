package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// describeLogDirs serves DescribeLogDirs: the sizes of this broker's replicas.
// All of them lie in the first of log.dirs, by name only. Null topics ask for
// all. The offset lag is 0 but while the replica's end is below its high
// watermark.
//
// v3: an error for the request as a whole. v4: the size of the volume and what
// is free of it. v5: cordoned directories, of which there are none.
func (c *call) describeLogDirs(req *kmsg.DescribeLogDirsRequest) {
	if !c.mayCluster(acl.Describe) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	usable := c.usableBytes()
	for i, name := range c.logDirs() {
		dir := kmsg.NewDescribeLogDirsResponseDir()
		dir.Dir = name
		if req.Version >= 4 {
			dir.TotalBytes, dir.UsableBytes = volumeBytes, usable
		}
		if i == 0 {
			dir.Topics = c.logDirTopics(req)
		}
		resp.Dirs = append(resp.Dirs, dir)
	}
	c.send(resp)
}

// volumeBytes is the size of the volume on which a broker pretends to keep its
// logs.
const volumeBytes = 1 << 40

func (c *call) usableBytes() int64 {
	usable := int64(volumeBytes)
	for _, tp := range c.broker.Replicas.Partitions() {
		if status, ok := c.broker.Replicas.Status(tp); ok {
			usable -= status.SizeBytes
		}
	}
	return max(usable, 0)
}

// logDirs are the names of the log directories.
func (c *call) logDirs() []string {
	if dirs := c.cluster().Config().List("log.dirs"); len(dirs) > 0 {
		return dirs
	}
	return c.cluster().Config().List("log.dir")
}

func (c *call) logDirTopics(req *kmsg.DescribeLogDirsRequest) []kmsg.DescribeLogDirsResponseDirTopic {
	var topics []kmsg.DescribeLogDirsResponseDirTopic
	for _, tp := range c.broker.Replicas.Partitions() { // in order, hence by topic
		status, ok := c.broker.Replicas.Status(tp)
		if !ok || !asksForLogDir(req, tp) {
			continue
		}
		if n := len(topics); n == 0 || topics[n-1].Topic != tp.Topic {
			topic := kmsg.NewDescribeLogDirsResponseDirTopic()
			topic.Topic = tp.Topic
			topics = append(topics, topic)
		}
		partition := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		partition.Partition, partition.Size = tp.Partition, status.SizeBytes
		partition.OffsetLag = max(int64(status.HighWatermark-status.LogEndOffset), 0)
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, partition)
	}
	return topics
}

func asksForLogDir(req *kmsg.DescribeLogDirsRequest, tp kafka.TopicPartition) bool {
	return req.Topics == nil || slices.ContainsFunc(req.Topics, func(t kmsg.DescribeLogDirsRequestTopic) bool {
		return t.Topic == tp.Topic && slices.Contains(t.Partitions, tp.Partition)
	})
}

func refuseDescribeLogDirs(_ *kmsg.DescribeLogDirsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	resp.ErrorCode = code
	return resp
}
