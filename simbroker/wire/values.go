package wire

import (
	"math"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// stringOf is a nullable string, empty for null.
func stringOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// valueOf is a value as it stands in messages.
func valueOf(value string, null bool) *string {
	if null {
		return nil
	}
	return &value
}

// milliseconds is a duration as requests give it; what is too long for a
// Duration is the longest one.
func milliseconds[N int32 | int64](n N) time.Duration {
	if int64(n) > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Millisecond
}

// int32s are broker ids as they stand in messages; never null.
func int32s(ids []kafka.BrokerID) []int32 {
	numbers := make([]int32, len(ids))
	for i, id := range ids {
		numbers[i] = int32(id)
	}
	return numbers
}

func brokerIDs(numbers []int32) []kafka.BrokerID {
	ids := make([]kafka.BrokerID, len(numbers))
	for i, n := range numbers {
		ids[i] = kafka.BrokerID(n)
	}
	return ids
}

// place is where a partition stands in a request: the index of its topic, and
// its own within that.
type place struct{ topic, partition int }
