package collector

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// censusStates are the states of which an application with transactional ids
// has a count, be it 0: those in which an id can stay.
var censusStates = []lag.TransactionState{
	lag.Empty, lag.Ongoing, lag.PrepareCommit, lag.PrepareAbort, lag.CompleteCommit, lag.CompleteAbort,
}

// readCensus returns the last census, and takes one if it is due.
func (w *sweep) readCensus(ctx context.Context) *lag.Census {
	if w.options.CensusPeriod <= 0 {
		return nil
	}
	now := w.options.Now()
	if w.census == nil || now.Sub(w.census.Taken) >= w.options.CensusPeriod {
		w.census = w.takeCensus(ctx, now)
	}
	if w.idsHidden {
		w.misses.add(lag.MissUnauthorized, "transactional ids", 1, "this principal lacks the right to describe the ids of its scope (Describe on transactional ids)", Transactions)
	}
	return w.census
}

// idCounts adds up a census.
type idCounts map[string]map[lag.TransactionState]lag.Count // by application

// add counts an id.
func (n idCounts) add(application string, state lag.TransactionState) {
	states := n[application]
	if states == nil {
		states = make(map[lag.TransactionState]lag.Count)
		for _, each := range censusStates {
			states[each] = 0
		}
		n[application] = states
	}
	states[state]++
}

// list returns the sum in its order.
func (n idCounts) list() []lag.IDCount {
	list := []lag.IDCount{}
	for application, states := range n {
		for state, count := range states {
			list = append(list, lag.IDCount{State: state, Application: application, Count: count})
		}
	}
	slices.SortFunc(list, func(a, b lag.IDCount) int {
		return cmp.Or(cmp.Compare(a.State, b.State), strings.Compare(a.Application, b.Application))
	})
	return list
}

// takeCensus asks all brokers which transactional ids they coordinate, then for
// the description of those whose transactions complete, and of unused ids, as
// for a producer that nobody lists: a coordinator that does not know of its
// office yet lists nothing, without an error.
func (w *sweep) takeCensus(ctx context.Context, now time.Time) *lag.Census {
	u := w.newLookUp()
	u.result = &lag.Transactions{}
	census, counts := &lag.Census{Taken: now}, make(idCounts)
	requests := make(map[int32]kmsg.Request)
	for _, broker := range u.brokers {
		requests[broker] = u.idsRequest()
		u.listed[broker] = true
	}
	u.askAll(ctx, "ListTransactions", one(requests),
		func(id int32, a answered) {
			resp := a.resp.(*kmsg.ListTransactionsResponse)
			if !u.refusedList(id, resp.ErrorCode) {
				u.countIDs(id, resp, counts)
			}
		},
		u.missedList)
	u.result.Uncovered = u.uncovered()
	u.newUnowned()
	names := u.found
	for leader, probes := range u.probesByLeader(u.options.SightID) {
		names[leader] = append(names[leader], probes...)
	}
	u.askAll(ctx, "DescribeTransactions", describeRequests(names),
		func(id int32, a answered) {
			resp := a.resp.(*kmsg.DescribeTransactionsResponse)
			for i := range resp.TransactionStates {
				s := &resp.TransactionStates[i]
				u.takeProbe(id, s)
				if decided(s.State) && s.ErrorCode == 0 && s.StartTimestamp >= 0 {
					census.Deciding = append(census.Deciding, lag.DecidingTransaction{
						ID: s.TransactionalID, Start: time.UnixMilli(s.StartTimestamp), Coordinator: lag.BrokerID(id),
					})
				}
			}
		},
		func(id int32, kind lag.MissKind) { u.unowned.silent[id] = coordinatorReason(kind, 0) })
	u.idsHidden = u.options.TransactionalIDs != nil && u.unowned.hidden && len(counts) == 0
	slices.SortFunc(census.Deciding, func(a, b lag.DecidingTransaction) int { return strings.Compare(a.ID, b.ID) })
	if u.result.Uncovered == lag.ReasonNone && !u.unowned.hidden && !slices.Contains(u.unowned.spoke, false) {
		census.IDs = lag.Known(counts.list())
	}
	return census
}

// countIDs counts what a broker listed, and notes which transactions complete.
func (u *lookUp) countIDs(id int32, resp *kmsg.ListTransactionsResponse, counts idCounts) {
	for i := range resp.TransactionStates {
		s := &resp.TransactionStates[i]
		if !u.options.tells(s.TransactionalID) {
			continue
		}
		counts.add(u.options.Application(s.TransactionalID), lag.TransactionState(s.TransactionState))
		if decided(s.TransactionState) && len(u.found[id]) < maxIDs {
			u.found[id] = append(u.found[id], s.TransactionalID)
		}
	}
}

// decided says whether a state is one in which the outcome is decided and end
// markers are on their way.
func decided(state string) bool {
	return state == string(lag.PrepareCommit) || state == string(lag.PrepareAbort)
}
