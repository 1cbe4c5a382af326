// Package config turns a YAML file, environment variables and command-line
// flags into one validated [Config].
//
// Every setting is declared once, in the table of setting.go: its key in the
// file, its flag, its environment variable, its meaning, its kind and its
// default. The file reader, the flags, "config print" and
// docs/configuration.md are all made from that table.
//
// What the package guarantees:
//
//   - A flag wins over an environment variable, that over the file, and the
//     file over the default; setting by setting.
//   - Nothing is ignored. An unknown key, a value of the wrong type or a value
//     out of bounds is a [Problem]: one line that names where it stands, the
//     key, the value and the remedy.
//   - A [Config] that was handed out is complete and consistent. Whoever gets
//     one needs no checks and no defaults of its own.
//
// It leaves out everything that needs the network: whether a broker answers is
// not a question of configuration.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"
)

// Config is what the exporter was told to do. It is a value: nothing in it is
// changed after [Loaded.Validated] returned it.
type Config struct {
	// Cluster is the value of the label "cluster" on every metric of the
	// cluster; empty for no such label.
	Cluster string

	Kafka      Kafka
	Sweep      Sweep
	Collectors Collectors

	Transactions Transactions
	GroupStates  GroupStates
	Audit        Audit
	Alerts       Alerts

	// Granularity is how finely the metrics of a group are cut.
	Granularity Granularity

	// Topics and Groups say which of them are read at all.
	Topics Filter
	Groups Filter

	Compatibility Compatibility

	// Scope limits what is read of them to a part of which no other exporter
	// shows anything.
	Scope Scope

	Web    Web
	Reload Reload
	Log    Log
}

// Scope is which part of the cluster the exporter shows.
type Scope struct {
	Kind ScopeKind
	// Host and ClientID tell the members that count under ScopeAssigned: by the
	// address from which they connect, without Kafka's slash, and by client id.
	// Empty and nil for any; not both.
	Host     string
	ClientID *regexp.Regexp
	// TransactionalIDs matches the ids that count under ScopeTransactionalID; it
	// matches whole ids. nil for none.
	TransactionalIDs *regexp.Regexp
}

// ScopeKind is how a scope is told.
type ScopeKind string

const (
	// ScopeAll is everything that the filters pick.
	ScopeAll ScopeKind = "all"
	// ScopeAssigned is the partitions that some members of groups are assigned.
	ScopeAssigned ScopeKind = "assigned"
	// ScopeTransactionalID is the partitions that some transactional ids write.
	ScopeTransactionalID ScopeKind = "transactional-id"
)

// Kafka is how the cluster is reached.
type Kafka struct {
	// Brokers are the bootstrap addresses, host:port each; at least one.
	Brokers []string
	// ClientID is the client id that the brokers see in every request.
	ClientID string
	// RequestTimeout is how long a broker may take to answer one request.
	// Never longer than Sweep.Timeout.
	RequestTimeout time.Duration

	TLS  TLS
	SASL SASL
}

// Sweep is the rhythm in which the cluster is read.
type Sweep struct {
	// Interval is the time from the start of one sweep to the start of the
	// next. A view expires when no sweep has ended for three of them.
	Interval time.Duration
	// Timeout is how long a sweep may take. What it has not read by then is
	// not in its view. Never longer than Interval.
	Timeout time.Duration
}

// Collectors says which parts of a sweep are made.
type Collectors struct {
	// Offsets reads the four offsets of each partition.
	Offsets bool
	// Groups reads groups, their members and their committed offsets.
	Groups bool
	// Transactions looks up what holds last stable offsets that stand still.
	Transactions bool
	// Audit reads how the cluster is set up.
	Audit bool
	// Replicas reads leader, replicas and in-sync replicas of each partition.
	Replicas bool
	// TransactionLog reads the records of __transaction_state.
	TransactionLog bool
}

// Transactions is how transactions are looked up and counted.
type Transactions struct {
	// LookUpAfter is how long a last stable offset must have stood still before
	// what holds it is looked up.
	LookUpAfter time.Duration
	// CensusInterval is the least time from one census of transactional ids to
	// the next.
	CensusInterval time.Duration
	// Applications names the application of a transactional id; never nil.
	Applications *Applications
}

// GroupStates is how it is found out what groups are doing.
type GroupStates struct {
	// StillAfter is for how long a commit must not have moved for the group to
	// stand still.
	StillAfter time.Duration
	// ReadUncommitted matches the groups that are known to read uncommitted;
	// nil for none.
	ReadUncommitted *regexp.Regexp
	// ReadableLag looks into the logs behind groups that stand still.
	ReadableLag bool
	// TimeIndex asks brokers when records were appended that the exporter has
	// not seen coming.
	TimeIndex bool
	// PendingCommits asks for commits in transactions that have not ended.
	PendingCommits bool
}

// Audit is the rhythm in which it is read how the cluster is set up.
type Audit struct {
	// Interval is the time from one audit to the next.
	Interval time.Duration
}

// Alerts are the thresholds of the alert rules that "lso-exporter rules" prints.
// They change nothing in what the exporter reads or serves.
type Alerts struct {
	// Stalled is for how long a transaction may hold a last stable offset.
	Stalled time.Duration
	// Overdue and Completing are for how long a blocking transaction may have
	// that verdict.
	Overdue, Completing time.Duration
	// CoordinatorCompleting is for how long a coordinator may have a decided
	// transaction that is not completed.
	CoordinatorCompleting time.Duration
	// PendingCommit is how long a transactional offset commit may be pending.
	PendingCommit time.Duration

	// GroupBlocked is for how long a transaction may hold a group back,
	// GroupStopped how long a group may stand still with something to read.
	GroupBlocked, GroupStopped time.Duration
	// GroupLag holds the objectives of groups; the first that picks a group
	// counts. GroupLagFor is how long one may be missed.
	GroupLag    []LagObjective
	GroupLagFor time.Duration
	// Commits is for how long a commit may be ahead of the high watermark, or
	// lost below the log start.
	Commits time.Duration
	// GroupSeen is how long after its last member or commit a group is still
	// missed.
	GroupSeen time.Duration

	// ExporterDown is how long a cluster may go without an exporter, and an
	// exporter without a login or a right; ExporterIncomplete for how long sweeps
	// may miss something.
	ExporterDown, ExporterIncomplete time.Duration
	// ExporterReload is for how long the configuration in effect may be another
	// than the one that was read last, as that was bad.
	ExporterReload time.Duration
	// ExporterStale is the age from which on a sweep is not relied upon; at
	// least three times Sweep.Interval.
	ExporterStale time.Duration

	// KeepFiring is how long an alert goes on when its condition is not seen
	// any more; 0 to end at once.
	KeepFiring time.Duration
	// Runbooks is what the address of a runbook begins with; it ends with a
	// slash.
	Runbooks string
}

// Filter picks topics or groups by name. A name is picked when Include matches
// it and Exclude does not; both match the whole name.
type Filter struct {
	// Include matches what is picked; never nil.
	Include *regexp.Regexp
	// Exclude matches what is not picked although Include matches it; nil when
	// nothing is excluded.
	Exclude *regexp.Regexp
}

// All reports whether the filter picks every name, as it does by default.
func (f Filter) All() bool { return f.Exclude == nil && f.Include.String() == everything }

// everything is the expression of a filter that picks every name. A name may
// hold line breaks, which a dot must match too.
const everything = "^(?s:.*)$"

// Match reports whether the filter picks name.
func (f Filter) Match(name string) bool {
	return f.Include.MatchString(name) && (f.Exclude == nil || !f.Exclude.MatchString(name))
}

// Example returns a name of the kind that the filter picks, which nobody is likely
// to use: what all that Include matches begins with, and something behind it; or
// the one name that it matches. It is empty where names have nothing in common.
func (f Filter) Example() string {
	prefix, whole := regexp.MustCompile(bare(f.Include)).LiteralPrefix()
	if prefix == "" || whole {
		return prefix
	}
	return prefix + "lso-exporter.unused"
}

// Granularity is the finest level at which a group has series of its own.
type Granularity string

const (
	// GranularityPartition gives a group series per partition, per topic and
	// per group.
	GranularityPartition Granularity = "partition"
	// GranularityTopic gives a group series per topic and per group.
	GranularityTopic Granularity = "topic"
	// GranularityGroup gives a group only the series that have no topic.
	GranularityGroup Granularity = "group"
)

// Compatibility says which metrics are served under the names of other
// exporters.
type Compatibility struct {
	// KafkaExporter adds those of kafka_exporter.
	KafkaExporter bool
}

// Web is how the exporter is reached.
type Web struct {
	// ListenAddresses are the addresses to listen on, host:port each; at least
	// one.
	ListenAddresses []string
	// HealthListenAddress is an address on which only health and readiness are
	// served, in clear and to everybody; empty for none.
	HealthListenAddress string
	// ConfigFile is a web configuration file of Prometheus' exporter toolkit
	// (TLS, basic authentication); empty for plain HTTP.
	ConfigFile string
	// TelemetryPath is the path under which metrics are served; it starts with
	// a slash.
	TelemetryPath string
}

// Reload is how changes of the configuration are found while the exporter runs.
type Reload struct {
	// Interval is the time from one look at the files to the next; 0 for none.
	Interval time.Duration
}

// Log is what the exporter writes to standard error.
type Log struct {
	// Level is the lowest level written: trace, debug, info, warn or error.
	Level string
	// Format is text or json.
	Format string
}

// Fingerprint is equal for equal configurations and different for others; it
// tells nothing of what they hold.
func (c Config) Fingerprint() string {
	hash := sha256.New()
	for _, s := range settings {
		fmt.Fprintf(hash, "%s=%q\n", s.key, s.get(&c))
	}
	return hex.EncodeToString(hash.Sum(nil)[:6])
}
