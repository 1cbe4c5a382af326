package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// describeTransactions serves DescribeTransactions (rule G22), each id with its
// own error. Topics that the client may not describe are left out silently.
func (c *call) describeTransactions(req *kmsg.DescribeTransactionsRequest) {
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	for _, id := range req.TransactionalIDs {
		if !c.may(acl.Describe, acl.TransactionalID, id) {
			resp.TransactionStates = append(resp.TransactionStates, transactionError(id, codeOf(kafka.ErrTransactionalIDAuthorizationFailed)))
			continue
		}
		d, err := c.broker.Txn.Describe(id)
		if err != nil {
			resp.TransactionStates = append(resp.TransactionStates, transactionError(id, codeOf(err)))
			continue
		}
		resp.TransactionStates = append(resp.TransactionStates, c.describedTransaction(d))
	}
	c.send(resp)
}

func (c *call) describedTransaction(d txn.Description) kmsg.DescribeTransactionsResponseTransactionState {
	state := kmsg.NewDescribeTransactionsResponseTransactionState()
	state.TransactionalID, state.State = d.TransactionalID, d.State.String()
	state.TimeoutMillis = int32(d.Timeout.Milliseconds())
	state.ProducerID, state.ProducerEpoch = int64(d.Producer.ID), int16(d.Producer.Epoch)
	state.StartTimestamp = -1
	if !d.Start.IsZero() {
		state.StartTimestamp = d.Start.UnixMilli()
	}
	for _, tp := range d.Partitions { // sorted, hence by topic
		if !c.may(acl.Describe, acl.Topic, tp.Topic) {
			continue
		}
		if n := len(state.Topics); n == 0 || state.Topics[n-1].Topic != tp.Topic {
			topic := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			topic.Topic = tp.Topic
			state.Topics = append(state.Topics, topic)
		}
		last := &state.Topics[len(state.Topics)-1]
		last.Partitions = append(last.Partitions, tp.Partition)
	}
	return state
}

func transactionError(id string, code int16) kmsg.DescribeTransactionsResponseTransactionState {
	state := kmsg.NewDescribeTransactionsResponseTransactionState()
	state.TransactionalID, state.ErrorCode = id, code
	return state
}

func refuseDescribeTransactions(req *kmsg.DescribeTransactionsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	for _, id := range req.TransactionalIDs {
		resp.TransactionStates = append(resp.TransactionStates, transactionError(id, code))
	}
	return resp
}
