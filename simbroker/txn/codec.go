package txn

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// The records of __transaction_state (rule G2), in the encoding of package
// message; version 1 of the value is flexible.
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

// encodeKey is the record key of a transactional id.
func encodeKey(id string) []byte {
	w := message.Writer{}
	w.Int16(0)
	w.String(id)
	return w.B
}

// decodeKey is the transactional id of a record key; it reports false for a
// version that is not known, which a loader skips.
func decodeKey(key []byte) (id string, known bool, err error) {
	r := message.Reader{B: key}
	if version := r.Int16(); version != 0 {
		return "", false, r.Err
	}
	id = r.String()
	return id, true, r.Err
}

// encodeValue is the record value of an entry. Version 0 cannot say what the
// tags say.
func encodeValue(e entry, version int16) []byte {
	w := message.Writer{Flexible: version >= 1}
	w.Int16(version)
	w.Int64(int64(e.producer.ID))
	w.Int16(int16(e.producer.Epoch))
	w.Int32(int32(e.timeout / time.Millisecond))
	w.Int8(int8(e.state))
	writePartitions(&w, e)
	w.Int64(e.lastUpdate)
	w.Int64(e.start)
	w.Tags(e.tags()...)
	return w.B
}

// writePartitions writes the partitions by topic: null in state Empty.
func writePartitions(w *message.Writer, e entry) {
	if e.state == Empty {
		w.Length(-1)
		return
	}
	topics := byTopic(e.partitions)
	w.Length(len(topics))
	for _, tps := range topics {
		w.String(tps[0].Topic)
		w.Length(len(tps))
		for _, tp := range tps {
			w.Int32(tp.Partition)
		}
		w.Tags()
	}
}

// tags is the tagged fields that differ from their defaults.
func (e entry) tags() []message.Tag {
	var tags []message.Tag
	if e.previousID != kafka.NoProducerID {
		tags = append(tags, message.Tag{Number: tagPreviousID, Value: binary.BigEndian.AppendUint64(nil, uint64(e.previousID))})
	}
	if e.nextID != kafka.NoProducerID {
		tags = append(tags, message.Tag{Number: tagNextID, Value: binary.BigEndian.AppendUint64(nil, uint64(e.nextID))})
	}
	if e.clientVersion != TV1 {
		tags = append(tags, message.Tag{Number: tagClientVersion, Value: binary.BigEndian.AppendUint16(nil, uint16(e.clientVersion))})
	}
	return tags
}

// decodeValue is the entry of a record value; it reports false for a version
// that is not known, which a loader skips.
func decodeValue(value []byte) (e entry, known bool, err error) {
	r := message.Reader{B: value}
	version := r.Int16()
	if version != 0 && version != 1 {
		return entry{}, false, r.Err
	}
	r.Flexible = version == 1
	e = entry{previousID: kafka.NoProducerID, nextID: kafka.NoProducerID, lastEpoch: kafka.NoProducerEpoch}
	e.producer.ID = kafka.ProducerID(r.Int64())
	e.producer.Epoch = kafka.ProducerEpoch(r.Int16())
	e.timeout = time.Duration(r.Int32()) * time.Millisecond
	e.state = State(r.Int8())
	e.partitions = readPartitions(&r)
	e.lastUpdate = r.Int64()
	e.start = r.Int64()
	r.Tags(func(number int, v message.Reader) {
		switch number {
		case tagPreviousID:
			e.previousID = kafka.ProducerID(v.Int64())
		case tagNextID:
			e.nextID = kafka.ProducerID(v.Int64())
		case tagClientVersion:
			e.clientVersion = ClientVersion(v.Int16())
		}
		if v.Err != nil {
			r.Err = v.Err
		}
	})
	if r.Err == nil && (e.state < Empty || e.state > PrepareEpochFence) {
		r.Err = fmt.Errorf("%w: transaction state %d", message.ErrMalformed, e.state)
	}
	if e.state == Empty {
		e.partitions = nil
	}
	return e, true, r.Err
}

func readPartitions(r *message.Reader) []kafka.TopicPartition {
	var tps []kafka.TopicPartition
	for range r.Length() {
		topic := r.String()
		for range r.Length() {
			tps = append(tps, kafka.TopicPartition{Topic: topic, Partition: r.Int32()})
		}
		r.Tags(nil)
	}
	return union(tps, nil)
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
