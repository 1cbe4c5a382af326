package consumer

import "github.com/lso-exporter/lso-exporter/simbroker/group/shard"

// Protocol serves the groups of the consumer protocol of a shard.
type Protocol struct{ *shard.Shard }
