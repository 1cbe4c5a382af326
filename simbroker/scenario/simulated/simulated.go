// Package simulated lets scenarios play on the simulator: in process, where
// time is what its clock says, and over TCP like on any other cluster.
package simulated

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

// InProcess is a simulated cluster as a scenario.Cluster, by synchronous calls
// and on the cluster's own clock.
type InProcess struct {
	Faults
}

var (
	_ scenario.Cluster  = InProcess{}
	_ scenario.Users    = InProcess{}
	_ scenario.Injector = Faults{}
	_ scenario.Vendored = Faults{}
)

// New returns the cluster for scenarios to play on in process.
func New(cluster *simbroker.Cluster) InProcess { return InProcess{Faults{cluster}} }

// Dial returns the cluster for scenarios to play on over TCP. It must listen.
func Dial(ctx context.Context, cluster *simbroker.Cluster) (*scenario.Network, error) {
	return scenario.Dial(ctx, cluster.Bootstrap(), Faults{cluster})
}

// DialSecured is Dial of a cluster with a further listener, on which users log
// in.
func DialSecured(ctx context.Context, cluster *simbroker.Cluster, listener string) (*scenario.Secured, error) {
	network, err := Dial(ctx, cluster)
	if err != nil {
		return nil, err
	}
	addresses := map[int32]string{}
	for i, address := range cluster.BootstrapOf(listener) {
		addresses[int32(cluster.Brokers()[i])] = address
	}
	return network.Secured(addresses), nil
}

// Brokers implements scenario.Cluster.
func (c InProcess) Brokers() []int32 {
	var ids []int32
	for _, id := range c.cluster.Brokers() {
		ids = append(ids, int32(id))
	}
	return ids
}

// Request implements scenario.Cluster.
func (c InProcess) Request(ctx context.Context, broker int32, clientID string, req kmsg.Request) (kmsg.Response, error) {
	return c.cluster.RequestAs(ctx, clientID, kafka.BrokerID(broker), req)
}

// RequestAs implements scenario.Users, without a login.
func (c InProcess) RequestAs(ctx context.Context, broker int32, user, clientID string, req kmsg.Request) (kmsg.Response, error) {
	return c.cluster.RequestBy(ctx, simbroker.Client{ID: clientID, User: user}, kafka.BrokerID(broker), req)
}

// Now implements scenario.Cluster.
func (c InProcess) Now() time.Time { return c.cluster.Now() }

// Wait implements scenario.Cluster by moving the clock.
func (c InProcess) Wait(ctx context.Context, d time.Duration) error {
	c.cluster.Advance(d)
	return ctx.Err()
}

// Faults are the faults of a simulated cluster's brokers.
type Faults struct {
	cluster *simbroker.Cluster
}

// Pause implements scenario.Faults.
func (f Faults) Pause(_ context.Context, broker int32) error {
	return f.cluster.Pause(kafka.BrokerID(broker))
}

// Resume implements scenario.Faults.
func (f Faults) Resume(_ context.Context, broker int32) error {
	return f.cluster.Resume(kafka.BrokerID(broker))
}

// Kill implements scenario.Faults.
func (f Faults) Kill(_ context.Context, broker int32) error {
	return f.cluster.Kill(kafka.BrokerID(broker))
}

// Stop implements scenario.Faults.
func (f Faults) Stop(_ context.Context, broker int32) error {
	return f.cluster.Stop(kafka.BrokerID(broker))
}

// Start implements scenario.Faults.
func (f Faults) Start(_ context.Context, broker int32) error {
	return f.cluster.Start(kafka.BrokerID(broker))
}

// Vendor implements scenario.Vendored.
func (f Faults) Vendor() string { return f.cluster.Vendor() }

// Inject implements scenario.Injector.
func (f Faults) Inject(_ context.Context, document []byte) (withdraw func(context.Context) error, err error) {
	fault, err := simbroker.ParseFault(document)
	if err != nil {
		return nil, err
	}
	id, err := f.cluster.Inject(fault)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error { return f.cluster.Withdraw(id) }, nil
}
