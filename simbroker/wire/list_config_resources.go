package wire

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// listConfigResources serves ListConfigResources (KIP-1142): what has a
// configuration, by type. Of groups only those that have set something are
// listed; there are no client metrics. It needs DESCRIBE_CONFIGS on the cluster.
//
// v0: client metrics alone (ListClientMetricsResources). v1: the types that are
// asked for; none stands for all.
func (c *call) listConfigResources(req *kmsg.ListConfigResourcesRequest) {
	if !c.mayCluster(acl.DescribeConfigs) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	types := []kmsg.ConfigResourceType{
		kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeBrokerLogger,
		kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic,
	}
	wanted := func(t kmsg.ConfigResourceType) bool {
		return len(req.ResourceTypes) == 0 || slices.Contains(req.ResourceTypes, int8(t))
	}
	if slices.ContainsFunc(req.ResourceTypes, func(t int8) bool { return !slices.Contains(types, kmsg.ConfigResourceType(t)) }) {
		c.refuse(kafka.ErrUnsupportedVersion)
		return
	}
	resp := kmsg.NewPtrListConfigResourcesResponse()
	for _, t := range types {
		if req.Version == 0 || !wanted(t) {
			continue
		}
		for _, name := range c.configured(t) {
			resource := kmsg.NewListConfigResourcesResponseConfigResource()
			resource.Name, resource.Type = name, int8(t)
			resp.ConfigResources = append(resp.ConfigResources, resource)
		}
	}
	c.send(resp)
}

// configured are the names of the resources of a type.
func (c *call) configured(t kmsg.ConfigResourceType) []string {
	var names []string
	switch t {
	case kmsg.ConfigResourceTypeGroupConfig:
		names = c.image().ConfiguredGroups()
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		for _, b := range c.image().Registered() {
			names = append(names, strconv.Itoa(int(b.ID)))
		}
	case kmsg.ConfigResourceTypeTopic:
		for _, topic := range c.image().Topics() {
			names = append(names, topic.Name)
		}
	}
	return names
}

func refuseListConfigResources(_ *kmsg.ListConfigResourcesRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrListConfigResourcesResponse()
	resp.ErrorCode = code
	return resp
}
