package replica

import (
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// produce is a Produce request on its way: checked, verified, appended,
// acknowledged.
type produce struct {
	broker  *Broker
	req     ProduceRequest
	done    func(ProduceResult)
	batches []commitlog.Batch // the header of each partition's batch
	guards  []producer.Guard
	result  ProduceResult
	waiting int
}

// Produce appends a client's batches (sections A, C, rules F8 and G10). Refusals
// come in this order: transactional records without a transactional id, records
// that are not one v2 batch, several producer ids, verification, acks, and
// then those of the partition and its log.
func (b *Broker) Produce(req ProduceRequest, done func(ProduceResult)) {
	n := len(req.Partitions)
	r := &produce{
		broker: b, req: req, done: done,
		batches: make([]commitlog.Batch, n), guards: make([]producer.Guard, n),
	}
	r.result.Partitions = make([]ProducedPartition, n)
	for i := range req.Partitions {
		r.result.Partitions[i] = ProducedPartition{
			Partition: req.Partitions[i].Partition, BaseOffset: kafka.NoOffset, LogAppendTimeMs: -1,
			LogStartOffset: kafka.NoOffset, LeaderEpoch: -1, Leader: kafka.NoBroker,
		}
	}
	if !r.parse() {
		done(r.result)
		return
	}
	r.verify(func() {
		r.waiting = 1 // the loop over partitions
		r.append()
		r.finish()
	})
}

// fail refuses one partition.
func (r *produce) fail(i int, err error) {
	r.result.Partitions[i].Err = err
}

// refuse refuses all partitions that are not refused yet.
func (r *produce) refuse(err error) {
	for i := range r.result.Partitions {
		if r.result.Partitions[i].Err == nil {
			r.fail(i, err)
		}
	}
}

// parse looks at the batches' headers (rule A5). It reports false if the whole
// request is refused.
func (r *produce) parse() bool {
	transactional := false
	for i := range r.req.Partitions {
		batch, err := onlyBatch(r.req.Partitions[i].Records)
		r.batches[i] = batch
		transactional = transactional || batch.Attributes.IsTransactional()
		switch _, missing := r.broker.lookup(r.req.Partitions[i].Partition); {
		case missing == kafka.ErrUnknownTopicOrPartition:
			r.fail(i, missing)
		case err != nil:
			r.fail(i, err)
		}
	}
	if transactional && r.req.TransactionalID == "" {
		for i := range r.result.Partitions {
			r.fail(i, kafka.ErrTransactionalIDAuthorizationFailed)
		}
		return false
	}
	if r.severalProducers() {
		r.refuse(kafka.ErrInvalidProducerIDMapping)
		return false
	}
	return true
}

// onlyBatch parses records that must be one v2 batch. After an error the batch
// may still tell its attributes.
func onlyBatch(records []byte) (commitlog.Batch, error) {
	raw, rest, err := commitlog.Split(records)
	switch {
	case err != nil:
		return commitlog.Batch{}, err
	case raw == nil || commitlog.Magic(raw) != 2:
		return commitlog.Batch{}, kafka.ErrInvalidRecord
	}
	batch, err := commitlog.Parse(raw)
	if err != nil {
		return batch, err
	}
	// What follows and is no whole batch is passed over.
	switch another, _, err := commitlog.Split(rest); {
	case err != nil:
		return batch, kafka.ErrCorruptMessage
	case another != nil:
		return batch, kafka.ErrInvalidRecord
	}
	return batch, nil
}

// verifiable says whether a partition's batch may have to be verified.
func (r *produce) verifiable(i int) bool {
	b := &r.batches[i]
	return r.result.Partitions[i].Err == nil && b.Attributes.IsTransactional() && b.HasProducer()
}

func (r *produce) severalProducers() bool {
	id := kafka.NoProducerID
	for i := range r.batches {
		if !r.verifiable(i) {
			continue
		}
		if id != kafka.NoProducerID && r.batches[i].Producer.ID != id {
			return true
		}
		id = r.batches[i].Producer.ID
	}
	return false
}

// verify asks the coordinator about the partitions in which the producer has no
// transaction open (rule G10), and goes on when it has answered.
func (r *produce) verify(next func()) {
	add := r.req.Support == AddPartition
	if r.req.TransactionalID == "" || !add && !r.broker.cfg.TransactionPartitionVerification {
		next()
		return
	}
	req := VerifyRequest{TransactionalID: r.req.TransactionalID, Add: add}
	var asked []int
	for i := range r.batches {
		if !r.verifiable(i) {
			continue
		}
		p, err := r.broker.lookupLeader(r.req.Partitions[i].Partition)
		if err != nil {
			r.failAt(i, p, err)
			continue
		}
		b := &r.batches[i]
		r.guards[i] = p.log.StartVerification(b.Producer, b.BaseSequence, add, r.broker.nowMs())
		if r.guards[i].Needed() {
			req.Producer = b.Producer
			req.Partitions = append(req.Partitions, p.state.Partition)
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 {
		next()
		return
	}
	r.broker.ask(req, func() { r.guard(asked) }, func(errs []error) {
		for j, i := range asked {
			if err := verificationError(errs[j], r.req.Support); err != nil {
				r.fail(i, err)
			}
		}
		next()
	})
}

// guard begins the verification of partitions anew.
func (r *produce) guard(asked []int) {
	for _, i := range asked {
		if p, err := r.broker.lookupLeader(r.req.Partitions[i].Partition); err == nil {
			b := &r.batches[i]
			r.guards[i] = p.log.StartVerification(b.Producer, b.BaseSequence, r.req.Support == AddPartition, r.broker.nowMs())
		}
	}
}

// append writes the batches that are not refused yet.
func (r *produce) append() {
	if r.req.Acks < -1 || r.req.Acks > 1 {
		r.refuse(kafka.ErrInvalidRequiredAcks)
		return
	}
	for i := range r.result.Partitions {
		if r.result.Partitions[i].Err == nil {
			r.appendTo(i)
		}
	}
}

func (r *produce) appendTo(i int) {
	at, out := &r.req.Partitions[i], &r.result.Partitions[i]
	if kafka.IsInternal(at.Partition.Topic) && !r.req.InternalTopics {
		r.fail(i, kafka.ErrInvalidTopicException)
		return
	}
	p, err := r.broker.lookupLeader(at.Partition)
	if err == nil && r.req.Acks == -1 && len(p.state.ISR) < p.minISR() {
		err = kafka.ErrNotEnoughReplicas
	}
	if err != nil {
		r.failAt(i, p, err)
		return
	}
	p.settle()
	appended, err := p.log.AppendClient(r.batches[i].Raw, commitlog.Append{
		Partition: at.Partition, NowMs: r.broker.nowMs(), LeaderEpoch: p.state.LeaderEpoch,
		Guard: r.guards[i], Verify: r.broker.cfg.TransactionPartitionVerification,
	})
	if err != nil {
		r.failAt(i, p, err)
		return
	}
	out.BaseOffset, out.LogAppendTimeMs, out.LogStartOffset = appended.FirstOffset, appended.LogAppendTimeMs, p.log.LogStartOffset()
	if !appended.Duplicate {
		p.appended()
	}
	if r.req.Acks == -1 {
		r.waiting++
		p.awaitAck(appended.LastOffset+1, r.req.Timeout, func(_ kafka.Offset, err error) {
			out.Err = err
			r.finish()
		})
	}
}

// failAt refuses a partition with what is known of its leader (KIP-951) and,
// unless the error is one of those that need no look at the log, where its log
// starts.
func (r *produce) failAt(i int, p *partition, err error) {
	r.fail(i, err)
	out := &r.result.Partitions[i]
	switch {
	case p == nil:
	case err == kafka.ErrNotLeaderOrFollower:
		out.Leader, out.LeaderEpoch = p.state.Leader, p.state.LeaderEpoch
	case err != kafka.ErrCorruptMessage && err != kafka.ErrMessageTooLarge && err != kafka.ErrRecordListTooLarge:
		out.LogStartOffset = p.log.LogStartOffset()
	}
}

// finish answers when nothing is waited for any more.
func (r *produce) finish() {
	if r.waiting--; r.waiting == 0 {
		r.done(r.result)
	}
}
