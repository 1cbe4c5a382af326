package group

import "github.com/lso-exporter/lso-exporter/simbroker/message"

// newValue begins a value.
func newValue() message.Writer {
	w := message.Writer{Flexible: true}
	w.Int16(0)
	return w
}

// valueReader begins to read a value; it reports false for a version that is
// not known.
func valueReader(b []byte) (message.Reader, bool) {
	r := message.Reader{B: b, Flexible: true}
	return r, r.Int16() == 0 && r.Err == nil
}

// int64Tag is a tagged field, left out if it has its default.
func int64Tag(number int, v int64) []message.Tag {
	if v == 0 {
		return nil
	}
	w := message.Writer{}
	w.Int64(v)
	return []message.Tag{{Number: number, Value: w.B}}
}

// readInt64Tag reads the tagged fields at the end of a value, of which one is
// known.
func readInt64Tag(r *message.Reader, number int) int64 {
	var v int64
	r.Tags(func(n int, value message.Reader) {
		if n == number {
			v = value.Int64()
		}
	})
	return v
}

func encodeTargetEpoch(epoch int32, at int64) []byte {
	w := newValue()
	w.Int32(epoch)
	w.Tags(int64Tag(tagTime, at)...)
	return w.B
}

func encodeTarget(target partitionSet) []byte {
	w := newValue()
	writePartitions(&w, target)
	w.Tags()
	return w.B
}

// tagTime is the tagged field of a target epoch that has its time.
const tagTime = 0

// readTargetEpoch reads what encodeTargetEpoch writes, behind the version.
func readTargetEpoch(r *message.Reader) (epoch int32, at int64) {
	epoch = r.Int32()
	return epoch, readInt64Tag(r, tagTime)
}
