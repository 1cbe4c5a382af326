package shard

import (
	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Broker is what the partitions of __consumer_offsets that one broker leads have
// in common.
type Broker struct {
	ID     kafka.BrokerID
	Clock  clock.Clock
	Config group.Config
	Env    group.Environment
	// TopicsCreatedAt is the metadata version at which topics were last created.
	TopicsCreatedAt int64
}

// Now is the present moment as records carry it.
func (b *Broker) Now() int64 { return b.Clock.Now().UnixMilli() }
