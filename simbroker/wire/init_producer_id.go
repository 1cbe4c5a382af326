package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// initProducerID serves InitProducerId (rules G5 and G6). Without a
// transactional id it takes the right to write to some topic, or the one to
// write idempotently of before KIP-679.
//
// v3: the producer id and epoch that the client has; one without the other is
// INVALID_REQUEST. v4: PRODUCER_FENCED, before that INVALID_PRODUCER_EPOCH
// (rule G7). v6 (two-phase commit) is unstable in Kafka 4.3 and not offered.
func (c *call) initProducerID(req *kmsg.InitProducerIDRequest) {
	switch {
	case req.TransactionalID != nil && !c.may(acl.Write, acl.TransactionalID, *req.TransactionalID):
		c.refuse(kafka.ErrTransactionalIDAuthorizationFailed)
		return
	case req.TransactionalID == nil && !c.mayCluster(acl.IdempotentWrite) && !c.maySome(acl.Write, acl.Topic):
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	expected := kafka.Producer{ID: kafka.ProducerID(req.ProducerID), Epoch: kafka.ProducerEpoch(req.ProducerEpoch)}
	if (expected.ID == kafka.NoProducerID) != (expected.Epoch == kafka.NoProducerEpoch) {
		c.refuse(kafka.ErrInvalidRequest)
		return
	}
	c.broker.Txn.InitProducerID(txn.InitProducerIDRequest{
		TransactionalID: req.TransactionalID,
		Timeout:         milliseconds(req.TransactionTimeoutMillis),
		Expected:        expected,
	}, func(p kafka.Producer, err error) {
		if err != nil {
			c.refuse(fencedBefore(4, req.Version, err))
			return
		}
		resp := kmsg.NewPtrInitProducerIDResponse()
		resp.ProducerID, resp.ProducerEpoch = int64(p.ID), int16(p.Epoch)
		c.send(resp)
	})
}

func refuseInitProducerID(_ *kmsg.InitProducerIDRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ErrorCode = code
	resp.ProducerID, resp.ProducerEpoch = int64(kafka.NoProducerID), int16(kafka.NoProducerEpoch)
	return resp
}
