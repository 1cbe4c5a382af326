package histories

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/histories/check"
)

// transactor is a transactional producer, of either protocol (KIP-98, KIP-890).
type transactor struct {
	*client
	id       string
	second   bool // transaction protocol 2
	timeout  time.Duration
	producer check.Producer
	sequence map[partition]int32
	txn      *check.Transaction // nil: it has no producer id
	begun    int
	joined   map[partition]bool // partitions of the transaction, protocol 1
	late     bool               // a request of the transaction may still be on its way
	last     partition          // that was written to
}

func (c *client) transactor(id string, second bool, timeout time.Duration) *transactor {
	return &transactor{client: c, id: id, second: second, timeout: timeout}
}

// initialise gets an epoch of its own, which ends what is open. It reports whether
// it has one.
func (t *transactor) initialise() bool {
	for range 20 {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &t.id, int32(t.timeout.Milliseconds())
		req.ProducerID, req.ProducerEpoch = -1, -1
		version := int16(4)
		if t.second {
			version = 5
		}
		resp, err := toCoordinator[*kmsg.InitProducerIDResponse](t.client, ofTransaction, t.id, version, req)
		if err == nil {
			err = t.settle(ofTransaction, t.id, resp.ErrorCode)
		}
		if err == nil {
			if t.txn != nil && t.txn.Outcome == check.Open {
				t.txn.Outcome = check.Aborted
			}
			t.producer, t.sequence, t.late = check.Producer{ID: resp.ProducerID, Epoch: resp.ProducerEpoch}, map[partition]int32{}, false
			t.begin()
			return true
		}
		t.pause(t.some(20*time.Millisecond, 500*time.Millisecond))
		if t.over && t.chance(8) {
			break
		}
	}
	return false
}

// begin makes what comes a new transaction.
func (t *transactor) begin() {
	t.begun++
	t.txn = &check.Transaction{Name: fmt.Sprintf("transaction %d of %s", t.begun, t.id)}
	t.joined = map[partition]bool{}
}

// write writes a batch in the transaction, again and again until it is known what
// became of it. An error means that the transaction must end.
func (t *transactor) write(at partition, values ...string) error {
	t.ledger.Wrote(at, t.txn, true, values...)
	t.last = at
	b := batch{at: at, producer: t.producer, sequence: t.sequence[at], transactional: t.id, acks: -1, version: 11, values: values, timestamp: t.sim.Now().UnixMilli()}
	t.sequence[at] += int32(len(values))
	if t.second {
		b.version = 12
	} else if err := t.join(at); err != nil {
		return err
	}
	var err error
	for range 12 {
		if _, err = t.produce(b); err == nil {
			return nil
		}
		if !later(err) {
			return err
		}
		t.pause(t.some(20*time.Millisecond, 700*time.Millisecond))
	}
	return err
}

// join adds a partition to the transaction, which protocol 1 asks for.
func (t *transactor) join(at partition) error {
	if t.joined[at] {
		return nil
	}
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = t.id, t.producer.ID, t.producer.Epoch
	topic := kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic, topic.Partitions = at.Topic, []int32{at.Index}
	req.Topics = append(req.Topics, topic)
	err := t.retry(func() error {
		resp, err := toCoordinator[*kmsg.AddPartitionsToTxnResponse](t.client, ofTransaction, t.id, 3, req)
		if err != nil {
			return err
		}
		return t.settle(ofTransaction, t.id, resp.Topics[0].Partitions[0].ErrorCode)
	})
	t.joined[at] = err == nil
	return err
}

// retry does something until it has an answer that is not "later".
func (t *transactor) retry(do func() error) error {
	var err error
	for range 12 {
		err = do()
		if !later(err) {
			return err
		}
		t.late = t.late || errors.Is(err, errNoAnswer)
		t.pause(t.some(20*time.Millisecond, 500*time.Millisecond))
	}
	return err
}

// end commits or aborts. After an error the outcome is not known, unless it was an
// abort: then it is what InitProducerId makes it. Under protocol 1 a commit that is
// still on its way would be taken for one of the next transaction, be it of the
// transaction or of offsets: then the producer begins anew, which fences it.
func (t *transactor) end(commit bool) error {
	if commit {
		t.txn.Outcome = check.Unknown
	}
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = t.id, t.producer.ID, t.producer.Epoch, commit
	version := int16(4)
	if t.second {
		version = 5
	}
	err := t.retry(func() error {
		resp, err := toCoordinator[*kmsg.EndTxnResponse](t.client, ofTransaction, t.id, version, req)
		if err != nil {
			return err
		}
		if err := t.settle(ofTransaction, t.id, resp.ErrorCode); err != nil {
			return err
		}
		if t.second {
			t.producer, t.sequence = check.Producer{ID: resp.ProducerID, Epoch: resp.ProducerEpoch}, map[partition]int32{}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.txn.Outcome = check.Aborted
	if commit {
		t.txn.Outcome = check.Committed
	}
	t.begin()
	if t.late && !t.second && !t.initialise() {
		return errNoAnswer
	}
	return nil
}

// work runs transactions until the history is over. Some are left to their timeout,
// and some of those written to after it.
func (t *transactor) work(targets []partition) {
	for {
		for t.txn == nil || t.txn.Outcome != check.Open {
			if !t.initialise() {
				t.pause(t.some(100*time.Millisecond, time.Second))
			}
			if t.over && t.txn == nil {
				return
			}
		}
		if t.over {
			return
		}
		if !t.transaction(targets) {
			for !t.initialise() { // until then it is not known whether the transaction is open
				if t.over {
					return
				}
			}
		}
	}
}

// transaction runs one transaction; false means that the producer must begin anew.
func (t *transactor) transaction(targets []partition) bool {
	t.pause(t.some(10*time.Millisecond, 3*time.Second))
	for range 1 + t.random.IntN(4) {
		at := targets[t.random.IntN(len(targets))]
		if err := t.write(at, t.values(t.name, 1+t.random.IntN(3))...); err != nil {
			return t.fail(err)
		}
		t.pause(t.some(time.Millisecond, 800*time.Millisecond))
	}
	switch {
	case t.chance(12):
		t.pause(t.timeout + t.some(0, 20*time.Second))
		err := t.write(targets[t.random.IntN(len(targets))], t.values(t.name, 1)...)
		return t.end(err == nil && t.chance(2)) == nil
	case t.hangs && !t.second && t.chance(4):
		return t.hang()
	}
	return t.end(!t.chance(3)) == nil
}

// fail aborts after an error. Under protocol 1 a batch that is still on its way
// would carry the epoch of the next transaction, so that the producer begins anew;
// without verification it may still open a transaction that nobody ends.
func (t *transactor) fail(err error) bool {
	t.txn.Wild = t.hangs && !t.second && later(err)
	return t.end(false) == nil && t.second
}

// hang commits, and writes on as if it had not: without verification the broker
// takes it, and nobody will end what that opens (rule G24).
func (t *transactor) hang() bool {
	at, sequence := t.last, t.sequence[t.last]
	if t.end(true) != nil {
		return false
	}
	if t.chance(2) {
		t.pause(t.some(0, 2*time.Second))
	}
	wild := &check.Transaction{Name: "what was written behind " + t.txn.Name, Wild: true}
	values := t.values(t.name, 1)
	t.ledger.Wrote(at, wild, false, values...)
	_, err := t.produce(batch{at: at, producer: t.producer, sequence: sequence, transactional: t.id, acks: -1, version: 11, values: values, timestamp: t.sim.Now().UnixMilli()})
	if err == nil {
		t.pause(t.some(5*time.Second, 40*time.Second))
	}
	t.txn.Wild = true // the records may become part of the next transaction there
	return false
}
