package wire

import (
	"maps"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// supportedFeatures are the ranges of feature levels that Kafka 4.3 brokers
// support (rule J4), by name.
var supportedFeatures = controller.SupportedFeatures()

// softwareName is what a client may call itself and its version.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// apiVersions serves ApiVersions (rules J1 to J4).
//
// A version that is not offered is answered in v0, with UNSUPPORTED_VERSION and
// the range of ApiVersions itself, from which clients choose again (KIP-511).
// v1: throttle time. v3: client software, features; flexible, but for the
// response header. v4: supported features whose minimum is 0 are shown, which
// older clients cannot read (KAFKA-17492).
func (c *call) apiVersions(req *kmsg.ApiVersionsRequest) {
	offered := c.broker.offered()
	vendor := c.broker.Vendor
	if own := offered[req.Key()]; !own.Contains(req.Version) {
		if vendor != nil && vendor.Resets && c.socket != nil {
			c.socket.reset()
			return
		}
		resp := kmsg.NewPtrApiVersionsResponse() // v0
		resp.ErrorCode = codeOf(kafka.ErrUnsupportedVersion)
		resp.ApiKeys = append(resp.ApiKeys, apiKeyRange(req.Key(), own))
		c.reply(resp)
		return
	}
	if req.Version >= 3 && !(softwareName.MatchString(req.ClientSoftwareName) && softwareName.MatchString(req.ClientSoftwareVersion)) {
		c.refuse(kafka.ErrInvalidRequest)
		return
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	for _, key := range offered.Keys() {
		resp.ApiKeys = append(resp.ApiKeys, apiKeyRange(key, offered[key]))
	}
	supported := supportedFeatures
	if vendor != nil {
		supported = vendor.Supported
	}
	for _, name := range slices.Sorted(maps.Keys(supported)) {
		levels := supported[name]
		if levels.Min == 0 && req.Version < 4 {
			continue
		}
		feature := kmsg.NewApiVersionsResponseSupportedFeature()
		feature.Name, feature.MinVersion, feature.MaxVersion = name, levels.Min, levels.Max
		resp.SupportedFeatures = append(resp.SupportedFeatures, feature)
	}
	finalized := c.image().Features()
	resp.FinalizedFeaturesEpoch = finalized.Epoch
	for _, name := range slices.Sorted(maps.Keys(finalized.Levels)) {
		level := finalized.Levels[name]
		if level == 0 {
			continue // not finalised
		}
		feature := kmsg.NewApiVersionsResponseFinalizedFeature()
		feature.Name, feature.MinVersionLevel, feature.MaxVersionLevel = name, level, level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, feature)
	}
	c.send(resp)
}

func apiKeyRange(key int16, versions VersionRange) kmsg.ApiVersionsResponseApiKey {
	r := kmsg.NewApiVersionsResponseApiKey()
	r.ApiKey, r.MinVersion, r.MaxVersion = key, versions.Min, versions.Max
	return r
}

func refuseAPIVersions(_ *kmsg.ApiVersionsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = code
	return resp
}
