package simbroker

import (
	"fmt"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/coordinator"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// broker is one broker: the rooms of its process, its disk (which replicas
// keeps), and its place in the network. It belongs to events.
type broker struct {
	*port
	cluster *Cluster
	id      kafka.BrokerID
	static  property.Values
	state   State

	agent    *controller.Agent
	replicas *replica.Broker
	txn      *txn.Coordinator
	groups   *coordinator.Coordinator
	shares   *share.Broker

	server     *wire.Server
	served     *wire.Broker    // what server serves
	entrances  []entrance      // at least one
	authorizer *acl.Authorizer // nil without one
	elections  elections
	// inProcess are the calls of Request under way, to be told when the broker
	// dies.
	inProcess []*Call

	cleanEpoch int64  // the registration that ended by a controlled shutdown, else -1
	started    func() // called once it is unfenced after a start; then nil
	startErr   error
}

func newBroker(c *Cluster, id kafka.BrokerID, static property.Values, listeners []listenerSetting) *broker {
	b := &broker{port: newPort(c.loop), cluster: c, id: id, static: static, cleanEpoch: -1}
	b.served = &wire.Broker{ID: id, Loop: c.loop, Host: b.host, Intercept: b.intercept, Shape: b.shape}
	b.secure(listeners)
	if v, ok := wire.VendorNamed(c.cfg.Vendor); ok {
		b.served.Vendor = &v
	}
	b.server = wire.NewServer(b.served)
	return b
}

// secure sets up what checkSecurity has found in order.
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
	b.elections = make(elections)
	n := b.cluster.network
	b.agent = controller.NewAgent(b.registration(), b.static, b.host, n.link(b.port, b.cluster.controller), b.changed)
	config := b.agent.Config()
	if b.replicas == nil {
		b.replicas = replica.New(b.id, replicaConfig(config), replica.Deps{
			Clock:       b.host,
			Peers:       peers{b},
			Metadata:    metadata{b},
			Verifier:    transactionVerifier{b},
			RoleChanged: b.roleChanged,
		})
	} else {
		b.replicas.Restart(b.cleanEpoch >= 0)
		b.replicas.Configure(replicaConfig(config))
	}
	b.cleanEpoch = -1
	b.txn = txn.New(b.id, b.host, txnConfig(config), txn.Environment{
		Log:      transactionLog{b},
		Markers:  markerChannel{b},
		IDs:      producerIDs{b},
		Features: features{b},
	})
	b.groups = coordinator.New(b.id, b.host, groupConfig(config), group.Environment{
		Log:      offsetsLog{b},
		Verifier: offsetsVerifier{b},
		Topics:   groupTopics{b},
		Shares:   shareStates{b},
		Settings: func(id string) group.Settings { return groupSettings(b.groupConfig(id)) },
		UUID:     b.cluster.uuid,
	})
	b.shares = share.New(b.host, share.Environment{
		Replicas:  b.replicas,
		Store:     b.cluster.shares,
		Topic:     b.topicName,
		Settings:  func(id string) share.Settings { return shareSettings(b.groupConfig(id)) },
		EndOffset: b.endOffset,
	})
	b.served.Replicas, b.served.Txn, b.served.Groups, b.served.Cluster = b.replicas, b.txn, b.groups, b.agent
	b.served.Shares = b.shares
	b.agent.Start()
}

// groupConfig is the configuration of a group.
func (b *broker) groupConfig(id string) property.Inherited {
	return b.agent.Config().Group(b.agent.Image().GroupConfig(id))
}

func (b *broker) registration() controller.Registration {
	return controller.Registration{ID: b.id, Endpoints: b.endpoints(), PreviousEpoch: b.cleanEpoch, Rack: b.static["broker.rack"]}
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
	calls := b.inProcess
	b.inProcess = nil
	for _, call := range calls {
		call.fail(ErrConnectionRefused)
	}
}

// stop begins a controlled shutdown, which calls done in the end.
func (b *broker) stop(done func()) {
	b.agent.Stop(func(epoch int64) {
		b.cleanEpoch = epoch
		b.end(Stopped)
		done()
	})
}

// changed takes an update of the metadata to the rooms.
func (b *broker) changed(u *controller.Update) {
	image := b.agent.Image()
	reconfigured := u.Snapshot
	for _, c := range u.Configs {
		reconfigured = reconfigured || c.Resource.Type == property.Broker
	}
	if reconfigured {
		b.configure()
	}
	if b.authorizer != nil && (u.Snapshot || len(u.NewACLs)+len(u.DeletedACLs) > 0) {
		b.authorizer.Load(image.ACLs())
	}
	b.drop(u, image)
	if u.Snapshot || len(u.Topics) > 0 {
		b.groups.TopicsCreated()
	}
	if reconfigured {
		for _, t := range image.Topics() {
			b.applyTopic(t)
		}
	} else {
		b.apply(u, image)
	}
	if me, ok := image.Broker(b.id); ok && !me.Fenced && me.Epoch == b.agent.Epoch() {
		b.ready()
	}
}

// configure hands dynamic properties to the rooms.
func (b *broker) configure() {
	config := b.agent.Config()
	b.replicas.Configure(replicaConfig(config))
	b.txn.Configure(txnConfig(config))
	b.groups.Configure(groupConfig(config))
}

// drop forgets the partitions of topics that were deleted.
func (b *broker) drop(u *controller.Update, image *controller.Image) {
	var gone []group.DeletedTopic
	for _, t := range u.Deleted {
		gone = append(gone, group.DeletedTopic{Name: t.Name, ID: t.ID})
		b.cluster.shares.DeleteTopic(t.ID)
		for n := range t.Partitions {
			b.replicas.Delete(kafka.TopicPartition{Topic: t.Name, Partition: int32(n)})
		}
	}
	if u.Snapshot { // deleted while the broker was down
		for _, tp := range b.replicas.Partitions() {
			if _, ok := image.Partition(tp); !ok {
				b.replicas.Delete(tp)
			}
		}
	}
	if gone != nil {
		b.groups.TopicsDeleted(gone)
	}
}

// apply hands changed partitions to the replica manager.
func (b *broker) apply(u *controller.Update, image *controller.Image) {
	for _, t := range u.Topics {
		if current, ok := image.Topic(t.Name); ok {
			b.applyTopic(current)
		}
	}
	for _, p := range u.Partitions {
		if t, ok := image.Topic(p.TopicPartition.Topic); ok {
			b.applyPartition(t, p.TopicPartition.Partition, topicConfig(b.agent.Config().Topic(t.Config)))
		}
	}
	for _, c := range u.Configs {
		if t, ok := image.Topic(c.Resource.Name); ok && c.Resource.Type == property.Topic {
			b.applyTopic(t)
		}
	}
}

func (b *broker) applyTopic(t *controller.Topic) {
	config := topicConfig(b.agent.Config().Topic(t.Config))
	for n := range t.Partitions {
		b.applyPartition(t, int32(n), config)
	}
}

func (b *broker) applyPartition(t *controller.Topic, n int32, config *replica.TopicConfig) {
	tp := kafka.TopicPartition{Topic: t.Name, Partition: n}
	if !slices.Contains(t.Partitions[n].Replicas, b.id) {
		if _, hosted := b.replicas.Status(tp); !hosted {
			return
		}
	}
	b.replicas.Apply(partitionState(tp, t.ID, t.Partitions[n], config))
}

func partitionState(tp kafka.TopicPartition, id kafka.TopicID, p *controller.Partition, config *replica.TopicConfig) replica.PartitionState {
	return replica.PartitionState{
		Partition:      tp,
		TopicID:        id,
		Leader:         p.Leader,
		LeaderEpoch:    p.LeaderEpoch,
		PartitionEpoch: p.Epoch,
		Replicas:       p.Replicas,
		ISR:            p.ISR,
		ELR:            p.ELR,
		Config:         config,
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
	b.cluster.logf("broker %d started", b.id)
	started()
}
