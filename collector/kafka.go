package collector

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector/security"
)

// How a connection behaves. A sweep gives every request a deadline of its own;
// these are for what goes on after it.
const (
	// readTimeout ends a connection on which nothing comes back: a host that is
	// gone, as opposed to a broker that hangs.
	readTimeout = 10 * time.Second

	// idleTimeout is just below a broker's default (connections.max.idle.ms),
	// so that connections outlast any sensible period.
	idleTimeout = 9 * time.Minute

	// ownMetadataAge is how often franz-go asks for the list of brokers on its
	// own account, which nothing here needs: as seldom as it allows.
	ownMetadataAge = time.Hour
)

// Kafka is a Client over franz-go. Each broker has a franz-go client of its
// own that knows only that broker's address: one client for all of them learns
// of a broker's new address, or of a new broker, only by Metadata requests of
// its own, from a broker of its choice and with retries, which would escape a
// sweep's order and budget.
type Kafka struct {
	options   []kgo.Opt
	connector *security.Connector
	seeds     *kgo.Client

	mu      sync.Mutex
	closed  bool
	brokers map[int32]*kafkaBroker
}

// kafkaBroker is the client of one broker.
//
// A broker answers the requests of one connection in their order, so that one
// that takes long makes all behind it late. Those that may have connections of
// their own: franz-go sees to that for Fetch, slow for the others.
type kafkaBroker struct {
	address      string
	client, slow *kgo.Client
	err          error // why there are no clients
}

// newKafkaBroker returns the clients of the broker at an address. They do not
// connect.
func newKafkaBroker(address string, options []kgo.Opt) *kafkaBroker {
	b := &kafkaBroker{address: address}
	options = append(slices.Clone(options), kgo.SeedBrokers(address))
	if b.client, b.err = kgo.NewClient(options...); b.err == nil {
		b.slow, b.err = kgo.NewClient(options...)
	}
	return b
}

// of returns the client for a request.
func (b *kafkaBroker) of(req kmsg.Request) *kgo.Client {
	switch r := req.(type) {
	case *kmsg.DescribeShareGroupOffsetsRequest: // the coordinator asks other brokers
		return b.slow
	case *kmsg.ListOffsetsRequest:
		if byTimestamp(r) { // may search in remote storage (KIP-405)
			return b.slow
		}
	}
	return b.client
}

// close closes the broker's connections.
func (b *kafkaBroker) close() {
	for _, c := range []*kgo.Client{b.client, b.slow} {
		if c != nil {
			c.Close()
		}
	}
}

// NewKafka returns a client whose connections are in clear, without a login,
// unless the options say otherwise; see NewSecuredKafka.
func NewKafka(options ...kgo.Opt) (*Kafka, error) {
	return NewSecuredKafka(security.InClear(), options...)
}

// NewSecuredKafka returns a client with the given options (seed brokers, client
// id), whose connections the connector opens. Timeouts, versions and what
// concerns producing and consuming are its own. It does not connect. It returns
// an error if franz-go refuses the options. Close ends it, and closes the
// connector.
func NewSecuredKafka(connector *security.Connector, options ...kgo.Opt) (*Kafka, error) {
	lowest, highest := limits()
	all := slices.Concat(connector.Options(), options, []kgo.Opt{
		kgo.MinVersions(lowest),
		kgo.MaxVersions(highest),
		kgo.RequestTimeoutOverhead(readTimeout),
		kgo.ConnIdleTimeout(idleTimeout),
		kgo.MetadataMaxAge(ownMetadataAge),
		kgo.DisableClientMetrics(), // KIP-714 sends requests too
	})
	seeds, err := kgo.NewClient(all...)
	if err != nil {
		return nil, err
	}
	return &Kafka{options: all, connector: connector, seeds: seeds, brokers: make(map[int32]*kafkaBroker)}, nil
}

// Principal is who brokers take this client for, in Kafka's form, as far as that
// can be told from here.
func (k *Kafka) Principal() string { return k.connector.Principal() }

// Close closes the connections and fails the requests on their way. Requests
// after it fail.
func (k *Kafka) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.connector.Close()
	k.seeds.Close()
	for _, b := range k.brokers {
		b.close()
	}
}

// Seeds implements Client. The ids are franz-go's own for seeds, far below 0.
func (k *Kafka) Seeds() []int32 {
	n := len(k.seeds.SeedBrokers())
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = math.MinInt32 + int32(i)
	}
	return ids
}

// Request implements Client. Answers to Metadata requests for all topics say which
// brokers there are, and where. Its errors name the address that was asked.
func (k *Kafka) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	client, id := k.seeds, broker
	address := k.seedAddress(broker)
	if broker >= 0 {
		k.mu.Lock()
		b := k.brokers[broker]
		k.mu.Unlock()
		switch {
		case b == nil:
			return nil, fmt.Errorf("%s: no Metadata answer has listed it", brokerSubject(broker))
		case b.err != nil:
			return nil, fmt.Errorf("%s: %w", b.address, b.err)
		}
		client, id, address = b.of(req), math.MinInt32, b.address
	}
	var within time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		within = time.Until(deadline)
	}
	resp, err := client.Broker(int(id)).Request(ctx, req)
	if err != nil {
		return nil, failureOf(wrapMissing(k.connector.Explain(err, address)), address, within)
	}
	if whole, ok := req.(*kmsg.MetadataRequest); ok && whole.Topics == nil {
		k.learn(resp.(*kmsg.MetadataResponse).Brokers)
	}
	return resp, nil
}

// seedAddress is the address of a seed, host:port; empty for other brokers.
func (k *Kafka) seedAddress(id int32) string {
	seeds, ok := k.seeds.OptValue(kgo.SeedBrokers).([]string)
	if at := int64(id) - math.MinInt32; ok && at < int64(len(seeds)) {
		return seeds[at]
	}
	return ""
}

// wrapMissing makes franz-go's errors for versions that do not meet match
// ErrAPIMissing. They have no exported value to compare with.
func wrapMissing(err error) error {
	for _, text := range []string{"broker is too old", "below the user defined min", "request key is unknown"} {
		if strings.Contains(err.Error(), text) {
			return errors.Join(ErrAPIMissing, err)
		}
	}
	return err
}

// learn brings the brokers' clients up to date with a Metadata answer. An
// address that franz-go refuses costs that broker alone.
func (k *Kafka) learn(brokers []kmsg.MetadataResponseBroker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	listed := make(map[int32]bool, len(brokers))
	for _, b := range brokers {
		listed[b.NodeID] = true
		address := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		if known := k.brokers[b.NodeID]; known != nil {
			if known.address == address {
				continue
			}
			known.close()
		}
		k.brokers[b.NodeID] = newKafkaBroker(address, k.options)
	}
	for id, b := range k.brokers {
		if !listed[id] {
			b.close()
			delete(k.brokers, id)
		}
	}
}
