package simbroker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/group/coordinator"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// broker is one broker: a node with its life and its clients. It belongs to events.
type broker struct {
	*node
	common *commons
	static property.Values
	state  State

	server    *wire.Server
	served    *wire.Broker // what server serves
	entrances entrances
	elections *elections
	underWay  underWay

	cleanEpoch int64  // the registration that ended by a controlled shutdown, else -1
	started    func() // called once it is unfenced after a start; then nil
	startErr   error
}

// newBroker is a broker that was never started. Its properties have passed the
// check.
func newBroker(c *commons, id kafka.BrokerID, static property.Values, listeners []listenerSetting, vendor string) *broker {
	b := &broker{node: &node{port: newPort(c.loop), id: id}, common: c, static: static, cleanEpoch: -1}
	config := property.NewConfig(static)
	b.served = &wire.Broker{
		ID: id, Loop: c.loop, Host: b.host,
		MaxRequestBytes: int32(config.Int("socket.request.max.bytes")), MaxIdle: config.Duration("connections.max.idle.ms"),
		Intercept: func(_ wire.ConnInfo, req kmsg.Request, handle func(), refuse func(error)) {
			c.faults.intercept(id, b.host, req, handle, refuse)
		},
		Shape: func(req kmsg.Request) wire.Shape { return c.faults.shape(id, req) },
	}
	b.secure(listeners)
	if v, ok := wire.VendorNamed(vendor); ok {
		b.served.Vendor = &v
	}
	b.server = wire.NewServer(b.served)
	return b
}

// secure sets up listeners and the authorizer.
func (b *broker) secure(listeners []listenerSetting) {
	var err error
	if b.authorizer, err = newAuthorizer(b.static); err != nil {
		panic(fmt.Sprintf("broker %d: properties passed the check: %v", b.id, err))
	}
	for _, l := range listeners {
		b.entrances = append(b.entrances, entrance{listenerSetting: l})
	}
	if b.authorizer != nil {
		b.served.Authorizer = b.authorizer
	}
}

// boot starts the broker's process, on the disk of the one before. started is
// called when it is registered, unfenced and listening.
func (b *broker) boot(started func()) {
	b.alive, b.state, b.started = true, Running, started
	b.elections = newElections(b.node, b.common.faults)
	brokers := b.common.nodes
	b.agent = controller.NewAgent(b.registration(), b.static, b.host, brokers.link(b.port, b.common.controller), b.changed)
	config := b.agent.Config()
	if b.replicas == nil {
		roleChanged := func(r replica.RoleChange) { b.elections.changed(r) }
		b.replicas = replica.New(b.id, replicaConfig(config), replicaEnvironment(b.node, brokers, b.common.faults, roleChanged))
	} else {
		b.replicas.Restart(b.cleanEpoch >= 0)
		b.replicas.Configure(replicaConfig(config))
	}
	b.cleanEpoch = -1
	b.txn = txn.New(b.id, b.host, txnConfig(config), txnEnvironment(b.node, brokers, b.common.faults))
	b.groups = coordinator.New(b.id, b.host, groupConfig(config), groupEnvironment(b.node, brokers.network, b.common.shareStates, b.common.chance.uuid))
	b.shares = share.New(b.host, shareEnvironment(b.node, brokers, b.common.shareStates))
	b.served.Replicas, b.served.Txn, b.served.Groups, b.served.Shares = b.replicas, b.txn, b.groups, b.shares
	b.served.Cluster = b.agent
	b.agent.Start()
}

func (b *broker) registration() controller.Registration {
	return controller.Registration{ID: b.id, Endpoints: b.entrances.endpoints(b.id), PreviousEpoch: b.cleanEpoch, Rack: b.static["broker.rack"]}
}

// end ends the process: at once, or after a controlled shutdown.
func (b *broker) end(state State) {
	b.state = state
	b.die()
	if state == Killed {
		b.server.Kill()
	} else {
		b.server.Stop()
	}
	b.underWay.fail(ErrConnectionRefused)
}

// stop begins a controlled shutdown, which calls done in the end. Where that is
// switched off (controlled.shutdown.enable), the broker ends without a word to
// the controller, which fences it when its session is over.
func (b *broker) stop(done func()) {
	if !b.agent.Config().Bool("controlled.shutdown.enable") {
		b.cleanEpoch = b.agent.Epoch()
		b.end(Stopped)
		done()
		return
	}
	b.agent.Stop(func(epoch int64) {
		b.cleanEpoch = epoch
		b.end(Stopped)
		done()
	})
}

// changed takes an update of the metadata to the rooms, and opens the broker to
// clients once it is unfenced.
func (b *broker) changed(u *controller.Update) {
	b.take(u, b.common.shareStates)
	if reconfigures(u) {
		b.server.Limit(connectionLimits(b.agent.Config()))
	}
	if me, ok := b.agent.Image().Broker(b.id); ok && !me.Fenced && me.Epoch == b.agent.Epoch() {
		b.ready()
	}
}

// ready opens the listener of a broker that was started and is unfenced.
func (b *broker) ready() {
	if b.started == nil {
		return
	}
	started := b.started
	b.started = nil
	b.startErr = b.server.Start()
	b.common.logf("broker %d started", b.id)
	started()
}

// serve hands a request in process to the broker, unless it is dead.
func (b *broker) serve(call *Call, conn wire.ConnInfo, req kmsg.Request) {
	if !b.alive {
		call.finish(nil, ErrConnectionRefused)
		return
	}
	b.underWay.add(call)
	b.host.Run(func() {
		b.server.Handle(conn, req, func(resp kmsg.Response) {
			if resp == nil {
				call.finish(nil, ErrNoAnswer)
				return
			}
			call.finish(resp, nil)
		})
	})
}
