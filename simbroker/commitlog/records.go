package commitlog

// Records is a run of batches as a read returns them.
type Records struct {
	batches []Batch
	rest    []byte // the beginning of another batch
	size    int
}

// cut adds the first n bytes of a batch.
func (r *Records) cut(b Batch, n int) {
	if n > 0 {
		r.rest = b.Raw[:n:n]
		r.size += n
	}
}

// Size is the number of bytes.
func (r Records) Size() int { return r.size }

// Batches are the whole batches one by one. Nobody may change them.
func (r Records) Batches() []Batch { return r.batches }

// Bytes is the batches' bytes in a row, without a copy where they lie in a row
// already. Nobody may change them.
func (r Records) Bytes() []byte {
	if len(r.batches) == 0 {
		return nil
	}
	if row := r.row(); row != nil {
		return row
	}
	out := make([]byte, 0, r.size)
	for _, b := range r.batches {
		out = append(out, b.Raw...)
	}
	return append(out, r.rest...)
}

// row is the batches as one slice if each begins where the one before it ends,
// as small batches do that were appended to one chunk; else nil.
func (r Records) row() []byte {
	row := r.batches[0].Raw
	for _, b := range r.batches[1:] {
		if row = joined(row, b.Raw); row == nil {
			return nil
		}
	}
	if len(r.rest) > 0 {
		row = joined(row, r.rest)
	}
	return row[:len(row):len(row)]
}

// joined is row with the bytes that follow it if they lie behind it, else nil.
func joined(row, next []byte) []byte {
	n := len(row)
	if cap(row) < n+len(next) || &row[:n+1][n] != &next[0] {
		return nil
	}
	return row[:n+len(next)]
}

// Sizes of the chunks that small batches are copied to.
const (
	leastChunk  = 4 << 10
	mostChunk   = 4 << 20
	ownedLength = 16 << 10 // a batch of this size is kept as it came
)

// arena lays small batches in a row, so that a read of many needs no copy.
type arena struct{ chunk []byte }

// keep returns raw's bytes, to be kept for good.
func (a *arena) keep(raw []byte) []byte {
	if len(raw) >= ownedLength {
		return raw
	}
	if cap(a.chunk)-len(a.chunk) < len(raw) {
		size := min(max(2*cap(a.chunk), leastChunk), mostChunk)
		a.chunk = make([]byte, 0, max(size, len(raw)))
	}
	n := len(a.chunk)
	a.chunk = append(a.chunk, raw...)
	return a.chunk[n:]
}
