package simbroker

import (
	"fmt"
	"math/rand/v2"
)

// chance is what a cluster leaves to chance outside of the controller, decided by
// its seed. It belongs to events.
type chance struct{ source *rand.Rand }

func newChance(seed uint64) chance { return chance{rand.New(rand.NewPCG(seed, 1))} }

// uuid is a random one in its text form.
func (c chance) uuid() string {
	hi, lo := c.source.Uint64(), c.source.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}

// nonce is a text that does not come twice.
func (c chance) nonce() string {
	return fmt.Sprintf("%016x%016x", c.source.Uint64(), c.source.Uint64())
}
