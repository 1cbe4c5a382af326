package lag

import "testing"

// The values are those of Java's Utils.abs("…".hashCode()) % n.
func TestKeeper(t *testing.T) {
	for _, c := range []struct {
		name       string
		partitions int
		want       int32
	}{
		{"", 50, 0},
		{"a", 50, 47},
		{"billing", 1, 0},
		{"billing", 50, 9},
		{"polygenelubricants", 50, 0}, // hashes to the least number
		{"zzzzzz", 50, 14},            // overflows
		{"ünïcødé", 50, 27},
		{"😀x", 50, 39}, // of two units
	} {
		if got := Keeper(c.name, c.partitions); got != c.want {
			t.Errorf("%q of %d: %d, want %d", c.name, c.partitions, got, c.want)
		}
	}
}
