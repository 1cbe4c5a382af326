package record

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// NewValue begins a value.
func NewValue() message.Writer {
	w := message.Writer{Flexible: true}
	w.Int16(0)
	return w
}

// ReadValue begins to read a value; it reports false for a version that is
// not known.
func ReadValue(b []byte) (message.Reader, bool) {
	r := message.Reader{B: b, Flexible: true}
	return r, r.Int16() == 0 && r.Err == nil
}

// Read takes a record of a modern group apart: its key, and a reader of its value,
// which is empty for a tombstone. It reports false for a key that cannot be read,
// and for a value in a version that is not known.
func Read(r group.Record) (ModernKey, message.Reader, bool) {
	k, err := DecodeModernKey(r.Key)
	if err != nil || r.Value == nil {
		return k, message.Reader{}, err == nil
	}
	value, known := ReadValue(r.Value)
	return k, value, known
}

// Int64Tag is a tagged field, left out if it has its default.
func Int64Tag(number int, v int64) []message.Tag {
	if v == 0 {
		return nil
	}
	w := message.Writer{}
	w.Int64(v)
	return []message.Tag{{Number: number, Value: w.B}}
}

// ReadInt64Tag reads the tagged fields at the end of a value, of which one is
// known.
func ReadInt64Tag(r *message.Reader, number int) int64 {
	var v int64
	r.Tags(func(n int, value message.Reader) {
		if n == number {
			v = value.Int64()
		}
	})
	return v
}

// tagTime is the tagged field of a target epoch that has its time.
const tagTime = 0

// TargetEpoch is the value that says for which epoch of a group there are
// targets, and since when, in milliseconds.
func TargetEpoch(epoch int32, at int64) []byte {
	w := NewValue()
	w.Int32(epoch)
	w.Tags(Int64Tag(tagTime, at)...)
	return w.B
}

// ReadTargetEpoch reads what TargetEpoch writes, behind the version.
func ReadTargetEpoch(r *message.Reader) (epoch int32, at int64) {
	epoch = r.Int32()
	return epoch, ReadInt64Tag(r, tagTime)
}

// Target is the value that says what a member is to have.
func Target(target assignment.Set) []byte {
	w := NewValue()
	WritePartitions(&w, target)
	w.Tags()
	return w.B
}
