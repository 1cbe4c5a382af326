package suites

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

var update = flag.Bool("update", false, "write what a real Kafka prints to testdata")

// kafka-go has no transactional producer, but the calls of which one is made.
// The program prints what each call says; a real Kafka wrote the file.
func TestKafkaGo(t *testing.T) {
	file := filepath.Join("testdata", "kafka-go.txt")
	on(t, setting{brokers: 3, properties: map[string]string{
		"group.initial.rebalance.delay.ms": "0",
		"auto.create.topics.enable":        "false",
	}}, func(t *testing.T, c cluster) {
		p := &kafkagoProgram{client: &kafkago.Client{Addr: kafkago.TCP(strings.Split(bootstrap(c), ",")...), Timeout: 30 * time.Second}}
		p.run(t)
		got := strings.Join(p.lines, "\n") + "\n"
		if *update && strings.HasSuffix(t.Name(), "/kafka") {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("printed\n%s\nwant\n%s", got, want)
		}
	})
}

// kafkagoProgram is a user of kafka-go.
type kafkagoProgram struct {
	client *kafkago.Client
	lines  []string
}

func (p *kafkagoProgram) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

const (
	goTopic = "orders"
	goGroup = "billing"
	goID    = "transfer"
)

func (p *kafkagoProgram) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"topics", p.topics},
		{"writer and reader", p.readAndWrite},
		{"a transaction that commits", func(ctx context.Context) error { return p.transaction(ctx, true) }},
		{"a transaction that aborts", func(ctx context.Context) error { return p.transaction(ctx, false) }},
		{"fencing", p.fencing},
		{"groups", p.groups},
		{"configuration", p.configuration},
		{"the end", p.remove},
	} {
		p.say("# %s", step.name)
		if err := step.do(ctx); err != nil {
			t.Fatalf("%s: %v\n%s", step.name, err, strings.Join(p.lines, "\n"))
		}
	}
}

// said is an error in short: Kafka's name of it.
func said(err error) string {
	if err == nil {
		return "ok"
	}
	var coded kafkago.Error
	if errors.As(err, &coded) {
		return coded.Title()
	}
	return err.Error()
}

func saidAll(errs map[string]error) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		all = append(all, name+" "+said(errs[name]))
	}
	return strings.Join(all, ", ")
}

func (p *kafkagoProgram) topics(ctx context.Context) error {
	create := func(topic string, partitions, replicas int) error {
		r, err := p.client.CreateTopics(ctx, &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{{
			Topic: topic, NumPartitions: partitions, ReplicationFactor: replicas,
			ConfigEntries: []kafkago.ConfigEntry{{ConfigName: "min.insync.replicas", ConfigValue: "2"}},
		}}})
		if err == nil {
			p.say("create %s with %d partitions, %d replicas: %s", topic, partitions, replicas, saidAll(r.Errors))
		}
		return err
	}
	for _, c := range []struct {
		topic                string
		partitions, replicas int
	}{{goTopic, 2, 3}, {goTopic, 2, 3}, {"wide", 1, 4}, {"no/name", 1, 1}, {"none", 0, 1}} {
		if err := create(c.topic, c.partitions, c.replicas); err != nil {
			return err
		}
	}
	grow, err := p.client.CreatePartitions(ctx, &kafkago.CreatePartitionsRequest{Topics: []kafkago.TopicPartitionsConfig{{Name: goTopic, Count: 3}}})
	if err != nil {
		return err
	}
	p.say("grow %s to 3: %s", goTopic, saidAll(grow.Errors))
	return p.await(ctx, func() (bool, error) {
		m, err := p.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{goTopic}})
		if err != nil || m.Topics[0].Error != nil || len(m.Topics[0].Partitions) != 3 {
			return false, err
		}
		for _, part := range m.Topics[0].Partitions {
			if part.Error != nil || len(part.Isr) != 3 {
				return false, nil
			}
		}
		p.say("metadata: %d brokers, %s with %d partitions, in sync", len(m.Brokers), m.Topics[0].Name, len(m.Topics[0].Partitions))
		return true, nil
	})
}

// await asks again until something holds.
func (p *kafkagoProgram) await(ctx context.Context, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *kafkagoProgram) readAndWrite(ctx context.Context) error {
	w := &kafkago.Writer{Addr: p.client.Addr, Topic: goTopic, Balancer: &kafkago.Hash{}, RequiredAcks: kafkago.RequireAll, BatchTimeout: 10 * time.Millisecond}
	var messages []kafkago.Message
	for i := range 30 {
		messages = append(messages, kafkago.Message{Key: fmt.Appendf(nil, "k%d", i%7), Value: fmt.Appendf(nil, "v%d", i), Headers: []kafkago.Header{{Key: "n", Value: []byte{byte(i)}}}})
	}
	if err := errors.Join(w.WriteMessages(ctx, messages...), w.Close()); err != nil {
		return err
	}
	for _, compression := range []kafkago.Compression{kafkago.Gzip, kafkago.Snappy, kafkago.Lz4, kafkago.Zstd} {
		r, err := p.client.Produce(ctx, &kafkago.ProduceRequest{
			Topic: goTopic, Partition: 0, RequiredAcks: kafkago.RequireAll, Compression: compression,
			Records: kafkago.NewRecordReader(kafkago.Record{Value: kafkago.NewBytes([]byte("compressed"))}),
		})
		if err != nil {
			return err
		}
		p.say("produce with %s: %s", compression, said(r.Error))
	}
	reader := kafkago.NewReader(kafkago.ReaderConfig{
		Brokers: strings.Split(p.client.Addr.String(), ","), GroupID: goGroup, Topic: goTopic,
		StartOffset: kafkago.FirstOffset, MaxWait: 200 * time.Millisecond, IsolationLevel: kafkago.ReadCommitted,
	})
	read := map[int]int{}
	for range 34 {
		m, err := reader.FetchMessage(ctx)
		if err != nil {
			return errors.Join(err, reader.Close())
		}
		read[m.Partition]++
		if err := reader.CommitMessages(ctx, m); err != nil {
			return errors.Join(err, reader.Close())
		}
	}
	if err := reader.Close(); err != nil {
		return err
	}
	p.say("read by group, by partition: %v", read)
	return p.committed(ctx)
}

// committed prints where the group is.
func (p *kafkagoProgram) committed(ctx context.Context) error {
	r, err := p.client.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{GroupID: goGroup, Topics: map[string][]int{goTopic: {0, 1, 2}}})
	if err != nil {
		return err
	}
	slices.SortFunc(r.Topics[goTopic], func(a, b kafkago.OffsetFetchPartition) int { return a.Partition - b.Partition })
	line := "committed:"
	for _, part := range r.Topics[goTopic] {
		line += fmt.Sprintf(" %d@%d %s %q", part.Partition, part.CommittedOffset, said(part.Error), part.Metadata)
	}
	p.say("%s", line)
	return nil
}

// ends prints first and last offset of partition 1 in both isolation levels.
func (p *kafkagoProgram) ends(ctx context.Context) (last int64, err error) {
	line := "offsets of partition 1:"
	for _, level := range []kafkago.IsolationLevel{kafkago.ReadUncommitted, kafkago.ReadCommitted} {
		r, err := p.client.ListOffsets(ctx, &kafkago.ListOffsetsRequest{
			Topics:         map[string][]kafkago.OffsetRequest{goTopic: {kafkago.FirstOffsetOf(1), kafkago.LastOffsetOf(1)}},
			IsolationLevel: level,
		})
		if err != nil {
			return 0, err
		}
		o := r.Topics[goTopic][0]
		line += fmt.Sprintf(" %d-%d %s", o.FirstOffset, o.LastOffset, said(o.Error))
		last = max(last, o.LastOffset)
	}
	p.say("%s", line)
	return last, nil
}

// initialise asks again while the coordinator is on its way, and while the last
// transaction is.
func (p *kafkagoProgram) initialise(ctx context.Context) (session *kafkago.ProducerSession, err error) {
	err = p.await(ctx, func() (bool, error) {
		r, err := p.client.InitProducerID(ctx, &kafkago.InitProducerIDRequest{TransactionalID: goID, TransactionTimeoutMs: 60000, ProducerID: -1, ProducerEpoch: -1})
		if err != nil {
			return false, err
		}
		for _, passing := range []kafkago.Error{kafkago.NotCoordinatorForGroup, kafkago.GroupLoadInProgress, kafkago.GroupCoordinatorNotAvailable, kafkago.ConcurrentTransactions} {
			if errors.Is(r.Error, passing) {
				return false, nil
			}
		}
		session = r.Producer
		return true, r.Error
	})
	return session, err
}

func (p *kafkagoProgram) transaction(ctx context.Context, commit bool) error {
	session, err := p.initialise(ctx)
	if err != nil {
		return err
	}
	p.say("initialise: epoch %d", session.ProducerEpoch)
	if _, err := p.ends(ctx); err != nil {
		return err
	}
	id, epoch := session.ProducerID, session.ProducerEpoch
	err = p.await(ctx, func() (bool, error) {
		add, err := p.client.AddPartitionsToTxn(ctx, &kafkago.AddPartitionsToTxnRequest{
			TransactionalID: goID, ProducerID: id, ProducerEpoch: epoch, Topics: map[string][]kafkago.AddPartitionToTxn{goTopic: {{Partition: 1}}},
		})
		if err != nil || errors.Is(add.Topics[goTopic][0].Error, kafkago.ConcurrentTransactions) { // its own last one
			return false, err
		}
		p.say("add partition: %s", said(add.Topics[goTopic][0].Error))
		return true, nil
	})
	if err != nil {
		return err
	}
	r, err := p.client.RawProduce(ctx, &kafkago.RawProduceRequest{
		Topic: goTopic, Partition: 1, RequiredAcks: kafkago.RequireAll, TransactionalID: goID,
		RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(transactionalBatch(int64(id), int16(epoch), "inside"))},
	})
	if err != nil {
		return err
	}
	p.say("produce: %s", said(r.Error))
	last, err := p.ends(ctx)
	if err != nil {
		return err
	}
	offsets, err := p.client.AddOffsetsToTxn(ctx, &kafkago.AddOffsetsToTxnRequest{TransactionalID: goID, ProducerID: id, ProducerEpoch: epoch, GroupID: goGroup})
	if err != nil {
		return err
	}
	p.say("add offsets: %s", said(offsets.Error))
	sent, err := p.client.TxnOffsetCommit(ctx, &kafkago.TxnOffsetCommitRequest{
		TransactionalID: goID, GroupID: goGroup, ProducerID: id, ProducerEpoch: epoch, GenerationID: -1,
		Topics: map[string][]kafkago.TxnOffsetCommit{goTopic: {{Partition: 1, Offset: last, Metadata: "in a transaction"}}},
	})
	if err != nil {
		return err
	}
	p.say("send offsets: %s", said(sent.Topics[goTopic][0].Error))
	end, err := p.client.EndTxn(ctx, &kafkago.EndTxnRequest{TransactionalID: goID, ProducerID: id, ProducerEpoch: epoch, Committed: commit})
	if err != nil {
		return err
	}
	p.say("end: %s", said(end.Error))
	return p.afterwards(ctx, last)
}

// afterwards waits for the markers, and prints what there is to read.
func (p *kafkagoProgram) afterwards(ctx context.Context, from int64) error {
	err := p.await(ctx, func() (bool, error) {
		r, err := p.client.Fetch(ctx, &kafkago.FetchRequest{Topic: goTopic, Partition: 1, Offset: from - 1, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: time.Second, IsolationLevel: kafkago.ReadCommitted})
		if err != nil || r.LastStableOffset <= from {
			return false, err
		}
		n := 0
		for {
			rec, err := r.Records.ReadRecord()
			if err != nil {
				break
			}
			if rec.Key == nil && rec.Value != nil && rec.Offset == from-1 {
				value, err := io.ReadAll(rec.Value)
				if err != nil {
					return false, err
				}
				p.say("fetched: %s", value)
			}
			n++
		}
		p.say("fetch: %s, high watermark %d, last stable offset %d, log start %d, %d records", said(r.Error), r.HighWatermark, r.LastStableOffset, r.LogStartOffset, n)
		return true, nil
	})
	if err != nil {
		return err
	}
	if _, err := p.ends(ctx); err != nil {
		return err
	}
	return p.committed(ctx)
}

// transactionalBatch is a batch of one record, with its size before it.
func transactionalBatch(id int64, epoch int16, value string) []byte {
	var record []byte
	record = append(record, 0, 0, 0, 1) // attributes, timestamp, offset, no key
	record = binary.AppendVarint(record, int64(len(value)))
	record = append(append(record, value...), 0) // no headers
	body := binary.BigEndian.AppendUint16(nil, 1<<4)
	body = binary.BigEndian.AppendUint32(body, 0) // last offset delta
	now := uint64(time.Now().UnixMilli())
	body = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(body, now), now)
	body = binary.BigEndian.AppendUint64(body, uint64(id))
	body = binary.BigEndian.AppendUint16(body, uint16(epoch))
	body = binary.BigEndian.AppendUint32(body, 0) // base sequence
	body = binary.BigEndian.AppendUint32(body, 1) // records
	body = append(binary.AppendVarint(body, int64(len(record))), record...)
	batch := binary.BigEndian.AppendUint64(nil, 0)
	batch = binary.BigEndian.AppendUint32(batch, uint32(len(body)+4+1+4))
	batch = append(binary.BigEndian.AppendUint32(batch, 0), 2) // leader epoch, magic
	batch = binary.BigEndian.AppendUint32(batch, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	batch = append(batch, body...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(batch))), batch...)
}

// fencing has an older session go on.
func (p *kafkagoProgram) fencing(ctx context.Context) error {
	older, err := p.initialise(ctx)
	if err != nil {
		return err
	}
	newer, err := p.initialise(ctx)
	if err != nil {
		return err
	}
	p.say("same producer %v, epochs ahead %d", older.ProducerID == newer.ProducerID, newer.ProducerEpoch-older.ProducerEpoch)
	add, err := p.client.AddPartitionsToTxn(ctx, &kafkago.AddPartitionsToTxnRequest{
		TransactionalID: goID, ProducerID: older.ProducerID, ProducerEpoch: older.ProducerEpoch, Topics: map[string][]kafkago.AddPartitionToTxn{goTopic: {{Partition: 1}, {Partition: 9}}},
	})
	if err != nil {
		return err
	}
	errs := map[string]error{}
	for _, part := range add.Topics[goTopic] {
		errs[fmt.Sprint(part.Partition)] = part.Error
	}
	p.say("add partitions by the older: %s", saidAll(errs))
	r, err := p.client.RawProduce(ctx, &kafkago.RawProduceRequest{
		Topic: goTopic, Partition: 1, RequiredAcks: kafkago.RequireAll, TransactionalID: goID,
		RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(transactionalBatch(int64(older.ProducerID), int16(older.ProducerEpoch), "fenced"))},
	})
	if err != nil {
		return err
	}
	p.say("produce by the older: %s", said(r.Error))
	end, err := p.client.EndTxn(ctx, &kafkago.EndTxnRequest{TransactionalID: goID, ProducerID: older.ProducerID, ProducerEpoch: older.ProducerEpoch, Committed: true})
	if err != nil {
		return err
	}
	p.say("end by the older: %s", said(end.Error))
	end, err = p.client.EndTxn(ctx, &kafkago.EndTxnRequest{TransactionalID: goID, ProducerID: newer.ProducerID, ProducerEpoch: newer.ProducerEpoch, Committed: true})
	if err != nil {
		return err
	}
	p.say("end by the newer, of nothing: %s", said(end.Error))
	return nil
}

func (p *kafkagoProgram) groups(ctx context.Context) error {
	described, err := p.client.DescribeGroups(ctx, &kafkago.DescribeGroupsRequest{GroupIDs: []string{goGroup, "nobody"}})
	if err != nil {
		return err
	}
	for _, g := range described.Groups {
		p.say("group %s: %s %s, %d members", g.GroupID, said(g.Error), g.GroupState, len(g.Members))
	}
	listed, err := p.client.ListGroups(ctx, &kafkago.ListGroupsRequest{})
	if err != nil {
		return err
	}
	for _, g := range listed.Groups {
		p.say("listed: %s", g.GroupID)
	}
	commit, err := p.client.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{GroupID: goGroup, GenerationID: -1, Topics: map[string][]kafkago.OffsetCommit{goTopic: {{Partition: 2, Offset: 1, Metadata: "by hand"}}}})
	if err != nil {
		return err
	}
	p.say("commit: %s", said(commit.Topics[goTopic][0].Error))
	commit, err = p.client.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{GroupID: goGroup, GenerationID: 7, MemberID: "stranger", Topics: map[string][]kafkago.OffsetCommit{goTopic: {{Partition: 2, Offset: 2}}}})
	if err != nil {
		return err
	}
	p.say("commit by a stranger: %s", said(commit.Topics[goTopic][0].Error))
	deleted, err := p.client.OffsetDelete(ctx, &kafkago.OffsetDeleteRequest{GroupID: goGroup, Topics: map[string][]int{goTopic: {2}}})
	if err != nil {
		return err
	}
	p.say("delete offset: %s %s", said(deleted.Error), said(deleted.Topics[goTopic][0].Error))
	return p.committed(ctx)
}

func (p *kafkagoProgram) configuration(ctx context.Context) error {
	describe := func() error {
		r, err := p.client.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{
			Resources:       []kafkago.DescribeConfigRequestResource{{ResourceType: kafkago.ResourceTypeTopic, ResourceName: goTopic, ConfigNames: []string{"retention.ms", "min.insync.replicas"}}},
			IncludeSynonyms: true,
		})
		if err != nil {
			return err
		}
		slices.SortFunc(r.Resources[0].ConfigEntries, func(a, b kafkago.DescribeConfigResponseConfigEntry) int {
			return strings.Compare(a.ConfigName, b.ConfigName)
		})
		for _, e := range r.Resources[0].ConfigEntries {
			p.say("%s=%s, source %d, default %v, read only %v, %d synonyms", e.ConfigName, e.ConfigValue, e.ConfigSource, e.IsDefault, e.ReadOnly, len(e.ConfigSynonyms))
		}
		return nil
	}
	if err := describe(); err != nil {
		return err
	}
	for _, value := range []string{"1000", "never"} {
		r, err := p.client.IncrementalAlterConfigs(ctx, &kafkago.IncrementalAlterConfigsRequest{Resources: []kafkago.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: goTopic,
			Configs: []kafkago.IncrementalAlterConfigsRequestConfig{{Name: "retention.ms", Value: value, ConfigOperation: kafkago.ConfigOperationSet}},
		}}})
		if err != nil {
			return err
		}
		p.say("retention.ms=%s: %s", value, said(r.Resources[0].Error))
	}
	if err := p.await(ctx, func() (bool, error) {
		r, err := p.client.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{Resources: []kafkago.DescribeConfigRequestResource{{ResourceType: kafkago.ResourceTypeTopic, ResourceName: goTopic, ConfigNames: []string{"retention.ms"}}}})
		return err == nil && r.Resources[0].ConfigEntries[0].ConfigValue == "1000", err
	}); err != nil {
		return err
	}
	if err := describe(); err != nil {
		return err
	}
	elected, err := p.client.ElectLeaders(ctx, &kafkago.ElectLeadersRequest{Topic: goTopic, Partitions: []int{0, 9}, Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	slices.SortFunc(elected.PartitionResults, func(a, b kafkago.ElectLeadersResponsePartitionResult) int { return a.Partition - b.Partition })
	for _, r := range elected.PartitionResults {
		p.say("elect leader of %d: %s", r.Partition, said(r.Error))
	}
	moving, err := p.client.ListPartitionReassignments(ctx, &kafkago.ListPartitionReassignmentsRequest{Topics: map[string]kafkago.ListPartitionReassignmentsRequestTopic{goTopic: {PartitionIndexes: []int{0, 1, 2}}}})
	if err != nil {
		return err
	}
	p.say("reassignments: %s, %d", said(moving.Error), len(moving.Topics[goTopic].Partitions))
	return nil
}

func (p *kafkagoProgram) remove(ctx context.Context) error {
	groups, err := p.client.DeleteGroups(ctx, &kafkago.DeleteGroupsRequest{GroupIDs: []string{goGroup}})
	if err != nil {
		return err
	}
	p.say("delete groups: %s", saidAll(groups.Errors))
	topics, err := p.client.DeleteTopics(ctx, &kafkago.DeleteTopicsRequest{Topics: []string{goTopic, "nothing"}})
	if err != nil {
		return err
	}
	p.say("delete topics: %s", saidAll(topics.Errors))
	return nil
}
