package witness

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// Cluster is a scenario.Cluster under a witness' eyes.
type Cluster struct {
	scenario.Cluster
	witness *Witness
}

// Watch returns the cluster as scenarios are to use it so that w records them.
func (w *Witness) Watch(cluster scenario.Cluster) *Cluster { return &Cluster{cluster, w} }

// Request implements scenario.Cluster.
func (c *Cluster) Request(ctx context.Context, broker int32, clientID string, req kmsg.Request) (kmsg.Response, error) {
	sent := c.Now()
	resp, err := c.Cluster.Request(ctx, broker, clientID, req)
	if err != nil {
		resp = nil
	}
	c.witness.Exchange(sent, c.Now(), req, resp)
	return resp, err
}

// Pause implements scenario.Faults.
func (c *Cluster) Pause(ctx context.Context, broker int32) error {
	return c.fault(ctx, oracle.PauseBroker, broker, c.Cluster.Pause)
}

// Resume implements scenario.Faults.
func (c *Cluster) Resume(ctx context.Context, broker int32) error {
	return c.fault(ctx, oracle.ResumeBroker, broker, c.Cluster.Resume)
}

// Kill implements scenario.Faults.
func (c *Cluster) Kill(ctx context.Context, broker int32) error {
	return c.fault(ctx, oracle.KillBroker, broker, c.Cluster.Kill)
}

// Stop implements scenario.Faults.
func (c *Cluster) Stop(ctx context.Context, broker int32) error {
	return c.fault(ctx, oracle.StopBroker, broker, c.Cluster.Stop)
}

// Start implements scenario.Faults.
func (c *Cluster) Start(ctx context.Context, broker int32) error {
	return c.fault(ctx, oracle.StartBroker, broker, c.Cluster.Start)
}

// fault records what was done to a broker. One that began and failed may have
// happened.
func (c *Cluster) fault(ctx context.Context, kind oracle.Kind, broker int32, do func(context.Context, int32) error) error {
	act := oracle.Act{Kind: kind, Broker: broker, Sent: c.Now()}
	err := do(ctx, broker)
	if err == nil {
		act.Answered = c.Now()
	}
	c.witness.Add(act)
	return err
}

var _ scenario.Cluster = (*Cluster)(nil)
