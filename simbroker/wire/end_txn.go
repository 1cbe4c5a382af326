package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// endTxn serves EndTxn (rules G12 to G15). The answer comes when the Prepare
// state is replicated: markers are written after it.
//
// v2: PRODUCER_FENCED, before that INVALID_PRODUCER_EPOCH (rule G7). v5:
// protocol 2, whatever transaction.version says (rule G14); the response has
// the producer id and epoch to go on with.
func (c *call) endTxn(req *kmsg.EndTxnRequest) {
	if !c.may(acl.Write, acl.TransactionalID, req.TransactionalID) {
		c.refuse(kafka.ErrTransactionalIDAuthorizationFailed)
		return
	}
	protocol := txn.TV1
	if req.Version >= 5 {
		protocol = txn.TV2
	}
	c.broker.Txn.EndTxn(txn.EndTxnRequest{
		TransactionalID: req.TransactionalID,
		Producer:        kafka.Producer{ID: kafka.ProducerID(req.ProducerID), Epoch: kafka.ProducerEpoch(req.ProducerEpoch)},
		Commit:          req.Commit,
		ClientVersion:   protocol,
	}, func(p kafka.Producer, err error) {
		if err != nil {
			c.refuse(fencedBefore(2, req.Version, err))
			return
		}
		resp := kmsg.NewPtrEndTxnResponse()
		resp.ProducerID, resp.ProducerEpoch = int64(p.ID), int16(p.Epoch)
		c.send(resp)
	})
}

func refuseEndTxn(_ *kmsg.EndTxnRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrEndTxnResponse()
	resp.ErrorCode = code
	resp.ProducerID, resp.ProducerEpoch = int64(kafka.NoProducerID), int16(kafka.NoProducerEpoch)
	return resp
}
