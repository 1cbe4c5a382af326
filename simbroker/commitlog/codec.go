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

const (
	// maxDecompressed is how many bytes a batch may decompress to where its
	// records are wanted whole.
	maxDecompressed = 32 << 20
	// maxZstdWindow is what zstd's decoders allow by default.
	maxZstdWindow = 128 << 20
)

var (
	errNothingCompressed = errors.New("no compressed data")
	errDecompressedSize  = fmt.Errorf("more than %d bytes of records", maxDecompressed)
)

// decompress returns all that b holds, as long as it is not too much.
func decompress(c Codec, b []byte) ([]byte, error) {
	if c == Uncompressed {
		return b, nil
	}
	r, err := decompressor(c, b)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, maxDecompressed+1))
	if err == nil && len(out) > maxDecompressed {
		return nil, errDecompressedSize
	}
	return out, err
}

// decompressor reads compressed bytes piece by piece: memory does not grow with
// what they decompress to. Its Read returns io.EOF only where the data is whole.
func decompressor(c Codec, b []byte) (io.ReadCloser, error) {
	if len(b) == 0 && c != Zstd { // of which nothing is an empty file
		return nil, errNothingCompressed
	}
	switch c {
	case Gzip:
		return openGzip(b)
	case Snappy:
		return openSnappy(b)
	case LZ4:
		return io.NopCloser(lz4.NewReader(bytes.NewReader(firstFrame(b)))), nil
	case Zstd:
		d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("unknown codec %d", c)
}

// gzipMembers reads one gzip member after the other, as Java does: what follows
// the last and is none is passed over.
type gzipMembers struct {
	*gzip.Reader
	from *bytes.Reader
}

func openGzip(b []byte) (io.ReadCloser, error) {
	from := bytes.NewReader(b)
	r, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	r.Multistream(false)
	return &gzipMembers{r, from}, nil
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err != io.EOF || g.from.Len() == 0 {
		return n, err
	}
	if g.Reset(g.from) != nil {
		return n, io.EOF
	}
	g.Multistream(false)
	return n, nil
}

// firstFrame is the LZ4 frame that b begins with, behind which Java does not
// look; all of b if there is no whole one.
//
//	magic u32 | flags u8 | u8 | [size u64] | [dictionary u32] | u8 | blocks | 0 u32 | [checksum u32]
//	block: size u32, of which the highest bit is none | data | [checksum u32]
func firstFrame(b []byte) []byte {
	const flagsAt, least = 4, 7
	if len(b) < least {
		return b
	}
	flags := b[flagsAt]
	optional := func(bit, size int) int { return int(flags>>bit&1) * size }
	at := least + optional(3, 8) + optional(0, 4)
	for at+4 <= len(b) {
		size := int(binary.LittleEndian.Uint32(b[at:]) &^ (1 << 31))
		if at += 4; size == 0 {
			return b[:min(len(b), at+optional(2, 4))]
		}
		at += size + optional(4, 4)
	}
	return b
}

// xerialMagic opens snappy data in the framing of the Java library: two
// versions of four bytes follow, then blocks with their length before them.
// Other producers send one bare block.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const (
	xerialHeader = 16
	xerialBlock  = 32 << 10 // how much the Java library puts into one block
)

var errSnappy = errors.New("snappy framing is broken")

// snappyBlocks reads block after block, each decompressed when it is due.
type snappyBlocks struct {
	blocks []byte // with their lengths
	bare   bool   // one block, without
	ready  []byte // of the present block
}

func openSnappy(b []byte) (io.ReadCloser, error) {
	switch {
	case !bytes.HasPrefix(b, xerialMagic):
		return io.NopCloser(&snappyBlocks{blocks: b, bare: true}), nil
	case len(b) < xerialHeader:
		return nil, errSnappy
	}
	return io.NopCloser(&snappyBlocks{blocks: b[xerialHeader:]}), nil
}

func (s *snappyBlocks) Read(p []byte) (int, error) {
	for len(s.ready) == 0 {
		if len(s.blocks) == 0 {
			return 0, io.EOF
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

func (s *snappyBlocks) next() error {
	block := s.blocks
	s.blocks = nil
	if !s.bare {
		if len(block) < 4 {
			return errSnappy
		}
		n := int64(binary.BigEndian.Uint32(block))
		if block = block[4:]; n > int64(len(block)) {
			return errSnappy
		}
		block, s.blocks = block[:n], block[n:]
	}
	// Three bytes of a block make 64 at most: a greater length is a lie.
	if n, err := s2.DecodedLen(block); err != nil || n > 64*len(block) {
		return errSnappy
	}
	var err error
	s.ready, err = s2.Decode(s.ready, block)
	return err
}

// compress is the reverse of decompress, in the form that Kafka's brokers write.
func compress(c Codec, b []byte) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	switch c {
	case Uncompressed:
		return b, nil
	case Gzip:
		w = gzip.NewWriter(&out)
	case Snappy:
		return compressXerial(b), nil
	case LZ4:
		l := lz4.NewWriter(&out)
		if err := l.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
			return nil, err
		}
		w = l
	case Zstd:
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		w = z
	default:
		return nil, fmt.Errorf("unknown codec %d", c)
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func compressXerial(b []byte) []byte {
	out := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for len(b) > 0 {
		n := min(len(b), xerialBlock)
		block := s2.EncodeSnappy(nil, b[:n])
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
		b = b[n:]
	}
	return out
}
