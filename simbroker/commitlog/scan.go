package commitlog

import (
	"encoding/binary"
	"io"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// scan goes through a batch's records one by one and passes over keys, values
// and headers, so that its memory does not grow with what the batch decompresses
// to. It is as strict as Kafka is: the declared size of a record counts only
// where the batch is not compressed.
type scan struct {
	batch   Batch
	left    int32         // records to come
	window  []byte        // bytes that were read and not scanned
	scanned int64         // bytes, where nothing is compressed
	source  io.ReadCloser // of compressed bytes; nil at their end
	buffer  []byte        // behind window; nil where nothing is compressed
	err     error
}

// glimpse is what a scan tells of a record. Sizes are -1 for what is not there.
type glimpse struct {
	timestampMs int64
	offsetDelta int64
	keySize     int64
	valueSize   int64
}

const scanBuffer = 16 << 10

func (b Batch) scan() *scan {
	s := &scan{batch: b, left: b.Count}
	body := b.Raw[headerBytes:]
	if b.Attributes.Codec() == Uncompressed {
		s.window = body
		return s
	}
	source, err := decompressor(b.Attributes.Codec(), body)
	if err != nil {
		s.err = kafka.ErrUnknownServerError
		return s
	}
	s.source, s.buffer = source, make([]byte, scanBuffer)
	return s
}

// next returns the next record. ok is false after the last one, and err then
// says whether the records are those that the header declares: INVALID_RECORD
// if not, UNKNOWN_SERVER_ERROR if they cannot be decompressed, which is what
// becomes of that in Kafka.
func (s *scan) next() (g glimpse, ok bool) {
	if s.left <= 0 || s.err != nil {
		s.end()
		return glimpse{}, false
	}
	s.left--
	size := s.varint()
	start := s.scanned
	s.skip(1) // attributes, unused
	g.timestampMs = s.batch.BaseTimestampMs + s.varint()
	if s.batch.Attributes.TimestampType() == LogAppendTime {
		g.timestampMs = s.batch.MaxTimestampMs
	}
	g.offsetDelta = s.varint()
	g.keySize = s.nullable()
	g.valueSize = s.nullable()
	headers := s.varint()
	for ; headers > 0 && s.err == nil; headers-- {
		if s.nullable() < 0 {
			s.fail()
		}
		s.nullable()
	}
	if headers < 0 || s.buffer == nil && s.scanned-start != size {
		s.fail()
	}
	if s.err != nil {
		s.end()
		return glimpse{}, false
	}
	return g, true
}

// end looks for bytes after the last record, and closes the source.
func (s *scan) end() {
	if s.err == nil && s.more() {
		s.fail()
	}
	s.close()
}

// close must be called where next is not called to the end.
func (s *scan) close() {
	if s.source != nil {
		s.source.Close()
		s.source = nil
	}
}

func (s *scan) fail() {
	if s.err == nil {
		s.err = kafka.ErrInvalidRecord
	}
}

// more says whether there are bytes to scan.
func (s *scan) more() bool {
	for len(s.window) == 0 && s.source != nil {
		n, err := s.source.Read(s.buffer)
		s.window = s.buffer[:n]
		if err == nil {
			continue
		}
		s.close()
		if err != io.EOF {
			s.err, s.window = kafka.ErrUnknownServerError, nil
		}
	}
	return len(s.window) > 0
}

func (s *scan) varint() int64 {
	// Most lie in the window whole.
	if v, n := binary.Varint(s.window); n > 0 {
		s.take(n)
		return v
	}
	v, err := binary.ReadVarint(s)
	if err != nil {
		s.fail()
	}
	return v
}

// ReadByte is for varints.
func (s *scan) ReadByte() (byte, error) {
	if !s.more() {
		return 0, io.ErrUnexpectedEOF
	}
	b := s.window[0]
	s.take(1)
	return b, nil
}

func (s *scan) take(n int) {
	s.window = s.window[n:]
	s.scanned += int64(n)
}

// nullable passes over bytes with their length in front, which it returns: -1
// for none.
func (s *scan) nullable() int64 {
	n := max(s.varint(), -1)
	s.skip(n)
	return n
}

func (s *scan) skip(n int64) {
	for n > 0 && s.err == nil {
		if !s.more() {
			s.fail()
			return
		}
		m := min(n, int64(len(s.window)))
		s.take(int(m))
		n -= m
	}
}
