package collector

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka is a Client over franz-go.
type Kafka struct {
	client *kgo.Client
}

// NewKafka returns a client with the given options: seed brokers, security and
// client id. Timeouts, retries and versions are its own and override them. It
// does not connect. Close ends it.
func NewKafka(options ...kgo.Opt) (*Kafka, error) {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	return &Kafka{client: client}, nil
}

// Close closes the connections.
func (k *Kafka) Close() { k.client.Close() }

// Seeds implements Client.
func (k *Kafka) Seeds() []int32 { return nil }

// Request implements Client.
func (k *Kafka) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	return k.client.Broker(int(broker)).Request(ctx, req)
}
