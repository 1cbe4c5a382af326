package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerEndpoints is the only type of endpoint that a broker tells of, by
// Kafka's number.
const brokerEndpoints = 1

// describeCluster serves DescribeCluster, from the broker's image.
//
// v1: endpoint types; controllers are not told of here
// (MISMATCHED_ENDPOINT_TYPE). v2: fenced brokers, if asked for.
func (c *call) describeCluster(req *kmsg.DescribeClusterRequest) {
	if req.Version >= 1 && req.EndpointType != brokerEndpoints {
		resp := refuseDescribeCluster(req, codeOf(errMismatchedEndpointType)).(*kmsg.DescribeClusterResponse)
		message := "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
		resp.ErrorMessage = &message
		c.send(resp)
		return
	}
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.ClusterID, resp.ControllerID = c.image().ClusterID(), int32(c.anyAlive())
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = c.clusterOperations()
	}
	for _, b := range c.image().Registered() {
		if b.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		broker, at := kmsg.NewDescribeClusterResponseBroker(), c.endpoint(b)
		broker.NodeID, broker.Host, broker.Port, broker.Rack = int32(b.ID), at.Host, at.Port, rackOf(b)
		broker.IsFenced = b.Fenced
		resp.Brokers = append(resp.Brokers, broker)
	}
	c.send(resp)
}

func refuseDescribeCluster(_ *kmsg.DescribeClusterRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.ErrorCode = code
	return resp
}
