package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxRequestSize is the default of socket.request.max.bytes.
const maxRequestSize = 100 << 20

// A frame is a length (int32, big-endian) and as many bytes. Those of a request
// are
//
//	api key i16 | api version i16 | correlation id i32 | client id nullable string | tags* | body
//
// and those of a response
//
//	correlation id i32 | tags* | body
//
// with tags only where the version is flexible (KIP-482), and never in the
// response to ApiVersions (rule J3).

// readFrame reads the content of one frame into memory of its own, which the
// decoded request goes on using.
func readFrame(r io.Reader, limit int32) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(prefix[:]))
	if size < 0 || size > limit {
		return nil, fmt.Errorf("read frame: size %d is not within 0 and %d", size, limit)
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, err
	}
	return content, nil
}

// request is a decoded request frame.
type request struct {
	correlationID int32
	clientID      string
	body          kmsg.Request
}

var errTruncated = errors.New("frame ends within the request header")

// decodeRequest decodes the content of a request frame and checks its version
// against what is offered. Its bytes fields (records) go on referring to content,
// which must not change any more. An error means that the connection must be closed.
func decodeRequest(content []byte, offered Versions) (request, error) {
	if len(content) < 8 {
		return request{}, errTruncated
	}
	key := int16(binary.BigEndian.Uint16(content))
	version := int16(binary.BigEndian.Uint16(content[2:]))
	req := request{correlationID: int32(binary.BigEndian.Uint32(content[4:]))}
	if err := offered.Check(key, version); err != nil {
		return request{}, fmt.Errorf("decode request: %w", err)
	}
	req.body = kmsg.RequestForKey(key)
	req.body.SetVersion(version)
	rest, err := req.decodeClientID(content[8:])
	if err != nil {
		return request{}, err
	}
	if key == int16(kmsg.ApiVersions) && !offered[key].Contains(version) {
		return req, nil // its body may have any form
	}
	if req.body.IsFlexible() {
		if rest, err = skipTags(rest); err != nil {
			return request{}, err
		}
	}
	if err := req.body.ReadFrom(rest); err != nil {
		return request{}, fmt.Errorf("decode %s v%d: %w", kmsg.NameForKey(key), version, err)
	}
	return req, nil
}

func (r *request) decodeClientID(from []byte) (rest []byte, err error) {
	if len(from) < 2 {
		return nil, errTruncated
	}
	length := int(int16(binary.BigEndian.Uint16(from)))
	from = from[2:]
	if length < 0 {
		return from, nil
	}
	if len(from) < length {
		return nil, errTruncated
	}
	r.clientID = string(from[:length])
	return from[length:], nil
}

// skipTags passes over the tagged fields of a header; none is known.
func skipTags(from []byte) (rest []byte, err error) {
	uvarint := func() uint64 {
		v, n := binary.Uvarint(from)
		if n <= 0 {
			err = errTruncated
			return 0
		}
		from = from[n:]
		return v
	}
	for count := uvarint(); count > 0 && err == nil; count-- {
		uvarint() // the tag
		size := uvarint()
		if uint64(len(from)) < size {
			return nil, errTruncated
		}
		from = from[size:]
	}
	return from, err
}

// appendResponse appends a response frame.
func appendResponse(to []byte, correlationID int32, body kmsg.Response) []byte {
	start := len(to)
	to = append(to, 0, 0, 0, 0)
	to = binary.BigEndian.AppendUint32(to, uint32(correlationID))
	if body.IsFlexible() && body.Key() != int16(kmsg.ApiVersions) {
		to = append(to, 0) // no tags
	}
	to = body.AppendTo(to)
	binary.BigEndian.PutUint32(to[start:], uint32(len(to)-start-4))
	return to
}
