package metrics

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// A form is how a page goes over the wire.
type form struct {
	format expfmt.Format // without an escaping scheme
	gzip   bool
}

// escaping is how names are escaped in a body. All names on a page are plain,
// so that any scheme gives the same bytes; this one costs nothing.
const escaping = "; escaping=allow-utf-8"

// unescaped is a format without its escaping scheme.
func unescaped(f expfmt.Format) expfmt.Format {
	before, _, _ := strings.Cut(string(f), "; escaping=")
	return expfmt.Format(before)
}

// A body is a page's part about the view in one form.
//
// Every scrape adds the exporter's own metrics, which change between views. In
// plain forms they are simply appended. In a compressed one, the view's part is
// a run of deflate blocks that ends on a byte ("sync flush"); the own part is
// appended as further blocks, and the checksum carried on from the view's:
//
//	gzip header │ blocks of the view │ blocks of the exporter │ CRC-32, length
//	└──────────── body, kept ────────┘└──────────── each scrape ─────────────┘
//
// The answer is one gzip member, which every client understands.
type body struct {
	bytes  []byte
	crc    uint32 // CRC-32 (IEEE) of the plain text
	length uint32 // of the plain text, modulo 2³²
}

// gzipHeader is RFC 1952's: deflate, no flags, no time, unknown system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic("metrics: " + err.Error()) // only for a level that does not exist
	}
	return w
}}

// newBody encodes the families that each hands out; a family is only used
// until each's function returns.
func newBody(f form, each func(yield func(*dto.MetricFamily))) *body {
	var out bytes.Buffer
	b := &body{}
	if !f.gzip {
		encode(&out, f.format, each)
		b.bytes = out.Bytes()
		return b
	}
	out.Write(gzipHeader)
	deflater := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(deflater)
	deflater.Reset(&out)
	sum := checksum{to: deflater, crc: crc32.NewIEEE()}
	encode(&sum, f.format, each)
	must(deflater.Flush())
	b.bytes, b.crc, b.length = bytes.Clone(out.Bytes()), sum.crc.Sum32(), sum.length
	return b
}

// writePage writes a view's body, nil for none, and the exporter's own
// families after it. The error is w's.
func writePage(w io.Writer, f form, view *body, own []*dto.MetricFamily) error {
	var rest bytes.Buffer
	encode(&rest, f.format, func(yield func(*dto.MetricFamily)) {
		for _, family := range own {
			yield(family)
		}
	})
	encoder := expfmt.NewEncoder(&rest, f.format+escaping)
	if closer, ok := encoder.(expfmt.Closer); ok {
		must(closer.Close()) // OpenMetrics' end mark
	}
	if view == nil {
		view = &body{}
		if f.gzip {
			view.bytes = gzipHeader
		}
	}
	if _, err := w.Write(view.bytes); err != nil {
		return err
	}
	if !f.gzip {
		_, err := w.Write(rest.Bytes())
		return err
	}
	deflater := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(deflater)
	deflater.Reset(w)
	if _, err := deflater.Write(rest.Bytes()); err != nil {
		return err
	}
	if err := deflater.Close(); err != nil {
		return err
	}
	var trailer [8]byte
	binary.LittleEndian.PutUint32(trailer[:4], crc32.Update(view.crc, crc32.IEEETable, rest.Bytes()))
	binary.LittleEndian.PutUint32(trailer[4:], view.length+uint32(rest.Len()))
	_, err := w.Write(trailer[:])
	return err
}

// encode writes families without an end mark. Writers in memory do not fail,
// and what cannot be encoded is a broken invariant of this package.
func encode(w io.Writer, format expfmt.Format, each func(yield func(*dto.MetricFamily))) {
	encoder := expfmt.NewEncoder(w, format+escaping)
	each(func(family *dto.MetricFamily) { must(encoder.Encode(family)) })
}

func must(err error) {
	if err != nil {
		panic("metrics: " + err.Error())
	}
}

// checksum passes on what is written, and keeps CRC and length of it.
type checksum struct {
	to     io.Writer
	crc    hash.Hash32
	length uint32
}

func (c *checksum) Write(p []byte) (int, error) {
	c.crc.Write(p)
	c.length += uint32(len(p))
	return c.to.Write(p)
}
