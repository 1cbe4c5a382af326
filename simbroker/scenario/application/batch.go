package application

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// batch is a record batch in format v2 (KIP-98) with one record for each key.
func (p *producer) batch(keys []string, sequence int32, now int64) []byte {
	const transactional = 1 << 4
	var records []byte
	for i, key := range keys {
		r := kmsg.Record{OffsetDelta: int32(i), Key: []byte(key), Value: []byte("record " + key)}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // the length itself, 0, takes one byte
		records = r.AppendTo(records)
	}
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(len(keys) - 1), FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: p.producerID, ProducerEpoch: p.epoch, FirstSequence: sequence, NumRecords: int32(len(keys)), Records: records,
	}
	if p.transactionalID != "" {
		b.Attributes = transactional
	}
	raw := b.AppendTo(nil)
	const afterLength, crcAt, afterCRC = 12, 17, 21
	binary.BigEndian.PutUint32(raw[afterLength-4:], uint32(len(raw)-afterLength))
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[afterCRC:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}
