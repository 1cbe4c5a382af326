package group

// shareGroups drives the share groups of a shard.
type shareGroups struct{ *shard }
