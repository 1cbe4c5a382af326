// Package share is what share groups (KIP-932) were delivered: at the leader of
// each partition who has acquired which records and what became of them, and for
// the whole cluster what of that outlives a leader. Who is in a group, and which
// partitions are whose, is package group's.
//
//	Fetch ──► session ──► partition ──► replica log
//	Acknowledge ──────────►  │  acquired ─► acknowledged, archived, available again
//	                         ▼
//	                       Store: start offset, deliveries complete, states
//
// A partition works through its log in a row: records before its start offset are
// done with, those from there on are in flight, those behind were never
// delivered. The start offset moves over what is acknowledged or archived.
//
// What it guarantees: what was acknowledged without an error is in the store; a
// leader that has been followed by another one changes nothing there (its epoch
// is behind); a record is not with two members at once.
//
// The store stands for Kafka's share coordinators: it is always there, answers
// at once, and has no __share_group_state that one could look at. What was
// written stays behind what a leader knows as it does in Kafka, where the start
// offset is written before it moves: a lag counts what is complete and not yet
// below the start offset. It has no goroutine and no lock: all methods and
// callbacks belong to events of one clock.Loop.
package share
