package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// addRaftVoter serves AddRaftVoter (KIP-853): the quorum has one controller and
// takes no other. It needs ALTER on the cluster.
func (c *call) addRaftVoter(*kmsg.AddRaftVoterRequest) {
	resp := kmsg.NewPtrAddRaftVoterResponse()
	resp.ErrorCode, resp.ErrorMessage = c.refuseVoter("Add")
	c.send(resp)
}

// removeRaftVoter serves RemoveRaftVoter (KIP-853), as addRaftVoter.
func (c *call) removeRaftVoter(*kmsg.RemoveRaftVoterRequest) {
	resp := kmsg.NewPtrRemoveRaftVoterResponse()
	resp.ErrorCode, resp.ErrorMessage = c.refuseVoter("Remove")
	c.send(resp)
}

func (c *call) refuseVoter(act string) (code int16, message *string) {
	if !c.mayCluster(acl.Alter) {
		return codeOf(kafka.ErrClusterAuthorizationFailed), fullMessageOf(kafka.ErrClusterAuthorizationFailed)
	}
	text := act + " voter request didn't include a valid voter"
	return codeOf(kafka.ErrInvalidRequest), &text
}

func refuseAddRaftVoter(_ *kmsg.AddRaftVoterRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrAddRaftVoterResponse()
	resp.ErrorCode = code
	return resp
}

func refuseRemoveRaftVoter(_ *kmsg.RemoveRaftVoterRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrRemoveRaftVoterResponse()
	resp.ErrorCode = code
	return resp
}
