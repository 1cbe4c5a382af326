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
var threadPools = []string{"background.threads", "num.io.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers"}

// checkThreads refuses to change this broker's pools of threads by more than they
// can be changed at once. What is no number of threads is for the controller to refuse.
func (c *call) checkThreads(a controller.ConfigAlteration) error {
	if a.Resource.Type != property.Broker {
		return nil
	}
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
		var reason string
		switch {
		case next < old/2:
			reason = fmt.Sprintf("value should be at least half the current value %d", old)
		case next > old*2:
			reason = fmt.Sprintf("value should not be greater than double the current value %d", old)
		default:
			continue
		}
		return invalidRequest(fmt.Sprintf("Invalid value org.apache.kafka.common.config.ConfigException: "+
			"Dynamic thread count update validation failed for %s=%d, %s for configuration Invalid dynamic configuration", change.Name, next, reason))
	}
	return nil
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
