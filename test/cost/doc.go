// Package cost measures what exactly-once costs: the same work at least once and
// exactly once, in turn and in one run, so that the ratio holds whatever else the
// machine does. docs/exactly-once-cost.md has the figures.
//
//	go test ./test/cost -run '^$' -bench . -benchtime 5x
//
// The simulator is measured always, a real Kafka where LSO_KAFKA names its
// version. Each side has its time per operation (least-ms, exactly-ms), and
// "times" is how many times as long exactly-once takes.
package cost
