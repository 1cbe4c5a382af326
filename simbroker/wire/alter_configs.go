package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
)

// alterConfigs serves AlterConfigs, the older of two ways to alter a
// configuration: what is not named is unset. Each resource has its own error.
func (c *call) alterConfigs(req *kmsg.AlterConfigsRequest) {
	errs := make([]error, len(req.Resources))
	var alterations []controller.ConfigAlteration
	var asked []int // their places in the request
	for i, r := range req.Resources {
		set := kmsg.IncrementalAlterConfigsRequestResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName}
		for _, config := range r.Configs {
			set.Configs = append(set.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: config.Name, Value: config.Value})
		}
		alteration, err := c.alteration(set)
		if err != nil {
			errs[i] = err
			continue
		}
		alteration.Replace = true
		alterations, asked = append(alterations, alteration), append(asked, i)
	}
	answer := func(results []controller.ConfigResult) {
		for i, r := range results {
			errs[asked[i]] = r.Err
		}
		resp := kmsg.NewPtrAlterConfigsResponse()
		for i, r := range req.Resources {
			resource := kmsg.NewAlterConfigsResponseResource()
			resource.ResourceType, resource.ResourceName = r.ResourceType, r.ResourceName
			resource.ErrorCode, resource.ErrorMessage = codeOf(errs[i]), messageOf(errs[i])
			resp.Resources = append(resp.Resources, resource)
		}
		c.send(resp)
	}
	if len(alterations) == 0 {
		answer(nil)
		return
	}
	c.cluster().AlterConfigs(alterations, req.ValidateOnly, answer)
}

func refuseAlterConfigs(req *kmsg.AlterConfigsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrAlterConfigsResponse()
	for _, r := range req.Resources {
		resource := kmsg.NewAlterConfigsResponseResource()
		resource.ResourceType, resource.ResourceName, resource.ErrorCode = r.ResourceType, r.ResourceName, code
		resp.Resources = append(resp.Resources, resource)
	}
	return resp
}
