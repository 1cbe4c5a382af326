package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// threadPools are the properties whose pool of threads a running broker makes
// half or twice as large at a time, and no more (KIP-226).
var threadPools = []string{"background.threads", "log.cleaner.threads", "num.io.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers"}

// checkRunning refuses what this broker cannot take while it runs: values that
// do not agree with the others that it has, and pools of threads that change by
// too much. What a broker cannot change at all, and values that are wrong by
// themselves, are for the controller to refuse.
func (c *call) checkRunning(a controller.ConfigAlteration) error {
	if a.Resource.Type != property.Broker {
		return nil
	}
	changed := make(map[string]*string)
	for _, change := range a.Changes {
		d, ok := property.Lookup(property.Broker, change.Name)
		switch {
		case !ok || d.Update == property.ReadOnly:
		case change.Op == controller.DeleteConfig:
			changed[change.Name] = nil
		case property.CheckDynamic(change.Name, change.Value) != nil:
			return nil
		case change.Op == controller.SetConfig:
			changed[change.Name] = &change.Value
		}
	}
	if err := c.cluster().Config().CheckDynamic(a.Resource.Name == "", changed); err != nil {
		return invalidRequest(err.Error())
	}
	return c.checkThreads(a)
}

// checkThreads refuses to change this broker's pools of threads by more than they
// can be changed at once.
func (c *call) checkThreads(a controller.ConfigAlteration) error {
	level := property.SourceDynamicBroker
	if a.Resource.Name == "" {
		level = property.SourceDynamicDefaultBroker
	}
	own := controller.ConfigResource{Type: property.Broker, Name: strconv.Itoa(int(c.broker.ID))}
	for _, change := range a.Changes {
		if !slices.Contains(threadPools, change.Name) {
			continue
		}
		entries, err := c.cluster().DescribeConfigs(own, []string{change.Name})
		if err != nil {
			return err
		}
		old, _ := strconv.Atoi(entries[0].Value)
		next, err := strconv.Atoi(valueAfter(entries[0].Synonyms, level, change))
		if err != nil || next < 1 {
			continue
		}
		if reason := threadsReason(change.Name, old, next); reason != "" {
			return invalidRequest("Invalid value org.apache.kafka.common.config.ConfigException: " + reason + " for configuration Invalid dynamic configuration")
		}
	}
	return nil
}

// threadsReason is what Kafka says against another number of threads; empty if
// it may be.
func threadsReason(name string, old, next int) string {
	few, many := next < old/2, next > old*2
	switch {
	case name == "log.cleaner.threads" && few:
		return fmt.Sprintf("Log cleaner threads cannot be reduced to less than half the current value %d", old)
	case name == "log.cleaner.threads" && many:
		return fmt.Sprintf("Log cleaner threads cannot be increased to more than double the current value %d", old)
	case few:
		return fmt.Sprintf("Dynamic thread count update validation failed for %s=%d, value should be at least half the current value %d", name, next, old)
	case many:
		return fmt.Sprintf("Dynamic thread count update validation failed for %s=%d, value should not be greater than double the current value %d", name, next, old)
	}
	return ""
}

// valueAfter is what a broker's property has once a level of it is changed: what
// is set at the first level.
func valueAfter(levels []property.Synonym, changed property.Source, change controller.ConfigChange) string {
	for _, l := range levels {
		if l.Source < changed {
			return l.Value
		}
		if change.Op != controller.DeleteConfig {
			break
		}
		if l.Source > changed {
			return l.Value
		}
	}
	return strings.TrimSpace(change.Value)
}
