package simbroker

import (
	"fmt"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// Start starts a cluster and returns when its brokers are registered, unfenced
// and listening. The error names what is wrong with the Config or the address.
func Start(cfg Config) (*Cluster, error) {
	if cfg.Brokers == 0 {
		cfg.Brokers = 1
	}
	if cfg.Latency == 0 {
		cfg.Latency = DefaultLatency
	}
	if cfg.Clock.simulated && cfg.ListenAddress != "" {
		return nil, fmt.Errorf("start cluster: a simulated clock excludes TCP, but the listen address is %s", cfg.ListenAddress)
	}
	static, listeners, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c := newCluster(cfg, static, listeners)
	if err := c.prepare(); err != nil {
		c.Close()
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c.loop.Do(func() { c.reportUnknown(static) })
	if err := c.boot(c.brokers...); err != nil {
		c.Close()
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	return c, nil
}

// prepare is what comes before the brokers start: users and addresses.
func (c *Cluster) prepare() error {
	var err error
	c.loop.Do(func() { err = c.addUsers() })
	if err != nil {
		return err
	}
	return c.listen()
}

// newCluster is a cluster whose brokers were never started.
func newCluster(cfg Config, static []property.Values, listeners [][]listenerSetting) *Cluster {
	common := newCommons(cfg)
	c := &Cluster{commons: common, cfg: cfg, closed: make(chan struct{})}
	c.loop.Do(func() {
		c.controller = controller.New(c.loop, static[controllerID], cfg.levels(), cfg.Seed, c.nodes.update)
		if v, ok := wire.VendorNamed(cfg.Vendor); ok {
			c.controller.Support(v.Supported)
		}
		for id, values := range static[1:] {
			b := newBroker(common, kafka.BrokerID(id+1), values, listeners[id], cfg.Vendor)
			c.brokers = append(c.brokers, b)
			c.nodes.all = append(c.nodes.all, b.node)
		}
	})
	return c
}

// reportUnknown logs the properties that Kafka does not know, each once.
func (c *Cluster) reportUnknown(static []property.Values) {
	reported := make(map[string]bool)
	for _, values := range static {
		for _, e := range property.NewConfig(values).Describe(nil) {
			if !property.Known(e.Name) && !reported[e.Name] {
				reported[e.Name] = true
				c.logf("property %s is not known to Kafka and has no effect", e.Name)
			}
		}
	}
}
