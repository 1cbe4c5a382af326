package assignment

import (
	"cmp"
	"encoding/binary"
	"slices"
	"unicode/utf16"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// JavaTable is how many buckets a java.util.HashMap has that nobody gave a size.
const JavaTable = 16

// javaCopy is how many buckets a java.util.HashSet is made with for n items.
func javaCopy(n int) int { return max(JavaTable, 4*n/3+1) }

// InJavaOrder is items as a java.util.HashMap with their hashes as keys goes through
// them; that is how Kafka comes by members, topics and processes. The table is made
// with a number of buckets, and grows.
func InJavaOrder[T any](items []T, made int, hash func(T) uint32) []T {
	buckets := 1
	for buckets < made || 4*len(items) > 3*buckets {
		buckets *= 2
	}
	bucket := func(item T) int {
		h := hash(item)
		return int(h^h>>16) & (buckets - 1)
	}
	return slices.SortedStableFunc(slices.Values(items), func(a, b T) int { return cmp.Compare(bucket(a), bucket(b)) })
}

// JavaHash is Java's hash of a text.
func JavaHash(text string) uint32 {
	var hash uint32
	for _, unit := range utf16.Encode([]rune(text)) {
		hash = 31*hash + uint32(unit)
	}
	return hash
}

// hashOfTopic is Java's hash of a topic's id.
func hashOfTopic(id kafka.TopicID) uint32 {
	mixed := binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
	return uint32(mixed>>32) ^ uint32(mixed)
}

// hashOfPartition is Java's hash of a partition's number.
func hashOfPartition(p Partition) uint32 { return uint32(p.Number) }
