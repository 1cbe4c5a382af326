package alerting

import (
	"fmt"
	"strconv"
	"strings"
)

// state is the groups that are in one of the states on a topic.
func (s scope) state(states ...string) string {
	matcher := "state=" + quote(states[0])
	if len(states) > 1 {
		matcher = "state=~" + quote(strings.Join(states, "|"))
	}
	return s.most(byGroupTopic, "kafka_group_topic_state", matcher)
}

// left is the topics that a group with members has left: none of the partitions
// on which it has commits is assigned.
func (s scope) left() string {
	count := func(metric string) string {
		return fmt.Sprintf("count by (%s) (max by (%s) (%s))", byGroupTopic, byGroupPartition, s.series(metric))
	}
	return count("kafka_group_partition_unassigned") + "\n== " + count("kafka_group_partition_committed_offset")
}

// unread is the LSO lag of groups on partitions where there is something to
// read, as far as is known. An end marker takes an offset and is no record: a
// lag of 1 counts only when a record was seen, and none where it was looked up
// and nothing was. Matchers are for the groups.
func (s scope) unread(matchers ...string) string {
	lag := s.most(byGroupPartition, "kafka_group_partition_lso_lag", matchers...)
	readable := s.most(byGroupPartition, "kafka_group_partition_readable_lag", matchers...)
	return fmt.Sprintf("%s\nunless\n%s == 0",
		block(fmt.Sprintf("%s > 1\nor\n%s\nand\n%s > 0", lag, lag, readable)), readable)
}

// perTopic prefers a query over partitions to one over topics, which alone has
// series at the granularity "topic".
func (s scope) perTopic(ofPartitions, ofTopics string) string {
	return anyOf(ofPartitions, fmt.Sprintf("%s\nunless on (%s)\n%s", ofTopics, byGroupTopic, s.series("kafka_group_partition_committed_offset")))
}

// unreadOffsets is the LSO lag of groups on topics, without what is known to be
// no record.
func (s scope) unreadOffsets(matchers ...string) string {
	return s.perTopic(
		fmt.Sprintf("sum by (%s) %s", byGroupTopic, block(s.unread(matchers...))),
		fmt.Sprintf("%s\nunless\n%s", s.most(byGroupTopic, "kafka_group_topic_lso_lag", matchers...), s.state("caught_up")))
}

// unreadAge is how long ago the next unread record of groups on topics was
// appended.
func (s scope) unreadAge(matchers ...string) string {
	return s.perTopic(
		greatest(byGroupTopic, fmt.Sprintf("%s\nand\n%s",
			s.most(byGroupPartition, "kafka_group_partition_lso_lag_seconds", matchers...), block(s.unread(matchers...)))),
		fmt.Sprintf("%s\nand\n%s",
			s.most(byGroupTopic, "kafka_group_topic_max_lso_lag_seconds", matchers...), s.state("consuming", "stopped")))
}

// missed is the groups that somebody would miss: they have had members, or have
// committed, within the configured time. Others are abandoned, and keep their
// commits for days.
func (s scope) missed() string {
	const committed = "kafka_group_partition_committed_offset"
	moved := func(ago string) string {
		return greatest(byGroup, fmt.Sprintf("max by (%[1]s) (%[2]s)\n> max by (%[1]s) (%[2]s offset %[3]s)", byGroupPartition, s.series(committed), ago))
	}
	return anyOf(s.seen(byGroup, "kafka_group_members", "> 0", s.GroupSeen),
		moved(duration(s.GroupSeen/24)), moved(duration(s.GroupSeen)))
}

const onTopic = "{{ $labels.group }} on {{ $labels.topic }}" + ofCluster

// causesOfGroupAlert is how many alerts in a row may be the cause of an alert about
// groups: of one that is held back the stall and its transaction, of one that is
// late that it has stopped, of one that is far behind that it is late, too.
var causesOfGroupAlert = map[string]int{
	"KafkaGroupBlockedByTransaction": 2,
	"KafkaGroupLSOLagSeconds":        1,
	"KafkaGroupLSOLagOffsets":        2,
}

func groupAlerts(s scope) []Alert {
	alerts := []Alert{s.groupBlocked()}
	alerts = append(alerts, s.groupLag()...)
	alerts = append(alerts, s.groupStopped(), s.offsetCommitPending(), s.commitsAhead(), s.commitsLost())
	for i := range alerts {
		a := &alerts[i]
		if a.Subject == nil {
			a.Subject = subject(byGroupTopic)
		}
		a.KeepFiring = s.keepFiring(causesOfGroupAlert[a.Name])
	}
	return alerts
}

func (s scope) groupBlocked() Alert {
	blockers := s.blockersOfGroup()
	return Alert{
		Name: "KafkaGroupBlockedByTransaction", Severity: Warning,
		Expr:    fmt.Sprintf("%s\nand on (cluster, topic)\n%s", s.state("blocked"), block(s.held(s.GroupBlocked))),
		Summary: "Group " + onTopic + " is held back by a transaction",
		Description: "The group has read all that can be read under read_committed, and waits for a transaction of somebody else. " +
			"Restarting the consumers changes nothing.",
		NextStep: "Leave the consumers alone, and look at the transaction: transactional_id, verdict, and its own alert.",
		Extra: map[string]string{
			"transactional_id": blockers.list("transactional_id", notKnown),
			"verdict":          blockers.list("verdict", notKnown),
		},
		Runbook:    "group-blocked",
		Meaning:    "A group has read everything up to the last stable offset, and a transaction has held that for the time.",
		Thresholds: []Threshold{{"alerts.group_blocked", duration(s.GroupBlocked)}},
	}
}

// groupLag is up to two alerts for each objective. The label "objective" holds
// it as it is configured.
func (s scope) groupLag() []Alert {
	var alerts []Alert
	var taken []string // patterns of the objectives before
	for _, o := range s.GroupLag {
		var matchers []string
		if o.Pattern() != ".*" {
			matchers = append(matchers, "group=~"+quote(o.Pattern()))
		}
		for _, pattern := range taken {
			matchers = append(matchers, "group!~"+quote(pattern))
		}
		taken = append(taken, o.Pattern())
		objective := Alert{
			Severity: Warning, For: s.GroupLagFor,
			Labels: map[string]string{"objective": o.String()},
			Description: "The records can be read under read_committed, and the group has not committed them. " +
				"No transaction holds them back: the group is slow, or it stands still.",
			NextStep:   "Compare the group's state and members with what should be; see whether its commits move, then what the consumers spend their time on.",
			Runbook:    "group-lag",
			Thresholds: []Threshold{{"alerts.group_lag", o.String()}, {"alerts.group_lag_for", duration(s.GroupLagFor)}},
		}
		if o.Offsets > 0 {
			a := objective
			a.Name = "KafkaGroupLSOLagOffsets"
			a.Expr = s.missing(s.unreadOffsets(matchers...), strconv.FormatInt(o.Offsets, 10))
			a.Summary = fmt.Sprintf("Group %s is {{ $value }} offsets behind the last stable offset; its objective is %d", onTopic, o.Offsets)
			a.Meaning = "A group is further behind the last stable offset, in offsets, than its objective allows. End markers and topics that the group has left do not count; a group without members is KafkaGroupStopped's."
			alerts = append(alerts, a)
		}
		if o.Age > 0 {
			a := objective
			a.Name = "KafkaGroupLSOLagSeconds"
			a.Expr = s.missing(s.unreadAge(matchers...), seconds(o.Age))
			a.Summary = fmt.Sprintf("Group %s is {{ $value | humanizeDuration }} behind the last stable offset; its objective is %s", onTopic, duration(o.Age))
			a.Meaning = "The next record that a group can read is older than its objective allows. End markers and topics that the group has left do not count; a group without members is KafkaGroupStopped's."
			alerts = append(alerts, a)
		}
	}
	return alerts
}

// missing is the groups whose lag is over a limit, on topics that they have not
// left.
func (s scope) missing(lag, limit string) string {
	return fmt.Sprintf("%s > %s\nunless\n%s\nunless\n%s", block(lag), limit, block(s.left()), s.state("inactive"))
}

func (s scope) groupStopped() Alert {
	return Alert{
		Name: "KafkaGroupStopped", Severity: Critical, For: s.GroupStopped,
		Expr: anyOf(
			comment("It has members, a record to read, and does not move. Topics that it has left do not count.",
				fmt.Sprintf("%s\nunless\n%s", s.state("stopped"), block(s.left()))),
			comment("It has no members any more, and something to read. Groups that were abandoned long\nago do not count.",
				fmt.Sprintf("%s\nand\n%s\nand on (%s)\n%s",
					s.state("inactive"), block(s.unreadOffsets()), byGroup, block(s.missed())))),
		Summary: "Group " + onTopic + " has stopped, with records to read",
		Description: "Records can be read under read_committed, and the group's commits do not move. No transaction holds it back. " +
			"Members: " + s.members() + ".",
		NextStep:   "Without members: find out why its application does not run. With members: look into their logs for what they do between polls.",
		Runbook:    "group-stopped",
		Meaning:    "A group has records to read and does not commit: its members stand still, or it has none any more.",
		Thresholds: []Threshold{{"alerts.group_stopped", duration(s.GroupStopped)}, {"alerts.group_seen", duration(s.GroupSeen)}},
	}
}

func (s scope) offsetCommitPending() Alert {
	return Alert{
		Name: "KafkaGroupOffsetCommitPending", Severity: Warning, Subject: subject(byGroupPartition),
		Expr:    fmt.Sprintf("%s > %s", s.most(byGroupPartition, "kafka_group_partition_pending_offset_commit_seconds"), seconds(s.PendingCommit)),
		Summary: "Group {{ $labels.group }} on {{ $labels.topic }}-{{ $labels.partition }}" + ofCluster + ": an offset commit has been pending for {{ $value | humanizeDuration }}",
		Description: "The group has committed an offset in a transaction that has not ended. Consumers that require stable offsets cannot start on this partition. " +
			"The partition of __consumer_offsets that keeps the group's commits is held by the same transaction.",
		NextStep:   "Find the transaction that holds a partition of __consumer_offsets, and treat it by its verdict.",
		Runbook:    "pending-offset-commits",
		Meaning:    "An offset that a group committed in a transaction is pending for the time, as the transaction has not ended.",
		Thresholds: []Threshold{{"alerts.pending_commit", duration(s.PendingCommit)}},
	}
}

func (s scope) commitsAhead() Alert {
	return Alert{
		Name: "KafkaGroupCommitsAhead", Severity: Warning, For: s.Commits,
		Expr:        s.state("ahead"),
		Summary:     "Group " + onTopic + " has committed offsets above the high watermark",
		Description: "The offsets do not exist on this topic: it was created anew or truncated, or the commits are of another cluster. The group will skip what is written up to them, or start over, by auto.offset.reset.",
		NextStep:    "Find out which happened, from the offset regressions and the topic's id, before the consumers are restarted.",
		Runbook:     "commits-ahead",
		Meaning:     "A group has committed an offset above the high watermark.",
		Thresholds:  []Threshold{{"alerts.commits", duration(s.Commits)}},
	}
}

func (s scope) commitsLost() Alert {
	return Alert{
		Name: "KafkaGroupCommitsLost", Severity: Critical, For: s.Commits,
		Expr:        fmt.Sprintf("%s\nand on (%s)\n%s", s.state("lost"), byGroup, block(s.missed())),
		Summary:     "Group " + onTopic + ": records were removed before it read them",
		Description: "The group's commit lies below the log start and does not move: retention or DeleteRecords was faster than the group.",
		NextStep:    "Get the group to run, or lengthen retention.ms before more is lost; what is lost comes back from the source only.",
		Runbook:     "commits-lost",
		Meaning:     "A group's commit stands still below the log start: records were removed before it read them.",
		Thresholds:  []Threshold{{"alerts.commits", duration(s.Commits)}, {"alerts.group_seen", duration(s.GroupSeen)}},
	}
}
