// Package message is Kafka's encoding of fields, as the records of its internal
// topics have them: big-endian integers, and strings, arrays and bytes behind
// their lengths. It comes in two forms. Classic: a length is an i16 (strings) or
// an i32, and -1 is null. Flexible (KIP-482): a length is an unsigned varint,
// one more than the length, 0 is null, and a structure ends with tagged fields.
//
// It guarantees that a Reader survives whatever bytes it is given. It leaves
// out what those records do not use: floats and varints of their own.
package message

import (
	"encoding/binary"
	"errors"
)

// ErrMalformed is the error of bytes that are not what they are read as.
var ErrMalformed = errors.New("malformed message")

// Writer appends fields to B; Flexible says in which form.
type Writer struct {
	B        []byte
	Flexible bool
}

// Int8 appends an i8.
func (w *Writer) Int8(v int8) { w.B = append(w.B, byte(v)) }

// Int16 appends an i16.
func (w *Writer) Int16(v int16) { w.B = binary.BigEndian.AppendUint16(w.B, uint16(v)) }

// Int32 appends an i32.
func (w *Writer) Int32(v int32) { w.B = binary.BigEndian.AppendUint32(w.B, uint32(v)) }

// Int64 appends an i64.
func (w *Writer) Int64(v int64) { w.B = binary.BigEndian.AppendUint64(w.B, uint64(v)) }

// Length appends the length of an array or of bytes; -1 is null.
func (w *Writer) Length(n int) {
	if w.Flexible {
		w.B = binary.AppendUvarint(w.B, uint64(n+1))
		return
	}
	w.Int32(int32(n))
}

// String appends a string.
func (w *Writer) String(s string) { w.NullableString(&s) }

// NullableString appends a string, or null for nil.
func (w *Writer) NullableString(s *string) {
	n := -1
	if s != nil {
		n = len(*s)
	}
	if w.Flexible {
		w.B = binary.AppendUvarint(w.B, uint64(n+1))
	} else {
		w.Int16(int16(n))
	}
	if s != nil {
		w.B = append(w.B, *s...)
	}
}

// Bytes appends bytes; nil counts as none.
func (w *Writer) Bytes(b []byte) {
	w.Length(len(b))
	w.B = append(w.B, b...)
}

// UUID appends the 16 bytes of a UUID.
func (w *Writer) UUID(id [16]byte) { w.B = append(w.B, id[:]...) }

// Int32s appends an array of i32.
func (w *Writer) Int32s(values []int32) {
	w.Length(len(values))
	for _, v := range values {
		w.Int32(v)
	}
}

// Strings appends an array of strings.
func (w *Writer) Strings(values []string) {
	w.Length(len(values))
	for _, v := range values {
		w.String(v)
	}
}

// Tag is a tagged field.
type Tag struct {
	Number int
	Value  []byte
}

// Tags ends a structure in the flexible form with its tagged fields, which must
// be in the order of their numbers. In the classic form it appends nothing.
func (w *Writer) Tags(tags ...Tag) {
	if !w.Flexible {
		return
	}
	w.B = binary.AppendUvarint(w.B, uint64(len(tags)))
	for _, t := range tags {
		w.B = binary.AppendUvarint(w.B, uint64(t.Number))
		w.B = binary.AppendUvarint(w.B, uint64(len(t.Value)))
		w.B = append(w.B, t.Value...)
	}
}

// Reader takes fields off B; Flexible says in which form. Err is ErrMalformed
// once something could not be read, and everything reads as zero from then on.
type Reader struct {
	B        []byte
	Flexible bool
	Err      error
}

// take is the next n bytes, or n zero bytes after an error (n is then at most
// 8: longer fields are read only if they are there).
func (r *Reader) take(n int) []byte {
	if r.Err == nil && (n < 0 || n > len(r.B)) {
		r.Err = ErrMalformed
	}
	if r.Err != nil {
		return make([]byte, min(max(n, 0), 8))
	}
	field := r.B[:n]
	r.B = r.B[n:]
	return field
}

// Int8 takes an i8.
func (r *Reader) Int8() int8 { return int8(r.take(1)[0]) }

// Int16 takes an i16.
func (r *Reader) Int16() int16 { return int16(binary.BigEndian.Uint16(r.take(2))) }

// Int32 takes an i32.
func (r *Reader) Int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }

// Int64 takes an i64.
func (r *Reader) Int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *Reader) uvarint() int {
	v, n := binary.Uvarint(r.B)
	if n <= 0 || v > 1<<31 {
		r.Err = ErrMalformed
	}
	if r.Err != nil {
		return 0
	}
	r.B = r.B[n:]
	return int(v)
}

// Length takes the length of an array or of bytes: 0 for null, and never more
// than there are bytes left.
func (r *Reader) Length() int {
	n := 0
	if r.Flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.Int32())
	}
	if n > len(r.B) {
		r.Err = ErrMalformed
	}
	if r.Err != nil {
		return 0
	}
	return max(n, 0)
}

// String takes a string; null reads as empty.
func (r *Reader) String() string {
	if s := r.NullableString(); s != nil {
		return *s
	}
	return ""
}

// NullableString takes a string, nil for null.
func (r *Reader) NullableString() *string {
	n := 0
	if r.Flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.Int16())
	}
	if r.Err != nil || n == -1 {
		return nil
	}
	s := string(r.take(n))
	return &s
}

// Bytes takes bytes into memory of their own, nil for none.
func (r *Reader) Bytes() []byte { return append([]byte(nil), r.take(r.Length())...) }

// UUID takes the 16 bytes of a UUID.
func (r *Reader) UUID() (id [16]byte) {
	copy(id[:], r.take(len(id)))
	return id
}

// Int32s takes an array of i32, nil for none.
func (r *Reader) Int32s() []int32 {
	var values []int32
	for range r.Length() {
		values = append(values, r.Int32())
	}
	return values
}

// Strings takes an array of strings, nil for none.
func (r *Reader) Strings() []string {
	var values []string
	for range r.Length() {
		values = append(values, r.String())
	}
	return values
}

// Tags takes the tagged fields that end a structure in the flexible form; a nil
// visit skips them. A value is only valid during the visit.
func (r *Reader) Tags(visit func(number int, value Reader)) {
	if !r.Flexible {
		return
	}
	for range r.uvarint() {
		number, size := r.uvarint(), r.uvarint()
		value := r.take(size)
		if r.Err != nil {
			return
		}
		if visit != nil {
			visit(number, Reader{B: value})
		}
	}
}
