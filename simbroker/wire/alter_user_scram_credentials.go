package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// scramCodes are the SCRAM mechanisms, by Kafka's number.
var scramCodes = map[sasl.Mechanism]int8{sasl.ScramSHA256: 1, sasl.ScramSHA512: 2}

// alterUserSCRAMCredentials serves AlterUserScramCredentials (KIP-554), with a
// result for each user; any broker forwards it to the controller. It needs
// ALTER on the cluster.
func (c *call) alterUserSCRAMCredentials(req *kmsg.AlterUserSCRAMCredentialsRequest) {
	if !c.mayCluster(acl.Alter) {
		c.send(unalteredCredentials(req, codeOf(kafka.ErrClusterAuthorizationFailed), messageOf(denied(kafka.ErrClusterAuthorizationFailed))))
		return
	}
	var changes []controller.CredentialChange
	for _, d := range req.Deletions {
		m, _ := wordOf(scramCodes, d.Mechanism)
		changes = append(changes, controller.CredentialChange{User: d.Name, Mechanism: m})
	}
	for _, u := range req.Upsertions {
		m, _ := wordOf(scramCodes, u.Mechanism)
		credential := sasl.Credential{Iterations: int(u.Iterations)}
		if m.Known() {
			credential = sasl.NewCredential(m, u.SaltedPassword, u.Salt, int(u.Iterations))
		}
		changes = append(changes, controller.CredentialChange{User: u.Name, Mechanism: m, Credential: &credential})
	}
	c.cluster().AlterCredentials(changes, func(results []controller.CredentialResult) {
		resp := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
		for _, r := range results {
			result := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
			result.User, result.ErrorCode, result.ErrorMessage = r.User, codeOf(r.Err), messageOf(r.Err)
			resp.Results = append(resp.Results, result)
		}
		c.send(resp)
	})
}

func unalteredCredentials(req *kmsg.AlterUserSCRAMCredentialsRequest, code int16, message *string) kmsg.Response {
	resp := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
	seen := make(map[string]bool)
	fail := func(user string) {
		if seen[user] {
			return
		}
		seen[user] = true
		result := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		result.User, result.ErrorCode, result.ErrorMessage = user, code, message
		resp.Results = append(resp.Results, result)
	}
	for _, d := range req.Deletions {
		fail(d.Name)
	}
	for _, u := range req.Upsertions {
		fail(u.Name)
	}
	return resp
}

func refuseAlterUserSCRAMCredentials(req *kmsg.AlterUserSCRAMCredentialsRequest, code int16) kmsg.Response {
	return unalteredCredentials(req, code, nil)
}
