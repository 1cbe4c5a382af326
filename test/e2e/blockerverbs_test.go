package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/oracle"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// blockerVerbs are the commands about transactions that hold partitions.
func (s *stage) blockerVerbs() []scenario.Verb {
	return []scenario.Verb{
		{Name: "watch", Usage: "watch USER", Parse: s.watch},
		{Name: "blocker", Usage: "blocker PARTITION", Parse: s.blocker},
		{Name: "verdict", Usage: "verdict PARTITION never=VERDICT,…", Parse: s.verdict},
		{Name: "ConfigTransactionState", Usage: "ConfigTransactionState NAME=VALUE", Parse: s.configTransactionState},
		{Name: "bootstrap", Usage: "bootstrap BROKER", Parse: s.bootstrap},
		{Name: "cut", Usage: "cut BROKER", Parse: s.cut},
		{Name: "mend", Usage: "mend BROKER", Parse: s.mend},
		{Name: "fetches", Usage: "fetches BROKER yes|no", Parse: s.fetches},
		{Name: "unmarked", Usage: "unmarked PRODUCER PARTITION", Parse: s.unmarked},
	}
}

// blocker prints the labels of the series that names what holds a partition,
// whose value must be 1.
func (s *stage) blocker(words []string) (scenario.Action, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("one partition")
	}
	return func(ctx context.Context, p *scenario.Play) (string, error) {
		topic, partition, err := p.Partition(ctx, words[0])
		if err != nil {
			return "", err
		}
		pick := selection{labels: map[string]string{"topic": topic, "partition": strconv.Itoa(int(partition))}}
		var out []string
		for _, m := range s.page["kafka_partition_blocking_transaction_info"] {
			if !pick.matches(m) {
				continue
			}
			text, err := renderBlocker(p, labelsOf(m))
			if err != nil {
				return "", err
			}
			if v := valueOf(m); v != 1 {
				text += fmt.Sprint(" value ", v)
			}
			out = append(out, text)
		}
		if len(out) == 0 {
			return "none", nil
		}
		return strings.Join(out, "; "), nil
	}, nil
}

// verdict sweeps and prints the verdict on what holds a partition. It ends the
// story if that is one that it must never be.
func (s *stage) verdict(words []string) (scenario.Action, error) {
	if len(words) != 2 {
		return nil, fmt.Errorf("a partition and never=VERDICT,…")
	}
	list, found := strings.CutPrefix(words[1], "never=")
	if !found {
		return nil, fmt.Errorf("%s where never=VERDICT,… is wanted", words[1])
	}
	never := strings.Split(list, ",")
	return func(ctx context.Context, p *scenario.Play) (string, error) {
		topic, partition, err := p.Partition(ctx, words[0])
		if err != nil {
			return "", err
		}
		s.sweep()
		pick := selection{labels: map[string]string{"topic": topic, "partition": strconv.Itoa(int(partition))}}
		verdict := "none"
		for _, m := range s.page["kafka_partition_blocking_transaction_info"] {
			if pick.matches(m) {
				verdict = labelsOf(m)["verdict"]
			}
		}
		if slices.Contains(never, verdict) {
			s.t.Errorf("%s is called %s", words[0], verdict)
		}
		return verdict, nil
	}, nil
}

// renderBlocker prints labels as texts name what they stand for.
func renderBlocker(p *scenario.Play, l map[string]string) (string, error) {
	text := l["verdict"]
	if l["reason"] != "none" {
		text += " " + l["reason"]
	}
	if l["transactional_id"] != "" {
		text += " " + p.TransactionalID(l["transactional_id"])
	}
	if l["producer_id"] != "" {
		id, err := strconv.ParseInt(l["producer_id"], 10, 64)
		if err != nil {
			return "", err
		}
		epoch, err := strconv.ParseInt(l["producer_epoch"], 10, 16)
		if err != nil {
			return "", err
		}
		text += " " + p.Producer(id, int16(epoch))
	}
	if l["coordinator"] != "" {
		id, err := strconv.ParseInt(l["coordinator"], 10, 32)
		if err != nil {
			return "", err
		}
		text += " at " + p.BrokerOf(int32(id))
	}
	return text + " by " + l["age_source"], nil
}

// configTransactionState alters the configuration of __transaction_state.
func (s *stage) configTransactionState(words []string) (scenario.Action, error) {
	if len(words) != 1 || !strings.Contains(words[0], "=") {
		return nil, fmt.Errorf("one NAME=VALUE")
	}
	return func(ctx context.Context, _ *scenario.Play) (string, error) {
		name, value, _ := strings.Cut(words[0], "=")
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Value, config.Op = name, &value, kmsg.IncrementalAlterConfigOpSet
		resource := kmsg.NewIncrementalAlterConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, "__transaction_state"
		resource.Configs = append(resource.Configs, config)
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Version, req.Resources = 1, append(req.Resources, resource)
		resp, err := ask[*kmsg.IncrementalAlterConfigsResponse](ctx, s, s.controller(), req)
		if err != nil {
			return "", err
		}
		return outcome(resp.Resources[0].ErrorCode), nil
	}, nil
}

func (s *stage) unmarked(words []string) (scenario.Action, error) {
	if len(words) != 2 {
		return nil, fmt.Errorf("a producer and a partition")
	}
	return func(ctx context.Context, p *scenario.Play) (string, error) {
		id, err := p.ProducerID(words[0])
		if err != nil {
			return "", err
		}
		topic, partition, err := p.Partition(ctx, words[1])
		s.witness.Add(oracle.Act{
			Kind: oracle.LostMarker, Sent: s.cluster.Now(), TransactionalID: witness.ProducerKey(id), Topic: topic, Partition: partition,
		})
		return "", err
	}, nil
}

// ofBroker reads the one word of a command about a broker.
func ofBroker(words []string, do func(broker int32) error) (scenario.Action, error) {
	if len(words) != 1 || !brokerLetter.MatchString(words[0]) {
		return nil, fmt.Errorf("one broker")
	}
	return func(context.Context, *scenario.Play) (string, error) {
		return "", do(int32(words[0][0]-'A') + 1)
	}, nil
}

// bootstrap ends the exporter and starts another one that knows of one broker.
func (s *stage) bootstrap(words []string) (scenario.Action, error) {
	return ofBroker(words, func(broker int32) error {
		s.seeds, s.page = []int32{broker}, page{}
		s.exporter = s.restart()
		return nil
	})
}

// cut cuts a broker off from the controller.
func (s *stage) cut(words []string) (scenario.Action, error) {
	return ofBroker(words, func(broker int32) error {
		if s.sim == nil {
			return fmt.Errorf("%w: a broker that is cut off from the controller", scenario.ErrNotOffered)
		}
		s.witness.Add(s.done(oracle.PauseBroker, broker)) // for the cluster it is as if it stood still
		s.faults[words[0]] = s.sim.Install(simbroker.CutOff{Broker: kafka.BrokerID(broker)})
		return nil
	})
}

// mend connects it again.
func (s *stage) mend(words []string) (scenario.Action, error) {
	return ofBroker(words, func(broker int32) error {
		s.faults[words[0]]()
		delete(s.faults, words[0])
		s.witness.Add(s.done(oracle.ResumeBroker, broker))
		return nil
	})
}

// fetches tells the oracle that a broker, as a follower, has stopped fetching, or goes
// on: for the partitions that it follows it is as if it stood still.
func (s *stage) fetches(words []string) (scenario.Action, error) {
	kinds := map[string]oracle.Kind{"no": oracle.PauseBroker, "yes": oracle.ResumeBroker}
	if len(words) != 2 || kinds[words[1]] == "" {
		return nil, fmt.Errorf("a broker, and yes or no")
	}
	return ofBroker(words[:1], func(broker int32) error {
		s.witness.Add(s.done(kinds[words[1]], broker))
		return nil
	})
}

// done is an act on a broker, at this moment.
func (s *stage) done(kind oracle.Kind, broker int32) oracle.Act {
	now := s.cluster.Now()
	return oracle.Act{Kind: kind, Broker: broker, Sent: now, Answered: now}
}
