// Package txn is one broker's transaction coordinator (KIP-98, 360, 447, 588,
// 664, 890). It keeps the transactions whose transactional ids hash to the
// partitions of __transaction_state that the broker leads (rule G1), in Kafka's
// own record format, and answers for them by the rules of Kafka 4.3.
//
// What it guarantees: a transaction moves only along the table of transitions
// in state.go, in one place, and only after the record of the move is
// replicated in the log. Ending takes time: EndTxn persists PrepareCommit or
// PrepareAbort and answers; then end markers go to the leaders of the
// transaction's partitions, are retried for as long as rule G17 says, and
// CompleteCommit or CompleteAbort is persisted when the last one is written.
//
//	Empty ──► Ongoing ──► PrepareCommit ──► CompleteCommit ─┐
//	  ▲          │                                          │
//	  │          └──────► PrepareAbort ───► CompleteAbort ──┤
//	  └─────────────────────────────────────────────────────┘
//
// (An idle transaction may go to PrepareAbort too: protocol 2 lets a client
// abort without knowing whether there is anything to abort.)
//
// What it leaves out: authorisation, the existence of topics, error codes and
// protocol versions (package wire knows those), two-phase commit (KIP-939) and
// the compaction of __transaction_state. It has no goroutine and no lock: all
// methods and callbacks belong to events of one clock.Loop.
package txn
