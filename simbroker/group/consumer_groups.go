package group

// consumerGroups drives the groups of the consumer protocol of a shard.
type consumerGroups struct{ *shard }
