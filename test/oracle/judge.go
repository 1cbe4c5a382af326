package oracle

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Judge judges the scrapes of any number of exporters, each in order. It keeps
// of each exporter's scrape before what counters and durations are held to.
type Judge struct {
	truth *Truth
	// Without names metrics that the exporters were told not to show: those of
	// collectors that are switched off, of a coarser granularity.
	Without map[string]bool
	// Hidden says which topics and groups the exporters were told to leave out;
	// nil means none. For a topic of no group, group is empty, and the reverse.
	Hidden func(topic, group string) bool

	lives map[string]*life
}

// life is what one exporter showed before.
type life struct {
	last     *verdict
	counters map[string]counted
	seen     map[ref]*sight
	blocked  map[ref]blockage
	watched  map[ref]*watched
}

// counted is a counter as it was last shown, by a sweep that began at s.
type counted struct {
	value float64
	s     moment
}

// sight is the last look at one partition.
type sight struct {
	s, e            moment
	sweeps          float64
	first           moment // of the look at which this exporter first saw it
	lso, high       float64
	below, observed float64
	stalled         float64
}

// blockage is the last look at a group that was blocked.
type blockage struct {
	s     moment
	value float64
}

// NewJudge returns a judge of scrapes of the cluster that truth describes.
func NewJudge(truth *Truth) *Judge { return &Judge{truth: truth, lives: map[string]*life{}} }

// Learned replaces what the judge knows of the cluster by a later state of the
// same record, and keeps what it knows of exporters.
func (j *Judge) Learned(truth *Truth) { j.truth = truth }

// Judge returns everything in the scrape that cannot be true, and every sample
// that is missing and must not be.
func (j *Judge) Judge(sc Scrape) []Violation {
	l := j.lives[sc.Exporter]
	if l == nil {
		l = &life{counters: map[string]counted{}, seen: map[ref]*sight{}, blocked: map[ref]blockage{}, watched: map[ref]*watched{}}
		j.lives[sc.Exporter] = l
	}
	v := &verdict{judge: j, life: l, scrape: sc, s: momentOf(sc.Start), e: momentOf(sc.End)}
	page, err := parse(sc.Text)
	if err != nil {
		v.add("", math.NaN(), "a page that parses", err.Error())
		return v.found
	}
	v.page = page
	v.sweeps, _ = page.sum("lso_exporter_sweeps_total")
	v.sweepBefore()
	v.types()
	if sc.Period > 0 && sc.At.Sub(sc.End) > 3*sc.Period+tolerance {
		v.expired()
		return v.found
	}
	v.watch()
	for _, s := range page.samples {
		v.one(s)
	}
	v.missing()
	v.rememberBlocked()
	l.last = v
	return v.found
}

// tolerance is how exactly durations are compared.
const tolerance = 5 * time.Millisecond

// verdict is the judgement of one scrape.
type verdict struct {
	before *verdict // of the last scrape of the sweep before; nil if there was none
	judge  *Judge
	life   *life
	scrape Scrape
	page   *page
	s, e   moment
	sweeps float64
	found  []Violation
}

// sweepBefore finds the verdict on the sweep before, of which this may not be the
// first scrape since. On a clock that is simulated two sweeps may begin at one moment.
func (v *verdict) sweepBefore() {
	switch last := v.life.last; {
	case last != nil && last.s == v.s && last.sweeps == v.sweeps:
		v.before = last.before
	case last != nil:
		v.before = last
		last.before = nil
	}
}

func (v *verdict) truth() *Truth { return v.judge.truth }

func (v *verdict) add(series string, value float64, allowed, rule string) {
	v.found = append(v.found, Violation{
		Series: series, Value: value, Allowed: allowed, From: v.scrape.Start, To: v.scrape.End, Rule: rule})
}

func (v *verdict) wrong(s sample, allowed, rule string) { v.add(s.String(), s.value, allowed, rule) }

func (v *verdict) absent(name string, r ref, rule string) {
	s := sample{name: name, labels: map[string]string{}}
	for k, val := range map[string]string{"group": r.group, "topic": r.topic, "partition": r.partition} {
		if val != "" {
			s.labels[k] = val
		}
	}
	v.add(s.String(), math.NaN(), "a value", rule)
}

// types judges what holds of every sample by its type alone.
func (v *verdict) types() {
	seen := map[string]bool{}
	for _, s := range v.page.samples {
		series := s.String()
		if seen[series] {
			v.wrong(s, "one value", "a series is shown twice")
		}
		seen[series] = true
		if math.IsNaN(s.value) {
			v.wrong(s, "a number", "NaN is shown")
		}
		if s.value < 0 {
			v.wrong(s, "0 or more", "a negative value is shown")
		}
		if s.kind == dto.MetricType_COUNTER || s.kind == dto.MetricType_HISTOGRAM {
			before, ok := v.life.counters[series]
			if ok && s.value < before.value && !v.truth().renewed(s.labels["topic"], before.s, v.e) {
				v.wrong(s, fmt.Sprintf("%v or more", before.value), "a counter falls")
			}
			v.life.counters[series] = counted{s.value, v.s}
		}
	}
}

// expired judges a page whose view is too old: it says nothing of Kafka.
func (v *verdict) expired() {
	for _, s := range v.page.samples {
		if strings.HasPrefix(s.name, "kafka_") {
			v.wrong(s, "nothing: no sweep has ended for three periods", "a view outlives its time")
		}
	}
}

// rules is how the samples of each metric are judged. A metric of Kafka that is
// not among them is a violation, so that none goes unjudged.
var rules = map[string]func(*verdict, sample){
	logStart:     (*verdict).logStart,
	lastStable:   (*verdict).lastStable,
	highWater:    (*verdict).highWatermark,
	logEnd:       (*verdict).logEnd,
	unstable:     (*verdict).unstable,
	unreplicated: (*verdict).unreplicated,
	belowTotal:   (*verdict).seconds,
	observed:     nil,
	stalled:      nil,
	regressions:  (*verdict).regressions,
	blocker:      (*verdict).blocker,
	blockerAge:   (*verdict).blockerAge,
	blockerEnd:   (*verdict).deadline,
	openCount:    (*verdict).openTransactions,
	leader:       (*verdict).leader,
	replicas:     (*verdict).replicas,
	inSync:       (*verdict).inSync,

	committed:   (*verdict).committed,
	hwmLag:      (*verdict).hwmLag,
	lsoLag:      (*verdict).lsoLag,
	lost:        (*verdict).lost,
	ahead:       (*verdict).ahead,
	topicHWMLag: (*verdict).topicHWMLag,
	topicLSOLag: (*verdict).topicLSOLag,
	groupHWMLag: (*verdict).groupHWMLag,
	groupLSOLag: (*verdict).groupLSOLag,

	groupInfo:   (*verdict).groupInfo,
	groupState:  (*verdict).groupState,
	members:     (*verdict).members,
	uncommitted: (*verdict).uncommitted,
	orphans:     (*verdict).orphans,

	topicState:    (*verdict).topicState,
	hwmAge:        (*verdict).hwmAge,
	lsoAge:        (*verdict).lsoAge,
	topicHWMAge:   (*verdict).topicHWMAge,
	topicLSOAge:   (*verdict).topicLSOAge,
	groupHWMAge:   (*verdict).groupHWMAge,
	groupLSOAge:   (*verdict).groupLSOAge,
	readable:      (*verdict).readable,
	blockedFor:    (*verdict).blockedFor,
	unassigned:    (*verdict).unassigned,
	pendingCommit: (*verdict).pending,
	evidence:      (*verdict).evidence,
	shareStart:    (*verdict).share,
	shareLag:      (*verdict).share,

	"kafka_broker_info":  (*verdict).brokerInfo,
	"kafka_cluster_info": (*verdict).one1,
	// No scenario's clients set a cluster up: texts demand the values.
	"kafka_cluster_audit_info": (*verdict).one1,
	"kafka_topic_info":         (*verdict).topicInfo,
	// Of all transactional ids, as of an earlier sweep: texts demand the values.
	"kafka_transactional_ids":                   nil,
	"kafka_transactions_max_completing_seconds": nil,
	// Of the records of coordinators: texts demand the values.
	"kafka_transactions_completed_total":           nil,
	"kafka_transactional_id_initializations_total": nil,
	"kafka_transaction_duration_seconds":           nil,
	"kafka_transaction_completion_seconds":         nil,
	"kafka_transaction_partitions":                 nil,

	"kafka_brokers":                                    countOf("kafka_broker_info"),
	"kafka_topic_partitions":                           countOf(replicas),
	"kafka_topic_partition_current_offset":             as(highWater),
	"kafka_topic_partition_oldest_offset":              as(logStart),
	"kafka_topic_partition_leader":                     as(leader),
	"kafka_topic_partition_leader_is_preferred":        (*verdict).preferred,
	"kafka_topic_partition_replicas":                   as(replicas),
	"kafka_topic_partition_in_sync_replica":            as(inSync),
	"kafka_topic_partition_under_replicated_partition": (*verdict).underReplicated,
	"kafka_consumergroup_current_offset":               as(committed),
	"kafka_consumergroup_current_offset_sum":           sumOf("kafka_consumergroup_current_offset"),
	"kafka_consumergroup_lag":                          (*verdict).lagWithLost,
	"kafka_consumergroup_lag_sum":                      sumOf("kafka_consumergroup_lag"),
	"kafka_consumergroup_members":                      as(members),
}

// The metrics by name.
const (
	logStart     = "kafka_partition_log_start_offset"
	lastStable   = "kafka_partition_last_stable_offset"
	highWater    = "kafka_partition_high_watermark"
	logEnd       = "kafka_partition_log_end_offset"
	unstable     = "kafka_partition_unstable_offsets"
	unreplicated = "kafka_partition_unreplicated_offsets"
	belowTotal   = "kafka_partition_lso_below_hwm_seconds_total"
	observed     = "kafka_partition_observed_seconds_total"
	stalled      = "kafka_partition_lso_stalled_seconds"
	regressions  = "kafka_partition_offset_regressions_total"
	blocker      = "kafka_partition_blocking_transaction_info"
	blockerAge   = "kafka_partition_blocking_transaction_age_seconds"
	blockerEnd   = "kafka_partition_blocking_transaction_deadline_timestamp_seconds"
	openCount    = "kafka_partition_open_transactions"
	leader       = "kafka_partition_leader"
	replicas     = "kafka_partition_replicas"
	inSync       = "kafka_partition_in_sync_replicas"

	committed   = "kafka_group_partition_committed_offset"
	hwmLag      = "kafka_group_partition_hwm_lag"
	lsoLag      = "kafka_group_partition_lso_lag"
	lost        = "kafka_group_partition_lost_offsets"
	ahead       = "kafka_group_partition_ahead_offsets"
	topicHWMLag = "kafka_group_topic_hwm_lag"
	topicLSOLag = "kafka_group_topic_lso_lag"
	groupHWMLag = "kafka_group_hwm_lag"
	groupLSOLag = "kafka_group_lso_lag"

	groupInfo   = "kafka_group_info"
	groupState  = "kafka_group_state"
	members     = "kafka_group_members"
	uncommitted = "kafka_group_uncommitted_partitions"
	orphans     = "kafka_group_orphan_commits"
)

// one judges one sample by its metric's rule.
func (v *verdict) one(s sample) {
	if !strings.HasPrefix(s.name, "kafka_") {
		return
	}
	rule, ok := rules[s.name]
	if !ok {
		v.wrong(s, "a metric that the oracle knows", "no rule of the oracle covers the metric")
		return
	}
	topic, group := s.labels["topic"], s.labels["group"]
	if v.judge.Without[s.name] || v.hidden(topic, group) {
		v.wrong(s, "nothing: it was to be left out", "a series that was filtered is shown")
	}
	if rule != nil {
		rule(v, s)
	}
}

func (v *verdict) hidden(topic, group string) bool {
	return v.judge.Hidden != nil && v.judge.Hidden(topic, group)
}

func refOf(s sample) ref {
	return ref{s.labels["group"], s.labels["topic"], s.labels["partition"]}
}

// partitions are those that the sample may be of; none is a violation, but for
// internal topics, whose content is not judged.
func (v *verdict) partitions(s sample) []*partition {
	name := s.labels["topic"]
	if internal(name) {
		return nil
	}
	index, err := strconv.ParseInt(s.labels["partition"], 10, 32)
	if err == nil {
		if list := v.truth().partitions(name, int32(index), v.s, v.e); len(list) > 0 {
			return list
		}
	}
	v.wrong(s, "nothing: the partition did not exist", "a partition that does not exist is shown")
	return nil
}

// whole is partitions, or none if records of one may have been lost.
func (v *verdict) whole(s sample) []*partition {
	list := v.partitions(s)
	for _, p := range list {
		if p.lossy <= v.e {
			return nil
		}
	}
	return list
}

// among judges a sample that must be a value of one of the partitions' steps.
func (v *verdict) among(s sample, rule string, of func(*partition) *steps) {
	list := v.whole(s)
	if len(list) == 0 {
		return
	}
	var allowed []string
	for _, p := range list {
		q := of(p)
		if q.holds(int64(s.value), v.s, v.e) && s.value == math.Trunc(s.value) {
			return
		}
		allowed = append(allowed, q.describe(v.s, v.e))
	}
	v.wrong(s, strings.Join(allowed, " or "), rule)
}

// describe lists the values of [s, e].
func (q *steps) describe(s, e moment) string {
	lo, hi := q.between(s, e)
	var out []string
	for i := lo; i <= hi; i++ {
		if len(out) == 8 {
			return strings.Join(out, ", ") + " … " + strconv.FormatInt(q.value(hi), 10)
		}
		out = append(out, strconv.FormatInt(q.value(i), 10))
	}
	return strings.Join(out, ", ")
}

// missing judges what is not there.
func (v *verdict) missing() {
	v.missingPartitions()
	v.missingGroups()
}

// excused says whether what excuses an absence was so in this sweep, or in the
// exporter's sweep before: it may take one to find out that a broker is back.
func (v *verdict) excused(by func(s, e moment) bool) bool {
	return by(v.s, v.e) || v.before != nil && by(v.before.s, v.before.e)
}

// show says whether a metric is to be shown at all.
func (v *verdict) show(name string) bool { return !v.judge.Without[name] }

func (v *verdict) require(name string, r ref, rule string) {
	if _, ok := v.page.get(name, r); !ok && v.show(name) {
		v.absent(name, r, rule)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
