package wire

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The kinds of coordinators, by Kafka's number.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
	shareCoordinator       = 2
)

// findCoordinator serves FindCoordinator (rule G0): any broker answers from its
// image. Where the internal topic does not exist, asking creates it, and the
// answer is COORDINATOR_NOT_AVAILABLE until its partition has a live leader.
//
// v0: groups only. v1: transactional ids, error messages. v4: many keys a
// request, each with its own error. v6: share coordinators, which never come to be
// available here.
func (c *call) findCoordinator(req *kmsg.FindCoordinatorRequest) {
	if req.Version >= 6 && req.CoordinatorType == shareCoordinator && !c.mayCluster(acl.ClusterAction) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if req.Version >= 4 {
		for _, key := range req.CoordinatorKeys {
			found := c.coordinator(req.Version, req.CoordinatorType, key)
			if found.ErrorMessage == nil {
				found.ErrorMessage = new(string) // Kafka has no null here
			}
			resp.Coordinators = append(resp.Coordinators, found)
		}
		c.send(resp)
		return
	}
	found := c.coordinator(req.Version, req.CoordinatorType, req.CoordinatorKey)
	resp.ErrorCode, resp.ErrorMessage = found.ErrorCode, found.ErrorMessage
	resp.NodeID, resp.Host, resp.Port = found.NodeID, found.Host, found.Port
	c.send(resp)
}

func (c *call) coordinator(version int16, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	found := kmsg.NewFindCoordinatorResponseCoordinator()
	found.Key, found.NodeID, found.Port = key, -1, -1
	b, err := c.coordinatorOf(version, kind, key)
	if err != nil {
		found.ErrorCode, found.ErrorMessage = codeOf(err), messageOf(err)
		return found
	}
	at := c.endpoint(b)
	found.NodeID, found.Host, found.Port = int32(b.ID), at.Host, at.Port
	return found
}

func (c *call) coordinatorOf(version int16, kind int8, key string) (*controller.Broker, error) {
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
	case shareCoordinator:
		if version >= 6 && isSharePartitionKey(key) {
			return nil, kafka.ErrCoordinatorNotAvailable
		}
	}
	return nil, kafka.ErrInvalidRequest
}

// isSharePartitionKey says whether a key is one of share coordinators: group, topic
// id and partition, with colons between them.
func isSharePartitionKey(key string) bool {
	parts := strings.Split(key, ":")
	n := len(parts)
	if n < 3 || strings.TrimSpace(strings.Join(parts[:n-2], ":")) == "" {
		return false
	}
	id, err := base64.RawURLEncoding.DecodeString(strings.TrimSuffix(parts[n-2], "=="))
	if err != nil || len(id) != len(kafka.TopicID{}) {
		return false
	}
	_, err = strconv.ParseInt(parts[n-1], 10, 32)
	return err == nil
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
