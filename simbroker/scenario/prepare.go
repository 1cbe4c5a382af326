package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// prepareWithin is how long each part of the preparation may take.
const prepareWithin = 60 * time.Second

// prepare brings the cluster to where the story begins: every broker serves,
// properties are in force, topics exist with all replicas in sync, and every
// group and transactional id that the text names has its coordinator.
func (p *Play) prepare(ctx context.Context) error {
	if err := p.awaitBrokers(ctx); err != nil {
		return err
	}
	for _, feature := range p.scenario.Features {
		if err := p.setFeature(ctx, feature.Name, p.levelOf(feature)); err != nil {
			return p.scenario.at(p.scenario.LineOf("feature", feature.Name), err)
		}
	}
	for _, property := range p.scenario.Properties {
		if given, known := p.opts.Given[property.Name]; known && given == property.Value {
			continue
		}
		inForce, err := p.inForce(ctx, property)
		if err == nil && !inForce {
			err = p.setForAllBrokers(ctx, property)
		}
		if err != nil {
			return p.scenario.at(p.scenario.LineOf("property", property.Name), err)
		}
	}
	if err := p.createTopics(ctx); err != nil {
		return err
	}
	if err := p.createUsers(ctx); err != nil {
		return err
	}
	for _, symbol := range p.scenario.keepers() {
		if _, err := p.name(ctx, symbol); err != nil {
			s := p.scenario
			return s.at(max(s.LineOf("id", symbol), s.LineOf("group", symbol)), err)
		}
	}
	return nil
}

// restore undoes what the scenario did to brokers and their configuration.
func (p *Play) restore(ctx context.Context) error {
	for _, l := range p.lives {
		if l != nil {
			l.Crash()
		}
	}
	errs := p.healAll(ctx)
	disturbed := len(p.silent) > 0
	for _, broker := range slices.Sorted(maps.Keys(p.silent)) {
		if p.silent[broker] == paused {
			errs = append(errs, p.cluster.Resume(ctx, broker))
		} else {
			errs = append(errs, p.cluster.Start(ctx, broker))
		}
		delete(p.silent, broker)
	}
	for _, name := range slices.Sorted(maps.Keys(p.altered)) {
		code, message, err := p.alterConfig(ctx, kmsg.ConfigResourceTypeBroker, "", []Property{{Name: name}}, kmsg.IncrementalAlterConfigOpDelete)
		if err == nil && code != 0 {
			err = fmt.Errorf("reset %s: %s", name, p.refused(code, message))
		}
		errs = append(errs, err)
	}
	if disturbed {
		errs = append(errs, p.awaitBrokers(ctx))
	}
	for _, name := range slices.Sorted(maps.Keys(p.levels)) {
		errs = append(errs, p.setFeature(ctx, name, p.levels[name]))
	}
	errs = append(errs, p.revokeAll(ctx), p.deleteUsers(ctx))
	return errors.Join(errs...)
}

// until repeats try until it holds.
func (p *Play) until(ctx context.Context, what string, try func() (bool, error)) error {
	deadline := p.cluster.Now().Add(prepareWithin)
	for {
		done, err := try()
		if err != nil && !errors.Is(err, ErrNoAnswer) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			return nil
		}
		if !p.cluster.Now().Before(deadline) {
			return fmt.Errorf("%s: not within %v (%v)", what, prepareWithin, err)
		}
		if err := p.cluster.Wait(ctx, pollPeriod); err != nil {
			return err
		}
	}
}

// awaitBrokers waits until all brokers are in each other's metadata and can
// give out producer ids.
func (p *Play) awaitBrokers(ctx context.Context) error {
	for _, broker := range p.brokers {
		err := p.until(ctx, fmt.Sprintf("wait for broker %d", broker), func() (bool, error) {
			meta, err := p.metadata(ctx, broker)
			if err != nil || len(meta.Brokers) < len(p.brokers) {
				return false, err
			}
			req := kmsg.NewPtrInitProducerIDRequest()
			if _, offered := p.offered[req.Key()]; !offered {
				return true, nil
			}
			req.Version, req.TransactionTimeoutMillis = p.version(req.Key(), -1), 60000
			resp, err := p.ask(ctx, broker, req)
			return err == nil && resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// metadata asks one broker for topics, or for none.
func (p *Play) metadata(ctx context.Context, broker int32, topics ...string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = p.version(req.Key(), -1), false
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	resp, err := p.lookUp(ctx, broker, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.MetadataResponse), nil
}

func (p *Play) createTopics(ctx context.Context) error {
	if len(p.scenario.Topics) == 0 {
		return nil
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = p.version(req.Key(), -1), int32(prepareWithin.Milliseconds())
	for _, topic := range p.scenario.Topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = p.topicName(topic.Symbol), -1, -1
		for i := range topic.Partitions {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition = i
			for _, letter := range topic.Replicas {
				broker, err := p.broker(letter)
				if err != nil {
					return err
				}
				a.Replicas = append(a.Replicas, broker)
			}
			t.ReplicaAssignment = append(t.ReplicaAssignment, a)
		}
		for _, config := range topic.Configs {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = config.Name, kmsg.StringPtr(config.Value)
			t.Configs = append(t.Configs, c)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := p.ask(ctx, p.brokers[0], req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			symbol, _ := p.topicSymbol(t.Topic)
			return p.scenario.at(p.scenario.LineOf("topic", symbol), errors.New(p.refused(t.ErrorCode, t.ErrorMessage)))
		}
	}
	return p.awaitTopics(ctx)
}

// awaitTopics waits until every broker knows the topics and their leaders serve
// them with all replicas in sync.
func (p *Play) awaitTopics(ctx context.Context) error {
	for _, topic := range p.scenario.Topics {
		name := p.topicName(topic.Symbol)
		err := p.until(ctx, "wait for topic "+topic.Symbol, func() (bool, error) {
			for _, broker := range p.brokers {
				meta, err := p.metadata(ctx, broker, name)
				if err != nil || !inSync(meta, int(topic.Partitions), len(topic.Replicas)) {
					return false, err
				}
			}
			for i := range topic.Partitions {
				end, code, err := p.listOffset(ctx, topicPartition{name, i}, offsetQuery{replica: debugReplica, timestamp: latest})
				if err != nil || code != 0 || end != 0 {
					return false, err
				}
			}
			return true, nil
		})
		if err != nil {
			return p.scenario.at(p.scenario.LineOf("topic", topic.Symbol), err)
		}
	}
	return nil
}

func inSync(meta *kmsg.MetadataResponse, partitions, replicas int) bool {
	if len(meta.Topics) != 1 || meta.Topics[0].ErrorCode != 0 || len(meta.Topics[0].Partitions) != partitions {
		return false
	}
	for _, part := range meta.Topics[0].Partitions {
		if part.ErrorCode != 0 || len(part.ISR) != replicas {
			return false
		}
	}
	return true
}

var keeperWord = regexp.MustCompile(`\b[XG]\d+\b`)

// keepers lists the transactional ids and groups that the text names.
func (s *Scenario) keepers() []string {
	found := map[string]bool{}
	for _, step := range s.Steps {
		for _, symbol := range keeperWord.FindAllString(step.Command, -1) {
			found[symbol] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// name is the real name of X1 or G1. The first time, it is chosen so that its
// coordinator is where the text wants it, and that a group has a partition of
// __consumer_offsets that no other group of the scenario uses and no open
// transaction holds.
func (p *Play) name(ctx context.Context, symbol string) (string, error) {
	if name, known := p.names[symbol]; known {
		return name, nil
	}
	const candidates = 500
	for i := range candidates {
		name := p.opts.Namespace + p.scenario.Name + "-" + strings.ToLower(symbol)
		if i > 0 {
			name += fmt.Sprintf("-%d", i)
		}
		log, fits, err := p.fitting(ctx, symbol, name)
		if err != nil {
			return "", err
		}
		if fits {
			p.names[symbol], p.logs[symbol] = name, log
			return name, nil
		}
	}
	return "", fmt.Errorf("no name for %s has its coordinator at %s", symbol, p.scenario.coordinators[symbol])
}

func (p *Play) fitting(ctx context.Context, symbol, name string) (log keeper, fits bool, err error) {
	var coordinator int32
	err = p.until(ctx, "find the coordinator of "+name, func() (bool, error) {
		var code int16
		coordinator, code, err = p.findCoordinator(ctx, symbol, name)
		return err == nil && code == 0, err
	})
	if err != nil {
		return log, false, err
	}
	if want := p.scenario.coordinators[symbol]; want != "" && p.letterOf(coordinator) != want {
		return log, false, nil
	}
	log, fits, err = p.keeperOf(ctx, symbol, name)
	if err != nil || !fits {
		return log, fits, err
	}
	return log, true, p.until(ctx, "wait for the coordinator of "+name, func() (bool, error) {
		return p.coordinatorServes(ctx, coordinator, symbol, name)
	})
}

func (p *Play) keeperOf(ctx context.Context, symbol, name string) (log keeper, fits bool, err error) {
	log.topic = kafka.TransactionStateTopic
	if symbol[0] == 'G' {
		log.topic = kafka.ConsumerOffsetsTopic
	}
	meta, err := p.metadata(ctx, p.brokers[0], log.topic)
	if err != nil {
		return log, false, err
	}
	count := int32(len(meta.Topics[0].Partitions))
	log.partition = kafka.PartitionFor(name, count)
	taken := 0
	for other, l := range p.logs {
		if other[0] == symbol[0] {
			taken++
			if symbol[0] == 'G' && l.topicPartition == log.topicPartition && taken < int(count) {
				return log, false, nil
			}
		}
	}
	var code, lsoCode int16
	log.base, code, err = p.listOffset(ctx, log.topicPartition, offsetQuery{replica: debugReplica, timestamp: latest})
	if err != nil || code != 0 {
		return log, false, err
	}
	lso, lsoCode, err := p.listOffset(ctx, log.topicPartition, offsetQuery{replica: consumerReplica, committed: true, timestamp: latest})
	return log, lsoCode == 0 && (symbol[0] != 'G' || lso == log.base), err
}

// findCoordinator finds out who coordinates a transactional id or group, whoever
// gives the command.
func (p *Play) findCoordinator(ctx context.Context, symbol, name string) (broker int32, code int16, err error) {
	user := p.user
	p.user = ""
	defer func() { p.user = user }()
	return p.askCoordinator(ctx, symbol, name)
}

// askCoordinator asks who coordinates a transactional id or group, which makes
// the cluster create its internal topic.
func (p *Play) askCoordinator(ctx context.Context, symbol, name string) (broker int32, code int16, err error) {
	from, err := p.anyBroker()
	if err != nil {
		return -1, 0, err
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKey, req.CoordinatorKeys = p.version(req.Key(), -1), name, []string{name}
	if symbol[0] == 'X' {
		req.CoordinatorType = 1
	}
	resp, err := p.ask(ctx, from, req)
	if err != nil {
		return -1, 0, err
	}
	got := resp.(*kmsg.FindCoordinatorResponse)
	if req.Version < 4 { // which asks for one at a time
		return got.NodeID, got.ErrorCode, nil
	}
	return got.Coordinators[0].NodeID, got.Coordinators[0].ErrorCode, nil
}

// coordinatorServes says whether the coordinator has loaded what it keeps.
func (p *Play) coordinatorServes(ctx context.Context, coordinator int32, symbol, name string) (bool, error) {
	var code int16
	if symbol[0] == 'X' {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		if _, offered := p.offered[req.Key()]; !offered {
			return true, nil // who coordinates it is known, and nobody can be asked for more
		}
		req.TransactionalIDs = []string{name}
		resp, err := p.ask(ctx, coordinator, req)
		if err != nil {
			return false, err
		}
		code = resp.(*kmsg.DescribeTransactionsResponse).TransactionStates[0].ErrorCode
	} else {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.MemberEpoch = name, -1
		got, err := p.fetchOffsets(ctx, coordinator, -1, false, g)
		if err != nil {
			return false, err
		}
		code = got.ErrorCode
	}
	return code == 0 || code == kerr.TransactionalIDNotFound.Code, nil
}
