// Package group is what a group coordinator is asked and answers, as plain
// values, what it needs from elsewhere, and the words that all of its rooms
// speak: states and kinds of groups, records, topics, settings and refusals.
//
// One broker's coordinator keeps classic consumer groups (KIP-62, 345, 394),
// groups of the consumer protocol (KIP-848) with the classic members that join
// them, share groups (KIP-932), streams groups (KIP-1071), simple groups that
// only commit offsets, committed offsets and the pending ones of transactions
// (KIP-98, 447): those whose ids hash to the partitions of __consumer_offsets
// that the broker leads (rule H1), in Kafka's own record formats, by the rules
// of Kafka 4.3. Its rooms, each of which knows those below it only:
//
//	coordinator   finds a group's shard, reads the log, hands requests to the
//	              protocols, serves what is alike for all
//	consumer      the consumer protocol, and classic members in its groups
//	classic, share, streams   the other protocols
//	shard         one partition of __consumer_offsets: groups, offsets, what is
//	              written and waited for
//	record        keys of records, and parts of values that protocols share
//	assignment    assignors, and a member's way to its target
//	offsets       committed and pending offsets
//	embedded      what consumers say inside of the classic protocol
//
// What it leaves out: authorisation, error codes and versions (package wire
// knows those), racks, what share groups were delivered (package share of the
// simulator), and the compaction of __consumer_offsets. Where Kafka's order is a
// hash map's, it is sorted here, but where it decides who is assigned what. There
// is no goroutine and no lock: all methods and callbacks belong to events of one
// clock.Loop.
package group
