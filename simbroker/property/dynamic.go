package property

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// dynamicOnly are properties that a running broker takes (KIP-226) and that no
// server.properties has: QuotaConfig.brokerQuotaConfigs.
var dynamicOnly = byName([]Definition{
	{Name: "follower.replication.throttled.rate", Type: Long, Range: atLeast(0)},
	{Name: "leader.replication.throttled.rate", Type: Long, Range: atLeast(0)},
	{Name: "replica.alter.log.dirs.io.max.bytes.per.second", Type: Long, Range: atLeast(0)},
})

// CheckDynamic is CheckValue for a property of a running broker. The error is a
// *ValueError.
func CheckDynamic(name, value string) error {
	if d, ok := dynamicOnly[name]; ok {
		if bad := d.checkType(value); bad != nil {
			return bad
		}
		return nil
	}
	if err := CheckValue(Broker, name, value); err != nil {
		return err
	}
	if name == "listeners" {
		return checkEndpoints(value)
	}
	return nil
}

var endpoint = regexp.MustCompile(`^.+://\[?[0-9a-zA-Z\-._:%]*\]?:-?[0-9]+$`)

// checkEndpoints looks at the form of each NAME://HOST:PORT.
func checkEndpoints(value string) error {
	d := index[Broker]["listeners"]
	const remedy = "NAME://HOST:PORT, with commas between"
	entries := split(value)
	for _, e := range entries {
		if !endpoint.MatchString(e) {
			return d.refuse(value, fmt.Sprintf("Error creating broker listeners from '[%s]': Unable to parse %s to a broker endpoint", strings.Join(entries, ", "), e), remedy)
		}
	}
	return nil
}

// perListener are those of SslConfigs.RECONFIGURABLE_CONFIGS.
var perListener = []string{
	"ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.password",
	"ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type",
}

// PerListener says whether a running broker takes a property only with the
// prefix of a listener.
func PerListener(name string) bool { return slices.Contains(perListener, name) }

// CheckDynamic says whether a running broker takes these values over those that
// it has, each of which is legal by itself; clusterWide says at which level. Nil
// takes a property away. The error is a *ValueError.
func (c *Config) CheckDynamic(clusterWide bool, changed map[string]*string) error {
	next := *c
	level := &next.broker
	if clusterWide {
		level = &next.cluster
	}
	*level = maps.Clone(*level)
	if *level == nil {
		*level = make(Values)
	}
	for name, value := range changed {
		if value == nil {
			delete(*level, name)
			continue
		}
		(*level)[name] = strings.TrimSpace(*value)
	}
	return next.Check()
}
