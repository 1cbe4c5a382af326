package group

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// commit is a committed offset as its record has it. Times are milliseconds
// since 1970.
type commit struct {
	offset      kafka.Offset
	leaderEpoch kafka.LeaderEpoch
	metadata    string
	at          int64
	expires     int64 // of a commit with a retention of its own, else noTime
	topicID     kafka.TopicID
	record      kafka.Offset // where the commit's record lies in the log
}

// noLeaderEpoch stands for an unknown leader epoch.
const noLeaderEpoch kafka.LeaderEpoch = -1

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

// encodeCommit is the record value of a commit.
func encodeCommit(c commit) []byte {
	version := int16(offsetVersion)
	if c.expires != noTime {
		version = offsetExpiresVersion
	}
	w := message.Writer{Flexible: version >= 4}
	w.Int16(version)
	w.Int64(int64(c.offset))
	if version >= 3 {
		w.Int32(int32(c.leaderEpoch))
	}
	w.String(c.metadata)
	w.Int64(c.at)
	if version == 1 {
		w.Int64(c.expires)
	}
	if c.topicID == (kafka.TopicID{}) {
		w.Tags()
	} else {
		w.Tags(message.Tag{Number: tagTopicID, Value: c.topicID[:]})
	}
	return w.B
}

// decodeCommit is the commit of a record value; it reports false for a version
// that is not known.
func decodeCommit(b []byte) (c commit, known bool, err error) {
	r := message.Reader{B: b}
	version := r.Int16()
	if version < 0 || version > 4 {
		return commit{}, false, r.Err
	}
	r.Flexible = version >= 4
	c = commit{leaderEpoch: noLeaderEpoch, expires: noTime}
	c.offset = kafka.Offset(r.Int64())
	if version >= 3 {
		c.leaderEpoch = kafka.LeaderEpoch(r.Int32())
	}
	c.metadata = r.String()
	c.at = r.Int64()
	if version == 1 {
		c.expires = r.Int64()
	}
	r.Tags(func(number int, v message.Reader) {
		if number == tagTopicID {
			copy(c.topicID[:], v.B)
		}
	})
	return c, true, r.Err
}
