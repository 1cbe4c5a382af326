package wire

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// There are no delegation tokens (delegation.token.secret.key is not set): whoever
// has logged in is told so, and others that they may not ask (KIP-48).
func (c *call) tokenError() error {
	if c.conn.Principal == AnonymousPrincipal || c.conn.Principal == "" {
		return errTokenRequestNotAllowed
	}
	return errTokenAuthDisabled
}

// createDelegationToken serves CreateDelegationToken.
//
// v3: who asked for the token.
func (c *call) createDelegationToken(req *kmsg.CreateDelegationTokenRequest) {
	resp := refuseCreateDelegationToken(req, codeOf(c.tokenError())).(*kmsg.CreateDelegationTokenResponse)
	principal := c.conn.Principal
	if principal == "" {
		principal = AnonymousPrincipal
	}
	kind, name, _ := strings.Cut(principal, ":")
	resp.PrincipalType, resp.PrincipalName = kind, name
	resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName = kind, name
	c.send(resp)
}

// renewDelegationToken serves RenewDelegationToken.
func (c *call) renewDelegationToken(*kmsg.RenewDelegationTokenRequest) { c.refuse(c.tokenError()) }

// expireDelegationToken serves ExpireDelegationToken.
func (c *call) expireDelegationToken(*kmsg.ExpireDelegationTokenRequest) { c.refuse(c.tokenError()) }

// describeDelegationToken serves DescribeDelegationToken.
func (c *call) describeDelegationToken(*kmsg.DescribeDelegationTokenRequest) {
	c.refuse(c.tokenError())
}

func refuseCreateDelegationToken(_ *kmsg.CreateDelegationTokenRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrCreateDelegationTokenResponse()
	resp.ErrorCode, resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = code, -1, -1, -1
	resp.HMAC = []byte{}
	return resp
}

func refuseRenewDelegationToken(_ *kmsg.RenewDelegationTokenRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrRenewDelegationTokenResponse()
	resp.ErrorCode, resp.ExpiryTimestamp = code, -1
	return resp
}

func refuseExpireDelegationToken(_ *kmsg.ExpireDelegationTokenRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrExpireDelegationTokenResponse()
	resp.ErrorCode, resp.ExpiryTimestamp = code, -1
	return resp
}

func refuseDescribeDelegationToken(_ *kmsg.DescribeDelegationTokenRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeDelegationTokenResponse()
	resp.ErrorCode = code
	return resp
}
