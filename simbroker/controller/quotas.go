package controller

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// QuotaEntity is a part of whom a quota is for: a user, a client id or an address,
// or the default of all that have none of their own.
type QuotaEntity struct {
	Type    string // user, client-id or ip
	Name    string
	Default bool
	NoHost  bool // an ip that is neither an address nor a host's name
}

// QuotaChange sets one quota, or removes it.
type QuotaChange struct {
	Key    string
	Value  float64
	Remove bool
}

// QuotaAlteration changes the quotas of an entity, which may have several parts.
type QuotaAlteration struct {
	Entity  []QuotaEntity
	Changes []QuotaChange
}

// Quota is what is set for an entity.
type Quota struct {
	Entity []QuotaEntity // by type
	Values map[string]float64
}

// quotaKinds are the numbers that quotas are: by entity type, or "" for users and
// client ids, and by key.
var quotaKinds = map[bool]map[string]string{
	false: {"producer_byte_rate": "LONG", "consumer_byte_rate": "LONG", "request_percentage": "DOUBLE", "controller_mutation_rate": "DOUBLE"},
	true:  {"connection_creation_rate": "INT"},
}

// quotaControl remembers quotas.
type quotaControl struct{ quotas map[string]Quota } // by entity

// AlterQuotas changes quotas, which nothing in the simulator keeps to: they are
// remembered (AlterClientQuotas, KIP-546). One error for each alteration.
func (c *quotaControl) AlterQuotas(alterations []QuotaAlteration, validateOnly bool) []error {
	errs := make([]error, len(alterations))
	for i, a := range alterations {
		if errs[i] = checkQuotas(a); errs[i] == nil && !validateOnly {
			c.setQuotas(a)
		}
	}
	return errs
}

// Quotas lists all quotas, by entity.
func (c *quotaControl) Quotas() []Quota {
	list := make([]Quota, 0, len(c.quotas))
	for _, key := range slices.Sorted(maps.Keys(c.quotas)) {
		q := c.quotas[key]
		list = append(list, Quota{q.Entity, maps.Clone(q.Values)})
	}
	return list
}

func (c *quotaControl) setQuotas(a QuotaAlteration) {
	entity := slices.SortedFunc(slices.Values(a.Entity), func(a, b QuotaEntity) int { return cmp.Compare(a.Type, b.Type) })
	key := fmt.Sprintf("%#v", entity)
	q, ok := c.quotas[key]
	if !ok {
		q = Quota{Entity: entity, Values: map[string]float64{}}
	}
	for _, change := range a.Changes {
		if change.Remove {
			delete(q.Values, change.Key)
		} else {
			q.Values[change.Key] = change.Value
		}
	}
	if c.quotas[key] = q; len(q.Values) == 0 {
		delete(c.quotas, key)
	}
}

func checkQuotas(a QuotaAlteration) error {
	if len(a.Entity) == 0 {
		return refuse(kafka.ErrInvalidRequest, "Invalid empty client quota entity")
	}
	byAddress := false
	for _, e := range a.Entity {
		switch {
		case e.Type != "user" && e.Type != "client-id" && e.Type != "ip":
			return refuse(kafka.ErrInvalidRequest, "Unhandled client quota entity type: %s", e.Type)
		case !e.Default && e.Name == "":
			return refuse(kafka.ErrInvalidRequest, "Empty %s not supported", e.Type)
		}
		byAddress = byAddress || e.Type == "ip"
	}
	if byAddress {
		if len(a.Entity) > 1 {
			return refuse(kafka.ErrInvalidRequest, "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
		}
		if a.Entity[0].NoHost {
			return refuse(kafka.ErrInvalidRequest, "%s is not a valid IP or resolvable host.", a.Entity[0].Name)
		}
	}
	for i, change := range a.Changes {
		if slices.ContainsFunc(a.Changes[:i], func(other QuotaChange) bool { return other.Key == change.Key }) {
			return refuse(kafka.ErrInvalidRequest, "Ignoring duplicate entity ClientQuotaEntity(entries={%s})", describeEntity(a.Entity))
		}
		if err := checkQuota(change, quotaKinds[byAddress][change.Key]); err != nil {
			return err
		}
	}
	return nil
}

// describeEntity is an entity as Kafka's texts show it.
func describeEntity(entity []QuotaEntity) string {
	var parts []string
	for _, e := range entity {
		name := e.Name
		if e.Default {
			name = "null"
		}
		parts = append(parts, e.Type+"="+name)
	}
	return strings.Join(parts, ", ")
}

func checkQuota(change QuotaChange, kind string) error {
	most := map[string]float64{"LONG": math.MaxInt64, "INT": math.MaxInt32, "DOUBLE": math.MaxFloat64}
	switch {
	case change.Remove:
		return nil
	case kind == "":
		return refuse(kafka.ErrInvalidRequest, "Invalid configuration key %s", change.Key)
	case change.Value <= 0:
		return refuse(kafka.ErrInvalidRequest, "Quota %s must be greater than 0", change.Key)
	case change.Value > most[kind]:
		return refuse(kafka.ErrInvalidRequest, "Proposed value for %s is too large for a %s.", change.Key, kind)
	case kind != "DOUBLE" && change.Value != math.Trunc(change.Value):
		return refuse(kafka.ErrInvalidRequest, "%s cannot be a fractional value.", change.Key)
	}
	return nil
}
