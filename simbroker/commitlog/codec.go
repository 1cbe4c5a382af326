package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is a batch's compression.
type Codec int8

// Codecs, by their attribute bits (rule A2).
const (
	Uncompressed Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// String is the codec's name in compression.type.
func (c Codec) String() string {
	if c < Uncompressed || c > Zstd {
		return fmt.Sprintf("codec-%d", int8(c))
	}
	return [...]string{"none", "gzip", "snappy", "lz4", "zstd"}[c]
}

// decompress is needed only where single records are looked at: for
// timestamps, keys of compacted topics, and by coordinators.
func decompress(c Codec, b []byte) ([]byte, error) {
	switch c {
	case Uncompressed:
		return b, nil
	case Gzip:
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case Snappy:
		return unsnap(b)
	case LZ4:
		return io.ReadAll(lz4.NewReader(bytes.NewReader(b)))
	case Zstd:
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.DecodeAll(b, nil)
	}
	return nil, fmt.Errorf("unknown codec %d", c)
}

// xerialMagic opens snappy data in the framing of the Java library: two
// versions of four bytes follow, then blocks with their length before them.
// Other producers send one bare block.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func unsnap(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, xerialMagic) {
		return s2.Decode(nil, b)
	}
	const header = 16
	if len(b) < header {
		return nil, errShortSnappy
	}
	var out []byte
	for b = b[header:]; len(b) > 0; {
		if len(b) < 4 {
			return nil, errShortSnappy
		}
		n := int64(binary.BigEndian.Uint32(b))
		if b = b[4:]; n > int64(len(b)) {
			return nil, errShortSnappy
		}
		block, err := s2.Decode(nil, b[:n])
		if err != nil {
			return nil, err
		}
		out, b = append(out, block...), b[n:]
	}
	return out, nil
}

var errShortSnappy = errors.New("snappy framing cut short")
