package simbroker_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/storyline"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/workload"
)

// BenchmarkDemo is the storyline of the demo on a simulated clock, in process, with
// a request for each record as there. An hour of it goes at the demo's own rhythm;
// a day goes at that of a day: what takes the demo's spectator a minute takes an
// hour.
func BenchmarkDemo(b *testing.B) {
	b.Run("hour", func(b *testing.B) { tell(b, 1, time.Hour) })
	b.Run("day", func(b *testing.B) { tell(b, 60, 24*time.Hour) })
}

// tell plays the storyline, so many times as slowly as the demo, for so long.
func tell(b *testing.B, pace time.Duration, length time.Duration) {
	for b.Loop() {
		d := newDay(b, pace)
		for end := d.Now().Add(length); d.Now().Before(end); {
			d.next()
		}
		d.check()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(d.requests), "requests")
		b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// day is the storyline under way.
type day struct {
	storyline.Story
	*simbroker.Cluster
	b        *testing.B
	pace     time.Duration
	ids      map[string]kafka.TopicID
	leaders  map[string][]kafka.BrokerID
	acts     []*act
	requests int
}

// act is what an application does next.
type act struct {
	at time.Time
	do func() (again time.Duration)
}

const ms = time.Millisecond

func newDay(b *testing.B, pace time.Duration) *day {
	b.Helper()
	const brokers = 3
	properties := storyline.Properties(brokers)
	properties["transaction.max.timeout.ms"] = "3600000" // transactions are open for so many times as long, too
	c, err := simbroker.Start(simbroker.Config{Brokers: brokers, Clock: simbroker.Simulated(epoch), Properties: properties})
	if err != nil {
		b.Fatal(err)
	}
	d := &day{
		Story: storyline.Of(brokers, nil), Cluster: c, b: b, pace: pace,
		ids: map[string]kafka.TopicID{}, leaders: map[string][]kafka.BrokerID{},
	}
	for _, t := range d.Topics {
		d.createTopic(t.Name, t.Partitions, t.Replicas)
	}
	for _, p := range d.Producers {
		d.produces(p)
	}
	for _, c := range d.Consumers {
		d.consumes(c)
	}
	d.invoicing()
	d.settlement()
	d.refunds()
	d.mailer()
	d.carrierSync()
	d.ledgerImport()
	d.heldFollower()
	return d
}

// rhythm is how often there is something to read in a topic.
func (d *day) rhythm(topic string) time.Duration {
	for _, p := range d.Producers {
		if p.Topic == topic {
			return p.Every
		}
	}
	return d.Mailer.Work + d.Mailer.Pause
}

// add adds what an application does: it says how long until it does the next
// thing, 0 for never.
func (d *day) add(do func() (again time.Duration)) { d.acts = append(d.acts, &act{d.Now(), do}) }

// slow is a time of the demo in the story that is told.
func (d *day) slow(demo time.Duration) time.Duration { return demo * d.pace }

// next lets time pass until an application has something to do, and has it do
// that. Of several, the one that was added first is first.
func (d *day) next() {
	first := slices.MinFunc(d.acts, func(a, b *act) int { return a.at.Compare(b.at) })
	if wait := first.at.Sub(d.Now()); wait > 0 {
		d.Advance(wait)
	}
	again := first.do()
	first.at = first.at.Add(again)
	if again == 0 {
		d.acts = slices.DeleteFunc(d.acts, func(a *act) bool { return a == first })
	}
}

// inquire asks a broker.
func inquire[R kmsg.Response](d *day, at kafka.BrokerID, req kmsg.Request, version int16) R {
	d.requests++
	req.SetVersion(version)
	resp, err := d.Request(context.Background(), at, req)
	if err != nil {
		d.b.Fatal(err)
	}
	return resp.(R)
}

// none fails the benchmark on an error code.
func (d *day) none(what string, code int16) {
	if err := kerr.ErrorForCode(code); err != nil {
		d.b.Fatalf("%s at %v: %v", what, d.Now().Sub(epoch), err)
	}
}

func (d *day) createTopic(name string, partitions, replicas int) {
	d.b.Helper()
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: name, NumPartitions: int32(partitions), ReplicationFactor: int16(replicas)}}
	d.none("create "+name, inquire[*kmsg.CreateTopicsResponse](d, 1, create, 7).Topics[0].ErrorCode)
	d.Advance(time.Second)
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	t := inquire[*kmsg.MetadataResponse](d, 1, req, 12).Topics[0]
	d.none("metadata of "+name, t.ErrorCode)
	d.ids[name], d.leaders[name] = t.TopicID, make([]kafka.BrokerID, partitions)
	for _, p := range t.Partitions {
		d.leaders[name][p.Partition] = kafka.BrokerID(p.Leader)
	}
}

// coordinator finds a group's (kind 0) or a transactional id's (kind 1).
func (d *day) coordinator(kind int8, key string) kafka.BrokerID {
	d.b.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = kind, []string{key}
	for range 100 {
		if got := inquire[*kmsg.FindCoordinatorResponse](d, 1, req, 6).Coordinators[0]; got.ErrorCode == 0 {
			return kafka.BrokerID(got.NodeID)
		}
		d.Advance(10 * ms)
	}
	d.b.Fatalf("no coordinator of %s", key)
	return kafka.NoBroker
}

// produce sends one batch to a partition, of a transaction if p is not nil.
func (d *day) produce(topic string, partition int32, acks int16, records int, p *transaction, version int16) {
	as := commitlog.Plainly()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 30_000
	if p != nil {
		as = commitlog.Producing{Producer: p.producer, BaseSequence: p.sequence, Transactional: true}
		p.sequence += int32(records)
		req.TransactionID = &p.id
	}
	value := commitlog.Record{TimestampMs: d.Now().UnixMilli(), Value: []byte("a record of the storyline")}
	batch := commitlog.Build(as, slices.Repeat([]commitlog.Record{value}, records))
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: batch.Raw}}}}
	d.none("produce to "+topic, inquire[*kmsg.ProduceResponse](d, d.leaders[topic][partition], req, version).Topics[0].Partitions[0].ErrorCode)
}

// produces adds a producer of single records.
func (d *day) produces(p workload.Producer) {
	acks, sent := int16(-1), 0
	if p.LeaderOnly {
		acks = 1
	}
	d.add(func() time.Duration {
		d.produce(p.Topic, int32(sent%len(d.leaders[p.Topic])), acks, 1, nil, 11)
		sent++
		return d.slow(p.Every)
	})
}

// member is a group with one member (KIP-848), which reads one topic.
type member struct {
	*day
	group, topic string
	coordinator  kafka.BrokerID
	epoch        int32
	position     []int64
}

// join makes a member, which sends its heartbeats at Kafka's own rhythm.
func (d *day) join(group, topic string) *member {
	m := &member{day: d, group: group, topic: topic, coordinator: d.coordinator(0, group), position: make([]int64, len(d.leaders[topic]))}
	d.add(func() time.Duration {
		m.beat()
		return 5 * time.Second
	})
	return m
}

func (m *member) beat() {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = m.group, m.group+"-member", m.epoch
	if m.epoch == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 60_000, []string{m.topic}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	resp := inquire[*kmsg.ConsumerGroupHeartbeatResponse](m.day, m.coordinator, req, 1)
	m.none("heartbeat of "+m.group, resp.ErrorCode)
	m.epoch = resp.MemberEpoch
}

// fetch reads what there is up to the last stable offset, at most limit offsets
// of each partition (0 for no limit), and says how many it went ahead.
func (m *member) fetch(limit int64) (ahead int64) {
	for n, leader := range m.leaders[m.topic] {
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.IsolationLevel, req.MaxBytes = -1, 1, 1<<20
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(n), m.position[n], 1<<20
		req.Topics = []kmsg.FetchRequestTopic{{TopicID: m.ids[m.topic], Partitions: []kmsg.FetchRequestTopicPartition{p}}}
		got := inquire[*kmsg.FetchResponse](m.day, leader, req, 13).Topics[0].Partitions[0]
		m.none("fetch of "+m.group, got.ErrorCode)
		if len(got.RecordBatches) == 0 {
			continue
		}
		to := got.LastStableOffset // all batches fit
		if limit > 0 {
			to = min(to, m.position[n]+limit)
		}
		ahead += to - m.position[n]
		m.position[n] = to
	}
	return ahead
}

func (m *member) commit() {
	if m.epoch == 0 {
		return // not a member yet
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.group+"-member", m.epoch
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: m.topic}}
	for n, at := range m.position {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.OffsetCommitRequestTopicPartition{Partition: int32(n), Offset: at, LeaderEpoch: -1})
	}
	m.none("commit of "+m.group, inquire[*kmsg.OffsetCommitResponse](m.day, m.coordinator, req, 9).Topics[0].Partitions[0].ErrorCode)
}

// consumes adds a group that reads and commits what there is.
func (d *day) consumes(c workload.Consumer) {
	m := d.join(c.Group, c.Topic)
	d.add(func() time.Duration {
		m.read(0)
		return d.slow(d.rhythm(c.Topic))
	})
}

// read reads and commits what there is, as fetch does.
func (m *member) read(limit int64) {
	if m.fetch(limit) > 0 {
		m.commit()
	}
}

// settlement is slow for a while and then fast.
func (d *day) settlement() {
	s := d.Settlement
	m, begun := d.join(s.Slow.Group, s.Slow.Topic), d.Now()
	d.add(func() time.Duration {
		if d.Now().Sub(begun)%d.slow(s.SlowFor+s.FastFor) < d.slow(s.SlowFor) {
			m.read(int64(s.Slow.Batch))
			return d.slow(s.Slow.Work)
		}
		m.read(0)
		return d.slow(d.rhythm(s.Fast.Topic))
	})
}

// refunds commits a little, and then stands still over one record.
func (d *day) refunds() {
	r := d.Refunds
	m, begun := d.join(r.Reading.Group, r.Reading.Topic), d.Now()
	d.add(func() time.Duration {
		m.read(0)
		if d.Now().Sub(begun) > d.slow(r.ReadingFor) {
			return 0
		}
		return d.slow(d.rhythm(r.Reading.Topic))
	})
}

// initialize gets a producer id, which ends what an earlier one left open.
func (d *day) initialize(id string, timeout time.Duration) *transaction {
	p := &transaction{id: id, coordinator: d.coordinator(1, id)}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.id, int32(timeout.Milliseconds())
	for range 1000 {
		resp := inquire[*kmsg.InitProducerIDResponse](d, p.coordinator, req, 5)
		if resp.ErrorCode == 0 {
			p.producer = kafka.Producer{ID: kafka.ProducerID(resp.ProducerID), Epoch: kafka.ProducerEpoch(resp.ProducerEpoch)}
			return p
		}
		d.Advance(10 * ms)
	}
	d.b.Fatalf("no producer id for %s", id)
	return nil
}

// finish ends a transaction in the second protocol, which gives the producer its
// next epoch, or in the first (version 4).
func (d *day) finish(p *transaction, commit bool, version int16) {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.Commit = p.id, commit
	req.ProducerID, req.ProducerEpoch = int64(p.producer.ID), int16(p.producer.Epoch)
	resp := inquire[*kmsg.EndTxnResponse](d, p.coordinator, req, version)
	d.none("end of "+p.id, resp.ErrorCode)
	if version >= 5 {
		p.producer, p.sequence = kafka.Producer{ID: kafka.ProducerID(resp.ProducerID), Epoch: kafka.ProducerEpoch(resp.ProducerEpoch)}, 0
	}
}

// invoicing makes invoices of orders, exactly once (KIP-447).
func (d *day) invoicing() {
	of := d.Invoicing
	m, p, next := d.join(of.Group, of.From), d.initialize(of.TransactionalID, time.Minute), 0
	d.add(func() time.Duration {
		if m.epoch == 0 {
			return d.slow(of.Work)
		}
		if n := m.fetch(0); n > 0 {
			p.sequence = 0 // of the partition, in this epoch
			d.produce(of.To, int32(next%len(d.leaders[of.To])), -1, int(n), p, 12)
			next++
			m.commitIn(p)
			d.finish(p, true, 5)
		}
		return d.slow(of.Work)
	})
}

// commitIn makes the member's position part of a transaction.
func (m *member) commitIn(p *transaction) {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.MemberID, req.Generation = p.id, m.group, m.group+"-member", m.epoch
	req.ProducerID, req.ProducerEpoch = int64(p.producer.ID), int16(p.producer.Epoch)
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: m.topic}}
	for n, at := range m.position {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.TxnOffsetCommitRequestTopicPartition{Partition: int32(n), Offset: at, LeaderEpoch: -1})
	}
	m.none("commit in "+p.id, inquire[*kmsg.TxnOffsetCommitResponse](m.day, m.coordinator, req, 5).Topics[0].Partitions[0].ErrorCode)
}

// mailer aborts every second transaction.
func (d *day) mailer() {
	of := d.Mailer
	p, open, ended := d.initialize(of.TransactionalID, time.Minute), false, 0
	d.add(func() time.Duration {
		if open = !open; open {
			d.produce(of.Topic, 0, -1, of.Records, p, 12)
			return d.slow(of.Work)
		}
		ended++
		d.finish(p, ended%of.AbortEvery != 0, 5)
		return d.slow(of.Pause)
	})
}

// later adds what begins once ledger and shipments have been read for a while.
func (d *day) later(do func() (again time.Duration)) {
	begun := d.Now()
	d.add(func() time.Duration {
		if left := begun.Add(d.slow(d.Readable)).Sub(d.Now()); left > 0 {
			return left
		}
		return do()
	})
}

// carrierSync leaves transactions open, which its coordinator aborts.
func (d *day) carrierSync() {
	of := d.CarrierSync
	d.later(func() time.Duration {
		p := d.initialize(of.TransactionalID, d.slow(of.Timeout))
		d.produce(of.Topic, 0, -1, of.Records, p, 12)
		return d.slow(of.Timeout + of.Pause)
	})
}

// ledgerImport leaves a transaction that hangs, in the first protocol: what was
// sent before the abort arrives after it.
func (d *day) ledgerImport() {
	of := d.LedgerImport
	d.later(func() time.Duration {
		d.verify("false")
		p := d.initialize(of.TransactionalID, time.Minute)
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, int64(p.producer.ID), int16(p.producer.Epoch)
		req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: of.Topic, Partitions: []int32{of.Partition}}}
		added := inquire[*kmsg.AddPartitionsToTxnResponse](d, p.coordinator, req, 3).Topics[0].Partitions[0]
		d.none("add a partition of "+of.Topic, added.ErrorCode)
		d.produce(of.Topic, of.Partition, -1, 1, p, 11)
		d.finish(p, false, 4)
		d.Advance(time.Second)
		d.produce(of.Topic, of.Partition, -1, of.Records, p, 11)
		d.verify("true")
		return 0
	})
}

// verify switches the brokers' verification of transactions on or off.
func (d *day) verify(on string) {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
		{Name: "transaction.partition.verification.enable", Value: &on},
	}}}
	d.none("alter configs", inquire[*kmsg.IncrementalAlterConfigsResponse](d, 1, req, 1).Resources[0].ErrorCode)
	d.Advance(100 * ms)
}

// heldFollower keeps the follower of audit from fetching, for no longer than in the
// demo: well below replica.lag.time.max.ms.
func (d *day) heldFollower() {
	release := func() {}
	d.add(func() time.Duration {
		if release == nil {
			release = d.Install(simbroker.HoldFetches{Topic: d.Held.Topic})
			return d.Held.Standing
		}
		release()
		release = nil
		return d.slow(d.Held.Fetching+d.Held.Standing) - d.Held.Standing
	})
}

// check holds that the story was told: ledger hangs, shipments do not for good,
// and orders all became invoices.
func (d *day) check() {
	d.b.Helper()
	d.Advance(2 * time.Second)
	ledger, invoices, shipments := d.LedgerImport.Topic, d.Invoicing.To, d.CarrierSync.Topic
	if low, high := d.end(ledger, 1), d.end(ledger, 0); low >= high || low > 100 {
		d.b.Errorf("%s is read up to %d of %d, though a transaction hangs in it", ledger, low, high)
	}
	if low, high := d.end(invoices, 1), d.end(invoices, 0); low != high || low < 1000 {
		d.b.Errorf("%s are read up to %d of %d, though no transaction is open", invoices, low, high)
	}
	if low := d.end(shipments, 1); low < 500 {
		d.b.Errorf("%s are read up to %d, though those who hold them back are aborted each time", shipments, low)
	}
}

// end is where readers of a topic's first partition stop.
func (d *day) end(topic string, isolation int8) int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, isolation
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	got := inquire[*kmsg.ListOffsetsResponse](d, d.leaders[topic][0], req, 7).Topics[0].Partitions[0]
	d.none("offsets of "+topic, got.ErrorCode)
	return got.Offset
}
