package lag

import "unicode/utf16"

// Keeper is the partition of __consumer_offsets that keeps a group, or of
// __transaction_state that keeps a transactional id, if the topic has so many
// partitions: Java's hash of the name without its sign, modulo their number
// (rules G1 and H1). Its leader is the coordinator.
func Keeper(name string, partitions int) int32 {
	hash := int32(0)
	for _, unit := range utf16.Encode([]rune(name)) {
		hash = 31*hash + int32(unit)
	}
	switch {
	case hash == -1<<31:
		hash = 0
	case hash < 0:
		hash = -hash
	}
	return hash % int32(partitions)
}
