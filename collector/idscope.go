package collector

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// This file finds the partitions that the transactional ids of a scope write. In
// step 1, in place of groups, each broker lists those that it coordinates and
// describes the ones whose transaction is open: two requests of the sweep's
// budget, where groups take four or more.

// forgetAfter is how many whole lists in a row an id must be missing from for its
// partitions to leave the scope. A coordinator lists nothing, without an error,
// while it does not know of its office yet.
const forgetAfter = 3

// writer is who was last seen to write a partition in a transaction.
type writer struct {
	id      string
	missing int // whole lists in a row that it was not in
}

// ownIDs is what a broker said of the ids of a scope.
type ownIDs struct {
	listed map[string]bool
	writes map[topicPartition]string // with an open transaction, by partition
}

// tells says whether anything is told of a transactional id.
func (o *Options) tells(id string) bool {
	return o.TransactionalIDs == nil || o.TransactionalIDs.MatchString(id)
}

// idsRequest asks a broker for the transactional ids that are told of. Brokers
// that know no version 2 (KIP-1152, Kafka 4.1) are sent no expression and list
// all ids.
func (s *Sweeper) idsRequest() *kmsg.ListTransactionsRequest {
	req := kmsg.NewPtrListTransactionsRequest()
	if re := s.options.TransactionalIDs; re != nil && !s.patternRefused.Load() {
		req.TransactionalIDPattern = kmsg.StringPtr(re.String())
	}
	return req
}

// askIDs asks a broker for the ids of the scope that it coordinates, and for the
// partitions of their open transactions.
func (w *sweep) askIDs(ctx context.Context, r *stepOne) {
	lacks := func(miss lag.MissKind, request string) {
		if r.line.failure == "" { // else the broker is one miss as a whole
			r.misses.add(miss, r.line.subject(), 1, request, Transactions)
		}
	}
	resp, miss := w.askIDList(ctx, r)
	switch {
	case miss != "":
		lacks(miss, "ListTransactions")
		return
	case resp.ErrorCode != 0:
		lacks(missOfCode(resp.ErrorCode), "ListTransactions: "+codeText(resp.ErrorCode))
		return
	}
	ids := &ownIDs{listed: make(map[string]bool), writes: make(map[topicPartition]string)}
	var open []string
	for i := range resp.TransactionStates {
		s := &resp.TransactionStates[i]
		if !w.options.tells(s.TransactionalID) {
			continue
		}
		ids.listed[s.TransactionalID] = true
		if s.TransactionState == string(lag.Ongoing) || decided(s.TransactionState) {
			open = append(open, s.TransactionalID)
		}
	}
	r.ids = ids
	if len(open) == 0 {
		return
	}
	for i, req := range describeRequests(map[int32][]string{r.line.id: open})[r.line.id] {
		a, miss := r.line.askPart(ctx, i, req)
		if miss != "" {
			lacks(miss, "DescribeTransactions")
			return
		}
		states := a.resp.(*kmsg.DescribeTransactionsResponse).TransactionStates
		for j := range states {
			s := &states[j]
			if s.ErrorCode != 0 && kerr.ErrorForCode(s.ErrorCode) != kerr.TransactionalIDNotFound {
				lacks(missOfCode(s.ErrorCode), "DescribeTransactions: "+codeText(s.ErrorCode))
			}
			for k := range s.Topics {
				name, wanted := w.layout.intern(s.Topics[k].Topic)
				if !wanted {
					continue
				}
				for _, n := range s.Topics[k].Partitions {
					ids.writes[topicPartition{name, n}] = s.TransactionalID
				}
			}
		}
	}
}

// askIDList asks a broker for the list, once more where it does not take the
// expression: its syntax is that of another RE2.
func (w *sweep) askIDList(ctx context.Context, r *stepOne) (*kmsg.ListTransactionsResponse, lag.MissKind) {
	for {
		req := w.idsRequest()
		a, miss := r.line.ask(ctx, req)
		if miss != "" {
			return nil, miss
		}
		resp := a.resp.(*kmsg.ListTransactionsResponse)
		if req.TransactionalIDPattern == nil || kerr.ErrorForCode(resp.ErrorCode) != kerr.InvalidRegularExpression {
			return resp, ""
		}
		w.patternRefused.Store(true)
	}
}

// followIDs takes over what ids were seen to write. A partition stays in the
// scope until the id that was last seen to write it is forgotten by its
// coordinator, so that its series do not come and go with transactions.
func (w *sweep) followIDs() {
	if w.options.TransactionalIDs == nil {
		return
	}
	listed := make(map[string]bool)
	for _, id := range w.brokers {
		if ids := w.ids[id]; ids != nil {
			for name := range ids.listed {
				listed[name] = true
			}
			for at, name := range ids.writes {
				w.written[at] = &writer{id: name}
			}
		}
	}
	whole := w.listsAllIDs()
	for at, writer := range w.written {
		_, exists := w.layout.index[at.topic]
		switch {
		case !exists:
			delete(w.written, at)
		case listed[writer.id]:
			writer.missing = 0
		case whole:
			if writer.missing++; writer.missing >= forgetAfter {
				delete(w.written, at)
			}
		}
	}
}

// listsAllIDs says whether each leader of __transaction_state listed its ids.
func (w *sweep) listsAllIDs() bool {
	for _, term := range w.layout.transactionState {
		if w.ids[int32(term.Leader)] == nil {
			return false
		}
	}
	return len(w.layout.transactionState) > 0
}

// failIDs marks the collector as failed that lacks what a broker says of ids.
func (w *sweep) failIDs() {
	if w.options.TransactionalIDs != nil {
		w.misses.fail(Transactions)
	}
}
