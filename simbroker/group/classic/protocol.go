package classic

import "github.com/lso-exporter/lso-exporter/simbroker/group/shard"

// Protocol serves the classic groups of a shard.
type Protocol struct{ *shard.Shard }
