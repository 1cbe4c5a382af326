package wire

import (
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// alterClientQuotas serves AlterClientQuotas (KIP-546), each entry with its own
// error. What is set is remembered, and nobody keeps to it. It needs
// ALTER_CONFIGS on the cluster.
func (c *call) alterClientQuotas(req *kmsg.AlterClientQuotasRequest) {
	if !c.mayCluster(acl.AlterConfigs) {
		c.send(alteredQuotas(req, slices.Repeat([]error{denied(kafka.ErrClusterAuthorizationFailed)}, len(req.Entries))))
		return
	}
	alterations := make([]controller.QuotaAlteration, len(req.Entries))
	for i, entry := range req.Entries {
		for _, e := range distinctEntities(entry.Entity) {
			alterations[i].Entity = append(alterations[i].Entity, controller.QuotaEntity{
				Type: e.Type, Name: stringOf(e.Name), Default: e.Name == nil,
				NoHost: e.Type == "ip" && e.Name != nil && net.ParseIP(*e.Name) == nil,
			})
		}
		for _, op := range entry.Ops {
			alterations[i].Changes = append(alterations[i].Changes, controller.QuotaChange{Key: op.Key, Value: op.Value, Remove: op.Remove})
		}
	}
	c.cluster().AlterQuotas(alterations, req.ValidateOnly, func(errs []error) { c.send(alteredQuotas(req, errs)) })
}

// distinctEntities are the parts of an entity: of two of one type the last counts.
func distinctEntities(entity []kmsg.AlterClientQuotasRequestEntryEntity) []kmsg.AlterClientQuotasRequestEntryEntity {
	var distinct []kmsg.AlterClientQuotasRequestEntryEntity
	for _, e := range entity {
		distinct = slices.DeleteFunc(distinct, func(o kmsg.AlterClientQuotasRequestEntryEntity) bool { return o.Type == e.Type })
		distinct = append(distinct, e)
	}
	return distinct
}

func alteredQuotas(req *kmsg.AlterClientQuotasRequest, errs []error) *kmsg.AlterClientQuotasResponse {
	resp := kmsg.NewPtrAlterClientQuotasResponse()
	for i, entry := range req.Entries {
		answer := kmsg.NewAlterClientQuotasResponseEntry()
		answer.ErrorCode, answer.ErrorMessage = codeOf(errs[i]), messageOf(errs[i])
		for _, e := range distinctEntities(entry.Entity) {
			answer.Entity = append(answer.Entity, kmsg.AlterClientQuotasResponseEntryEntity(e))
		}
		resp.Entries = append(resp.Entries, answer)
	}
	return resp
}

func refuseAlterClientQuotas(req *kmsg.AlterClientQuotasRequest, code int16) kmsg.Response {
	resp := alteredQuotas(req, make([]error, len(req.Entries)))
	for i := range resp.Entries {
		resp.Entries[i].ErrorCode = code
	}
	return resp
}

// What the components of a filter ask for, by Kafka's numbers.
const (
	matchExact   kmsg.QuotasMatchType = 0
	matchDefault kmsg.QuotasMatchType = 1
	matchAny     kmsg.QuotasMatchType = 2
)

// describeClientQuotas serves DescribeClientQuotas (KIP-546): the quotas of those
// entities that have a fitting part for each component and, if the filter is
// strict, no other. It needs DESCRIBE_CONFIGS on the cluster.
func (c *call) describeClientQuotas(req *kmsg.DescribeClientQuotasRequest) {
	err := checkQuotaFilter(req)
	if !c.mayCluster(acl.DescribeConfigs) {
		err = denied(kafka.ErrClusterAuthorizationFailed)
	}
	if err != nil {
		resp := kmsg.NewPtrDescribeClientQuotasResponse()
		resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
		c.send(resp)
		return
	}
	c.cluster().Quotas(func(quotas []controller.Quota) {
		resp := kmsg.NewPtrDescribeClientQuotasResponse()
		resp.ErrorMessage = new(string) // Kafka has no null here
		resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
		for _, q := range quotas {
			if matchesFilter(req, q.Entity) {
				resp.Entries = append(resp.Entries, describedQuota(q))
			}
		}
		c.send(resp)
	})
}

func checkQuotaFilter(req *kmsg.DescribeClientQuotasRequest) error {
	seen := make(map[string]bool)
	for _, component := range req.Components {
		kind := component.EntityType
		switch {
		case kind != "user" && kind != "client-id" && kind != "ip":
			return &controller.Refusal{Err: kafka.ErrUnsupportedVersion, Message: "Unsupported entity type " + kind}
		case seen[kind]:
			return invalidRequest("Entity type " + kind + " cannot appear more than once in the filter.")
		case component.MatchType == matchExact && component.Match == nil:
			return invalidRequest("Request specified MATCH_TYPE_EXACT, but set match string to null.")
		case component.MatchType == matchDefault && component.Match != nil:
			return invalidRequest("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
		case component.MatchType == matchAny && component.Match != nil:
			return invalidRequest("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
		case component.MatchType < matchExact || component.MatchType > matchAny:
			return invalidRequest("Unknown match type " + strconv.Itoa(int(component.MatchType)))
		}
		seen[kind] = true
	}
	if seen["ip"] && len(seen) > 1 {
		return invalidRequest("Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.")
	}
	return nil
}

func matchesFilter(req *kmsg.DescribeClientQuotasRequest, entity []controller.QuotaEntity) bool {
	if req.Strict && len(entity) != len(req.Components) {
		return false
	}
	for _, component := range req.Components {
		fits := slices.ContainsFunc(entity, func(e controller.QuotaEntity) bool {
			if e.Type != component.EntityType {
				return false
			}
			switch component.MatchType {
			case matchExact:
				return !e.Default && e.Name == stringOf(component.Match)
			case matchDefault:
				return e.Default
			}
			return true
		})
		if !fits {
			return false
		}
	}
	return true
}

func describedQuota(q controller.Quota) kmsg.DescribeClientQuotasResponseEntry {
	entry := kmsg.NewDescribeClientQuotasResponseEntry()
	for _, e := range q.Entity {
		part := kmsg.NewDescribeClientQuotasResponseEntryEntity()
		part.Type, part.Name = e.Type, valueOf(e.Name, e.Default)
		entry.Entity = append(entry.Entity, part)
	}
	for _, key := range slices.Sorted(maps.Keys(q.Values)) {
		value := kmsg.NewDescribeClientQuotasResponseEntryValue()
		value.Key, value.Value = key, q.Values[key]
		entry.Values = append(entry.Values, value)
	}
	return entry
}

func refuseDescribeClientQuotas(_ *kmsg.DescribeClientQuotasRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	resp.ErrorCode = code
	return resp
}
