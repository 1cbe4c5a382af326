package simbroker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// Clock is the kind of time a cluster lives in. The zero Clock is the wall's.
type Clock struct {
	simulated bool
	start     time.Time
}

// Wall is the wall clock: the cluster runs by itself.
func Wall() Clock { return Clock{} }

// Simulated is a clock that starts at a moment and moves only by Advance and by
// what waits for brokers (Start, Stop, Request), which runs what is due until
// its answer is there.
func Simulated(start time.Time) Clock { return Clock{simulated: true, start: start} }

// Config says what cluster to start.
type Config struct {
	// Brokers is how many there are, with ids from 1. Zero means 1.
	Brokers int
	// Properties are broker properties by Kafka's names, as in
	// server.properties; BrokerProperties are laid over them for one broker.
	// node.id and broker.id are the cluster's own to set.
	Properties       map[string]string
	BrokerProperties map[kafka.BrokerID]map[string]string
	// Features are the levels to finalise, by name; they are laid over
	// controller.DefaultFeatures. Level 0 leaves a feature out.
	Features map[string]int16
	// Vendor is whose brokers they seem to be, by what they offer: one of Vendors.
	// Empty means Kafka 4.3's. Features, where they are given, are laid over the
	// vendor's.
	Vendor string
	// ListenAddress is host:port of the first broker, the others listen on the
	// ports after it; port 0 lets the system choose each. Empty means no TCP:
	// the cluster answers Request only. Where the property listeners is set, its
	// listeners have their own addresses (and this host if they name none), with
	// ports that count up in the same way, as those of advertised.listeners do
	// where they are not one broker's own.
	ListenAddress string
	// Users are given their SCRAM credentials when the cluster is formatted.
	Users []sasl.NewUser
	// Clock is the wall clock unless it is Simulated, which excludes TCP.
	Clock Clock
	// Seed decides what Kafka leaves to chance (topic ids, member ids, where
	// first replicas go).
	Seed uint64
	// Latency is how long a message between two nodes takes; zero means
	// DefaultLatency.
	Latency time.Duration
	// Log receives what an operator would find in the brokers' logs: one line a
	// call, without its line break. Nil drops it. It must not call the cluster.
	Log func(line string)
}

// DefaultLatency is the time between a message's sending and its arrival at
// another node.
const DefaultLatency = 200 * time.Microsecond

// Vendors lists the names that Config.Vendor takes.
func Vendors() []string { return wire.VendorNames() }

// levels are the levels of features to finalise.
func (cfg Config) levels() map[string]int16 {
	levels := controller.DefaultFeatures()
	if v, ok := wire.VendorNamed(cfg.Vendor); ok {
		levels = v.Features
		if levels == nil {
			levels = make(map[string]int16)
		}
	}
	maps.Copy(levels, cfg.Features)
	return levels
}

// Check says whether Start would take the configuration, addresses aside. The error
// names what is wrong with it.
func (cfg Config) Check() error {
	_, _, err := cfg.check()
	return err
}

// checkFeatures says whether the levels given are those that brokers know.
func (cfg Config) checkFeatures() error {
	supported := controller.SupportedFeatures()
	for _, name := range slices.Sorted(maps.Keys(cfg.Features)) {
		level := cfg.Features[name]
		levels, known := supported[name]
		switch {
		case !known:
			return fmt.Errorf("feature %s is none; expected one of %s", name, strings.Join(slices.Sorted(maps.Keys(supported)), ", "))
		case level != 0 && (level < levels.Min || level > levels.Max):
			return fmt.Errorf("feature %s has no level %d; expected 0 for none, or %d to %d", name, level, max(levels.Min, 1), levels.Max)
		}
	}
	return nil
}

// Vendor is whose brokers they seem to be: Config.Vendor.
func (c *Cluster) Vendor() string { return c.cfg.Vendor }

// CheckTopicProperty says whether a topic can have a property of its own, by
// Kafka's name, with a value. The error says what would be right.
func CheckTopicProperty(name, value string) error {
	if _, known := property.Lookup(property.Topic, name); !known {
		return fmt.Errorf("%s is no property of topics; expected one of Kafka's, such as retention.ms", name)
	}
	err := property.CheckValue(property.Topic, name, value)
	var bad *property.ValueError
	if errors.As(err, &bad) {
		return fmt.Errorf("%w; expected %s", err, bad.Remedy)
	}
	return err
}

func (cfg Config) logf(format string, args ...any) {
	if cfg.Log != nil {
		cfg.Log(fmt.Sprintf(format, args...))
	}
}
