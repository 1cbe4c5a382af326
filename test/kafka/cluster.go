package kafka

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Config says what cluster to start.
type Config struct {
	// Version is Kafka's, such as 4.3.1.
	Version string
	// Brokers is how many there are, with ids from 1; the controller is 0.
	Brokers int
	// Properties are those of every node, by Kafka's names. Identity,
	// addresses and the sizes of thread pools are the package's own.
	Properties map[string]string
	// Features are levels of features to format with, such as
	// transaction.version=1; others get the version's default.
	Features map[string]string
	// Secured gives each broker a further listener, on which users log in, and
	// switches Kafka's authorizer on: who comes by the first listener, as the
	// brokers do themselves, may do everything.
	Secured *Security
	// Listeners are further listeners of each broker, with their security
	// protocols by their names. What else they need is for Properties to say.
	Listeners map[string]string
	// Advertised are the addresses, host:port, that clients are told of further
	// listeners, by name and broker id, where they are not those of the listeners
	// themselves: such as those of a proxy.
	Advertised map[string]map[int32]string
	// Own are properties of single brokers, by id, laid over Properties.
	Own map[int32]map[string]string
	// JVM are options of the brokers' virtual machines.
	JVM []string
	// Parent is the folder in which the cluster's own folder is made; empty for
	// the system's folder for temporary files.
	Parent string
}

// Security are the users of a cluster to begin with. All may log in by SCRAM
// once they have a credential (AlterUserScramCredentials).
type Security struct {
	// Plain are the users of PLAIN with their passwords.
	Plain map[string]string
	// Scram are users that the storage is formatted with, as kafka-storage.sh
	// takes them after --add-scram.
	Scram []string
}

// Cluster is a running Kafka.
type Cluster struct {
	config Config
	java   string
	jars   string
	dir    string
	id     string
	nodes  []*node // by node id
	guard  *watchdog
}

// controllerID is the node id of the controller.
const controllerID = 0

const (
	startWithin = 5 * time.Minute
	stopWithin  = 60 * time.Second
	poll        = 50 * time.Millisecond
)

// Start fetches, formats and starts a cluster and returns when all brokers are
// registered. The error wraps ErrNotRun if the machine lacks what it takes.
// The caller must Close the cluster.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	c := &Cluster{config: config}
	var err error
	if c.java, err = java(ctx); err != nil {
		return nil, err
	}
	if c.jars, err = Jars(ctx, config.Version); err != nil {
		return nil, err
	}
	if err = c.prepare(ctx); err == nil {
		err = c.startAll(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start Kafka %s: %w", config.Version, err), c.Close())
	}
	return c, nil
}

// prepare writes configuration and formats the storage of every node.
func (c *Cluster) prepare(ctx context.Context) error {
	var err error
	if c.dir, err = os.MkdirTemp(c.config.Parent, "lso-exporter-kafka-"); err != nil {
		return err
	}
	if c.guard, err = watch(c.dir); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(c.config.Listeners))
	each := 2 + len(names)
	ports, err := freePorts(each * (c.config.Brokers + 1))
	if err != nil {
		return err
	}
	if c.id, err = newClusterID(); err != nil {
		return err
	}
	if err := os.WriteFile(c.logging(), []byte(logging), 0o644); err != nil {
		return err
	}
	at := func(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
	for id := range c.config.Brokers + 1 {
		own := ports[each*id:]
		n := &node{
			id: id, address: at(own[0]), userAddress: at(own[1]), listeners: map[string]string{},
			dir: filepath.Join(c.dir, strconv.Itoa(id)), cluster: c,
		}
		for i, name := range names {
			n.listeners[name] = at(own[2+i])
		}
		c.nodes = append(c.nodes, n)
	}
	return c.each(c.nodes, func(n *node) error { return n.format(ctx) })
}

// newClusterID draws an id as Kafka does: one that begins with a hyphen would be
// an option to its tools.
func newClusterID() (string, error) {
	for id := make([]byte, 16); ; {
		if _, err := rand.Read(id); err != nil {
			return "", err
		}
		if text := base64.RawURLEncoding.EncodeToString(id); text[0] != '-' {
			return text, nil
		}
	}
}

func (c *Cluster) startAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for _, n := range c.nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	return c.each(c.nodes[controllerID+1:], func(n *node) error { return n.awaitRegistered(ctx, c.config.Brokers) })
}

// each runs f for every node at once.
func (c *Cluster) each(nodes []*node, f func(*node) error) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = f(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Bootstrap lists the brokers' addresses, host:port, by id.
func (c *Cluster) Bootstrap() []string {
	var addresses []string
	for _, n := range c.nodes[controllerID+1:] {
		addresses = append(addresses, n.address)
	}
	return addresses
}

// UserListeners are the addresses, host:port by id, at which users log in; nil if
// the cluster is not Secured.
func (c *Cluster) UserListeners() map[int32]string {
	if c.config.Secured == nil {
		return nil
	}
	addresses := map[int32]string{}
	for _, n := range c.nodes[controllerID+1:] {
		addresses[int32(n.id)] = n.userAddress
	}
	return addresses
}

// Listener are the addresses, host:port by id, of one of the further listeners.
func (c *Cluster) Listener(name string) map[int32]string {
	addresses := map[int32]string{}
	for _, n := range c.nodes[controllerID+1:] {
		addresses[int32(n.id)] = n.listeners[name]
	}
	return addresses
}

// Log is what a node has written to its log, for the report of a failure.
func (c *Cluster) Log(id int32) string {
	b, err := os.ReadFile(c.nodes[id].logFile())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Close ends every process and deletes the data.
func (c *Cluster) Close() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.end())
	}
	if c.guard != nil {
		errs = append(errs, c.guard.dismiss())
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// broker is the node of a broker id.
func (c *Cluster) broker(id int32) (*node, error) {
	if id <= controllerID || int(id) >= len(c.nodes) {
		return nil, fmt.Errorf("no broker %d", id)
	}
	return c.nodes[id], nil
}

// Pause stops a broker's process (SIGSTOP) and returns when it stands still.
func (c *Cluster) Pause(ctx context.Context, id int32) error {
	n, err := c.broker(id)
	if err != nil {
		return err
	}
	return n.pause(ctx)
}

// Resume continues a paused broker's process (SIGCONT).
func (c *Cluster) Resume(_ context.Context, id int32) error {
	n, err := c.broker(id)
	if err != nil {
		return err
	}
	return n.signal(signalContinue)
}

// Kill ends a broker's process (SIGKILL) and returns when it is gone.
func (c *Cluster) Kill(_ context.Context, id int32) error {
	n, err := c.broker(id)
	if err != nil {
		return err
	}
	return n.end()
}

// Stop shuts a broker down in the controlled way (SIGTERM) and returns when its
// process is gone.
func (c *Cluster) Stop(ctx context.Context, id int32) error {
	n, err := c.broker(id)
	if err != nil {
		return err
	}
	if err := n.signal(signalEnd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	select {
	case <-n.exited:
		c.guard.forget(n.pid())
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("stop broker %d: %w", id, ctx.Err()), n.end())
	}
}

// Start starts a broker that was killed or stopped and returns when it is
// registered again.
func (c *Cluster) Start(ctx context.Context, id int32) error {
	n, err := c.broker(id)
	if err != nil {
		return err
	}
	if n.running() {
		return fmt.Errorf("start broker %d: it is running", id)
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := n.start(); err != nil {
		return err
	}
	return n.awaitRegistered(ctx, 1)
}

const loopback = "127.0.0.1"

// freePorts lets the system choose n ports. They are all held before the first
// is released, so that they differ.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// properties are the lines of a node's server.properties.
func (c *Cluster) properties(n *node) []string {
	all := map[string]string{
		"node.id":                             strconv.Itoa(n.id),
		"log.dirs":                            filepath.Join(n.dir, "data"),
		"controller.quorum.bootstrap.servers": c.nodes[controllerID].address,
		"controller.listener.names":           "CONTROLLER",
		"listener.security.protocol.map":      "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
		// Small pools: several nodes share few cores.
		"num.network.threads":               "2",
		"num.io.threads":                    "4",
		"background.threads":                "2",
		"log.cleaner.dedupe.buffer.size":    "2097152",
		"num.recovery.threads.per.data.dir": "1",
	}
	if n.id == controllerID {
		all["process.roles"], all["listeners"] = "controller", "CONTROLLER://"+n.address
	} else {
		all["process.roles"], all["listeners"] = "broker", "PLAINTEXT://"+n.address
		all["inter.broker.listener.name"] = "PLAINTEXT"
	}
	if c.config.Secured != nil {
		c.secure(n, all)
	}
	if n.id != controllerID {
		for _, name := range slices.Sorted(maps.Keys(c.config.Listeners)) {
			all["listeners"] += "," + name + "://" + n.listeners[name]
			all["listener.security.protocol.map"] += "," + name + ":" + c.config.Listeners[name]
		}
	}
	if c.config.Advertised != nil && n.id != controllerID {
		c.advertise(n, all)
	}
	maps.Copy(all, c.config.Properties)
	maps.Copy(all, c.config.Own[int32(n.id)])
	lines := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, name+"="+strings.ReplaceAll(all[name], `\`, `\\`))
	}
	return lines
}

// advertise adds the addresses that a broker's clients are told.
func (c *Cluster) advertise(n *node, all map[string]string) {
	told := []string{"PLAINTEXT://" + n.address}
	for _, name := range slices.Sorted(maps.Keys(c.config.Listeners)) {
		address, ok := c.config.Advertised[name][int32(n.id)]
		if !ok {
			address = n.listeners[name]
		}
		told = append(told, name+"://"+address)
	}
	all["advertised.listeners"] = strings.Join(told, ",")
}

// secure adds what makes a cluster Secured.
func (c *Cluster) secure(n *node, all map[string]string) {
	all["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
	all["super.users"] = "User:ANONYMOUS"
	if n.id == controllerID {
		return
	}
	all["listeners"] += ",SASL://" + n.userAddress
	all["listener.security.protocol.map"] += ",SASL:SASL_PLAINTEXT"
	all["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
	plain := "org.apache.kafka.common.security.plain.PlainLoginModule required"
	for _, user := range slices.Sorted(maps.Keys(c.config.Secured.Plain)) {
		plain += fmt.Sprintf(" user_%s=%q", user, c.config.Secured.Plain[user])
	}
	all["listener.name.sasl.plain.sasl.jaas.config"] = plain + ";"
	for _, mechanism := range []string{"scram-sha-256", "scram-sha-512"} {
		all["listener.name.sasl."+mechanism+".sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	}
}

func (c *Cluster) logging() string { return filepath.Join(c.dir, "log4j2.properties") }

const logging = `status=ERROR
appender.out.type=Console
appender.out.name=OUT
appender.out.target=SYSTEM_ERR
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=INFO
rootLogger.appenderRef.out.ref=OUT
`

// awaitRegistered waits until a broker serves metadata that has itself and at
// least so many brokers in it.
func (n *node) awaitRegistered(ctx context.Context, brokers int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(n.address), kgo.DialTimeout(time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		ids, err := registered(ctx, client.SeedBrokers()[0])
		if err == nil && len(ids) >= brokers && slices.Contains(ids, int32(n.id)) {
			return nil
		}
		select {
		case <-n.exited:
			return fmt.Errorf("node %d ended: %s", n.id, n.logTail())
		case <-ctx.Done():
			return fmt.Errorf("node %d knows brokers %v: %w: %s", n.id, ids, ctx.Err(), n.logTail())
		case <-time.After(poll):
		}
	}
}

// registered lists the brokers in a broker's metadata. It asks that very broker:
// the client's own view of the cluster may be an older one.
func registered(ctx context.Context, broker *kgo.Broker) ([]int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := broker.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	var ids []int32
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		ids = append(ids, b.NodeID)
	}
	return ids, nil
}

func (n *node) logTail() string {
	b, err := os.ReadFile(n.logFile())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(tail(b)))
}
