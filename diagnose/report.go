// Package diagnose turns views into a report that a person reads, and its exit
// code: what is held back and by what, what to do about it and what that costs,
// which groups stand still and why, what could not be told for lack of which
// right, and what in the cluster's set-up makes exactly-once weaker.
//
// What it guarantees: every verdict, reason, group state, missing right and
// audit finding that package lag knows has its sentence; a command that is
// printed is complete and quoted for a shell, and one that discards records
// stands beside a warning of what it discards; what is not known is never told
// as healthy. The same views and options give the same report.
//
// It leaves out how views come about (package collector). A Watch takes the views
// of one or more sweeps, and says what another one could settle.
package diagnose

import (
	"cmp"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Options say what a report is about and for whom it is.
type Options struct {
	// Groups, Topics and TransactionalIDs are the names that the report is
	// about; all where there is none.
	Groups, Topics, TransactionalIDs []string

	// Bootstrap is the value of --bootstrap-server in commands.
	Bootstrap string
	// Principal tells whom a missing right is granted, "User:exporter". It may know
	// better once the cluster was seen.
	Principal func() string

	// ReadUncommitted says of which groups it is known that they read
	// uncommitted: no transaction blocks them. Nil is none.
	ReadUncommitted func(group string) bool

	// Unending is for a watch that goes on for as long as the process. Its views
	// are those of a tracker that says by itself, with the same times as below,
	// what stands still: the watch remembers only since when that is so, and tells
	// nothing of how fast groups read.
	Unending bool

	// HeldAfter is from which age on an open transaction, or an end marker on
	// its way, holds something back: younger ones are everyday life.
	HeldAfter time.Duration
	// StillAfter is for how long a commit must have been watched not to move
	// for a group to stand still, and how old the next unread record of a group
	// that reads must be for it to be slow.
	StillAfter time.Duration
}

// picked says whether a name is among those that a report is about.
func picked(names []string, name string) bool {
	return len(names) == 0 || slices.Contains(names, name)
}

// narrowed says whether the report is about a part of the cluster.
func (o *Options) narrowed() bool {
	return len(o.Groups)+len(o.Topics)+len(o.TransactionalIDs) > 0
}

// Status is the answer in a word.
type Status string

// The answers.
const (
	Healthy  Status = "healthy"   // nothing is held back, and all was seen that was to be
	HeldBack Status = "held_back" // something is held back, for certain
	Unknown  Status = "unknown"   // nothing is known to be held back, but not all could be told
)

// ExitCode is the exit status that stands for the answer.
func (s Status) ExitCode() int {
	switch s {
	case Healthy:
		return 0
	case HeldBack:
		return 1
	default:
		return 2
	}
}

// Format is the version of the JSON form. It is raised when a field changes its
// meaning or goes; new fields do not raise it.
const Format = 1

// Report is what there is to say. Its JSON form is documented in
// docs/diagnose.md.
type Report struct {
	Format int    `json:"format"`
	Status Status `json:"status"`

	// Summary is the answer in a sentence.
	Summary string `json:"summary"`

	// At is the moment of which everything is told, Sweeps and WatchedSeconds
	// how often and how long the cluster was looked at.
	At             time.Time `json:"at"`
	Sweeps         int       `json:"sweeps"`
	WatchedSeconds float64   `json:"watched_seconds"`

	Cluster Cluster `json:"cluster"`

	// Transactions are those that hold partitions back, the worst first.
	Transactions []Transaction `json:"transactions"`
	// Groups are groups on topics of which there is something to say, the worst
	// first.
	Groups []Group `json:"groups"`
	// Missing are the rights that were missed, and what that hides.
	Missing []Missing `json:"missing_rights"`
	// Untold is what else could not be read.
	Untold []Untold `json:"not_read"`
	// Audit is what the cluster's set-up means for exactly-once.
	Audit Audit `json:"audit"`
}

// Cluster says how much was looked at.
type Cluster struct {
	ID         string `json:"id,omitempty"`
	Brokers    int    `json:"brokers"`
	Topics     int    `json:"topics"`
	Partitions int    `json:"partitions"`
	Groups     int    `json:"groups"`
}

// Untold is something that could not be read.
type Untold struct {
	// Kind is a kind of lag.Miss, or "failure" if nothing could be read.
	Kind     string `json:"kind"`
	Subject  string `json:"subject"`
	Count    int    `json:"count"`
	Detail   string `json:"detail,omitempty"`
	Sentence string `json:"sentence"`
	// Harmless says that the answer does not depend on it.
	Harmless bool `json:"harmless,omitempty"`
}

// reporter makes a report of what a watch has seen.
type reporter struct {
	Options
	*Watch
	view   *lag.View
	report *Report
	// audited is the last audit; nil if there is none.
	audited *lag.Audit
	topics  map[string]*lag.TopicView
	// named are the groups that transactions are told to hold.
	named map[groupOn]bool
}

// groupOn is a group on a topic.
type groupOn struct{ group, topic string }

// reporter returns one that has not begun.
func (w *Watch) reporter() *reporter {
	r := &reporter{Options: w.options, Watch: w, view: w.last, audited: cmp.Or(w.audit, w.last.Audit), topics: make(map[string]*lag.TopicView), named: make(map[groupOn]bool), report: &Report{
		Format: Format, At: w.last.Ended, Sweeps: w.sweeps, WatchedSeconds: w.last.Ended.Sub(w.begun).Seconds(),
		Transactions: []Transaction{}, Groups: []Group{}, Missing: []Missing{}, Untold: []Untold{},
	}}
	for i := range r.view.Topics {
		r.topics[r.view.Topics[i].Name] = &r.view.Topics[i]
	}
	return r
}

// Report returns what there is to say after the views that were seen. It panics
// if there is none.
func (w *Watch) Report() *Report {
	r := w.reporter()
	r.count()
	r.transactions()
	r.groups()
	r.rights()
	r.misses()
	r.findings()
	r.conclude()
	return r.report
}

// count fills in how much was looked at.
func (r *reporter) count() {
	c := &r.report.Cluster
	if cluster, known := r.view.Cluster.Get(); known {
		c.ID, c.Brokers = cluster.ID, len(cluster.Brokers)
	}
	c.Topics, c.Groups = len(r.view.Topics), len(r.view.Groups)
	for i := range r.view.Topics {
		c.Partitions += len(r.view.Topics[i].Partitions)
	}
}

// partition returns a partition of the view; nil if there is none.
func (r *reporter) partition(topic string, number int32) *lag.PartitionView {
	t := r.topics[topic]
	if t == nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(t.Partitions, number,
		func(p lag.PartitionView, number int32) int { return int(p.Number) - int(number) })
	if !found {
		return nil
	}
	return &t.Partitions[i]
}
