package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// unregisterBroker serves UnregisterBroker, of a broker that is fenced. It needs
// ALTER on the cluster.
func (c *call) unregisterBroker(req *kmsg.UnregisterBrokerRequest) {
	answer := func(err error) {
		resp := kmsg.NewPtrUnregisterBrokerResponse()
		resp.ErrorCode, resp.ErrorMessage = codeOf(err), fullMessageOf(err)
		c.send(resp)
	}
	if !c.mayCluster(acl.Alter) {
		answer(kafka.ErrClusterAuthorizationFailed)
		return
	}
	c.cluster().Unregister(kafka.BrokerID(req.BrokerID), answer)
}

func refuseUnregisterBroker(_ *kmsg.UnregisterBrokerRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrUnregisterBrokerResponse()
	resp.ErrorCode = code
	return resp
}
