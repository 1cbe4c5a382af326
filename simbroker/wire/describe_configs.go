package wire

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// sourceNumbers are the sources of values, by Kafka's number.
var sourceNumbers = map[property.Source]kmsg.ConfigSource{
	property.SourceTopic:                kmsg.ConfigSourceDynamicTopicConfig,
	property.SourceDynamicBroker:        kmsg.ConfigSourceDynamicBrokerConfig,
	property.SourceDynamicDefaultBroker: kmsg.ConfigSourceDynamicDefaultBrokerConfig,
	property.SourceStaticBroker:         kmsg.ConfigSourceStaticBrokerConfig,
	property.SourceDefault:              kmsg.ConfigSourceDefaultConfig,
	property.SourceGroup:                kmsg.ConfigSourceGroupConfig,
}

// typeNumbers are the types of values, by Kafka's number. A property that Kafka
// does not know has none.
var typeNumbers = map[property.Type]kmsg.ConfigType{
	property.Boolean:  kmsg.ConfigTypeBoolean,
	property.String:   kmsg.ConfigTypeString,
	property.Int:      kmsg.ConfigTypeInt,
	property.Short:    kmsg.ConfigTypeShort,
	property.Long:     kmsg.ConfigTypeLong,
	property.Double:   kmsg.ConfigTypeDouble,
	property.List:     kmsg.ConfigTypeList,
	property.Class:    kmsg.ConfigTypeClass,
	property.Password: kmsg.ConfigTypePassword,
}

// describeConfigs serves DescribeConfigs, each resource with its own error. A
// broker tells of topics, groups, itself and the cluster-wide defaults. Null
// names, or none, ask for all properties.
//
// v1: sources, and synonyms if asked for. v3: types; documentation, if asked
// for, says what values there are: the simulator does not carry Kafka's texts.
func (c *call) describeConfigs(req *kmsg.DescribeConfigsRequest) {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for _, r := range req.Resources {
		entries, err := c.configsOf(r)
		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
		answer.ErrorCode, answer.ErrorMessage = codeOf(err), messageOf(err)
		if answer.ErrorMessage == nil {
			answer.ErrorMessage = new(string) // Kafka has no null here
		}
		for _, e := range entries {
			config := describedConfig(e, req.IncludeSynonyms)
			if d, ok := property.Lookup(resourceTypes[r.ResourceType], e.Name); ok && req.IncludeDocumentation {
				config.Documentation = kmsg.StringPtr(d.Documentation())
			}
			answer.Configs = append(answer.Configs, config)
		}
		resp.Resources = append(resp.Resources, answer)
	}
	c.send(resp)
}

func (c *call) configsOf(r kmsg.DescribeConfigsRequestResource) ([]property.Entry, error) {
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeBrokerLogger:
		return nil, c.checkLoggers(r.ResourceName)
	case kmsg.ConfigResourceTypeClientMetrics:
		return c.clientMetrics(r)
	}
	kind, ok := resourceTypes[r.ResourceType]
	if !ok {
		return nil, invalidRequest("This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details.")
	}
	if err := c.checkConfigs(acl.DescribeConfigs, kind, r.ResourceName); err != nil {
		return nil, err
	}
	switch {
	case kind == property.Topic && checkTopicName(r.ResourceName) != nil:
		return nil, checkTopicName(r.ResourceName)
	case kind == property.Group && r.ResourceName == "":
		return nil, invalidRequest("Group name must not be empty")
	}
	names := r.ConfigNames
	if len(names) == 0 {
		names = nil
	}
	return c.cluster().DescribeConfigs(controller.ConfigResource{Type: kind, Name: r.ResourceName}, names)
}

// checkLoggers refuses to tell of the loggers of another broker; this one has none
// that could be told of.
func (c *call) checkLoggers(broker string) error {
	own := strconv.Itoa(int(c.broker.ID))
	switch {
	case !c.mayCluster(acl.DescribeConfigs):
		return denied(kafka.ErrClusterAuthorizationFailed)
	case broker == "":
		return invalidRequest("Broker id must not be empty")
	case broker != own:
		return invalidRequest("Unexpected broker id, expected " + own + " but received " + broker)
	}
	return nil
}

// clientMetrics are the properties of a subscription to clients' metrics, which
// nobody can change here.
func (c *call) clientMetrics(r kmsg.DescribeConfigsRequestResource) ([]property.Entry, error) {
	switch {
	case !c.mayCluster(acl.DescribeConfigs):
		return nil, denied(kafka.ErrClusterAuthorizationFailed)
	case r.ResourceName == "":
		return nil, invalidRequest("Client metrics subscription name must not be empty")
	}
	return slices.DeleteFunc([]property.Entry{
		{Name: "interval.ms", Value: "300000", Type: property.Int, Source: property.SourceDefault},
		{Name: "match", Type: property.List, Source: property.SourceDefault},
		{Name: "metrics", Type: property.List, Source: property.SourceDefault},
	}, func(e property.Entry) bool { return len(r.ConfigNames) > 0 && !slices.Contains(r.ConfigNames, e.Name) }), nil
}

func describedConfig(e property.Entry, synonyms bool) kmsg.DescribeConfigsResponseResourceConfig {
	config := kmsg.NewDescribeConfigsResponseResourceConfig()
	config.Name, config.Value = e.Name, valueOf(e.Value, e.Null)
	config.ReadOnly, config.IsSensitive = e.ReadOnly, e.Sensitive
	config.Source, config.ConfigType = sourceNumbers[e.Source], typeNumbers[e.Type]
	config.IsDefault = e.Source == property.SourceDefault
	if !synonyms {
		return config
	}
	for _, s := range e.Synonyms {
		synonym := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		synonym.Name, synonym.Value, synonym.Source = s.Name, valueOf(s.Value, s.Null), sourceNumbers[s.Source]
		config.ConfigSynonyms = append(config.ConfigSynonyms, synonym)
	}
	return config
}

func refuseDescribeConfigs(req *kmsg.DescribeConfigsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for _, r := range req.Resources {
		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.ResourceType, answer.ResourceName, answer.ErrorCode = r.ResourceType, r.ResourceName, code
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}
