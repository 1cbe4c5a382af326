package simbroker_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

var (
	seeds    = flag.Uint64("seeds", 30, "how many random histories to play")
	onlySeed = flag.Uint64("seed", 0, "play the history of this seed alone")
)

// history is a random one: producers, plain and transactional, write to one
// partition with three replicas while brokers are paused, killed, stopped and
// started. It keeps what it was promised.
type history struct {
	*story
	random *rand.Rand
	// gentle histories have one broker away at a time. In the others a partition
	// may be without a leader when its marker is due, and its transaction then
	// hangs, as in Kafka (rule G17): its outcome is not promised.
	gentle bool
	// next is the value of the next record: they are numbered.
	next int
	// kept are the values that were acknowledged by all replicas, hidden those
	// of transactions that were aborted for sure, and shown those of transactions
	// that were committed for sure.
	kept, hidden, shown map[int]bool
	producers           []*player
}

// player is a transactional producer and what its open transaction has written.
type player struct {
	transaction
	ready bool // it has a producer id
	wrote []int
	// unsure says that the outcome of a request is not known: Kafka's clients
	// begin anew then.
	unsure bool
}

// Whatever happens to the brokers: what all replicas have acknowledged is kept,
// no offset comes out of order, and once all is well again the replicas are the
// same. While one broker is away at a time, also: transactions are seen whole or
// not at all, and all of them end.
func TestRandomHistories(t *testing.T) {
	first, last := uint64(1), *seeds
	if *onlySeed != 0 {
		first, last = *onlySeed, *onlySeed
	}
	committed := 0
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { committed += playHistory(t, seed) })
	}
	if committed == 0 {
		t.Error("no history committed anything")
	}
}

// playHistory plays the history of a seed and returns how many records were
// committed for sure.
func playHistory(t *testing.T, seed uint64) int {
	properties := maps.Clone(small)
	properties["transaction.state.log.replication.factor"] = "3"
	properties["transaction.state.log.min.isr"] = "2"
	properties["min.insync.replicas"] = "2"
	c, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: properties, Clock: simbroker.Simulated(epoch), Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{
		story: &story{Cluster: c, t: t}, random: rand.New(rand.NewPCG(seed, 9)),
		gentle: seed%2 == 0,
		kept:   map[int]bool{}, hidden: map[int]bool{}, shown: map[int]bool{},
	}
	h.createTopic("t", 1, 2, 3)
	for i := range 2 {
		h.producers = append(h.producers, &player{transaction: transaction{id: fmt.Sprintf("x%d", i)}})
	}
	for range 120 {
		h.step()
	}
	h.heal()
	h.check()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	return len(h.shown)
}

func (h *history) step() {
	id := kafka.BrokerID(1 + h.random.IntN(3))
	switch h.random.IntN(16) {
	case 0:
		h.away(h.Pause, id)
	case 1:
		h.away(h.Kill, id)
	case 2:
		h.away(h.Stop, id)
	case 3, 4:
		h.back(h.Resume, id)
	case 5, 6, 7:
		h.back(h.Cluster.Start, id)
	case 8:
		h.Advance(time.Duration(h.random.IntN(12000)) * time.Millisecond)
	case 9:
		h.plain()
	default:
		h.play(h.producers[h.random.IntN(len(h.producers))])
	}
}

// away takes a broker away, if its state and the kind of history allow it.
func (h *history) away(act func(kafka.BrokerID) error, id kafka.BrokerID) {
	h.t.Helper()
	away := func(other kafka.BrokerID) bool { return h.State(other) != simbroker.Running }
	if h.gentle && slices.ContainsFunc(h.Brokers(), away) {
		return
	}
	if err := act(id); err != nil && !errors.Is(err, simbroker.ErrState) {
		h.t.Fatal(err)
	}
}

// back brings a broker back, if it is away, and lets it catch up.
func (h *history) back(act func(kafka.BrokerID) error, id kafka.BrokerID) {
	h.t.Helper()
	switch err := act(id); {
	case err == nil:
		h.Advance(3 * time.Second)
	case !errors.Is(err, simbroker.ErrState):
		h.t.Fatal(err)
	}
}

// send asks a broker and waits two simulated seconds.
func send[R kmsg.Response](h *history, id kafka.BrokerID, req kmsg.Request, version int16) (R, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req.SetVersion(version)
	resp, err := h.Request(ctx, id, req)
	if err != nil {
		var none R
		return none, err
	}
	return resp.(R), nil
}

// where asks every broker until one knows the leader of the partition.
func (h *history) where() kafka.BrokerID {
	for _, id := range h.Brokers() {
		if h.State(id) != simbroker.Running {
			continue
		}
		req := kmsg.NewPtrMetadataRequest()
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr("t")
		req.Topics = append(req.Topics, topic)
		if resp, err := send[*kmsg.MetadataResponse](h, id, req, 12); err == nil && len(resp.Topics[0].Partitions) == 1 {
			if leader := resp.Topics[0].Partitions[0].Leader; leader > 0 {
				return kafka.BrokerID(leader)
			}
		}
	}
	return kafka.NoBroker
}

// write produces one numbered record with acks=-1.
func (h *history) write(p *player) (value int, err error) {
	value = h.next
	h.next++
	leader := h.where()
	if leader == kafka.NoBroker {
		return value, kerr.LeaderNotAvailable
	}
	as := commitlog.Plainly()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 1500
	if p != nil {
		as = commitlog.Producing{Producer: p.producer, BaseSequence: p.sequence, Transactional: true}
		req.TransactionID = &p.id
		p.sequence++
	}
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "t"
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = commitlog.Build(as, []commitlog.Record{{TimestampMs: h.Now().UnixMilli(), Value: fmt.Append(nil, value)}}).Raw
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	resp, err := send[*kmsg.ProduceResponse](h, leader, req, 12)
	if err != nil {
		return value, err
	}
	return value, kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}

func (h *history) plain() {
	if value, err := h.write(nil); err == nil {
		h.kept[value], h.shown[value] = true, true
	}
}

// play lets a producer do the next thing.
func (h *history) play(p *player) {
	switch {
	case !p.ready || p.unsure:
		h.initialise(p)
	case len(p.wrote) > 0 && h.random.IntN(3) == 0:
		h.finish(p, h.random.IntN(3) > 0)
	default:
		value, err := h.write(p)
		p.wrote = append(p.wrote, value)
		p.unsure = err != nil
		if err == nil {
			h.kept[value] = true
		}
	}
}

// find looks for the coordinator of a producer.
func (h *history) find(p *player) bool {
	for _, id := range h.Brokers() {
		if h.State(id) != simbroker.Running {
			continue
		}
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKeys = 1, []string{p.id}
		if resp, err := send[*kmsg.FindCoordinatorResponse](h, id, req, 6); err == nil && resp.Coordinators[0].ErrorCode == 0 {
			p.coordinator = kafka.BrokerID(resp.Coordinators[0].NodeID)
			return true
		}
	}
	return false
}

// initialise begins anew, which aborts what is open.
func (h *history) initialise(p *player) {
	if !h.find(p) {
		return
	}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.id, 60_000
	resp, err := send[*kmsg.InitProducerIDResponse](h, p.coordinator, req, 5)
	if err != nil || resp.ErrorCode != 0 {
		return
	}
	p.producer = kafka.Producer{ID: kafka.ProducerID(resp.ProducerID), Epoch: kafka.ProducerEpoch(resp.ProducerEpoch)}
	p.sequence, p.wrote, p.ready, p.unsure = 0, nil, true, false
}

// finish ends a transaction. Only an answer without an error tells how.
func (h *history) finish(p *player, commit bool) {
	if !h.find(p) {
		return
	}
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.Commit = p.id, commit
	req.ProducerID, req.ProducerEpoch = int64(p.producer.ID), int16(p.producer.Epoch)
	resp, err := send[*kmsg.EndTxnResponse](h, p.coordinator, req, 5)
	if err != nil || resp.ErrorCode != 0 {
		p.unsure = true
		return
	}
	for _, value := range p.wrote {
		if commit {
			h.shown[value] = true
		} else {
			h.hidden[value] = true
		}
	}
	p.producer = kafka.Producer{ID: kafka.ProducerID(resp.ProducerID), Epoch: kafka.ProducerEpoch(resp.ProducerEpoch)}
	p.sequence, p.wrote = 0, nil
}

// heal brings every broker back and waits until nothing is open any more.
func (h *history) heal() {
	for _, id := range h.Brokers() {
		switch h.State(id) {
		case simbroker.Paused:
			h.must(h.Resume(id))
		case simbroker.Killed, simbroker.Stopped:
			h.must(h.Cluster.Start(id))
		}
	}
	h.Advance(5 * time.Minute)
}

// check compares the promises with what is there.
func (h *history) check() {
	h.t.Helper()
	leader := h.where()
	end := h.offset(leader, "t", -2, 0)
	for _, id := range h.Brokers() {
		if got := h.offset(id, "t", -2, 0); got != end {
			h.t.Errorf("log ends at %s at broker %d, at %s at the leader, broker %d", got, id, end, leader)
		}
	}
	all, committed := h.read(leader, 0), h.read(leader, 1)
	for _, value := range slices.Sorted(maps.Keys(h.kept)) {
		if !all[value] {
			h.t.Errorf("record %d was acknowledged by all replicas and is lost", value)
		}
	}
	if h.gentle {
		h.wantOffsets(leader, "t", end+"/"+end+"/"+end)
		h.checkOutcomes(committed)
	}
}

// checkOutcomes compares what a read_committed consumer got with how
// transactions ended.
func (h *history) checkOutcomes(committed map[int]bool) {
	h.t.Helper()
	for _, value := range slices.Sorted(maps.Keys(committed)) {
		if h.hidden[value] {
			h.t.Errorf("record %d was aborted and is read", value)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(h.shown)) {
		if h.kept[value] && !committed[value] {
			h.t.Errorf("record %d was committed and is not read", value)
		}
	}
}

// read consumes the whole partition as a client does (rule D6).
func (h *history) read(leader kafka.BrokerID, isolation int8) map[int]bool {
	h.t.Helper()
	values := map[int]bool{}
	for offset := int64(0); ; {
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.IsolationLevel, req.MaxBytes = -1, isolation, 1<<20
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = "t"
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.FetchOffset, partition.PartitionMaxBytes, partition.CurrentLeaderEpoch, partition.LastFetchedEpoch = offset, 1<<20, -1, -1
		topic.Partitions = append(topic.Partitions, partition)
		req.Topics = append(req.Topics, topic)
		got := ask[*kmsg.FetchResponse](h.story, leader, req, 12).Topics[0].Partitions[0]
		h.none(got.ErrorCode)
		if len(got.RecordBatches) == 0 {
			return values
		}
		offset = h.collect(values, got)
	}
}

// collect adds the values of one answer that a consumer surfaces, and returns
// the next position.
func (h *history) collect(values map[int]bool, got kmsg.FetchResponseTopicPartition) (next int64) {
	h.t.Helper()
	begun := slices.Clone(got.AbortedTransactions)
	slices.SortFunc(begun, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return cmp.Compare(a.FirstOffset, b.FirstOffset)
	})
	aborted := map[kafka.ProducerID]bool{}
	for raw := got.RecordBatches; len(raw) > 0; {
		one, rest, err := commitlog.Split(raw)
		h.must(err)
		batch, err := commitlog.Parse(one)
		h.must(err)
		raw, next = rest, int64(batch.LastOffset())+1
		for len(begun) > 0 && begun[0].FirstOffset <= int64(batch.LastOffset()) {
			aborted[kafka.ProducerID(begun[0].ProducerID)] = true
			begun = begun[1:]
		}
		if m, ok := batch.Marker(); ok {
			if !m.Commit {
				delete(aborted, batch.Producer.ID)
			}
			continue
		}
		if aborted[batch.Producer.ID] && batch.Attributes.IsTransactional() {
			continue
		}
		records, err := batch.Records()
		h.must(err)
		for _, r := range records {
			var value int
			if _, err := fmt.Sscan(string(r.Value), &value); err != nil {
				h.t.Fatal(err)
			}
			values[value] = true
		}
	}
	return next
}
