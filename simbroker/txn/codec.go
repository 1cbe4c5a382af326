package txn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The records of __transaction_state (rule G2). Integers are big-endian;
// version 1 of the value is flexible: lengths are unsigned varints, one more
// than the length, and optional fields follow as tags.
//
//	key   version i16 = 0 │ transactional id string
//	value version i16 │ producer id i64 │ epoch i16 │ timeout ms i32 │ state i8
//	      │ [topic string │ [partition i32]] or null │ last update ms i64
//	      │ start ms i64 │ v1: tags
//	tags  0 previous id i64 │ 1 next id i64 │ 2 client transaction version i16

// The tags of the value.
const (
	tagPreviousID    = 0
	tagNextID        = 1
	tagClientVersion = 2
)

var errMalformed = errors.New("malformed record of " + kafka.TransactionStateTopic)

// encodeKey is the record key of a transactional id.
func encodeKey(id string) []byte {
	b := binary.BigEndian.AppendUint16(nil, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(id)))
	return append(b, id...)
}

// decodeKey is the transactional id of a record key; it reports false for a
// version that is not known, which a loader skips.
func decodeKey(key []byte) (id string, known bool, err error) {
	r := reader{b: key}
	if version := r.int16(); version != 0 {
		return "", false, r.err
	}
	id = r.string()
	return id, true, r.err
}

// encodeValue is the record value of an entry. Version 0 cannot say what the
// tags say.
func encodeValue(e entry, version int16) []byte {
	w := writer{flexible: version >= 1}
	w.int16(version)
	w.int64(int64(e.producer.ID))
	w.int16(int16(e.producer.Epoch))
	w.int32(int32(e.timeout / time.Millisecond))
	w.b = append(w.b, byte(e.state))
	w.partitions(e)
	w.int64(e.lastUpdate)
	w.int64(e.start)
	if w.flexible {
		w.tags(e)
	}
	return w.b
}

// decodeValue is the entry of a record value; it reports false for a version
// that is not known, which a loader skips.
func decodeValue(value []byte) (e entry, known bool, err error) {
	r := reader{b: value}
	version := r.int16()
	if version != 0 && version != 1 {
		return entry{}, false, r.err
	}
	r.flexible = version == 1
	e = entry{previousID: kafka.NoProducerID, nextID: kafka.NoProducerID, lastEpoch: kafka.NoProducerEpoch}
	e.producer.ID = kafka.ProducerID(r.int64())
	e.producer.Epoch = kafka.ProducerEpoch(r.int16())
	e.timeout = time.Duration(r.int32()) * time.Millisecond
	e.state = State(r.int8())
	e.partitions = r.partitions()
	e.lastUpdate = r.int64()
	e.start = r.int64()
	if r.flexible {
		r.tags(&e)
	}
	if r.err == nil && (e.state < Empty || e.state > PrepareEpochFence) {
		r.err = fmt.Errorf("%w: state %d", errMalformed, e.state)
	}
	if e.state == Empty {
		e.partitions = nil
	}
	return e, true, r.err
}

// writer appends fields; flexible says in which encoding.
type writer struct {
	b        []byte
	flexible bool
}

func (w *writer) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *writer) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *writer) int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

// length writes the length of an array; -1 is null.
func (w *writer) length(n int) {
	if w.flexible {
		w.b = binary.AppendUvarint(w.b, uint64(n+1))
		return
	}
	w.int32(int32(n))
}

func (w *writer) string(s string) {
	if w.flexible {
		w.b = binary.AppendUvarint(w.b, uint64(len(s)+1))
	} else {
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

// partitions writes the partitions by topic: null in state Empty.
func (w *writer) partitions(e entry) {
	if e.state == Empty {
		w.length(-1)
		return
	}
	topics := byTopic(e.partitions)
	w.length(len(topics))
	for _, tps := range topics {
		w.string(tps[0].Topic)
		w.length(len(tps))
		for _, tp := range tps {
			w.int32(tp.Partition)
		}
		if w.flexible {
			w.b = append(w.b, 0) // no tags
		}
	}
}

// tags writes the tagged fields that differ from their defaults.
func (w *writer) tags(e entry) {
	var count uint64
	tagged := writer{}
	for _, field := range []struct {
		tag uint64
		id  kafka.ProducerID
	}{{tagPreviousID, e.previousID}, {tagNextID, e.nextID}} {
		if field.id != kafka.NoProducerID {
			count++
			tagged.b = binary.AppendUvarint(tagged.b, field.tag)
			tagged.b = binary.AppendUvarint(tagged.b, 8)
			tagged.int64(int64(field.id))
		}
	}
	if e.clientVersion != TV1 {
		count++
		tagged.b = binary.AppendUvarint(tagged.b, tagClientVersion)
		tagged.b = binary.AppendUvarint(tagged.b, 2)
		tagged.int16(int16(e.clientVersion))
	}
	w.b = binary.AppendUvarint(w.b, count)
	w.b = append(w.b, tagged.b...)
}

// reader takes fields; after the first error everything reads as zero.
type reader struct {
	b        []byte
	flexible bool
	err      error
}

// take is the next n bytes, or n zero bytes after an error (n is then at most
// 8: longer fields are read only if they are there).
func (r *reader) take(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.b)) {
		r.err = errMalformed
	}
	if r.err != nil {
		return make([]byte, min(max(n, 0), 8))
	}
	field := r.b[:n]
	r.b = r.b[n:]
	return field
}

func (r *reader) int8() int8   { return int8(r.take(1)[0]) }
func (r *reader) int16() int16 { return int16(binary.BigEndian.Uint16(r.take(2))) }
func (r *reader) int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<31 {
		r.err = errMalformed
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// length is an array's length: 0 for null, and never more than there are bytes.
func (r *reader) length() int {
	n := 0
	if r.flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.int32())
	}
	if n > len(r.b) {
		r.err = errMalformed
	}
	if r.err != nil {
		return 0
	}
	return max(n, 0)
}

func (r *reader) string() string {
	n := 0
	if r.flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.int16())
	}
	return string(r.take(n))
}

func (r *reader) partitions() []kafka.TopicPartition {
	var tps []kafka.TopicPartition
	for range r.length() {
		topic := r.string()
		for range r.length() {
			tps = append(tps, kafka.TopicPartition{Topic: topic, Partition: r.int32()})
		}
		if r.flexible {
			r.tags(nil)
		}
	}
	return union(tps, nil)
}

// tags reads tagged fields into e; those of another structure, or unknown
// ones, are skipped.
func (r *reader) tags(e *entry) {
	for range r.uvarint() {
		tag, size := r.uvarint(), r.uvarint()
		field := reader{b: r.take(size)}
		if r.err != nil {
			return
		}
		if e == nil {
			continue
		}
		switch tag {
		case tagPreviousID:
			e.previousID = kafka.ProducerID(field.int64())
		case tagNextID:
			e.nextID = kafka.ProducerID(field.int64())
		case tagClientVersion:
			e.clientVersion = ClientVersion(field.int16())
		}
		if field.err != nil {
			r.err = field.err
		}
	}
}

// byTopic splits sorted partitions at each new topic.
func byTopic(tps []kafka.TopicPartition) [][]kafka.TopicPartition {
	var topics [][]kafka.TopicPartition
	for i, tp := range tps {
		if i == 0 || tp.Topic != tps[i-1].Topic {
			topics = append(topics, nil)
		}
		last := len(topics) - 1
		topics[last] = append(topics[last], tp)
	}
	return topics
}
