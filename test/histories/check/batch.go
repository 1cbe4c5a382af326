package check

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Producer says who writes a batch; the zero ID is a producer id like any other.
type Producer struct {
	ID    int64
	Epoch int16
}

// NoProducer writes without a producer id.
var NoProducer = Producer{ID: -1, Epoch: -1}

// Attributes of a record batch (rule A2).
const (
	transactional = 0x10
	control       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch encodes records as a producer sends them (rule A1): their values, all with
// the same timestamp in milliseconds. sequence is that of the first.
func Batch(p Producer, sequence int32, inTransaction bool, timestamp int64, values ...string) []byte {
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(len(values) - 1), FirstTimestamp: timestamp, MaxTimestamp: timestamp,
		ProducerID: p.ID, ProducerEpoch: p.Epoch, FirstSequence: sequence, NumRecords: int32(len(values)),
	}
	if inTransaction {
		b.Attributes |= transactional
	}
	for i, value := range values {
		r := kmsg.Record{OffsetDelta: int32(i), Key: []byte("k"), Value: []byte(value)}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // its own length of 0 takes one byte
		b.Records = r.AppendTo(b.Records)
	}
	const (
		beforeLength = 12 // base offset and length
		crcAt        = 17
		attributesAt = 21
	)
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-beforeLength))
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[attributesAt:], castagnoli))
	return raw
}

// Record is a record as a consumer gets it.
type Record struct {
	Offset int64
	Value  string
}

// Consume returns what a consumer that asked for an offset makes of the answer
// (rule D6): the records that it surfaces, and where it asks next. In isolation
// read_committed it leaves out those of transactions that the answer calls
// aborted. The error tells of bytes that are no batches.
func Consume(answer *kmsg.FetchResponseTopicPartition, from int64, committed bool) (records []Record, next int64, err error) {
	begun := slices.Clone(answer.AbortedTransactions)
	slices.SortFunc(begun, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return cmp.Compare(a.FirstOffset, b.FirstOffset)
	})
	aborted := map[int64]bool{}
	next = from
	for raw := answer.RecordBatches; len(raw) > 0; {
		var b kmsg.RecordBatch
		size := 12
		if len(raw) < size {
			break
		}
		size += int(binary.BigEndian.Uint32(raw[8:]))
		if size > len(raw) {
			break // cut off by the limit of bytes
		}
		if size < 61 {
			return nil, 0, fmt.Errorf("a batch of %d bytes", size)
		}
		if err := b.ReadFrom(raw[:size]); err != nil {
			return nil, 0, fmt.Errorf("a batch does not parse: %w", err)
		}
		if sum := crc32.Checksum(raw[21:size], castagnoli); uint32(b.CRC) != sum {
			return nil, 0, fmt.Errorf("batch at %d: CRC %08x, of its bytes %08x", b.FirstOffset, uint32(b.CRC), sum)
		}
		raw = raw[size:]
		last := b.FirstOffset + int64(b.LastOffsetDelta)
		if last < next {
			continue // before what was asked for: cannot be, or the whole batch was read
		}
		for len(begun) > 0 && begun[0].FirstOffset <= last {
			aborted[begun[0].ProducerID] = true
			begun = begun[1:]
		}
		all, err := recordsOf(&b)
		if err != nil {
			return nil, 0, err
		}
		switch {
		case b.Attributes&control != 0:
			if len(all) == 1 && !all[0].commit {
				delete(aborted, b.ProducerID)
			}
		case committed && b.Attributes&transactional != 0 && aborted[b.ProducerID]:
		default:
			for _, r := range all {
				if r.Offset >= from {
					records = append(records, r.Record)
				}
			}
		}
		next = last + 1
	}
	return records, next, nil
}

// rawRecord is a record of a batch; of a control batch commit says which marker it
// is (rule A4).
type rawRecord struct {
	Record
	commit bool
}

func recordsOf(b *kmsg.RecordBatch) ([]rawRecord, error) {
	var all []rawRecord
	rest := b.Records
	for range b.NumRecords {
		length, n := binary.Varint(rest)
		if n <= 0 || length < 0 || int(length) > len(rest)-n {
			return nil, fmt.Errorf("batch at %d: a record of %d bytes among %d", b.FirstOffset, length, len(rest))
		}
		var r kmsg.Record
		if err := r.ReadFrom(rest[:n+int(length)]); err != nil {
			return nil, fmt.Errorf("batch at %d: a record does not parse: %w", b.FirstOffset, err)
		}
		rest = rest[n+int(length):]
		commit := b.Attributes&control != 0 && len(r.Key) == 4 && r.Key[3] == 1
		all = append(all, rawRecord{Record{b.FirstOffset + int64(r.OffsetDelta), string(r.Value)}, commit})
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("batch at %d: %d bytes behind its records", b.FirstOffset, len(rest))
	}
	return all, nil
}
