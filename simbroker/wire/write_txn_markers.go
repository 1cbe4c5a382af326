package wire

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// writeTxnMarkers serves WriteTxnMarkers (rules C7, C8 and G17), which
// coordinators send, and administrators to end a hanging transaction (rule
// G25). Markers of __consumer_offsets go through the group coordinator, which
// applies the pending offsets. A partition that this broker does not host is
// UNKNOWN_TOPIC_OR_PARTITION.
//
// v2: the transaction version, of which 2 demands that the marker's epoch is
// above that of the data. In v1 it is 0.
func (c *call) writeTxnMarkers(req *kmsg.WriteTxnMarkersRequest) {
	if !c.mayCluster(acl.Alter) && !c.mayCluster(acl.ClusterAction) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	results := make([]markerResults, len(req.Markers))
	outstanding := len(req.Markers)
	if outstanding == 0 {
		c.send(kmsg.NewPtrWriteTxnMarkersResponse())
	}
	for i := range req.Markers {
		c.writeMarker(&req.Markers[i], func(r markerResults) {
			results[i] = r
			if outstanding--; outstanding == 0 {
				c.send(writeTxnMarkersResponse(req, results))
			}
		})
	}
}

// markerResults are the outcomes of one marker in its partitions.
type markerResults map[kafka.TopicPartition]error

// writeMarker writes one marker to its partitions and answers when it is
// replicated in all of them, or has failed.
func (c *call) writeMarker(m *kmsg.WriteTxnMarkersRequestMarker, done func(markerResults)) {
	results := make(markerResults)
	var ours, offsets []kafka.TopicPartition
	for _, tp := range markerPartitions(m) {
		switch _, hosted := c.broker.Replicas.Status(tp); {
		case !hosted:
			results[tp] = kafka.ErrUnknownTopicOrPartition
		case m.ProducerID < 0 || m.ProducerEpoch < 0: // Kafka cannot build such a marker
			results[tp] = kafka.ErrUnknownServerError
		case tp.Topic == kafka.ConsumerOffsetsTopic:
			offsets = append(offsets, tp)
		default:
			ours = append(ours, tp)
		}
	}
	outstanding := 1 + len(offsets)
	finish := func() {
		if outstanding--; outstanding == 0 {
			done(results)
		}
	}
	timeout := c.cluster().Config().Duration("request.timeout.ms")
	for _, tp := range offsets {
		c.broker.Groups.CompleteTransaction(tp.Partition, offsetsMarker(m, timeout), func(err error) {
			results[tp] = err
			finish()
		})
	}
	if len(ours) == 0 {
		finish()
		return
	}
	c.broker.Replicas.WriteMarkers(replica.MarkersRequest{
		Producer:           kafka.Producer{ID: kafka.ProducerID(m.ProducerID), Epoch: kafka.ProducerEpoch(m.ProducerEpoch)},
		CoordinatorEpoch:   kafka.CoordinatorEpoch(m.CoordinatorEpoch),
		Commit:             m.Committed,
		TransactionVersion: m.TransactionVersion,
		Timeout:            timeout,
		Partitions:         ours,
	}, func(written []replica.MarkerResult) {
		for _, w := range written {
			results[w.Partition] = w.Err
		}
		finish()
	})
}

func offsetsMarker(m *kmsg.WriteTxnMarkersRequestMarker, timeout time.Duration) group.Marker {
	return group.Marker{
		Producer:           kafka.Producer{ID: kafka.ProducerID(m.ProducerID), Epoch: kafka.ProducerEpoch(m.ProducerEpoch)},
		Commit:             m.Committed,
		CoordinatorEpoch:   kafka.CoordinatorEpoch(m.CoordinatorEpoch),
		TransactionVersion: int16(m.TransactionVersion),
		Timeout:            timeout,
	}
}

// markerPartitions lists a marker's partitions, each once.
func markerPartitions(m *kmsg.WriteTxnMarkersRequestMarker) []kafka.TopicPartition {
	var partitions []kafka.TopicPartition
	for _, t := range m.Topics {
		for _, number := range t.Partitions {
			if tp := (kafka.TopicPartition{Topic: t.Topic, Partition: number}); !slices.Contains(partitions, tp) {
				partitions = append(partitions, tp)
			}
		}
	}
	return partitions
}

func writeTxnMarkersResponse(req *kmsg.WriteTxnMarkersRequest, results []markerResults) *kmsg.WriteTxnMarkersResponse {
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	for i, m := range req.Markers {
		marker := kmsg.NewWriteTxnMarkersResponseMarker()
		marker.ProducerID = m.ProducerID
		for _, t := range m.Topics {
			topic := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
			topic.Topic = t.Topic
			for _, number := range t.Partitions {
				partition := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
				partition.Partition = number
				partition.ErrorCode = codeOf(results[i][kafka.TopicPartition{Topic: t.Topic, Partition: number}])
				topic.Partitions = append(topic.Partitions, partition)
			}
			marker.Topics = append(marker.Topics, topic)
		}
		resp.Markers = append(resp.Markers, marker)
	}
	return resp
}

func refuseWriteTxnMarkers(req *kmsg.WriteTxnMarkersRequest, code int16) kmsg.Response {
	resp := writeTxnMarkersResponse(req, make([]markerResults, len(req.Markers)))
	for _, m := range resp.Markers {
		for _, t := range m.Topics {
			for i := range t.Partitions {
				t.Partitions[i].ErrorCode = code
			}
		}
	}
	return resp
}
