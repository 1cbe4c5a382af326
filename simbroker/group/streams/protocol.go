package streams

import "github.com/lso-exporter/lso-exporter/simbroker/group/shard"

// Protocol serves the streams groups of a shard.
type Protocol struct{ *shard.Shard }
