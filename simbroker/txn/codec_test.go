package txn

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule G2: the records are Kafka's, byte for byte; kmsg is the second opinion.
func TestG2KeyBytes(t *testing.T) {
	want := kmsg.NewTxnMetadataKey()
	want.TransactionalID = "payments-é"
	got := encodeKey("payments-é")
	if !bytes.Equal(got, want.AppendTo(nil)) {
		t.Errorf("key %x, want %x", got, want.AppendTo(nil))
	}
	if id, known, err := decodeKey(got); id != "payments-é" || !known || err != nil {
		t.Errorf("decoded %q, %t, %v", id, known, err)
	}
}

func TestG2ValueBytes(t *testing.T) {
	tests := []struct {
		name    string
		version int16
		entry   entry
	}{
		{"empty", 1, entry{
			producer: producer(7, 0), previousID: 7, nextID: -1,
			timeout: time.Minute, state: Empty, start: noTime, lastUpdate: 1000,
		}},
		{"empty, before transaction.version", 0, entry{
			producer: producer(7, 0), previousID: -1, nextID: -1,
			timeout: time.Minute, state: Empty, start: noTime, lastUpdate: 1000,
		}},
		{"ongoing in several topics", 1, entry{
			producer: producer(7, 3), previousID: 7, nextID: -1, clientVersion: TV2,
			timeout: time.Minute, state: Ongoing, start: 900, lastUpdate: 1000,
			partitions: []kafka.TopicPartition{orders0, orders1, sales0},
		}},
		{"ongoing in several topics, before transaction.version", 0, entry{
			producer: producer(7, 3), previousID: -1, nextID: -1,
			timeout: time.Minute, state: Ongoing, start: 900, lastUpdate: 1000,
			partitions: []kafka.TopicPartition{orders0, orders1, sales0},
		}},
		{"exhausted", 1, entry{
			producer: producer(7, 32767), previousID: 7, nextID: 1<<40 + 1, clientVersion: TV2,
			timeout: time.Minute, state: PrepareCommit, start: 900, lastUpdate: 1000,
			partitions: []kafka.TopicPartition{sales0},
		}},
		{"complete", 1, entry{
			producer: producer(8, 0), previousID: 7, nextID: -1, clientVersion: TV2,
			timeout: time.Minute, state: CompleteCommit, start: 900, lastUpdate: 1000,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := encodeValue(test.entry, test.version)
			if want := reference(test.entry, test.version); !bytes.Equal(got, want) {
				t.Errorf("value\n%x, want\n%x", got, want)
			}
			test.entry.lastEpoch = kafka.NoProducerEpoch // not in the record
			if e, known, err := decodeValue(got); err != nil || !known || !reflect.DeepEqual(e, test.entry) {
				t.Errorf("decoded %+v, %t, %v, want %+v", e, known, err, test.entry)
			}
		})
	}
}

// reference is the value as kmsg encodes it.
func reference(e entry, version int16) []byte {
	v := kmsg.NewTxnMetadataValue()
	v.Version = version
	v.ProducerID, v.ProducerEpoch = int64(e.producer.ID), int16(e.producer.Epoch)
	v.PreviousProducerID, v.NextProducerID = int64(e.previousID), int64(e.nextID)
	v.TimeoutMillis = int32(e.timeout.Milliseconds())
	v.State = kmsg.TransactionState(e.state)
	v.LastUpdateTimestamp, v.StartTimestamp = e.lastUpdate, e.start
	v.ClientTransactionVersion = int16(e.clientVersion)
	if e.state != Empty {
		v.Topics = []kmsg.TxnMetadataValueTopic{}
	}
	for _, tp := range e.partitions {
		if n := len(v.Topics); n == 0 || v.Topics[n-1].Topic != tp.Topic {
			topic := kmsg.NewTxnMetadataValueTopic()
			topic.Topic = tp.Topic
			v.Topics = append(v.Topics, topic)
		}
		topic := &v.Topics[len(v.Topics)-1]
		topic.Partitions = append(topic.Partitions, tp.Partition)
	}
	return v.AppendTo(nil)
}

// A record that a newer or a broken writer left is no reason to fall over:
// unknown versions and tags are skipped, the rest is an error.
func TestG2OtherRecords(t *testing.T) {
	if _, known, err := decodeKey([]byte{0, 1, 0, 0}); known || err != nil {
		t.Errorf("key version 1: %t, %v", known, err)
	}
	if _, known, err := decodeValue([]byte{0, 2}); known || err != nil {
		t.Errorf("value version 2: %t, %v", known, err)
	}
	e := entry{producer: producer(7, 0), previousID: 7, nextID: -1, timeout: time.Minute, state: Ongoing,
		partitions: []kafka.TopicPartition{orders0}, lastUpdate: 1, start: 1}
	for version := range int16(2) {
		whole := encodeValue(e, version)
		for n := range whole {
			if _, known, err := decodeValue(whole[:n]); n > 1 && (err == nil || !known) {
				t.Errorf("version %d cut to %d of %d bytes: %t, %v", version, n, len(whole), known, err)
			}
		}
	}
	value := encodeValue(e, 1)
	tagged := append(value[:len(value)-11:len(value)-11], 2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 5, 9, 1, 42) // tag 9 is nobody's
	if got, _, err := decodeValue(tagged); err != nil || got.previousID != 5 {
		t.Errorf("with an unknown tag: previous id %d, %v", got.previousID, err)
	}
	broken := encodeValue(e, 1)
	broken[2+8+2+4] = 77
	if _, _, err := decodeValue(broken); err == nil {
		t.Error("state 77 was accepted")
	}
}
