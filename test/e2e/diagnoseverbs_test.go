package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/diagnose"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/oracle"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// diagnoseVerbs are the commands about the report for people.
func (s *stage) diagnoseVerbs() []scenario.Verb {
	return []scenario.Verb{
		{Name: "diagnose", Usage: "diagnose TOPIC|GROUP|ID…", Parse: s.diagnose},
		{Name: "abort", Usage: "abort PARTITION", Parse: s.abort},
		{Name: "meanwhile", Usage: "meanwhile GROUP PARTITION OFFSET", Parse: s.setMeanwhile},
	}
}

// What lasts is told apart from everyday life soon, as on a real Kafka time
// passes.
const (
	diagnoseHeldAfter  = 2 * time.Second
	diagnoseStillAfter = 3 * time.Second
)

// lookAround sweeps as the command diagnose does, until nothing is pending, and
// returns what there is to say.
func (s *stage) lookAround(ctx context.Context, o diagnose.Options) (*diagnose.Report, error) {
	o.Bootstrap, o.Principal = "BOOTSTRAP", func() string { return "User:ANONYMOUS" }
	o.HeldAfter, o.StillAfter = diagnoseHeldAfter, diagnoseStillAfter
	options := collector.Options{
		Period: period, LookUpAfter: time.Nanosecond, StillAfter: time.Nanosecond, Now: s.exporter.now, Serial: s.sim != nil,
	}
	runner := collector.NewRunner(s.exporter.client, options)
	watch := diagnose.NewWatch(o)
	audit := collector.NewAuditor(s.exporter.client, options).Audit(ctx)
	watch.Audited(audit.Judge())
	for range 40 {
		runner.Sweep(ctx)
		watch.See(runner.View())
		if len(watch.Pending()) == 0 {
			break
		}
		if do := s.meanwhile; do != nil {
			s.meanwhile = nil
			if err := do(ctx); err != nil {
				return nil, err
			}
		}
		if err := s.cluster.Wait(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return watch.Report(), nil
}

// setMeanwhile has the member of a group commit between the first look of the
// next report and its second.
func (s *stage) setMeanwhile(words []string) (scenario.Action, error) {
	if len(words) != 3 {
		return nil, fmt.Errorf("a group, a partition and an offset")
	}
	return func(_ context.Context, p *scenario.Play) (string, error) {
		s.meanwhile = func(ctx context.Context) error {
			_, err := s.commitAsMember(ctx, p, words)
			return err
		}
		return "", nil
	}, nil
}

// diagnose prints the answer with its exit status, and the headlines of what is
// told about topics, groups and transactional ids.
func (s *stage) diagnose(words []string) (scenario.Action, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("nothing to tell of")
	}
	return func(ctx context.Context, p *scenario.Play) (string, error) {
		var o diagnose.Options
		for _, w := range words {
			switch name := p.Name(w); w[0] {
			case 'T':
				o.Topics = append(o.Topics, name)
			case 'G':
				o.Groups = append(o.Groups, name)
			default:
				o.TransactionalIDs = append(o.TransactionalIDs, name)
			}
		}
		r, err := s.lookAround(ctx, o)
		if err != nil {
			return "", err
		}
		lines := []string{fmt.Sprintf("%s (exit %d)", r.Status, r.Status.ExitCode())}
		for _, t := range r.Transactions {
			for _, h := range t.Partitions {
				lines = append(lines, h.Headline)
				if h.Abort != nil {
					lines = append(lines, h.Abort.Command)
				}
			}
		}
		for _, g := range r.Groups {
			lines = append(lines, g.Headline)
		}
		for _, m := range r.Missing {
			if !m.Harmless {
				lines = append(lines, m.Right+" hides "+m.Hides, m.Grant)
			}
		}
		return symbolic(ctx, p, words, strings.Join(lines, "\n"))
	}, nil
}

var (
	producerText = regexp.MustCompile(`\(?producer (\d+) epoch (\d+)\)?`)
	brokerText   = regexp.MustCompile(`(broker|coordinator) (\d+)\b`)
	logOffset    = regexp.MustCompile(`(?m)^(G\d+-log is held back: .* at offset )\d+`)
	spanText     = regexp.MustCompile(`\d+ (ms|s|m|h|d)( \d+ (s|m|h))?\b`)
)

// symbolic writes a text as scenarios name what it speaks of, with G1-log for the
// partition that keeps a group that was asked about; times, and offsets
// in that partition, are those of no two runs.
func symbolic(ctx context.Context, p *scenario.Play, words []string, text string) (string, error) {
	text = producerText.ReplaceAllStringFunc(text, func(found string) string {
		m := producerText.FindStringSubmatch(found)
		id, _ := strconv.ParseInt(m[1], 10, 64)
		epoch, _ := strconv.ParseInt(m[2], 10, 16)
		return p.Producer(id, int16(epoch))
	})
	text = brokerText.ReplaceAllStringFunc(text, func(found string) string {
		m := brokerText.FindStringSubmatch(found)
		id, _ := strconv.ParseInt(m[2], 10, 32)
		return m[1] + " " + p.BrokerOf(int32(id))
	})
	for _, w := range words {
		if w[0] != 'G' || !strings.Contains(text, "__consumer_offsets") {
			continue
		}
		log, partition, err := p.Partition(ctx, w+"-log")
		if err != nil {
			return "", err
		}
		text = strings.ReplaceAll(text, fmt.Sprintf("%s-%d", log, partition), w+"-log")
	}
	text = logOffset.ReplaceAllString(p.InSymbols(text), "${1}set")
	return spanText.ReplaceAllString(text, "set"), nil
}

// abort carries out the command with which a report ends a transaction by hand:
// with Kafka's own tool where there is one, else by what it says for brokers
// that the tool cannot ask.
func (s *stage) abort(words []string) (scenario.Action, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("one partition")
	}
	return func(ctx context.Context, p *scenario.Play) (string, error) {
		topic, partition, err := p.Partition(ctx, words[0])
		if err != nil {
			return "", err
		}
		r, err := s.lookAround(ctx, diagnose.Options{Topics: []string{topic}})
		if err != nil {
			return "", err
		}
		for _, t := range r.Transactions {
			for _, h := range t.Partitions {
				switch {
				case h.Topic != topic || h.Partition != partition || h.Abort == nil:
				case s.kafka != nil:
					return s.runTool(ctx, &t, &h)
				default:
					return s.writeAbort(ctx, &h)
				}
			}
		}
		return "nothing to abort", nil
	}, nil
}

// runTool runs the command line of kafka-transactions.sh that a report gives, and
// tells the oracle of the marker that it writes.
func (s *stage) runTool(ctx context.Context, t *diagnose.Transaction, h *diagnose.HeldPartition) (string, error) {
	words := strings.Fields(strings.ReplaceAll(h.Abort.Command, "BOOTSTRAP", strings.Join(s.kafka.Bootstrap(), ",")))
	sent := s.cluster.Now()
	if _, err := s.kafka.Tool(ctx, "TransactionsCommand", words[1:]...); err != nil {
		return "", err
	}
	s.witness.Add(oracle.Act{
		Kind: oracle.WriteMarker, Sent: sent, Answered: s.cluster.Now(), TransactionalID: witness.ProducerKey(int64(*t.ProducerID)),
		Topic: h.Topic, Partition: h.Partition,
	})
	return "ok", nil
}

// writeAbort does what the tool does.
func (s *stage) writeAbort(ctx context.Context, h *diagnose.HeldPartition) (string, error) {
	value := func(flag string) int64 {
		_, rest, _ := strings.Cut(h.Abort.OlderCommand, flag+" ")
		word, _, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("%s in %q: %v", flag, h.Abort.OlderCommand, err))
		}
		return n
	}
	topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	topic.Topic, topic.Partitions = h.Topic, []int32{h.Partition}
	marker := kmsg.NewWriteTxnMarkersRequestMarker()
	marker.ProducerID, marker.ProducerEpoch = value("--producer-id"), int16(value("--producer-epoch"))
	marker.CoordinatorEpoch = int32(value("--coordinator-epoch"))
	marker.Topics = append(marker.Topics, topic)
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version, req.Markers = 1, append(req.Markers, marker)
	resp, err := ask[*kmsg.WriteTxnMarkersResponse](ctx, s, int32(h.Leader), req)
	if err != nil {
		return "", err
	}
	return outcome(resp.Markers[0].Topics[0].Partitions[0].ErrorCode), nil
}
