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

// apiGap is what a broker that lacks an API cannot tell.
type apiGap struct {
	hides string
	// harmless: the answer does not depend on it, or what does is told by itself.
	harmless bool
}

// apiGaps has what cannot be told without an API, by what the collector asks with
// it. Of what is not here nobody knows what it hides.
var apiGaps = map[string]apiGap{
	"ListGroups":                   {"which groups it coordinates", false},
	"DescribeGroups":               {"the members of groups", false},
	"ConsumerGroupDescribe":        {"the members of groups of the consumer protocol", false},
	"StreamsGroupDescribe":         {"the members of streams groups", false},
	"OffsetFetch":                  {"what the groups that it coordinates have committed", false},
	"OffsetFetch (require stable)": {"which commits are in transactions that have not ended", false},
	"log start offset":             {"where logs begin", false},
	"high watermark":               {"where logs end", false},
	"last stable offset":           {"up to where read_committed consumers may read", false},

	// Share groups have no commits, and never count.
	"ShareGroupDescribe":        {"the members of share groups", true},
	"DescribeShareGroupOffsets": {"where share groups are", true},
	// Without a log end, a commit above the high watermark is undetermined.
	"log end offset": {"the log end beyond the high watermark", true},
	"it answers another offset for the log end": {"the log end beyond the high watermark", true},
	// Without records, a group that stands still is undetermined; dates only tell
	// for how long a group that reads is behind.
	"Fetch":                   {"whether there are records to read", true},
	"ListOffsets (timestamp)": {"how old unread records are", true},
	// A partition that is held is told with the reason why nobody knows by what.
	"DescribeProducers":        {"which producers hold partitions", true},
	"ListTransactions":         {"which transactions it coordinates", true},
	"DescribeTransactions":     {"how transactions that it coordinates stand", true},
	"DescribeAcls":             {"whether transactional ids are denied", true},
	"DescribeConfigs":          {"how often it looks for transactions to abort", true},
	"last stable offset again": {"whether partitions still stand", true},
	// Reports tell nothing of the log of transactions.
	"Fetch (transaction log)":       {"the log of its transactions", true},
	"ListOffsets (transaction log)": {"where the log of its transactions ends", true},
}

// gapOf is what a miss of an API hides.
func gapOf(m *lag.Miss) (gap apiGap, known bool) {
	if m.Kind != lag.MissAPIMissing {
		return apiGap{}, false
	}
	question, _, _ := strings.Cut(m.Detail, ": ")
	gap, known = apiGaps[question]
	return gap, known
}

// misses fills in what else could not be read.
func (r *reporter) misses() {
	if r.view.Failure != "" {
		r.report.Untold = append(r.report.Untold, Untold{
			Kind: "failure", Subject: "the cluster", Count: 1, Detail: r.view.FailureLine(),
			Sentence: "no broker answered: " + printable(r.view.FailureLine()),
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
		sentence := fmt.Sprintf(form, subject(m.Subject))
		gap, known := gapOf(&m)
		if known {
			sentence = fmt.Sprintf("%s cannot tell %s: it does not speak an API in a version that is needed", subject(m.Subject), gap.hides)
		}
		if m.Detail != "" {
			sentence += " (" + printable(m.Detail) + ")"
		}
		r.report.Untold = append(r.report.Untold, Untold{
			Kind: string(m.Kind), Subject: m.Subject, Count: m.Count, Detail: m.Detail, Sentence: sentence,
			Harmless: gap.harmless || r.elsewhere(m.Subject),
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

// subject is what a miss is about in a sentence.
func subject(of string) string {
	if kind, object, named := strings.Cut(of, " "); named && (kind == "topic" || kind == "group") {
		return kind + " " + name(object)
	}
	return printable(of)
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

// groupsWithoutCommits says of groups that were asked about, and whose commits
// were read, that they have none to see: Kafka leaves out those on topics that
// this principal may not describe.
func (r *reporter) groupsWithoutCommits() {
	for i := range r.view.Groups {
		g := &r.view.Groups[i]
		if len(r.Groups) == 0 || !picked(r.Groups, g.Name) || len(g.Topics) > 0 || g.Type == lag.ShareGroup || !g.Orphans.IsKnown() || r.lacksGroup(g.Name) {
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
