package scenario

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"testing"
)

// The marker of rule A4, byte for byte: 78 bytes on disk.
func TestMarkerBatchIsKafkas(t *testing.T) {
	b := batch{magic: 2, attributes: attrTransactional | attrControl, producerID: 1, producerEpoch: 2, baseSequence: -1,
		timestamp: 0, records: 1, count: 1, marker: &marker{commit: true, coordinatorEpoch: 3}}
	encoded := b.encode()
	if len(encoded) != 78 {
		t.Errorf("%d bytes, want 78: %s", len(encoded), hex.EncodeToString(encoded))
	}
	const record = "20" + "00" + "00" + "00" + "08" + "00000001" + "0c" + "000000000003" + "00"
	if got := hex.EncodeToString(encoded[headerSize:]); got != record {
		t.Errorf("record %s, want %s", got, record)
	}
}

func TestBatchesComeBack(t *testing.T) {
	sent := []batch{
		{magic: 2, producerID: -1, producerEpoch: -1, baseSequence: -1, records: 3, count: 3, timestamp: 1000},
		{magic: 2, attributes: attrTransactional, producerID: 7, producerEpoch: 1, baseSequence: 5, records: 1, count: 1},
		{magic: 2, attributes: attrTransactional | attrControl, producerID: 7, producerEpoch: 2, baseSequence: -1, records: 1, count: 1,
			marker: &marker{coordinatorEpoch: 4}},
	}
	var data []byte
	for _, b := range sent {
		data = append(data, b.encode()...)
	}
	cut := append(data[:len(data):len(data)], data[:40]...) // as the end of a Fetch
	got, err := readBatches(cut)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(sent) {
		t.Fatalf("%d batches, want %d", len(got), len(sent))
	}
	s := newSymbols()
	for i, want := range []string{"N(3)@0-2", "T(P1,1,5,1)@0", "A(P1,2)@0"} {
		if r := got[i].render(&s); r != want {
			t.Errorf("batch %d is %s, want %s", i, r, want)
		}
	}
	if got[2].marker.coordinatorEpoch != 4 || got[0].timestamp != 1000 {
		t.Errorf("marker %+v, timestamp %d", *got[2].marker, got[0].timestamp)
	}
}

func TestReadBatchesRefusesDamage(t *testing.T) {
	good := batch{magic: 2, producerID: -1, producerEpoch: -1, baseSequence: -1, records: 1, count: 1}.encode()
	for _, c := range []struct {
		why    string
		damage func([]byte)
	}{
		{"a flipped bit", func(b []byte) { b[len(b)-1] ^= 1 }},
		{"an old format", func(b []byte) { b[posMagic] = 1 }},
		{"a length shorter than a header", func(b []byte) { binary.BigEndian.PutUint32(b[posLength:], 3) }},
		{"a control batch without a marker", func(b []byte) {
			b[posAttributes+1] = attrControl
			binary.BigEndian.PutUint32(b[posCRC:], crc32.Checksum(b[posAttributes:], castagnoli))
		}},
	} {
		t.Run(c.why, func(t *testing.T) {
			data := append([]byte(nil), good...)
			c.damage(data)
			if batches, err := readBatches(data); err == nil {
				t.Errorf("read %v", batches)
			}
		})
	}
}

// A read_committed consumer drops what is listed, from the first offset to the
// abort marker, and nothing else (rule D6).
func TestSurfaced(t *testing.T) {
	b := func(kind rune, producer, offset int64) batch {
		b := batch{producerID: producer, baseOffset: offset, lastOffset: offset, count: 1}
		switch kind {
		case 'T':
			b.attributes = attrTransactional
		case 'A', 'C':
			b.attributes, b.marker = attrTransactional|attrControl, &marker{commit: kind == 'C'}
		}
		return b
	}
	batches := []batch{b('T', 1, 0), b('N', -1, 1), b('T', 2, 2), b('A', 1, 3), b('T', 1, 4), b('C', 2, 5), b('C', 1, 6)}
	got := ""
	for _, b := range surfaced(batches, aborted(1, 0)) {
		got += b.offsets() + " "
	}
	if want := "1 2 4 "; got != want {
		t.Errorf("surfaced %s, want %s", got, want)
	}
}
