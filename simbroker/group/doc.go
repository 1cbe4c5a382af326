// Package group is one broker's group coordinator: classic consumer groups
// (KIP-62, 345, 394), groups of the consumer protocol (KIP-848) with the classic
// members that join them, simple groups that only commit offsets, committed
// offsets and the pending ones of transactions (KIP-98, 447). It keeps the
// groups whose ids hash to the partitions of __consumer_offsets that the broker
// leads (rule H1), in Kafka's own record formats, and answers by the rules of
// Kafka 4.3.
//
// What it guarantees: what it knows of offsets, and of groups that are not
// classic, follows the log. A record changes them when it is appended, an end
// marker what was appended before it, so that loading a log gives what its
// writer had in memory. Answers to writes wait until the record is replicated,
// and plain reads of offsets see what is replicated only.
//
//	classic
//
//	Empty ──► PreparingRebalance ──► CompletingRebalance ──► Stable
//	  ▲          │  ▲    ▲                    │                │
//	  └──────────┘  │    └────────────────────┘                │
//	                └──────────────────────────────────────────┘
//
//	consumer, streams: what the epochs amount to
//
//	group epoch ─(a target assignment)─► target epoch ─(each member, once it has
//	given up what others are to have)─► member epoch
//
//	no members: Empty │ group epoch ahead: Assigning │ members behind or waiting:
//	Reconciling │ all there: Stable │ streams, topics missing: NotReady
//
//	share: Empty or Stable
//
// What it leaves out: authorisation, error codes and versions (package wire
// knows those), racks, what share groups were delivered (package share), standby
// and warm-up tasks of streams groups and what members tell each other of their
// endpoints, and the compaction of __consumer_offsets. Unlike offsets,
// groups are described as they are in memory, before their records are
// replicated. Where Kafka's order is a hash map's, it is sorted here. It has no
// goroutine and no lock: all methods and callbacks belong to events of one
// clock.Loop.
package group
