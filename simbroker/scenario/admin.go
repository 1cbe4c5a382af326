package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func adminVerbs() []Verb {
	return []Verb{
		{
			Name:  "config",
			Usage: "config TOPIC|GROUP|brokers NAME=VALUE…",
			Doc: "Alters the configuration of a topic or group, or the dynamic one of all brokers, which is reset when the scenario ends. " +
				"For groups and brokers it returns when each broker shows the new value.",
			Parse: parseConfig,
		},
		{
			Name:  "ElectLeaders",
			Usage: "ElectLeaders preferred|unclean PARTITION",
			Doc:   "Asks for an election and prints its result.",
			Parse: parseElectLeaders,
		},
		{
			Name:  "reassign",
			Usage: "reassign PARTITION to BROKER[,BROKER…]",
			Doc:   "Starts moving the partition to other replicas.",
			Parse: parseReassign,
		},
		{
			Name:  "broker",
			Usage: "broker BROKER",
			Doc:   "Prints registered or fenced: whether the brokers that run have it in their metadata; or differs, while they do not agree.",
			Parse: parseBroker,
		},
	}
}

// allBrokers is the name under which a text configures every broker.
const allBrokers = "brokers"

func parseConfig(words []string) (Action, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("config wants a topic, or brokers, and NAME=VALUE")
	}
	target := words[0]
	if target != allBrokers && !topicSymbol.MatchString(target) && !groupSymbol.MatchString(target) {
		return nil, fmt.Errorf("%s has no configuration", target)
	}
	var properties []Property
	for _, word := range words[1:] {
		name, value, found := strings.Cut(word, "=")
		if !found {
			return nil, fmt.Errorf("%s is no NAME=VALUE", word)
		}
		properties = append(properties, Property{name, value})
	}
	return func(ctx context.Context, p *Play) (string, error) {
		if groupSymbol.MatchString(target) {
			return p.setForGroup(ctx, target, properties)
		}
		if target != allBrokers {
			code, _, err := p.alterConfig(ctx, kmsg.ConfigResourceTypeTopic, p.topicName(target), properties, kmsg.IncrementalAlterConfigOpSet)
			return renderError(code), err
		}
		for _, property := range properties {
			if err := p.setForAllBrokers(ctx, property); err != nil {
				return "", err
			}
		}
		return ok, nil
	}, nil
}

func (p *Play) alterConfig(ctx context.Context, kind kmsg.ConfigResourceType, name string, properties []Property, op kmsg.IncrementalAlterConfigOp) (code int16, message *string, err error) {
	broker, err := p.anyBroker()
	if err != nil {
		return 0, nil, err
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = p.version(req.Key(), -1)
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kind, name
	for _, property := range properties {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op = property.Name, op
		if op == kmsg.IncrementalAlterConfigOpSet {
			c.Value = kmsg.StringPtr(property.Value)
		}
		resource.Configs = append(resource.Configs, c)
	}
	req.Resources = append(req.Resources, resource)
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return 0, nil, err
	}
	got := resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
	return got.ErrorCode, got.ErrorMessage, nil
}

// setForAllBrokers alters a dynamic property of all brokers and waits until
// each running one has taken it over.
func (p *Play) setForAllBrokers(ctx context.Context, property Property) error {
	code, message, err := p.alterConfig(ctx, kmsg.ConfigResourceTypeBroker, "", []Property{property}, kmsg.IncrementalAlterConfigOpSet)
	if err == nil && code != 0 {
		err = fmt.Errorf("set %s=%s: %s", property.Name, property.Value, p.refused(code, message))
	}
	if err != nil {
		return err
	}
	p.altered[property.Name] = true
	return p.awaitConfig(ctx, property, func(broker int32) (kmsg.ConfigResourceType, string) {
		return kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(broker))
	})
}

// setForGroup alters properties of a group and waits until each running broker
// has taken them over.
func (p *Play) setForGroup(ctx context.Context, group string, properties []Property) (string, error) {
	name, err := p.name(ctx, group)
	if err != nil {
		return "", err
	}
	code, _, err := p.alterConfig(ctx, kmsg.ConfigResourceTypeGroupConfig, name, properties, kmsg.IncrementalAlterConfigOpSet)
	if err != nil || code != 0 {
		return renderError(code), err
	}
	for _, property := range properties {
		err := p.awaitConfig(ctx, property, func(int32) (kmsg.ConfigResourceType, string) { return kmsg.ConfigResourceTypeGroupConfig, name })
		if err != nil {
			return "", err
		}
	}
	return ok, nil
}

// awaitConfig waits until each running broker shows a property's value.
func (p *Play) awaitConfig(ctx context.Context, property Property, of func(broker int32) (kmsg.ConfigResourceType, string)) error {
	for _, broker := range p.brokers {
		if p.silent[broker] != "" {
			continue
		}
		err := p.until(ctx, fmt.Sprintf("set %s at broker %d", property.Name, broker), func() (bool, error) {
			kind, name := of(broker)
			value, err := p.configAt(ctx, broker, kind, name, property.Name)
			return value == property.Value, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inForce says whether every broker has a property's value.
func (p *Play) inForce(ctx context.Context, property Property) (bool, error) {
	for _, broker := range p.brokers {
		value, err := p.configAt(ctx, broker, kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(broker)), property.Name)
		if err != nil || value != property.Value {
			return false, err
		}
	}
	return true, nil
}

// configAt is the value of a property as a broker has it.
func (p *Play) configAt(ctx context.Context, broker int32, kind kmsg.ConfigResourceType, resourceName, name string) (string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = p.version(req.Key(), -1)
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kind, resourceName, []string{name}
	req.Resources = append(req.Resources, resource)
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	for _, c := range resp.(*kmsg.DescribeConfigsResponse).Resources[0].Configs {
		if c.Name == name && c.Value != nil {
			return *c.Value, nil
		}
	}
	return "", nil
}

func parseElectLeaders(words []string) (Action, error) {
	if len(words) != 2 || words[0] != "preferred" && words[0] != "unclean" {
		return nil, fmt.Errorf("an election is preferred or unclean")
	}
	ref, err := parsePartition(words[1])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		broker, err := p.anyBroker()
		if err != nil {
			return "", err
		}
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version, req.TimeoutMillis = p.version(req.Key(), -1), 5000
		if words[0] == "unclean" {
			req.ElectionType = 1
		}
		topic := kmsg.NewElectLeadersRequestTopic()
		topic.Topic, topic.Partitions = log.topic, []int32{log.partition}
		req.Topics = append(req.Topics, topic)
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.ElectLeadersResponse)
		if got.ErrorCode != 0 || len(got.Topics) == 0 {
			return renderError(got.ErrorCode), nil
		}
		return renderError(got.Topics[0].Partitions[0].ErrorCode), nil
	}, nil
}

func parseReassign(words []string) (Action, error) {
	if len(words) != 3 || words[1] != "to" {
		return nil, fmt.Errorf("reassign wants a partition and its new brokers")
	}
	ref, err := parsePartition(words[0])
	if err != nil {
		return nil, err
	}
	letters := strings.Split(words[2], ",")
	for _, letter := range letters {
		if !brokerLetter.MatchString(letter) {
			return nil, fmt.Errorf("%s is no broker; expected A, B, …", letter)
		}
	}
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		from, err := p.anyBroker()
		if err != nil {
			return "", err
		}
		req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		req.Version, req.TimeoutMillis = p.version(req.Key(), -1), 5000
		topic, part := kmsg.NewAlterPartitionAssignmentsRequestTopic(), kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		part.Partition = log.partition
		for _, letter := range letters {
			broker, err := p.broker(letter)
			if err != nil {
				return "", err
			}
			part.Replicas = append(part.Replicas, broker)
		}
		topic.Topic, topic.Partitions = log.topic, append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		resp, err := p.ask(ctx, from, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.AlterPartitionAssignmentsResponse)
		if got.ErrorCode != 0 || len(got.Topics) == 0 {
			return renderError(got.ErrorCode), nil
		}
		return renderError(got.Topics[0].Partitions[0].ErrorCode), nil
	}, nil
}

func parseBroker(words []string) (Action, error) {
	if len(words) != 1 || !brokerLetter.MatchString(words[0]) {
		return nil, fmt.Errorf("broker wants A, B, …")
	}
	return func(ctx context.Context, p *Play) (string, error) {
		id, err := p.broker(words[0])
		if err != nil {
			return "", err
		}
		if _, err := p.anyBroker(); err != nil {
			return "", err
		}
		said := ""
		for _, from := range p.brokers {
			if p.silent[from] != "" {
				continue
			}
			meta, err := p.metadata(ctx, from)
			if err != nil {
				return "", err
			}
			state := "fenced"
			if slices.ContainsFunc(meta.Brokers, func(b kmsg.MetadataResponseBroker) bool { return b.NodeID == id }) {
				state = "registered"
			}
			if said != "" && said != state {
				return "differs", nil
			}
			said = state
		}
		return said, nil
	}, nil
}
