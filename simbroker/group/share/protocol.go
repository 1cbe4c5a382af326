package share

import "github.com/lso-exporter/lso-exporter/simbroker/group/shard"

// Protocol serves the share groups of a shard.
type Protocol struct{ *shard.Shard }
