package simbroker

import (
	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
)

// commons is what the brokers of a cluster have in common.
type commons struct {
	loop        *clock.Loop
	nodes       *nodes
	controller  *controller.Controller
	shareStates *share.Store
	faults      *faults
	chance      chance
	logf        func(format string, args ...any)
}

// newCommons is what brokers have in common, but for the controller.
func newCommons(cfg Config) *commons {
	loop := clock.NewWall
	if cfg.Clock.simulated {
		loop = func() *clock.Loop { return clock.NewSimulated(cfg.Clock.start) }
	}
	c := &commons{loop: loop(), shareStates: share.NewStore(), faults: &faults{latency: cfg.Latency}, chance: newChance(cfg.Seed), logf: cfg.logf}
	c.nodes = &nodes{network: &network{loop: c.loop, latency: cfg.Latency}}
	return c
}
