package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// prepare brings the cluster to where the story begins: every broker serves,
// properties are in force, topics exist with all replicas in sync, and every
// group and transactional id that the text names has its coordinator.
func (p *performance) prepare(ctx context.Context) error {
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

func (p *performance) createTopics(ctx context.Context) error {
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
func (p *performance) awaitTopics(ctx context.Context) error {
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
