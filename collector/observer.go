package collector

import (
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Observer is told what the exporter itself does, for its own metrics. Its
// methods are called from several goroutines, must be quick, and must not call
// back.
type Observer interface {
	// Request reports one request: the API's name as Kafka spells it (for
	// example "ListOffsets"), the broker (a seed's id is negative), how long
	// the answer took, and why there was none (empty when there was one; else
	// a kind of lag.Miss). What was not sent, as the last login at the broker has
	// failed a short while ago, is none.
	Request(api string, broker int32, took time.Duration, failure lag.MissKind)

	// AuditRequest counts a request that is an audit's, not a sweep's; Request
	// reports it too.
	AuditRequest()

	// ReadGap reports the time between a broker's answers for the high
	// watermark and for the last stable offset of the same partitions.
	ReadGap(took time.Duration)

	// Collector reports how one collector fared in a sweep.
	Collector(name Collector, success bool, took time.Duration)

	// Sweep reports a sweep that has ended, or one that was skipped, with
	// duration 0.
	Sweep(result Result, took time.Duration)

	// Errors reports n errors of one kind: what a sweep missed.
	Errors(kind lag.MissKind, n int)

	// Skew reports n answers that dated a record later than it was seen.
	Skew(n int)
}

// Collector names one part of what is read that can be switched off.
type Collector string

// The collectors.
const (
	Offsets        Collector = "offsets"      // the four offsets of partitions
	Groups         Collector = "groups"       // groups, their members and commits
	Transactions   Collector = "transactions" // what holds last stable offsets that stand still
	TransactionLog Collector = "txnlog"       // the records of __transaction_state
	Replicas       Collector = "replicas"     // leader, replicas and in-sync replicas
	Audits         Collector = "audit"        // how the cluster is set up; no part of a sweep
)

// Result is how a sweep ended.
type Result string

// The results of a sweep.
const (
	Complete Result = "complete" // everything was read
	Partial  Result = "partial"  // something is missing
	Failed   Result = "failed"   // nothing could be read
	Skipped  Result = "skipped"  // it was due while the one before still ran
)

// Unobserved is an Observer that takes no notice.
type Unobserved struct{}

// Request implements Observer.
func (Unobserved) Request(string, int32, time.Duration, lag.MissKind) {}

// AuditRequest implements Observer.
func (Unobserved) AuditRequest() {}

// ReadGap implements Observer.
func (Unobserved) ReadGap(time.Duration) {}

// Collector implements Observer.
func (Unobserved) Collector(Collector, bool, time.Duration) {}

// Sweep implements Observer.
func (Unobserved) Sweep(Result, time.Duration) {}

// Errors implements Observer.
func (Unobserved) Errors(lag.MissKind, int) {}

// Skew implements Observer.
func (Unobserved) Skew(int) {}
