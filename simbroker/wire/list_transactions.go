package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// listTransactions serves ListTransactions (rule G21): what this broker
// coordinates. Ids that the client may not describe are left out silently.
//
// v1: a filter on duration. v2: a filter on the id, a regular expression.
func (c *call) listTransactions(req *kmsg.ListTransactionsRequest) {
	filter := txn.ListRequest{
		States:   req.StateFilters,
		Duration: milliseconds(req.DurationFilterMillis),
		Pattern:  stringOf(req.TransactionalIDPattern),
	}
	if req.Version < 1 {
		filter.Duration = -1
	}
	for _, id := range req.ProducerIDFilters {
		filter.ProducerIDs = append(filter.ProducerIDs, kafka.ProducerID(id))
	}
	list, err := c.broker.Txn.List(filter)
	if err != nil {
		c.refuse(err)
		return
	}
	resp := kmsg.NewPtrListTransactionsResponse()
	resp.UnknownStateFilters = list.UnknownStates
	resp.TransactionStates = make([]kmsg.ListTransactionsResponseTransactionState, 0, len(list.Transactions))
	for _, t := range list.Transactions {
		if !c.may(acl.Describe, acl.TransactionalID, t.TransactionalID) {
			continue
		}
		state := kmsg.NewListTransactionsResponseTransactionState()
		state.TransactionalID, state.ProducerID, state.TransactionState = t.TransactionalID, int64(t.ProducerID), t.State.String()
		resp.TransactionStates = append(resp.TransactionStates, state)
	}
	c.send(resp)
}

func refuseListTransactions(_ *kmsg.ListTransactionsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrListTransactionsResponse()
	resp.ErrorCode = code
	return resp
}
