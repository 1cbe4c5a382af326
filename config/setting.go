package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// environmentPrefix starts the name of every environment variable that holds a
// setting.
const environmentPrefix = "LSO_EXPORTER_"

// A section is a mapping in the file that only holds settings.
type section struct {
	key  string // path in the file, dots between its parts
	help string // what it is about, a sentence
}

// depth is in how many other sections it stands.
func (s section) depth() int { return strings.Count(s.key, ".") }

// name is the last part of the section's key.
func (s section) name() string {
	_, name := split(s.key)
	return name
}

// split takes a key apart into that of its section and its name.
func split(key string) (section, name string) {
	i := strings.LastIndexByte(key, '.')
	return key[:max(i, 0)], key[i+1:]
}

// sections lists every section in the order in which "config print" shows them; a
// section within another follows it.
var sections = slices.Concat([]section{
	{"kafka", "The cluster to watch."},
}, securitySections, []section{
	{"sweep", "The rhythm in which the cluster is read."},
	{"collectors", "The parts of a sweep; each can be switched off."},
	{"transactions", "The look-up of transactions that hold partitions, and what is told of all others."},
	{"audit", "The look at how the cluster is set up."},
	{"alerts", "The thresholds of the alert rules that `lso-exporter rules` prints. They change nothing in what is read or served."},
	{"topics", "The topics to read. The expressions match whole names and are applied before requests are made."},
	{"groups", "The groups to read, and what is asked about them. The expressions match whole names; which groups are read is decided before requests are made."},
	{"compatibility", "Metrics under the names of other exporters."},
	{"scope", "The part of what the filters pick that this exporter shows, for exporters that share a cluster between them."},
	{"web", "How the exporter is reached."},
	{"reload", "The look for changes of the configuration while the exporter runs."},
	{"log", "What is written to standard error."},
})

// A kind is how a value is written.
type kind struct {
	name string // as shown in the reference: "duration"
	tag  string // YAML tag that a scalar of this kind has
	list bool   // a list of such values

	secret bool // must not be shown
	host   bool // says where something is: what stands before an @ must not be shown
}

var (
	textKind     = kind{name: "text", tag: "!!str"}
	boolKind     = kind{name: "true or false", tag: "!!bool"}
	durationKind = kind{name: "duration", tag: "!!str"}
	regexpKind   = kind{name: "regular expression", tag: "!!str"}
	hostKind     = kind{name: "text", tag: "!!str", host: true}
	addressList  = kind{name: "list of addresses", tag: "!!str", list: true, host: true}

	objectiveList = kind{name: "list of objectives", tag: "!!str", list: true}
	patternList   = kind{name: "list of patterns", tag: "!!str", list: true}
)

// A setting is one thing that can be configured.
type setting struct {
	key  string // path in the file, dots between its parts
	flag string // name of the flag, without dashes
	help string // meaning, unit and limits, in whole sentences
	kind kind

	options []string // the only values there are; nil for any of the kind
	fixed   bool     // cannot change while the exporter runs
	example string   // a value for what is required and has no default; empty else

	// set stores texts (one, unless the kind is a list) in c. Its error words
	// fault and remedy: "is not a duration; write …".
	set func(c *Config, texts []string) error
	// get gives the texts from which set would make what c holds, but for a
	// secret, of which it tells no more than may be shown.
	get func(c *Config) []string
	// verify checks what set cannot tell, as it may change while the exporter
	// runs: that a file can be read. Its error words fault and remedy. Nil for
	// nothing to check.
	verify func(c *Config) error
	// files gives the files on which the meaning of the value depends, nil for
	// a setting that names none.
	files func(c *Config) []string
}

// environment is the name of the variable that holds the setting.
func (s setting) environment() string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// section is the key of the section in which the setting stands, empty at the
// top of the file.
func (s setting) section() string {
	section, _ := split(s.key)
	return section
}

// name is the last part of the setting's key.
func (s setting) name() string {
	_, name := split(s.key)
	return name
}

// shown is a value of the setting as a Problem names it.
func (s setting) shown(text string) string {
	switch {
	case s.kind.secret:
		return maskSecret(text)
	case s.kind.host:
		return maskUser(text)
	}
	return text
}

// settings declares every setting, in the order in which "config print" and
// the reference show them.
var settings = slices.Concat([]setting{
	text("cluster", "cluster", "Value of the label `cluster` on every metric. Without it there is no such label.",
		func(c *Config) *string { return &c.Cluster }, oneLine),
	choice("granularity", "granularity", "Finest level at which a consumer group has series of its own.",
		func(c *Config) *string { return (*string)(&c.Granularity) },
		string(GranularityPartition), string(GranularityTopic), string(GranularityGroup)),

	required(addresses("kafka.brokers", "kafka.brokers", "Bootstrap brokers, host:port each. One that answers is enough to start with. Required.",
		func(c *Config) *[]string { return &c.Kafka.Brokers }, CheckBroker, sameBroker), "kafka-1:9092"),
	text("kafka.client_id", "kafka.client-id", "Client id in every request, as seen in the brokers' logs and quotas.",
		func(c *Config) *string { return &c.Kafka.ClientID }, notEmpty),
	duration("kafka.request_timeout", "kafka.request-timeout", "How long a broker may take to answer one request. At most sweep.timeout; `0s` stands for a tenth of sweep.interval, but 250 ms at least and 2 s at most, and never more than a quarter of sweep.timeout.",
		func(c *Config) *time.Duration { return &c.Kafka.RequestTimeout }, 0, time.Hour),
}, securitySettings, []setting{
	duration("sweep.interval", "sweep.interval", "Time from the start of one sweep to the start of the next. Without a sweep that ends for three intervals, all metrics of the cluster expire.",
		func(c *Config) *time.Duration { return &c.Sweep.Interval }, 100*time.Millisecond, time.Hour),
	duration("sweep.timeout", "sweep.timeout", "How long a sweep may take; what it has not read by then has no samples. At most sweep.interval; `0s` stands for three quarters of it.",
		func(c *Config) *time.Duration { return &c.Sweep.Timeout }, 0, time.Hour),

	boolean("collectors.offsets", "collector.offsets", "Read the log start offset, last stable offset, high watermark and log end offset of each partition. Lags need them.",
		func(c *Config) *bool { return &c.Collectors.Offsets }),
	boolean("collectors.groups", "collector.groups", "Read consumer groups, their members and committed offsets.",
		func(c *Config) *bool { return &c.Collectors.Groups }),
	boolean("collectors.transactions", "collector.transactions", "Look up which transaction holds the last stable offset of a partition on which it stands still. Sends no request while none does.",
		func(c *Config) *bool { return &c.Collectors.Transactions }),
	boolean("collectors.replicas", "collector.replicas", "Export leader, replicas and in-sync replicas of each partition.",
		func(c *Config) *bool { return &c.Collectors.Replicas }),

	boolean("collectors.txnlog", "collector.txnlog", "Read the records of `__transaction_state` as they are appended: how many transactions end how, how long they take, and how often producers initialize. Needs the right to read that topic, and costs a Fetch a broker and sweep, eight where much is appended.",
		func(c *Config) *bool { return &c.Collectors.TransactionLog }),
	boolean("collectors.audit", "collector.audit", "Read how the cluster is set up: what makes exactly-once weaker than its users think.",
		func(c *Config) *bool { return &c.Collectors.Audit }),

	duration("transactions.look_up_after", "transactions.look-up-after", "How long the last stable offset of a partition must have stood still below the high watermark before the transaction that holds it is looked up. After a start, all that are below are looked up at once.",
		func(c *Config) *time.Duration { return &c.Transactions.LookUpAfter }, time.Second, time.Hour),

	duration("transactions.census_interval", "transactions.census-interval", "Least time from one count of the transactional ids that coordinators know to the next. It costs two requests a broker.",
		func(c *Config) *time.Duration { return &c.Transactions.CensusInterval }, time.Minute, 24*time.Hour),
	applications("transactions.applications", "transactions.applications", "What makes the label `application` of a transactional id: the first entry that matches the whole id counts. An entry is a regular expression with one group, the application's name, or one of the ready patterns `streams`, `flink`, `connect`, `spring`, `kubernetes` (the names of pods) and `plain` (an id without a digit is the name). What no entry matches, and what goes beyond 200 names, is `other`.",
		func(c *Config) **Applications { return &c.Transactions.Applications }),

	duration("audit.interval", "audit.interval", "Time from one look at how the cluster is set up to the next. It costs up to 6 requests, and 3 a broker.",
		func(c *Config) *time.Duration { return &c.Audit.Interval }, 10*time.Second, 24*time.Hour),

	duration("alerts.stalled", "alerts.stalled", "For how long a transaction may hold the last stable offset of a partition. Longer than the longest transaction that is meant to be.",
		func(c *Config) *time.Duration { return &c.Alerts.Stalled }, time.Second, week),
	duration("alerts.overdue", "alerts.overdue", "For how long a blocking transaction may have the verdict overdue, which allows for the coordinator's own rhythm already.",
		func(c *Config) *time.Duration { return &c.Alerts.Overdue }, 0, week),
	duration("alerts.completing", "alerts.completing", "For how long a blocking transaction may have the verdict completing.",
		func(c *Config) *time.Duration { return &c.Alerts.Completing }, 0, week),
	duration("alerts.coordinator_completing", "alerts.coordinator-completing", "For how long a coordinator may have decided a transaction and not completed it. Several times transactions.census_interval.",
		func(c *Config) *time.Duration { return &c.Alerts.CoordinatorCompleting }, time.Minute, week),
	duration("alerts.pending_commit", "alerts.pending-commit", "For how long a group's offset commit in a transaction may be pending.",
		func(c *Config) *time.Duration { return &c.Alerts.PendingCommit }, time.Second, week),
	duration("alerts.group_blocked", "alerts.group-blocked", "For how long a transaction may hold a partition on whose topic a group is blocked.",
		func(c *Config) *time.Duration { return &c.Alerts.GroupBlocked }, time.Second, week),
	duration("alerts.group_stopped", "alerts.group-stopped", "For how long a group may stand still, or be gone, with something to read.",
		func(c *Config) *time.Duration { return &c.Alerts.GroupStopped }, 0, week),
	objectives("alerts.group_lag", "alerts.group-lag", "How far groups may be behind the last stable offset on a topic. Each entry is a regular expression for whole group names, the greatest LSO lag in offsets, and the greatest age of the next unread record, with spaces between them and `-` for no limit; the first entry that matches a group counts.",
		func(c *Config) *[]LagObjective { return &c.Alerts.GroupLag }),
	duration("alerts.group_lag_for", "alerts.group-lag-for", "For how long an objective of alerts.group_lag may be missed.",
		func(c *Config) *time.Duration { return &c.Alerts.GroupLagFor }, 0, week),
	duration("alerts.commits", "alerts.commits", "For how long a commit may be ahead of the high watermark, or lost below the log start.",
		func(c *Config) *time.Duration { return &c.Alerts.Commits }, 0, week),
	duration("alerts.group_seen", "alerts.group-seen", "How long a group is missed that has no members and does not commit any more. Abandoned groups keep their commits for days.",
		func(c *Config) *time.Duration { return &c.Alerts.GroupSeen }, time.Minute, 4*week),
	duration("alerts.exporter_down", "alerts.exporter-down", "For how long a cluster may go without an exporter, and an exporter without a login or a right that it needs.",
		func(c *Config) *time.Duration { return &c.Alerts.ExporterDown }, 0, week),
	duration("alerts.exporter_stale", "alerts.exporter-stale", "Age from which on a sweep is stale: an alert says so, and no other alert relies on that exporter. At least three times sweep.interval; `0s` stands for that and two minutes more. It must also exceed sweep.interval plus Prometheus' scrape interval.",
		func(c *Config) *time.Duration { return &c.Alerts.ExporterStale }, 0, week),
	duration("alerts.exporter_incomplete", "alerts.exporter-incomplete", "For how long the sweeps of an exporter may miss something.",
		func(c *Config) *time.Duration { return &c.Alerts.ExporterIncomplete }, 0, week),
	duration("alerts.exporter_reload", "alerts.exporter-reload", "For how long an exporter may go on under an earlier configuration because the one that it read last is bad.",
		func(c *Config) *time.Duration { return &c.Alerts.ExporterReload }, 0, week),
	duration("alerts.keep_firing", "alerts.keep-firing", "How long an alert goes on when its condition is not seen any more, so that a restart of the exporter does not resolve it. `0s` ends it at once, and leaves out what Prometheus before 2.42 does not know.",
		func(c *Config) *time.Duration { return &c.Alerts.KeepFiring }, 0, week),
	namesHost(text("alerts.runbooks", "alerts.runbooks", "Address of the folder with the runbooks that alerts link to.",
		func(c *Config) *string { return &c.Alerts.Runbooks }, folder)),

	expression("topics.include", "topics.include", "Topics to read. Kafka's internal topics are topics like any other.",
		func(c *Config) **regexp.Regexp { return &c.Topics.Include }, true),
	expression("topics.exclude", "topics.exclude", "Topics not to read, although included.",
		func(c *Config) **regexp.Regexp { return &c.Topics.Exclude }, false),
	expression("groups.include", "groups.include", "Groups to read.",
		func(c *Config) **regexp.Regexp { return &c.Groups.Include }, true),
	expression("groups.exclude", "groups.exclude", "Groups not to read, although included.",
		func(c *Config) **regexp.Regexp { return &c.Groups.Exclude }, false),

	duration("groups.still_after", "groups.still-after", "How long a group's commit must not have moved, with something to read all the time, for the group to stand still. Longer than the commit intervals.",
		func(c *Config) *time.Duration { return &c.GroupStates.StillAfter }, time.Second, 24*time.Hour),
	expression("groups.read_uncommitted", "groups.read-uncommitted", "Groups that are known to read uncommitted: they are judged by the high watermark, and never called blocked. Of others the exporter finds it out when they commit above the last stable offset.",
		func(c *Config) **regexp.Regexp { return &c.GroupStates.ReadUncommitted }, false),
	boolean("groups.readable_lag", "groups.readable-lag", "Look whether there is anything to read for groups that stand still, with one Fetch a broker and sweep at most, only while there are such. Needs the right to read the topics. Without it a stopped group is called undetermined.",
		func(c *Config) *bool { return &c.GroupStates.ReadableLag }),
	boolean("groups.time_index", "groups.time-index", "Ask brokers when records were appended that were there before the exporter, with 4 requests a broker and sweep at most, only while that is not known. Without it a lag has no age until a group has read up to where the log ended when the exporter began.",
		func(c *Config) *bool { return &c.GroupStates.TimeIndex }),
	boolean("groups.pending_commits", "groups.pending-commits", "Ask for offset commits in transactions that have not ended, with one request a broker and sweep at most, only while a transaction is open on the partition of `__consumer_offsets` that keeps the group.",
		func(c *Config) *bool { return &c.GroupStates.PendingCommits }),

	boolean("compatibility.kafka_exporter", "compatibility.kafka-exporter", "Also serve what kafka_exporter serves, under its names and labels (docs/migrating.md), so that its dashboards and rules go on. Doubles the series of partitions and groups.",
		func(c *Config) *bool { return &c.Compatibility.KafkaExporter }),

	choice("scope.kind", "scope.kind", "What is shown: everything; or only the partitions that members of consumer groups are assigned which scope.host and scope.client_id tell, for an exporter beside each consumer; or only the partitions that the producers with scope.transactional_ids write in transactions, for an exporter of a team's own.",
		func(c *Config) *string { return (*string)(&c.Scope.Kind) }, string(ScopeAll), string(ScopeAssigned), string(ScopeTransactionalID)),
	namesHost(text("scope.host", "scope.host", "Address from which the members connect, as Kafka shows it; of a pod, its IP.",
		func(c *Config) *string { return &c.Scope.Host }, address)),
	expression("scope.client_id", "scope.client-id", "Client ids of the members. With scope.host, both have to match.",
		func(c *Config) **regexp.Regexp { return &c.Scope.ClientID }, false),
	expression("scope.transactional_ids", "scope.transactional-ids", "Transactional ids of the producers. The expression matches whole ids.",
		func(c *Config) **regexp.Regexp { return &c.Scope.TransactionalIDs }, false),

	fixed(addresses("web.listen_address", "web.listen-address", "Addresses to listen on, host:port each; no host means all interfaces.",
		func(c *Config) *[]string { return &c.Web.ListenAddresses }, CheckListenAddress, sameListener)),
	fixed(namesHost(text("web.health_listen_address", "web.health-listen-address", "A further address, host:port, on which `/healthz` and `/readyz` alone are served, without TLS and authentication, for probes that have neither (a kubelet). Without it, they are where all pages are, under the web configuration file.",
		func(c *Config) *string { return &c.Web.HealthListenAddress }, noneOr(CheckListenAddress)))),
	fixed(namesFile(text("web.config_file", "web.config.file", "Web configuration file of Prometheus' exporter toolkit, for TLS and basic authentication. Without it, plain HTTP.",
		func(c *Config) *string { return &c.Web.ConfigFile }, anyText))),
	text("web.telemetry_path", "web.telemetry-path", "Path under which metrics are served.",
		func(c *Config) *string { return &c.Web.TelemetryPath }, path),

	duration("reload.interval", "reload.interval", "Time from one look whether the configuration file, or a file that it names, has changed to the next; what has changed is in effect after the second. `0s` looks only on the signal SIGHUP.",
		func(c *Config) *time.Duration { return &c.Reload.Interval }, 0, time.Hour),

	choice("log.level", "log.level", "Lowest level that is logged.",
		func(c *Config) *string { return &c.Log.Level }, "trace", "debug", "info", "warn", "error"),
	choice("log.format", "log.format", "Form of a log line.",
		func(c *Config) *string { return &c.Log.Format }, "text", "json"),
})

// week is the longest threshold of an alert.
const week = 7 * 24 * time.Hour

// defaults is the configuration in which nothing was set.
func defaults() Config {
	all := regexp.MustCompile(everything)
	return Config{
		Granularity:  GranularityPartition,
		Kafka:        Kafka{ClientID: "lso-exporter", SASL: SASL{Mechanism: noMechanism}},
		Sweep:        Sweep{Interval: 10 * time.Second},
		Collectors:   Collectors{Offsets: true, Groups: true, Transactions: true, Replicas: true, Audit: true},
		Transactions: Transactions{LookUpAfter: 10 * time.Second, CensusInterval: time.Minute, Applications: defaultApplications()},
		GroupStates:  GroupStates{StillAfter: time.Minute, ReadableLag: true, TimeIndex: true, PendingCommits: true},
		Audit:        Audit{Interval: 10 * time.Minute},
		Alerts: Alerts{
			Stalled: 10 * time.Minute, Overdue: time.Minute, Completing: time.Minute, PendingCommit: 5 * time.Minute,
			CoordinatorCompleting: 5 * time.Minute,
			GroupBlocked:          5 * time.Minute, GroupStopped: 5 * time.Minute,
			GroupLag:    []LagObjective{{Groups: all, Offsets: 100_000, Age: 10 * time.Minute}},
			GroupLagFor: 5 * time.Minute,
			Commits:     5 * time.Minute, GroupSeen: 24 * time.Hour,
			ExporterDown: 5 * time.Minute, ExporterIncomplete: 15 * time.Minute, ExporterReload: 10 * time.Minute,
			KeepFiring: 5 * time.Minute,
			Runbooks:   "https://github.com/lso-exporter/lso-exporter/blob/main/docs/runbooks/",
		},
		Topics: Filter{Include: all},
		Groups: Filter{Include: all},
		Scope:  Scope{Kind: ScopeAll},
		Web:    Web{ListenAddresses: []string{":10308"}, TelemetryPath: "/metrics"},
		Reload: Reload{Interval: 5 * time.Second},
		Log:    Log{Level: "info", Format: "text"},
	}
}

// fixed marks a setting that cannot change while the exporter runs.
func fixed(s setting) setting {
	s.fixed = true
	s.help += " Cannot change while the exporter runs."
	return s
}

// namesFile marks a setting whose value is empty or the name of a file.
func namesFile(s setting) setting {
	s.files = func(c *Config) []string {
		return slices.DeleteFunc(slices.Clone(s.get(c)), func(name string) bool { return name == "" })
	}
	return s
}

// namesHost marks a text that is an address or a URL.
func namesHost(s setting) setting {
	s.kind = hostKind
	return s
}

// required marks a setting without a default that a command which reaches a
// cluster cannot do without.
func required(s setting, example string) setting {
	s.example = example
	return s
}

func text(key, flag, help string, field func(*Config) *string, check func(string) error) setting {
	return setting{
		key: key, flag: flag, help: help, kind: textKind,
		set: func(c *Config, texts []string) error {
			if err := check(texts[0]); err != nil {
				return err
			}
			*field(c) = texts[0]
			return nil
		},
		get: func(c *Config) []string { return []string{*field(c)} },
	}
}

func choice(key, flag, help string, field func(*Config) *string, options ...string) setting {
	help += " One of " + strings.Join(options, ", ") + "."
	s := text(key, flag, help, field, func(text string) error { return CheckChoice(text, options...) })
	s.options = options
	return s
}

// CheckChoice says that text is none of the options, and how to mend it; nil if
// it is one.
func CheckChoice(text string, options ...string) error {
	if slices.Contains(options, text) {
		return nil
	}
	return fmt.Errorf("is not one of %s; choose one of them%s", strings.Join(options, ", "), Suggestion(text, options, ""))
}

func boolean(key, flag, help string, field func(*Config) *bool) setting {
	return setting{
		key: key, flag: flag, help: help, kind: boolKind,
		set: func(c *Config, texts []string) error {
			switch texts[0] {
			case "true":
				*field(c) = true
			case "false":
				*field(c) = false
			default:
				return errors.New("is neither true nor false; write one of them")
			}
			return nil
		},
		get: func(c *Config) []string { return []string{strconv.FormatBool(*field(c))} },
	}
}

func duration(key, flag, help string, field func(*Config) *time.Duration, least, most time.Duration) setting {
	return setting{
		key: key, flag: flag, help: help, kind: durationKind,
		set: func(c *Config, texts []string) error {
			d, err := ParseDuration(texts[0], least, most)
			if err != nil {
				return err
			}
			*field(c) = d
			return nil
		},
		get: func(c *Config) []string { return []string{brief(*field(c))} },
	}
}

// ParseDuration reads a duration between least and most. Its error words fault
// and remedy.
func ParseDuration(text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && !durationForm.MatchString(text):
		return 0, errors.New("is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s")
	case err != nil || d > most:
		return 0, fmt.Errorf("is too long; write at most %s", brief(most))
	case d < least:
		return 0, fmt.Errorf("is too short; write at least %s", brief(least))
	}
	return d, nil
}

// durationForm matches what is a duration, though it may be one that Go cannot
// hold.
var durationForm = regexp.MustCompile(`^\+?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+$`)

// brief writes a duration without the zero parts that Duration.String has at
// its end: 1h, not 1h0m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func expression(key, flag, help string, field func(*Config) **regexp.Regexp, required bool) setting {
	return setting{
		key: key, flag: flag, help: help, kind: regexpKind,
		set: func(c *Config, texts []string) error {
			if texts[0] == "" {
				if required {
					return errors.New("is empty and would match nothing; write .* for all, or remove it")
				}
				*field(c) = nil
				return nil
			}
			re, err := wholeName(texts[0])
			if err != nil {
				return err
			}
			*field(c) = re
			return nil
		},
		get: func(c *Config) []string {
			re := *field(c)
			if re == nil {
				return []string{""}
			}
			return []string{bare(re)}
		},
	}
}

// wholeName compiles an expression that is to match whole names. A name may
// hold line breaks, which a dot must match too.
func wholeName(text string) (*regexp.Regexp, error) {
	// The bare text is compiled first, so that a stray parenthesis cannot be
	// balanced by the anchors and the message shows what the user wrote.
	if _, err := regexp.Compile(text); err != nil {
		fault := cut(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil, fmt.Errorf("is not a regular expression (%s); mend it by the RE2 syntax, https://github.com/google/re2/wiki/Syntax", fault)
	}
	return regexp.MustCompile("^(?s:" + text + ")$"), nil
}

// bare is the text of which wholeName made an expression.
func bare(re *regexp.Regexp) string {
	return strings.TrimSuffix(strings.TrimPrefix(re.String(), "^(?s:"), ")$")
}

// addresses declares a list of addresses, of which no two may be the same. clash
// says whether two of them are.
func addresses(key, flag, help string, field func(*Config) *[]string, check func(string) error, clash func(a, b string) bool) setting {
	return setting{
		key: key, flag: flag, help: help, kind: addressList,
		set: func(c *Config, texts []string) error {
			if len(texts) == 0 {
				return errors.New("is empty; list at least one host:port")
			}
			// A password may have a comma, so that entries are parts of it.
			if strings.Contains(inline(texts), "@") {
				return errHasUser
			}
			for i, address := range texts {
				if err := check(address); err != nil {
					return fmt.Errorf("has the entry %s, which %w", quote(address), err)
				}
				for _, before := range texts[:i] {
					switch {
					case before == address:
						return fmt.Errorf("has the entry %s twice; remove one", quote(address))
					case clash(before, address):
						return fmt.Errorf("has the entries %s and %s, which are the same; remove one", quote(before), quote(address))
					}
				}
			}
			*field(c) = slices.Clone(texts)
			return nil
		},
		get: func(c *Config) []string { return *field(c) },
	}
}

func anyText(string) error { return nil }

// longestText is how many characters a name may have: as many as the value of a
// label (metrics.MaxLabelValue), and far less than Kafka's protocol can say.
const longestText = 1024

// oneLine accepts what can be shown in one line.
func oneLine(text string) error {
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("has a line break or another control character; remove it")
	case utf8.RuneCountInString(text) > longestText:
		return fmt.Errorf("has more than %d characters; shorten it", longestText)
	}
	return nil
}

// notEmpty accepts a line that is not empty.
func notEmpty(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("is empty; write a text, or remove it for the default")
	}
	return oneLine(text)
}

// folder accepts an address to which a file's name can be added.
func folder(text string) error {
	if !strings.HasSuffix(text, "/") {
		return errors.New("does not end with a slash; write such as https://wiki.example/runbooks/")
	}
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return errors.New("has a user before its host, whom everybody who gets an alert would see; write the address alone")
	}
	return oneLine(text)
}

// plainPath matches paths that need no escape.
var plainPath = regexp.MustCompile(`^(?:/[A-Za-z0-9._~-]+)+$`)

// ownPages are the exporter's own pages.
var ownPages = []string{"/", "/healthz", "/readyz", "/config", "/api/report"}

// path accepts what net/http can serve beside the exporter's own pages.
func path(text string) error {
	switch {
	case !strings.HasPrefix(text, "/"):
		return errors.New("does not start with a slash; write such as /metrics")
	case slices.Contains(ownPages, text):
		return errors.New("is a page of its own; choose another path, such as /metrics")
	case !plainPath.MatchString(text) || slices.ContainsFunc(strings.Split(text, "/"), func(part string) bool { return part == "." || part == ".." }):
		return errors.New("is not a plain path; write such as /metrics")
	case len(text) > longestText:
		return fmt.Errorf("has more than %d characters; shorten it", longestText)
	}
	return nil
}

// address accepts an IP address, as brokers show where clients connect from.
func address(text string) error {
	if text != "" && net.ParseIP(text) == nil {
		return errors.New("is no IP address; write such as 10.1.2.3")
	}
	return nil
}

// noneOr accepts an empty text, and what check does.
func noneOr(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}
