package share

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// Replicas are the logs of this broker; replica.Broker is one.
type Replicas interface {
	Fetch(req replica.FetchRequest, done func(replica.FetchResult))
	ListOffsets(req replica.ListOffsetsRequest) (replica.ListedOffset, error)
	Status(tp kafka.TopicPartition) (replica.PartitionStatus, bool)
}

var _ Replicas = (*replica.Broker)(nil)

// Reset says where a group begins with a partition (share.auto.offset.reset).
type Reset struct {
	Earliest bool
	// Since is how far back to begin; 0 begins at the end, unless Earliest is set.
	Since time.Duration
}

// duration is ISO 8601's, as far as Kafka's settings have it: P1DT2H3M4.5S, in
// small letters too.
var duration = regexp.MustCompile(`(?i)^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?)?$`)

// ParseReset reads share.auto.offset.reset: latest, earliest or
// by_duration:<duration>.
func ParseReset(s string) (Reset, error) {
	switch s {
	case "latest":
		return Reset{}, nil
	case "earliest":
		return Reset{Earliest: true}, nil
	}
	text, ok := strings.CutPrefix(s, "by_duration:")
	parts := duration.FindStringSubmatch(text)
	if !ok || parts == nil {
		return Reset{}, fmt.Errorf("share.auto.offset.reset %q is none of latest, earliest and by_duration:<duration>", s)
	}
	var r Reset
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.ParseFloat(parts[i+1], 64) // "" is nothing
		r.Since += time.Duration(n * float64(unit))
	}
	return r, nil
}

// Settings are those of one group.
type Settings struct {
	Reset         Reset         // share.auto.offset.reset
	LockDuration  time.Duration // share.record.lock.duration.ms
	DeliveryLimit int           // share.delivery.count.limit
	MaxLocks      int           // share.partition.max.record.locks
	ReadCommitted bool          // share.isolation.level
	Renew         bool          // share.renew.acknowledge.enable
}

// DefaultSettings is what groups do that set nothing.
func DefaultSettings() Settings {
	return Settings{LockDuration: 30 * time.Second, DeliveryLimit: 5, MaxLocks: 2000, Renew: true}
}

// Environment is all that a broker's share groups need from elsewhere.
type Environment struct {
	Replicas Replicas
	Store    *Store
	// Topic is the name that a topic id has now.
	Topic func(kafka.TopicID) (string, bool)
	// Settings are those of one group.
	Settings func(groupID string) Settings
	// MaxSessions is how many sessions the broker has at most, of all groups.
	MaxSessions int
	// EndOffset asks a partition's leader for the high watermark. done is invoked
	// once, in a later event or before the call returns.
	EndOffset func(tp kafka.TopicPartition, done func(kafka.Offset, error))
}

// refusal is an error with Kafka's words for it.
type refusal struct {
	err     error
	message string
}

func refuse(err error, format string, args ...any) error {
	return &refusal{err, fmt.Sprintf(format, args...)}
}

// Error implements error.
func (r *refusal) Error() string { return r.message }

// Unwrap is the error by its name.
func (r *refusal) Unwrap() error { return r.err }
