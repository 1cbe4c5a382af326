package message

import (
	"bytes"
	"math"
	"reflect"
	"testing"
)

// everything is one of each field.
type everything struct {
	I8    int8
	I16   int16
	I32   int32
	I64   int64
	S, N  string
	Null  *string
	Some  *string
	Bytes []byte
	None  []byte
	Array []int32
	UUID  [16]byte
	Names []string
}

func write(e everything, flexible bool) []byte {
	w := Writer{Flexible: flexible}
	w.Int8(e.I8)
	w.Int16(e.I16)
	w.Int32(e.I32)
	w.Int64(e.I64)
	w.String(e.S)
	w.String(e.N)
	w.NullableString(e.Null)
	w.NullableString(e.Some)
	w.Bytes(e.Bytes)
	w.Bytes(e.None)
	w.Int32s(e.Array)
	w.UUID(e.UUID)
	w.Strings(e.Names)
	w.Tags(Tag{1, []byte{0, 7}}, Tag{300, nil})
	return w.B
}

func read(b []byte, flexible bool) (e everything, tags []int, rest int, err error) {
	r := Reader{B: b, Flexible: flexible}
	e.I8, e.I16, e.I32, e.I64 = r.Int8(), r.Int16(), r.Int32(), r.Int64()
	e.S, e.N = r.String(), r.String()
	e.Null, e.Some = r.NullableString(), r.NullableString()
	e.Bytes, e.None = r.Bytes(), r.Bytes()
	e.Array = r.Int32s()
	e.UUID, e.Names = r.UUID(), r.Strings()
	r.Tags(func(number int, value Reader) { tags = append(tags, number, len(value.B)) })
	return e, tags, len(r.B), r.Err
}

func TestRoundTrip(t *testing.T) {
	some := "some"
	e := everything{math.MinInt8, math.MaxInt16, math.MinInt32, math.MaxInt64, "é", "", nil, &some, []byte{1, 2}, nil, []int32{3, -4},
		[16]byte{1, 15: 9}, []string{"x", ""}}
	for _, flexible := range []bool{false, true} {
		b := write(e, flexible)
		got, tags, rest, err := read(b, flexible)
		if err != nil || rest != 0 || !reflect.DeepEqual(got, e) {
			t.Errorf("flexible %t: %+v, %d bytes left, %v", flexible, got, rest, err)
		}
		if flexible != reflect.DeepEqual(tags, []int{1, 2, 300, 0}) {
			t.Errorf("flexible %t: tags %v", flexible, tags)
		}
		for n := range b {
			if _, _, _, err := read(b[:n], flexible); err != ErrMalformed {
				t.Errorf("flexible %t, cut to %d of %d bytes: %v", flexible, n, len(b), err)
			}
		}
	}
}

// The layout itself, byte by byte.
func TestLayout(t *testing.T) {
	for _, test := range []struct {
		flexible bool
		want     []byte
	}{
		{false, []byte{0, 1, 'a', 255, 255, 0, 0, 0, 1, 'b', 255, 255, 255, 255}},
		{true, []byte{2, 'a', 0, 2, 'b', 0, 1, 2, 1, 9}},
	} {
		w := Writer{Flexible: test.flexible}
		w.String("a")
		w.NullableString(nil)
		w.Bytes([]byte("b"))
		w.Length(-1)
		w.Tags(Tag{2, []byte{9}})
		if !bytes.Equal(w.B, test.want) {
			t.Errorf("flexible %t: %v, want %v", test.flexible, w.B, test.want)
		}
	}
}

// Null reads as nothing where nothing will do.
func TestNull(t *testing.T) {
	r := Reader{B: []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255}}
	if s, b, n := r.String(), r.Bytes(), r.Length(); s != "" || b != nil || n != 0 || r.Err != nil {
		t.Errorf("%q, %v, %d, %v", s, b, n, r.Err)
	}
}

// Lengths that no bytes can have are errors, and cost no memory.
func TestHostileLengths(t *testing.T) {
	huge := []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}
	for name, b := range map[string][]byte{"i32": {127, 255, 255, 255}, "negative string": {255, 0}} {
		r := Reader{B: b}
		if name == "i32" {
			r.Length()
		} else {
			_ = r.String()
		}
		if r.Err != ErrMalformed {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	for name, take := range map[string]func(*Reader){
		"length": func(r *Reader) { r.Length() },
		"string": func(r *Reader) { _ = r.String() },
		"tags":   func(r *Reader) { r.Tags(nil) },
	} {
		r := Reader{B: huge, Flexible: true}
		take(&r)
		if r.Err != ErrMalformed {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}
