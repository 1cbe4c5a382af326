package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// updateFeatures serves UpdateFeatures (KIP-584): all levels are changed or none.
// It needs ALTER on the cluster.
//
// v0: whether a level may fall; v1: which way it may go. Up to v1 each feature is
// answered for if nothing is wrong, in v2 none.
func (c *call) updateFeatures(req *kmsg.UpdateFeaturesRequest) {
	if !c.mayCluster(acl.Alter) {
		resp := kmsg.NewPtrUpdateFeaturesResponse()
		resp.ErrorCode, resp.ErrorMessage = codeOf(kafka.ErrClusterAuthorizationFailed), fullMessageOf(kafka.ErrClusterAuthorizationFailed)
		c.send(resp)
		return
	}
	var updates []controller.FeatureUpdate
	for _, f := range req.FeatureUpdates {
		u := controller.FeatureUpdate{Name: f.Feature, Level: f.MaxVersionLevel, Type: controller.UpgradeType(f.UpgradeType)}
		if req.Version == 0 {
			u.Type = controller.Upgrade
			if f.AllowDowngrade {
				u.Type = controller.SafeDowngrade
			}
		}
		updates = append(updates, u)
	}
	c.cluster().UpdateFeatures(updates, req.ValidateOnly, func(err error) {
		resp := kmsg.NewPtrUpdateFeaturesResponse()
		resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
		if err == nil && req.Version < 2 {
			for _, u := range updates {
				none := "NONE"
				result := kmsg.NewUpdateFeaturesResponseResult()
				result.Feature, result.ErrorMessage = u.Name, &none
				resp.Results = append(resp.Results, result)
			}
		}
		c.send(resp)
	})
}

func refuseUpdateFeatures(_ *kmsg.UpdateFeaturesRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	resp.ErrorCode = code
	return resp
}
