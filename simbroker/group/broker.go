package group

import (
	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// broker is what the partitions of __consumer_offsets that one broker leads have
// in common.
type broker struct {
	id  kafka.BrokerID
	clk clock.Clock
	cfg Config
	env Environment
	// topicsCreated is the metadata version at which topics were last created.
	topicsCreated int64
}

// now is the present moment as records carry it.
func (b *broker) now() int64 { return b.clk.Now().UnixMilli() }
