package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// addOffsetsToTxn serves AddOffsetsToTxn (rule G9): it adds the group's
// partition of __consumer_offsets to the transaction, whether or not the topic
// exists yet. Clients that speak protocol 2 do not send it.
//
// v2: PRODUCER_FENCED, before that INVALID_PRODUCER_EPOCH (rule G7).
func (c *call) addOffsetsToTxn(req *kmsg.AddOffsetsToTxnRequest) {
	switch {
	case !c.may(acl.Write, acl.TransactionalID, req.TransactionalID):
		c.refuse(kafka.ErrTransactionalIDAuthorizationFailed)
		return
	case !c.may(acl.Read, acl.Group, req.Group):
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	c.broker.Txn.AddPartitions(txn.AddPartitionsRequest{
		TransactionalID: req.TransactionalID,
		Producer:        kafka.Producer{ID: kafka.ProducerID(req.ProducerID), Epoch: kafka.ProducerEpoch(req.ProducerEpoch)},
		Partitions: []kafka.TopicPartition{{
			Topic: kafka.ConsumerOffsetsTopic, Partition: c.broker.Groups.PartitionFor(req.Group),
		}},
		ClientVersion: txn.TV1,
	}, func(err error) { c.refuse(fencedBefore(2, req.Version, err)) })
}

func refuseAddOffsetsToTxn(_ *kmsg.AddOffsetsToTxnRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrAddOffsetsToTxnResponse()
	resp.ErrorCode = code
	return resp
}
