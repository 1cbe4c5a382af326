package e2e

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// stage is where a scenario with an exporter is played.
type stage struct {
	t        testing.TB
	exporter *exporter
	restart  func() *exporter
	cluster  scenario.Cluster
	witness  *witness.Witness
	sim      *simbroker.Cluster // nil on a real Kafka
	kafka    *kafka.Cluster     // nil on the simulator
	page     page
	faults   map[string]func() // what removes them
	members  map[string]member // the only member of each group
	options  collector.Options // of the next exporter
	pages    metrics.Options   // of its pages
	sessions map[string]*shareSession
	topicIDs map[string][16]byte
	partial  *lag.View // of the last sweep that missed something
	seeds    []int32   // the only bootstrap broker of the next exporter; nil: all
	// meanwhile is done between the first two looks of the next report.
	meanwhile func(context.Context) error
}

// newStage returns a stage without a cluster, on which texts can be parsed.
func newStage() *stage {
	return &stage{faults: map[string]func(){}, members: map[string]member{}, options: defaultOptions(), sessions: map[string]*shareSession{}, topicIDs: map[string][16]byte{}}
}

// verbs are the commands about the exporter, and those for which package
// scenario has no need:
//
//	sweep                        one sweep and one scrape; prints the sweep's result
//	look                         the same without output, where the result is not the story's
//	audit                        looks at how the cluster is set up; views from the next sweep on have it
//	scrape                       one scrape more of the same view; prints whether it has one
//	restart                      ends the exporter and starts another one, which has no memory
//	show METRIC [of…] [label=value…] [with=label,…] [round=N] [sum] [left]
//	                             the value in the last scrape, or "absent"; with= adds labels, round= rounds
//	                             to multiples of N; of a histogram the count, or with sum its sum; of a
//	                             moment, with left, the seconds from the sweep to it
//	blocker PARTITION            the transaction that is shown to hold the partition: verdict, reason unless
//	                             none, transactional id, producer, coordinator, source of its age; or "none"
//	verdict PARTITION never=…    sweeps, and prints the verdict alone; it may be none of those named, in no try
//	diagnose T1|G1|X1…           what the report for people says of topics, groups or transactional ids: the answer,
//	                             the headlines, and the commands that abort; spans of time are "set"
//	meanwhile GROUP PARTITION OFFSET
//	                             the member commits between the first two looks of the next report
//	abort PARTITION              carries out such a command, on a real Kafka with Kafka's own tool
//	ready                        what /readyz says
//	exporter OPTION=VALUE…       ends the exporter and starts another one: period, still-after, look-up-after, census, txnlog,
//	                             applications=default (behind those, which make each id its own), read-uncommitted=GROUP, without=readable-lag|time-index|pending-commits
//	join GROUP TOPIC             a member joins a classic group and is assigned partition 0; leave GROUP ends it
//	joinConsumer GROUP TOPIC     a member joins a group of the consumer protocol; leave ends it
//	joinShare GROUP TOPIC        a member joins a share group; acquire GROUP PARTITION prints the offsets that
//	                             it gets, acknowledge GROUP PARTITION FIRST-LAST accepts them
//	joinStreams GROUP TOPIC      a member joins a streams group whose one subtopology reads the topic
//	joinConnect GROUP            a worker joins a group of Connect's protocol
//	commit GROUP PARTITION OFFSET  the member commits
//	CreateTopic, DeleteTopic, DeleteGroup, OffsetDelete
//	                             as the requests of these names
//	bootstrap BROKER             ends the exporter and starts another one that begins with that broker alone
//	cut BROKER                   (simulator) the broker and the controller do not hear of each other; mend BROKER
//	                             ends it
//	fetches BROKER yes|no        tells the oracle that the broker stops fetching, or goes on
//	lossy PARTITION              tells the oracle that records of the partition are about to be lost
//	watch USER                   ends the exporter and starts one that is this user (stories of rights)
//	delay API DURATION           (simulator) requests of the API are begun that much later; 0 ends it
//	ConfigTransactionState NAME=VALUE
//	                             alters the configuration of __transaction_state
//	unmarked PRODUCER PARTITION  tells the oracle that the producer's transaction, which has ended, left no
//	                             end marker in the partition
//
// "of" are the symbols of a partition (T1-0, G1-log), topic (T1) or group (G1).
func (s *stage) verbs() []scenario.Verb {
	plain := func(do func() string) func([]string) (scenario.Action, error) {
		return func(words []string) (scenario.Action, error) {
			if len(words) > 0 {
				return nil, fmt.Errorf("too many words")
			}
			return func(context.Context, *scenario.Play) (string, error) { return do(), nil }, nil
		}
	}
	verbs := []scenario.Verb{
		{Name: "sweep", Usage: "sweep", Parse: plain(s.sweep)},
		{Name: "look", Usage: "look", Parse: plain(func() string { s.sweep(); return "" })},
		{Name: "audit", Usage: "audit", Parse: plain(func() string { s.exporter.runner.Audit(context.Background()); return "" })},
		{Name: "scrape", Usage: "scrape", Parse: plain(s.scrape)},
		{Name: "restart", Usage: "restart", Parse: plain(func() string { s.exporter = s.restart(); return "" })},
		{Name: "ready", Usage: "ready", Parse: plain(s.ready)},
		{Name: "show", Usage: "show METRIC [of…] [label=value…] [with=label,…] [round=N] [sum] [left]", Parse: s.show},
	}
	return slices.Concat(verbs, s.clientVerbs(), s.blockerVerbs(), s.groupVerbs(), s.diagnoseVerbs())
}

func (s *stage) sweep() string {
	before := s.page
	s.page = parsePage(s.exporter.sweep())
	for _, result := range []string{"complete", "partial", "failed"} {
		pick := selection{labels: map[string]string{"result": result}}
		if s.page.total("lso_exporter_sweeps_total", pick) > before.total("lso_exporter_sweeps_total", pick) {
			if result == "partial" {
				s.partial = s.exporter.runner.View()
			}
			return result
		}
	}
	return "none"
}

func (s *stage) scrape() string {
	s.page = parsePage(s.exporter.scrape())
	n := 0
	for name, samples := range s.page {
		if strings.HasPrefix(name, "kafka_") {
			n += len(samples)
		}
	}
	if n == 0 {
		return "nothing of Kafka"
	}
	return "a view"
}

func (s *stage) ready() string {
	status, body := s.exporter.get("/readyz")
	return fmt.Sprintf("%d %s", status, strings.TrimSpace(body))
}

// selection is which samples of a metric to show, and how.
type selection struct {
	labels map[string]string
	with   []string
	round  float64
	sum    bool // of a histogram
	left   bool // count from the sweep's end
}

var (
	partitionSymbol = regexp.MustCompile(`^(T\d+)-(\d+)$`)
	topicSymbol     = regexp.MustCompile(`^T\d+$`)
	groupSymbol     = regexp.MustCompile(`^G\d+$`)
	idSymbol        = regexp.MustCompile(`^X\d+$`)
	logSymbol       = regexp.MustCompile(`^[GX]\d+-log$`)
	brokerLetter    = regexp.MustCompile(`^[A-Z]$`)
)

func (s *stage) show(words []string) (scenario.Action, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("no metric")
	}
	anywhere := func(symbol string) (string, int32, error) { return symbol, 0, nil }
	if err := (&selection{}).take(words[1:], func(symbol string) string { return symbol }, anywhere); err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *scenario.Play) (string, error) {
		var pick selection
		err := pick.take(words[1:], p.Name, func(symbol string) (string, int32, error) { return p.Partition(ctx, symbol) })
		return s.page.render(words[0], pick), err
	}, nil
}

// take reads the words of a show command.
func (pick *selection) take(words []string, name func(symbol string) string, locate func(symbol string) (string, int32, error)) error {
	pick.labels = map[string]string{}
	for _, word := range words {
		key, value, labelled := strings.Cut(word, "=")
		switch {
		case word == "sum":
			pick.sum = true
		case word == "left":
			pick.left = true
		case logSymbol.MatchString(word):
			topic, partition, err := locate(word)
			if err != nil {
				return err
			}
			pick.labels["topic"], pick.labels["partition"] = topic, strconv.Itoa(int(partition))
		case key == "with":
			pick.with = strings.Split(value, ",")
		case key == "round":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return err
			}
			pick.round = n
		case labelled && brokerLetter.MatchString(value):
			pick.labels[key] = strconv.Itoa(int(value[0]-'A') + 1)
		case labelled && (idSymbol.MatchString(value) || groupSymbol.MatchString(value)):
			pick.labels[key] = name(value)
		case labelled:
			pick.labels[key] = value
		case partitionSymbol.MatchString(word):
			m := partitionSymbol.FindStringSubmatch(word)
			pick.labels["topic"], pick.labels["partition"] = name(m[1]), m[2]
		case topicSymbol.MatchString(word):
			pick.labels["topic"] = name(word)
		case groupSymbol.MatchString(word):
			pick.labels["group"] = name(word)
		default:
			return fmt.Errorf("%s is neither a symbol nor label=value", word)
		}
	}
	return nil
}

// page is a parsed scrape.
type page map[string][]*dto.Metric

func parsePage(text string) page {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		panic("a scrape does not parse: " + err.Error())
	}
	p := page{}
	for name, f := range families {
		p[name] = f.GetMetric()
	}
	return p
}

func (pick selection) matches(m *dto.Metric) bool {
	have := labelsOf(m)
	for k, v := range pick.labels {
		if have[k] != v {
			return false
		}
	}
	return true
}

func labelsOf(m *dto.Metric) map[string]string {
	out := map[string]string{}
	for _, l := range m.GetLabel() {
		out[l.GetName()] = l.GetValue()
	}
	return out
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount())
	case m.Untyped != nil:
		return m.Untyped.GetValue()
	}
	return m.Gauge.GetValue()
}

// total adds up the samples of a selection.
func (p page) total(name string, pick selection) (sum float64) {
	for _, m := range p[name] {
		if pick.matches(m) {
			sum += valueOf(m)
		}
	}
	return sum
}

// render prints the samples of a selection, the values first.
func (p page) render(name string, pick selection) string {
	var out []string
	for _, m := range p[name] {
		if !pick.matches(m) {
			continue
		}
		v := valueOf(m)
		if pick.sum {
			v = m.Histogram.GetSampleSum()
		}
		if pick.left {
			v -= p.total("lso_exporter_last_sweep_timestamp_seconds", selection{})
		}
		if pick.round > 0 {
			v = math.Round(v/pick.round)*pick.round + 0 // no -0
		}
		text := strconv.FormatFloat(v, 'f', -1, 64)
		have := labelsOf(m)
		for _, k := range pick.with {
			text += " " + k + "=" + have[k]
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "absent"
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
