package offsets

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// Commit is a committed offset as its record has it. Times are milliseconds
// since 1970.
type Commit struct {
	Offset      kafka.Offset
	LeaderEpoch kafka.LeaderEpoch
	Metadata    string
	At          int64
	Expires     int64 // of a commit with a retention of its own, else group.NoTime
	TopicID     kafka.TopicID
	Record      kafka.Offset // where the commit's record lies in the log
}

// NoLeaderEpoch stands for an unknown leader epoch.
const NoLeaderEpoch kafka.LeaderEpoch = -1

// The record of a committed offset, in the encoding of package message; version
// 4 is flexible.
//
//	version i16 │ offset i64 │ v3: leader epoch i32 │ metadata string
//	│ commit time i64 │ v1 only: expire time i64 │ v4: tag 0 topic id

// The versions that Kafka 4.3 writes.
const (
	offsetVersion        = 4
	offsetExpiresVersion = 1 // for a commit with a retention of its own

	tagTopicID = 0
)

// Encode is the record value of a commit.
func Encode(c Commit) []byte {
	version := int16(offsetVersion)
	if c.Expires != group.NoTime {
		version = offsetExpiresVersion
	}
	w := message.Writer{Flexible: version >= 4}
	w.Int16(version)
	w.Int64(int64(c.Offset))
	if version >= 3 {
		w.Int32(int32(c.LeaderEpoch))
	}
	w.String(c.Metadata)
	w.Int64(c.At)
	if version == 1 {
		w.Int64(c.Expires)
	}
	if c.TopicID == (kafka.TopicID{}) {
		w.Tags()
	} else {
		w.Tags(message.Tag{Number: tagTopicID, Value: c.TopicID[:]})
	}
	return w.B
}

// Decode is the commit of a record value; it reports false for a version that is
// not known.
func Decode(b []byte) (c Commit, known bool, err error) {
	r := message.Reader{B: b}
	version := r.Int16()
	if version < 0 || version > 4 {
		return Commit{}, false, r.Err
	}
	r.Flexible = version >= 4
	c = Commit{LeaderEpoch: NoLeaderEpoch, Expires: group.NoTime}
	c.Offset = kafka.Offset(r.Int64())
	if version >= 3 {
		c.LeaderEpoch = kafka.LeaderEpoch(r.Int32())
	}
	c.Metadata = r.String()
	c.At = r.Int64()
	if version == 1 {
		c.Expires = r.Int64()
	}
	r.Tags(func(number int, v message.Reader) {
		if number == tagTopicID {
			copy(c.TopicID[:], v.B)
		}
	})
	return c, true, r.Err
}
