package wire

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// incrementalAlterConfigs serves IncrementalAlterConfigs (KIP-339), each
// resource with its own error. The broker looks at the form of the request and
// at whether a broker's resource is its own; the controller does the rest.
func (c *call) incrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest) {
	type identity struct {
		kind kmsg.ConfigResourceType
		name string
	}
	times := make(map[identity]int)
	for _, r := range req.Resources {
		times[identity{r.ResourceType, r.ResourceName}]++
	}
	errs := make([]error, len(req.Resources))
	var alterations []controller.ConfigAlteration
	var asked []int // their places in the request
	for i, r := range req.Resources {
		if times[identity{r.ResourceType, r.ResourceName}] > 1 {
			errs[i] = invalidRequest("Each resource must appear at most once.")
			continue
		}
		if r.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
			errs[i] = c.checkLoggerChange(r)
			continue
		}
		alteration, err := c.alteration(r)
		if err != nil {
			errs[i] = err
			continue
		}
		alterations, asked = append(alterations, alteration), append(asked, i)
	}
	c.cluster().AlterConfigs(alterations, req.ValidateOnly, func(results []controller.ConfigResult) {
		for i, r := range results {
			errs[asked[i]] = r.Err
		}
		resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
		for i, r := range req.Resources {
			answer := kmsg.NewIncrementalAlterConfigsResponseResource()
			answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
			answer.ErrorCode, answer.ErrorMessage = codeOf(errs[i]), messageOf(errs[i])
			resp.Resources = append(resp.Resources, answer)
		}
		c.send(resp)
	})
}

// alteration is what is asked of one resource, if it is well-formed and
// allowed.
func (c *call) alteration(r kmsg.IncrementalAlterConfigsRequestResource) (controller.ConfigAlteration, error) {
	kind, ok := resourceTypes[r.ResourceType]
	if !ok {
		return controller.ConfigAlteration{}, invalidRequest(fmt.Sprintf("Unknown resource type %d", r.ResourceType))
	}
	alteration := controller.ConfigAlteration{Resource: controller.ConfigResource{Type: kind, Name: r.ResourceName}}
	seen := make(map[string]bool)
	var nulls []string
	for _, config := range r.Configs {
		if seen[config.Name] {
			return alteration, invalidRequest("Error due to duplicate config keys")
		}
		seen[config.Name] = true
		if config.Value == nil && config.Op != kmsg.IncrementalAlterConfigOpDelete {
			nulls = append(nulls, config.Name)
		}
		op := controller.ConfigOp(config.Op) // the same numbers
		if op < controller.SetConfig || op > controller.SubtractConfig {
			return alteration, unknownConfigOp(kind, config.Op)
		}
		alteration.Changes = append(alteration.Changes, configChange(config.Name, op, config.Value))
	}
	if len(nulls) > 0 {
		return alteration, invalidRequest("Null value not supported for : " + strings.Join(nulls, ", "))
	}
	if kind == property.Topic && r.ResourceName == "" {
		return alteration, invalidRequest("Default topic resources are not allowed.")
	}
	if kind == property.Group && r.ResourceName == "" {
		return alteration, invalidRequest("Default group resources are not allowed.")
	}
	if err := c.checkOwnBroker(kind, r.ResourceName); err != nil {
		return alteration, err
	}
	if err := c.checkConfigs(acl.AlterConfigs, kind, r.ResourceName); err != nil {
		return alteration, err
	}
	return alteration, c.checkRunning(alteration)
}

// checkLoggerChange refuses to change loggers, of which there are none.
func (c *call) checkLoggerChange(r kmsg.IncrementalAlterConfigsRequestResource) error {
	own := strconv.Itoa(int(c.broker.ID))
	switch {
	case !c.mayCluster(acl.AlterConfigs):
		return denied(kafka.ErrClusterAuthorizationFailed)
	case r.ResourceName != own:
		return invalidRequest("Unexpected node id. Expected " + own + ", but received " + r.ResourceName)
	case len(r.Configs) == 0:
		return nil
	}
	return &controller.Refusal{Err: kafka.ErrInvalidConfig, Message: "Logger " + r.Configs[0].Name + " does not exist!"}
}

// unknownConfigOp is what an operation that does not exist ends in: only for
// brokers does Kafka look before it stumbles.
func unknownConfigOp(kind property.Resource, op kmsg.IncrementalAlterConfigOp) error {
	if kind == property.Broker {
		return invalidRequest(fmt.Sprintf("Unknown operations type %d", op))
	}
	return kafka.ErrUnknownServerError
}

func refuseIncrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	for _, r := range req.Resources {
		answer := kmsg.NewIncrementalAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName, answer.ErrorCode = r.ResourceType, r.ResourceName, code
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}
