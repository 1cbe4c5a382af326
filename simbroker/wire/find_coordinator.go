package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The kinds of coordinators, by Kafka's number. Share coordinators (2) do not
// exist here.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
)

// findCoordinator serves FindCoordinator (rule G0): any broker answers from its
// image. Where the internal topic does not exist, asking creates it, and the
// answer is COORDINATOR_NOT_AVAILABLE until its partition has a live leader.
//
// v0: groups only. v1: transactional ids, error messages. v4: many keys a
// request, each with its own error.
func (c *call) findCoordinator(req *kmsg.FindCoordinatorRequest) {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if req.Version >= 4 {
		for _, key := range req.CoordinatorKeys {
			found := c.coordinator(req.CoordinatorType, key)
			if found.ErrorMessage == nil {
				found.ErrorMessage = new(string) // Kafka has no null here
			}
			resp.Coordinators = append(resp.Coordinators, found)
		}
		c.send(resp)
		return
	}
	found := c.coordinator(req.CoordinatorType, req.CoordinatorKey)
	resp.ErrorCode, resp.ErrorMessage = found.ErrorCode, found.ErrorMessage
	resp.NodeID, resp.Host, resp.Port = found.NodeID, found.Host, found.Port
	c.send(resp)
}

func (c *call) coordinator(kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	found := kmsg.NewFindCoordinatorResponseCoordinator()
	found.Key, found.NodeID, found.Port = key, -1, -1
	b, err := c.coordinatorOf(kind, key)
	if err != nil {
		found.ErrorCode, found.ErrorMessage = codeOf(err), messageOf(err)
		return found
	}
	at := c.endpoint(b)
	found.NodeID, found.Host, found.Port = int32(b.ID), at.Host, at.Port
	return found
}

func (c *call) coordinatorOf(kind int8, key string) (*controller.Broker, error) {
	switch kind {
	case groupCoordinator:
		if !c.may(acl.Describe, acl.Group, key) {
			return nil, kafka.ErrGroupAuthorizationFailed
		}
		return c.cluster().Coordinator(kafka.ConsumerOffsetsTopic, key)
	case transactionCoordinator:
		if !c.may(acl.Describe, acl.TransactionalID, key) {
			return nil, kafka.ErrTransactionalIDAuthorizationFailed
		}
		return c.cluster().Coordinator(kafka.TransactionStateTopic, key)
	}
	return nil, kafka.ErrInvalidRequest
}

func refuseFindCoordinator(req *kmsg.FindCoordinatorRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	resp.ErrorCode, resp.NodeID, resp.Port = code, -1, -1
	for _, key := range req.CoordinatorKeys {
		found := kmsg.NewFindCoordinatorResponseCoordinator()
		found.Key, found.ErrorCode, found.NodeID, found.Port = key, code, -1, -1
		resp.Coordinators = append(resp.Coordinators, found)
	}
	return resp
}
