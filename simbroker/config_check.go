package simbroker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// controllerID is the node id of the controller, a process of its own that has
// the properties which all brokers share.
const controllerID = 0

// check is each node's properties, by its id, and each broker's listeners.
func (cfg Config) check() ([]property.Values, [][]listenerSetting, error) {
	if cfg.Brokers < 0 {
		return nil, nil, fmt.Errorf("%d brokers", cfg.Brokers)
	}
	if _, ok := wire.VendorNamed(cfg.Vendor); cfg.Vendor != "" && !ok {
		return nil, nil, fmt.Errorf("vendor %q is none; expected one of %s", cfg.Vendor, strings.Join(Vendors(), ", "))
	}
	if err := cfg.checkFeatures(); err != nil {
		return nil, nil, err
	}
	for id := range cfg.BrokerProperties {
		if id < 1 || int(id) > cfg.Brokers {
			return nil, nil, fmt.Errorf("properties of broker %d: %w (ids are 1 to %d)", id, ErrUnknownBroker, cfg.Brokers)
		}
	}
	static := make([]property.Values, 1+cfg.Brokers)
	for id := range static {
		var err error
		if static[id], err = cfg.nodeProperties(kafka.BrokerID(id)); err != nil {
			return nil, nil, err
		}
	}
	listeners, err := checkSecurity(static[1:])
	return static, listeners, err
}

// nodeProperties are what a node would find in its server.properties.
func (cfg Config) nodeProperties(id kafka.BrokerID) (property.Values, error) {
	all := maps.Clone(cfg.Properties)
	if all == nil {
		all = make(map[string]string)
	}
	maps.Copy(all, cfg.BrokerProperties[id])
	values, err := collect(all)
	if err != nil && len(cfg.BrokerProperties[id]) > 0 {
		return nil, fmt.Errorf("broker %d: %w", id, err)
	}
	if err != nil {
		return nil, err
	}
	cfg.boundReplication(values)
	if v, ok := wire.VendorNamed(cfg.Vendor); ok && v.NoVerification {
		values[verificationProperty] = "false"
	}
	values["node.id"] = strconv.Itoa(int(id))
	values["broker.id"] = values["node.id"] // its older name
	return values, nil
}

// internalReplication are the properties that say how many replicas the
// internal topics have, with a default of three.
var internalReplication = []string{
	"offsets.topic.replication.factor",
	"transaction.state.log.replication.factor",
	"share.coordinator.state.topic.replication.factor",
}

// boundReplication lowers what was not set to the number of brokers: in a Kafka
// of fewer than three brokers, groups and transactions would never start.
func (cfg Config) boundReplication(values property.Values) {
	brokers := int64(max(cfg.Brokers, 1))
	config := property.NewConfig(values)
	for _, name := range internalReplication {
		if _, set := values[name]; !set && config.Int(name) > brokers {
			values[name] = strconv.FormatInt(brokers, 10)
		}
	}
}

// collect checks properties in the order of their names, so that of several
// wrong ones the same is reported each time.
func collect(given map[string]string) (property.Values, error) {
	settings := make([]property.Setting, 0, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		settings = append(settings, property.Setting{Name: name, Value: given[name]})
	}
	return property.Collect(settings...)
}
