// Package group is one broker's group coordinator: classic consumer groups
// (KIP-62, 345, 394), simple groups that only commit offsets, committed offsets
// and the pending ones of transactions (KIP-98, 447). It keeps the groups whose
// ids hash to the partitions of __consumer_offsets that the broker leads (rule
// H1), in Kafka's own record formats, and answers by the rules of Kafka 4.3.
//
// What it guarantees: what it knows of offsets follows the log. A record
// changes them when it is appended, an end marker what was appended before it,
// so that loading a log gives what its writer had in memory. Answers to writes
// wait until the record is replicated, and plain reads see what is replicated
// only.
//
//	Empty ──► PreparingRebalance ──► CompletingRebalance ──► Stable
//	  ▲          │  ▲    ▲                    │                │
//	  └──────────┘  │    └────────────────────┘                │
//	                └──────────────────────────────────────────┘
//
// What it leaves out: the consumer protocol of KIP-848 (a group has a Kind, of
// which only classic is served), share and streams groups, authorisation, error
// codes and versions (package wire knows those), and the compaction of
// __consumer_offsets. Unlike offsets, members are seen as they are in memory,
// before their record is replicated. It has no goroutine and no lock: all
// methods and callbacks belong to events of one clock.Loop.
package group
