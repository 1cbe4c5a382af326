package group

// streamsGroups drives the streams groups of a shard.
type streamsGroups struct{ *shard }
