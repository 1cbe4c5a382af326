package diagnose

import (
	"fmt"
	"strings"

	"github.com/lso-exporter/lso-exporter/lag"
)

// missSentences has a sentence for every kind of miss but a lack of rights,
// about its subject.
var missSentences = map[lag.MissKind]string{
	lag.MissUnreachable:        "%s could not be reached",
	lag.MissTLS:                "%s and this program could not secure their connection",
	lag.MissAuthentication:     "%s did not let this program log in",
	lag.MissTimeout:            "%s did not answer in time",
	lag.MissSuspended:          "%s has not answered since an earlier sweep",
	lag.MissNoLeader:           "%s has partitions without a leader, of which nothing can be read",
	lag.MissLeaderChanged:      "%s has partitions whose leader changed meanwhile",
	lag.MissOffsetNotAvailable: "%s has partitions whose new leader does not know its high watermark yet",
	lag.MissTopicGone:          "%s was deleted meanwhile",
	lag.MissInconsistent:       "%s have offsets that contradict each other: a log was truncated, or created anew, meanwhile",
	lag.MissNoCoordinator:      "%s has no coordinator that answers",
	lag.MissAPIMissing:         "%s does not speak an API that is needed",
	lag.MissDeadline:           "%s was not asked everything: the time of a sweep was over",
	lag.MissOther:              "%s answered an error",
}

// misses fills in what else could not be read.
func (r *reporter) misses() {
	if r.view.Failure != "" {
		r.report.Untold = append(r.report.Untold, Untold{
			Kind: "failure", Subject: "the cluster", Count: 1, Detail: r.view.FailureLine(),
			Sentence: "no broker answered: " + r.view.FailureLine(),
		})
		return
	}
	for _, m := range r.view.Missed {
		if m.Kind == lag.MissUnauthorized {
			continue // a right, see there
		}
		form, ok := missSentences[m.Kind]
		if !ok {
			panic(fmt.Sprintf("diagnose: no sentence for misses of the kind %q", m.Kind))
		}
		sentence := fmt.Sprintf(form, m.Subject)
		if m.Detail != "" {
			sentence += " (" + m.Detail + ")"
		}
		r.report.Untold = append(r.report.Untold, Untold{
			Kind: string(m.Kind), Subject: m.Subject, Count: m.Count, Detail: m.Detail, Sentence: sentence,
			Harmless: m.Kind == lag.MissAPIMissing || r.elsewhere(m.Subject),
		})
	}
	for _, g := range r.Groups {
		if !r.seesGroup(g) && !r.lacksGroup(g) {
			r.report.Untold = append(r.report.Untold, notThere("group", g))
		}
	}
	r.groupsWithoutCommits()
	for _, t := range r.Topics {
		if r.topics[t] == nil {
			r.report.Untold = append(r.report.Untold, notThere("topic", t))
		}
	}
}

// notThere says of something that was asked about that it is not there.
func notThere(kind, object string) Untold {
	return Untold{
		Kind: "not_listed", Subject: kind + " " + object, Count: 1,
		Sentence: fmt.Sprintf("%s %s is not listed: it does not exist, or this principal may not describe it", kind, name(object)),
	}
}

// lacksGroup says whether it is told already why a group is not there.
func (r *reporter) lacksGroup(group string) bool {
	for _, m := range r.view.Missed {
		if m.Subject == "group "+group {
			return true
		}
	}
	return false
}

// elsewhere says whether the subject of a miss is a topic or group that the
// report is not about.
func (r *reporter) elsewhere(subject string) bool {
	switch kind, object, _ := strings.Cut(subject, " "); kind {
	case "topic":
		return !picked(r.Topics, object)
	case "group":
		return !picked(r.Groups, object)
	}
	return false
}

// groupsWithoutCommits says of groups that were asked about that they have no
// commits to see: Kafka leaves out those on topics that this principal may not
// describe.
func (r *reporter) groupsWithoutCommits() {
	for i := range r.view.Groups {
		g := &r.view.Groups[i]
		if len(r.Groups) == 0 || !picked(r.Groups, g.Name) || len(g.Topics) > 0 || g.Type == lag.ShareGroup || r.lacksGroup(g.Name) {
			continue
		}
		r.report.Untold = append(r.report.Untold, Untold{
			Kind: "no_commits", Subject: "group " + g.Name, Count: 1,
			Sentence: fmt.Sprintf("group %s has no commits on topics that can be seen", name(g.Name)), Harmless: r.seesAllTopics(),
		})
	}
}

// seesAllTopics says whether no topic is hidden from this principal.
func (r *reporter) seesAllTopics() bool {
	if r.audited == nil {
		return false
	}
	all, known := r.audited.Sight.AllTopics.Get()
	return known && all
}
