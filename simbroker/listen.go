package simbroker

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// listen gives each broker its addresses, which it opens when it is started.
func (c *Cluster) listen() error {
	if c.cfg.ListenAddress == "" {
		return nil
	}
	host, portText, err := net.SplitHostPort(c.cfg.ListenAddress)
	if err != nil {
		return fmt.Errorf("listen address: %w", err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return fmt.Errorf("listen address %s: port %q is no number from 0 to 65535", c.cfg.ListenAddress, portText)
	}
	for i, b := range c.brokers {
		_, own := b.static["listeners"]
		var settings []string
		for n := range b.entrances {
			e := &b.entrances[n]
			if !own {
				e.host, e.port = host, int(port)
			}
			if e.host == "" {
				e.host = host
			}
			if e.port > 0 {
				e.port += i
			}
			if _, single := c.cfg.BrokerProperties[b.id]["advertised.listeners"]; e.advertised != nil && e.advertised.port > 0 && !single {
				e.advertised.port += i
			}
			if e.address, err = b.server.Listen(b.listener(e.listenerSetting, c.chance), net.JoinHostPort(e.host, strconv.Itoa(e.port))); err != nil {
				return fmt.Errorf("broker %d: listener %s: %w", b.id, e.name, err)
			}
			settings = append(settings, e.name+"://"+e.address.String())
		}
		c.loop.Do(b.server.Stop) // until it is started
		b.static["listeners"] = strings.Join(settings, ",")
	}
	return nil
}
