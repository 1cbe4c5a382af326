package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// requestFrames visits a request of every version offered, with one element in
// every list, and the content of its frame.
func requestFrames(visit func(name string, content []byte, req kmsg.Request)) {
	offered := Kafka43()
	for _, key := range offered.Keys() {
		for version := offered[key].Min; version <= offered[key].Max; version++ {
			req := kmsg.RequestForKey(key)
			req.SetVersion(version)
			if offered.Check(key, version) != nil {
				continue
			}
			fill(reflect.ValueOf(req).Elem())
			frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("client")).AppendRequest(nil, req, 7)
			visit(kmsg.NameForKey(key), frame[4:], req)
		}
	}
}

// fill gives every list one element and every string some text.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Version" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("text")
	}
}

func TestDecodeRequestOfEveryVersion(t *testing.T) {
	requestFrames(func(name string, content []byte, req kmsg.Request) {
		decoded, err := decodeRequest(content, Kafka43())
		if err != nil {
			t.Errorf("%s v%d: %v", name, req.GetVersion(), err)
			return
		}
		if decoded.correlationID != 7 || decoded.clientID != "client" || decoded.body.GetVersion() != req.GetVersion() {
			t.Errorf("%s v%d: decoded header %d %q v%d", name, req.GetVersion(), decoded.correlationID, decoded.clientID, decoded.body.GetVersion())
		}
		if got, want := decoded.body.AppendTo(nil), req.AppendTo(nil); !bytes.Equal(got, want) {
			t.Errorf("%s v%d: body % x, want % x", name, req.GetVersion(), got, want)
		}
	})
}

func TestDecodeRequestRefusals(t *testing.T) {
	header := func(key, version int16, rest ...byte) []byte {
		content := binary.BigEndian.AppendUint16(nil, uint16(key))
		content = binary.BigEndian.AppendUint16(content, uint16(version))
		return append(append(content, 0, 0, 0, 1), rest...)
	}
	for _, test := range []struct {
		why     string
		content []byte
		want    string // in the error
	}{
		{"empty frame", nil, "within the request header"},
		{"header without client id", header(18, 0), "within the request header"},
		{"client id longer than the frame", header(18, 0, 0, 9, 'x'), "within the request header"},
		{"flexible header without tags", header(18, 3, 0xff, 0xff), "within the request header"},
		{"tag longer than the frame", header(18, 3, 0xff, 0xff, 1, 0, 9), "within the request header"},
		{"tag count without end", header(18, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "within the request header"},
		{"body cut short", header(1, 4, 0xff, 0xff, 0), "decode Fetch v4"},
		{"no such API", header(999, 0, 0xff, 0xff), "API 999 is not served"},
		{"no such version", header(1, 99, 0xff, 0xff), "Fetch v99 is not served, v4 to v18 are"},
	} {
		if _, err := decodeRequest(test.content, Kafka43()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.why, err, test.want)
		}
	}
}

// A version of ApiVersions that is yet to be invented is decoded whatever its
// body is (rule J3).
func TestDecodeFutureAPIVersions(t *testing.T) {
	decoded, err := decodeRequest([]byte{0, 18, 0, 99, 0, 0, 0, 5, 0xff, 0xff, 0xde, 0xad}, Kafka43())
	if err != nil {
		t.Fatal(err)
	}
	if decoded.correlationID != 5 || decoded.body.GetVersion() != 99 {
		t.Errorf("decoded correlation id %d, v%d", decoded.correlationID, decoded.body.GetVersion())
	}
}

// A null array stays null: in Metadata it means all topics, an empty one none.
func TestDecodeKeepsNullAndEmptyApart(t *testing.T) {
	for _, version := range []int16{1, 9, 13} {
		for _, topics := range [][]kmsg.MetadataRequestTopic{nil, {}} {
			req := kmsg.NewPtrMetadataRequest()
			req.Version, req.Topics = version, topics
			frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
			decoded, err := decodeRequest(frame[4:], Kafka43())
			if err != nil {
				t.Fatal(err)
			}
			if got := decoded.body.(*kmsg.MetadataRequest).Topics; (got == nil) != (topics == nil) {
				t.Errorf("v%d: topics %v decoded as %v", version, topics, got)
			}
		}
	}
}

func TestResponseHeaders(t *testing.T) {
	for _, test := range []struct {
		why      string
		response kmsg.Response
		version  int16
		want     []byte
	}{
		{"not flexible", kmsg.NewPtrHeartbeatResponse(), 3, []byte{0, 0, 0, 10, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0}},
		{"flexible: tags in header and body", kmsg.NewPtrHeartbeatResponse(), 4, []byte{0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"ApiVersions never has tags in the header", kmsg.NewPtrApiVersionsResponse(), 3, []byte{0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 0, 0}},
	} {
		test.response.SetVersion(test.version)
		if got := appendResponse(nil, 7, test.response); !bytes.Equal(got, test.want) {
			t.Errorf("%s: % x, want % x", test.why, got, test.want)
		}
	}
}

func TestReadFrameLimits(t *testing.T) {
	for _, test := range []struct {
		why   string
		bytes []byte
		ok    bool
	}{
		{"at the limit", []byte{0, 0, 0, 2, 1, 2}, true},
		{"empty", []byte{0, 0, 0, 0}, true},
		{"above the limit", []byte{0, 0, 0, 3, 1, 2, 3}, false},
		{"negative", []byte{0xff, 0xff, 0xff, 0xff}, false},
		{"cut short", []byte{0, 0, 0, 2, 1}, false},
		{"cut in the length", []byte{0, 0}, false},
	} {
		if _, err := readFrame(bytes.NewReader(test.bytes), 2); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.why, err)
		}
	}
}

// FuzzDecodeRequest feeds frames of any content: decoding gives an error or a
// request that can be refused and encoded again, never a panic.
func FuzzDecodeRequest(f *testing.F) {
	requestFrames(func(_ string, content []byte, _ kmsg.Request) { f.Add(content) })
	offered := Kafka43()
	f.Fuzz(func(t *testing.T, content []byte) {
		req, err := decodeRequest(content, offered)
		if err != nil {
			var unsupported *UnsupportedError
			if errors.As(err, &unsupported) && unsupported.Known && unsupported.Offered.Contains(unsupported.Version) {
				t.Errorf("refused although offered: %v", err)
			}
			return
		}
		if !offered[req.body.Key()].Contains(req.body.GetVersion()) {
			return // ApiVersions of the future
		}
		resp := handlers[req.body.Key()].refuse(req.body, -1)
		if resp == nil {
			return
		}
		resp.SetVersion(req.body.GetVersion())
		frame := appendResponse(nil, req.correlationID, resp)
		if size := binary.BigEndian.Uint32(frame); int(size) != len(frame)-4 {
			t.Errorf("frame of %d bytes says %d", len(frame)-4, size)
		}
	})
}
