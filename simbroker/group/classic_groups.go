package group

// classicGroups drives the classic groups of a shard.
type classicGroups struct{ *shard }
