// Package scenario is the project's one language for telling what happens to a
// Kafka cluster: a text of commands with the output that each must give, and
// comments that tell the story. docs/scenarios.md describes it.
//
// It promises that a text means the same on every kind of Cluster: the
// simulator in process under simulated time, the simulator over TCP, and a real
// Kafka. Requests go out in exactly the version that the text names, answers are
// printed with symbolic names (T1, X1, P1, A), and nothing is retried or
// repaired on the way, unless a step says await; applications alone, which are
// commands as well, repeat what Kafka says may be repeated. What is claimed of
// the simulator is what a real Kafka printed for the same text.
//
// It shares no code with the rooms of the simulator but their vocabulary: its
// codec of record batches is its own. What runs at a user's site has it only in
// the commands that play scenarios.
//
//	Run ─► performance: text, options ─► Scenario ─► table of verbs ─► a verb
//	             └───────────────────► Play: cluster, symbols ◄───────────┘
//
// A command knows the Play and neither the text that it stands in nor how it is
// played; only verb.go knows all commands. What several of them ask of a cluster
// stands below them: leader.go, offset.go and keeper.go. To read it, begin with
// play.go, command.go and one verb, such as lookup.go.
package scenario
