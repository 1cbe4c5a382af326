package controller

import (
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// configControl changes configurations.
type configControl struct{ *metadata }

// AlterConfigs alters configurations (IncrementalAlterConfigs), one result each
// in their order; a resource is changed as a whole or not at all. Errors:
// ErrUnknownTopicOrPartition, ErrInvalidConfig, ErrInvalidRequest.
func (c *configControl) AlterConfigs(alterations []ConfigAlteration, validateOnly bool) []ConfigResult {
	results := make([]ConfigResult, len(alterations))
	for i, a := range alterations {
		results[i] = ConfigResult{a.Resource, c.alterConfigs(a, validateOnly)}
	}
	c.commit()
	return results
}

func (c *configControl) alterConfigs(a ConfigAlteration, validateOnly bool) error {
	if a.Resource.Type == property.Topic {
		if _, ok := c.image.topics[a.Resource.Name]; !ok {
			if a.Replace {
				return refuse(kafka.ErrUnknownTopicOrPartition, "The topic '%s' does not exist.", a.Resource.Name)
			}
			return kafka.ErrUnknownTopicOrPartition
		}
	}
	if a.Resource.Type == property.Broker {
		if err := checkDynamic(a); err != nil {
			return err
		}
	}
	from := c.image.config(a.Resource)
	if a.Replace {
		from = nil
	}
	values, err := changeConfigs(a.Resource.Type, from, a.Changes)
	if err != nil {
		return err
	}
	if err := c.checkTogether(a.Resource.Type, values); err != nil {
		return err
	}
	if err := c.checkMinISR(a); err != nil {
		return err
	}
	if err := checkSizes(values, a.Changes); err != nil {
		return err
	}
	if !validateOnly {
		c.setConfig(ConfigState{a.Resource, values})
	}
	return nil
}

// checkDynamic refuses to change what a running broker cannot (KIP-226).
func checkDynamic(a ConfigAlteration) error {
	_, one := a.Resource.broker()
	if !one && a.Resource.Name != "" {
		return refuse(kafka.ErrInvalidRequest, "Broker id must be an integer, but it is: %s", a.Resource.Name)
	}
	var readOnly, perListener, perBroker []string
	for _, change := range a.Changes {
		d, ok := property.Lookup(property.Broker, change.Name)
		switch {
		case !ok:
		case d.Update == property.ReadOnly:
			readOnly = append(readOnly, change.Name)
		case property.PerListener(change.Name):
			perListener = append(perListener, change.Name)
		case d.Update == property.PerBroker && !one:
			perBroker = append(perBroker, change.Name)
		}
	}
	if readOnly != nil {
		return refuse(kafka.ErrInvalidRequest, "Cannot update these configs dynamically: [%s]", strings.Join(readOnly, ", "))
	}
	if perListener != nil {
		return refuse(kafka.ErrInvalidRequest, "These security configs can be dynamically updated only per-listener using the listener prefix: [%s]", strings.Join(perListener, ", "))
	}
	if perBroker != nil {
		return refuse(kafka.ErrInvalidRequest, "Cannot update these configs at default cluster level, broker id must be specified: [%s]", strings.Join(perBroker, ", "))
	}
	return nil
}

// checkTogether refuses values of a topic or a group that are legal by themselves
// and not beside each other. Brokers look at their own.
func (m *metadata) checkTogether(r property.Resource, values property.Values) error {
	var err error
	switch r {
	case property.Topic:
		err = m.config.CheckTopic(values)
	case property.Group:
		err = m.config.CheckGroup(values)
	}
	if err != nil {
		return refuse(kafka.ErrInvalidConfig, "%s", err.Error())
	}
	return nil
}

// checkMinISR refuses to change the minimum of ISRs for one broker, and to leave
// the cluster without one, while partitions have eligible leader replicas.
func (c *configControl) checkMinISR(a ConfigAlteration) error {
	const name = "min.insync.replicas"
	if a.Resource.Type != property.Broker || !c.image.usesELR() {
		return nil
	}
	_, had := c.image.config(a.Resource)[name]
	i := slices.IndexFunc(a.Changes, func(change ConfigChange) bool { return change.Name == name })
	removed := i >= 0 && a.Changes[i].Op == DeleteConfig || i < 0 && a.Replace && had
	switch {
	case a.Resource.Name != "" && (i >= 0 || removed):
		return refuse(kafka.ErrInvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
	case removed:
		return refuse(kafka.ErrInvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	}
	return nil
}

// maxValueSize is how many bytes a value may have.
const maxValueSize = 32767

func checkSizes(values property.Values, changes []ConfigChange) error {
	for _, change := range changes {
		if len(values[change.Name]) > maxValueSize {
			return refuse(kafka.ErrInvalidConfig, "The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", maxValueSize)
		}
	}
	return nil
}

// changeConfigs applies changes to what is set for a resource.
func changeConfigs(r property.Resource, values property.Values, changes []ConfigChange) (property.Values, error) {
	next := maps.Clone(values)
	if next == nil {
		next = make(property.Values)
	}
	for _, change := range changes {
		if err := applyChange(r, next, change); err != nil {
			return nil, err
		}
	}
	return next, nil
}

func applyChange(r property.Resource, values property.Values, change ConfigChange) error {
	d, known := property.Lookup(r, change.Name)
	switch {
	case !known && r == property.Topic:
		return refuse(kafka.ErrInvalidConfig, "Unknown topic config name: %s", change.Name)
	case !known && r == property.Group:
		return refuse(kafka.ErrInvalidConfig, "Unknown group config name: %s", change.Name)
	case change.Op == DeleteConfig:
		delete(values, change.Name)
		return nil
	case change.Null && r == property.Topic:
		return refuse(kafka.ErrInvalidConfig, "Null value not supported for topic configs: %s", change.Name)
	case change.Null:
		return refuse(kafka.ErrInvalidRequest, "Null value not supported for : %s", change.Name)
	}
	value := change.Value
	if change.Op == AppendConfig || change.Op == SubtractConfig {
		if !known || d.Type != property.List {
			return refuse(kafka.ErrInvalidConfig, "Can't %s to key %s because its type is not LIST.", opName(change.Op), change.Name)
		}
		value = changeList(d, values, change.Op, strings.TrimSpace(value))
	}
	if r == property.Broker {
		if err := property.CheckDynamic(change.Name, value); err != nil {
			return refuse(kafka.ErrInvalidRequest, "%s", err.Error())
		}
	} else if err := property.CheckValue(r, change.Name, value); err != nil {
		return refuse(kafka.ErrInvalidConfig, "%s", err.Error())
	}
	values[change.Name] = strings.TrimSpace(value)
	return nil
}

func opName(op ConfigOp) string {
	if op == AppendConfig {
		return "APPEND"
	}
	return "SUBTRACT"
}

// changeList adds elements to what is set for a list, or takes them away.
func changeList(d *property.Definition, values property.Values, op ConfigOp, elements string) string {
	now, ok := values[d.Name]
	if !ok {
		now = d.Default
	}
	split := func(r rune) bool { return r == ',' }
	list := strings.FieldsFunc(now, split)
	for _, e := range strings.FieldsFunc(elements, split) {
		switch i := slices.Index(list, e); {
		case op == AppendConfig && i < 0:
			list = append(list, e)
		case op == SubtractConfig && i >= 0:
			list = slices.Delete(list, i, i+1)
		}
	}
	return strings.Join(list, ",")
}
