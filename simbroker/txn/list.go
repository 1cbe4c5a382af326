package txn

import (
	"regexp"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Describe tells of one transactional id (rule G22). Errors: INVALID_REQUEST,
// NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, TRANSACTIONAL_ID_NOT_FOUND.
func (c *Coordinator) Describe(transactionalID string) (Description, error) {
	if transactionalID == "" {
		return Description{}, kafka.ErrInvalidRequest
	}
	_, t, err := c.find(transactionalID)
	if err != nil {
		return Description{}, err
	}
	if t == nil {
		return Description{}, kafka.ErrTransactionalIDNotFound
	}
	d := Description{
		TransactionalID: t.id,
		State:           t.state,
		Timeout:         t.timeout,
		Producer:        t.producer,
		Partitions:      slices.Clone(t.partitions),
	}
	if t.start != noTime {
		d.Start = time.UnixMilli(t.start)
	}
	return d, nil
}

// List lists the transactions of this broker, by partition of
// __transaction_state, and by id within one (rule G21). Errors:
// COORDINATOR_LOAD_IN_PROGRESS while any partition loads,
// INVALID_REGULAR_EXPRESSION. Expressions are Go's, not Java's.
func (c *Coordinator) List(req ListRequest) (ListResult, error) {
	shards := c.sortedShards()
	if slices.ContainsFunc(shards, func(s *shard) bool { return s.loading }) {
		return ListResult{}, kafka.ErrCoordinatorLoadInProgress
	}
	f, unknown, err := c.filter(req)
	if err != nil {
		return ListResult{}, err
	}
	result := ListResult{UnknownStates: unknown}
	for _, s := range shards {
		var list []*transaction
		if len(req.ProducerIDs) > 0 {
			list = s.transactions.of(req.ProducerIDs)
		} else {
			list = s.transactions.sorted()
		}
		result.Transactions = slices.Grow(result.Transactions, len(list))
		for _, t := range list {
			if f(t) {
				result.Transactions = append(result.Transactions, Listing{t.id, t.producer.ID, t.state})
			}
		}
	}
	return result, nil
}

// filter is what a request selects but for producer ids, and its state names that
// name no state. A filter of unknown names alone selects nothing.
func (c *Coordinator) filter(req ListRequest) (selects func(*transaction) bool, unknown []string, err error) {
	var states []State
	for _, name := range req.States {
		if s, ok := ParseState(name); ok {
			states = append(states, s)
		} else {
			unknown = append(unknown, name)
		}
	}
	var pattern *regexp.Regexp
	if req.Pattern != "" {
		if pattern, err = regexp.Compile(`\A(?:` + req.Pattern + `)\z`); err != nil {
			return nil, nil, kafka.ErrInvalidRegularExpression
		}
	}
	now := c.now()
	return func(t *transaction) bool {
		// A start of -1 makes an Empty transaction older than any duration.
		running := time.Duration(now-t.start) * time.Millisecond
		return (len(req.States) == 0 || slices.Contains(states, t.state)) &&
			(req.Duration < 0 || running > req.Duration) &&
			(pattern == nil || pattern.MatchString(t.id))
	}, unknown, nil
}
