package collector

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Options says how a cluster is swept. The zero value of each field stands for
// its default.
type Options struct {
	// Period is the time from the beginning of one sweep to that of the next;
	// default 10 s.
	Period time.Duration

	// Jitter is by how much of the period a sweep may begin early or late, so
	// that sweeps do not beat in step with commit intervals; 0 to 0.25,
	// default 0.1. Negative means none.
	Jitter float64

	// Deadline ends a sweep that has not ended by itself; default three
	// quarters of the period, so that a sweep is over when the next is due.
	Deadline time.Duration

	// BrokerTimeout is how long one request may take; default a tenth of the
	// period, at least 250 ms and at most 2 s, and never more than a quarter of
	// the deadline, so that there is time left to ask the other brokers. A broker
	// that does not answer within it makes that one sweep late by as much, and
	// no other: see Sweeper.
	BrokerTimeout time.Duration

	// LookUpAfter is how long the last stable offset of a partition must have
	// stood still for what holds it to be looked up; default 10 s.
	LookUpAfter time.Duration

	// CensusPeriod is the least time from one census of transactional ids to the
	// next; 0 for none.
	CensusPeriod time.Duration

	// TransactionLog reads the records of __transaction_state as they are
	// appended, which needs READ on it; off unless it is set.
	TransactionLog bool

	// Application names the application of a transactional id; of all ids it
	// must return few names. Default: "other" for all.
	Application func(transactionalID string) string

	// AuditPeriod is the time from one audit to the next; 0 for none.
	AuditPeriod time.Duration

	// StillAfter is for how long a group's commit must have been watched not to
	// move for the group to stand still; default 60 s.
	StillAfter time.Duration

	// ReadUncommitted says by name which groups are known to read uncommitted;
	// nil means none.
	ReadUncommitted func(group string) bool

	// NoReadableLag leaves out the Fetches that tell whether anything is
	// readable for groups that stand still; they need the right to read topics.
	// NoTimeIndex leaves out the questions to time indexes: ages are told only
	// of what the exporter saw being appended. NoPendingCommits leaves out the
	// questions for commits in transactions that have not ended.
	NoReadableLag, NoTimeIndex, NoPendingCommits bool

	// Disabled switches collectors off: their series are left out, and their
	// requests too unless another collector needs them.
	Disabled []Collector

	// Topics and Groups say by name which topics and groups are read; nil means
	// all. Of the others nothing is asked that can be left unasked, and nothing
	// is in a sample, nor is a commit or an assignment on such a topic: as if
	// they did not exist. Both must answer the same name alike each time, and
	// are called from several goroutines.
	Topics, Groups func(name string) bool

	// SightTopic and SightGroup are names of the kind that Topics and Groups
	// accept. Where no topic, or group, is seen, they are asked for, to find out
	// whether that is for lack of rights. Default: names that nobody uses.
	SightTopic, SightGroup string

	// Assigned limits what is read to the partitions that members are assigned
	// for which it says yes, and to their groups: for an exporter beside one
	// consumer of many. nil means all there is. It is called from several
	// goroutines.
	Assigned func(lag.Member) bool

	// TransactionalIDs limits what is read to the partitions that transactional
	// ids write which it matches, and what is told of transactional ids to these;
	// groups are not read. It must match whole ids. nil means all there is. Not
	// together with Assigned.
	TransactionalIDs *regexp.Regexp

	// SightID is what ids begin with that are described, though nobody uses them,
	// to find out whether a census saw all ids that TransactionalIDs matches: it
	// should take the same rights as they do. Default: as no other id does.
	SightID string

	// Observer is told what the sweeps do; default Unobserved.
	Observer Observer

	// Now is the clock by which samples are dated; default time.Now.
	Now func() time.Time

	// Random returns numbers in [0, 1) for the jitter; default that of
	// math/rand/v2.
	Random func() float64

	// Serial asks brokers one after the other, in the order of their ids, on
	// the goroutine that sweeps: for clusters in the same process whose
	// histories must replay exactly.
	Serial bool
}

// Validate says in one line what is wrong with the options; nil if nothing is.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Period <= 0:
		return fmt.Errorf("period %v is not positive", o.Period)
	case o.Jitter > 0.25:
		return fmt.Errorf("jitter %v is above 0.25", o.Jitter)
	case o.Deadline <= 0 || o.Deadline > o.Period:
		return fmt.Errorf("deadline %v is not between 0 and the period %v", o.Deadline, o.Period)
	case o.BrokerTimeout <= 0 || o.BrokerTimeout > o.Deadline:
		return fmt.Errorf("broker timeout %v is not between 0 and the deadline %v", o.BrokerTimeout, o.Deadline)
	case o.LookUpAfter < 0:
		return fmt.Errorf("look-up after %v is negative", o.LookUpAfter)
	case o.CensusPeriod < 0:
		return fmt.Errorf("census period %v is negative", o.CensusPeriod)
	case o.AuditPeriod < 0:
		return fmt.Errorf("audit period %v is negative", o.AuditPeriod)
	case o.StillAfter < 0:
		return fmt.Errorf("still after %v is negative", o.StillAfter)
	case o.Assigned != nil && o.TransactionalIDs != nil:
		return errors.New("a scope of members and one of transactional ids exclude each other")
	}
	return nil
}

// withDefaults fills in what was left zero.
func (o Options) withDefaults() Options {
	if o.Period == 0 {
		o.Period = 10 * time.Second
	}
	switch {
	case o.Jitter == 0:
		o.Jitter = 0.1
	case o.Jitter < 0:
		o.Jitter = 0
	}
	all := func(string) bool { return true }
	if o.Topics == nil {
		o.Topics = all
	}
	if o.Groups == nil {
		o.Groups = all
	}
	o.SightTopic, o.SightGroup = cmp.Or(o.SightTopic, unusedTopic), cmp.Or(o.SightGroup, unusedGroup)
	o.SightID = cmp.Or(o.SightID, unusedID)
	if o.Deadline == 0 {
		o.Deadline = o.Period * 3 / 4
	}
	if o.BrokerTimeout == 0 {
		o.BrokerTimeout = min(max(o.Period/10, 250*time.Millisecond), 2*time.Second, o.Deadline/4)
	}
	if o.LookUpAfter == 0 {
		o.LookUpAfter = 10 * time.Second
	}
	if o.StillAfter == 0 {
		o.StillAfter = time.Minute
	}
	if o.Application == nil {
		o.Application = func(string) string { return "other" }
	}
	if o.Observer == nil {
		o.Observer = Unobserved{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

// enabled says whether a collector is switched on.
func (o *Options) enabled(c Collector) bool {
	return !slices.Contains(o.Disabled, c) && (c != Groups || o.TransactionalIDs == nil)
}

// readsOffsets says whether the offsets of partitions are read: the collector
// groups needs them for the lags, transactions to know what stands still.
func (o *Options) readsOffsets() bool {
	return o.enabled(Offsets) || o.enabled(Groups) || o.enabled(Transactions)
}
