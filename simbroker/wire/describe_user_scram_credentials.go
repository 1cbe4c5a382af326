package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// describeUserSCRAMCredentials serves DescribeUserScramCredentials (KIP-554):
// which mechanisms each user has, and nothing of what is kept of passwords. No
// users named means all. It needs DESCRIBE on the cluster. Who lacks that right
// and sends null in place of users gets no answer: Kafka stumbles over it.
func (c *call) describeUserSCRAMCredentials(req *kmsg.DescribeUserSCRAMCredentialsRequest) {
	if !c.mayCluster(acl.Describe) {
		if req.Users == nil {
			return
		}
		c.send(undescribedCredentials(req, codeOf(kafka.ErrClusterAuthorizationFailed), fullMessageOf(kafka.ErrClusterAuthorizationFailed)))
		return
	}
	byUser := make(map[string][]controller.CredentialChange)
	var users []string
	for _, kept := range c.image().Credentials() { // sorted by user
		if byUser[kept.User] == nil {
			users = append(users, kept.User)
		}
		byUser[kept.User] = append(byUser[kept.User], kept)
	}
	times := make(map[string]int)
	if len(req.Users) > 0 {
		users = nil
		for _, u := range req.Users {
			if times[u.Name]++; times[u.Name] == 1 {
				users = append(users, u.Name)
			}
		}
	}
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	for _, user := range users {
		resp.Results = append(resp.Results, describedCredentials(user, byUser[user], times[user] > 1))
	}
	c.send(resp)
}

func describedCredentials(user string, kept []controller.CredentialChange, twice bool) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	result := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	result.User = user
	fail := func(err kafka.Error, message string) {
		result.ErrorCode = codeOf(err)
		result.ErrorMessage = &message
	}
	switch {
	case twice:
		fail(kafka.ErrDuplicateResource, "Cannot describe SCRAM credentials for the same user twice in a single request: "+user)
	case kept == nil:
		fail(kafka.ErrResourceNotFound, "Attempt to describe a user credential that does not exist: "+user)
	}
	if result.ErrorCode != 0 {
		return result
	}
	for _, k := range kept {
		info := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
		info.Mechanism, info.Iterations = scramCodes[k.Mechanism], int32(k.Credential.Iterations)
		result.CredentialInfos = append(result.CredentialInfos, info)
	}
	return result
}

// undescribedCredentials is an error for the request as a whole, which Kafka
// repeats for each user without a name.
func undescribedCredentials(req *kmsg.DescribeUserSCRAMCredentialsRequest, code int16, message *string) kmsg.Response {
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	resp.ErrorCode, resp.ErrorMessage = code, message
	for range req.Users {
		result := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
		result.ErrorCode, result.ErrorMessage = code, message
		resp.Results = append(resp.Results, result)
	}
	return resp
}

func refuseDescribeUserSCRAMCredentials(req *kmsg.DescribeUserSCRAMCredentialsRequest, code int16) kmsg.Response {
	return undescribedCredentials(req, code, nil)
}
