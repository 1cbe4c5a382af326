package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/litmus"
)

// Inject implements scenario.Injector.
func (w *world) Inject(ctx context.Context, document []byte) (func(context.Context) error, error) {
	return simulated.New(w.sim).Inject(ctx, document)
}

// asUser is a collector.Client that is a user of a cluster in this process.
type asUser struct {
	cluster scenario.Cluster
	users   scenario.Users
	user    string
}

// Seeds implements collector.Client.
func (c asUser) Seeds() []int32 { return c.cluster.Brokers() }

// Request implements collector.Client.
func (c asUser) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	resp, err := c.users.RequestAs(ctx, broker, c.user, "lso-exporter", req)
	if errors.Is(err, simbroker.ErrTimeout) {
		err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return resp, err
}

// clientOf returns the client of an exporter that is a user: on a real Kafka it
// logs in.
func (s *stage) clientOf(users scenario.Users, user string) (collector.Client, error) {
	secured, real := users.(*scenario.Secured)
	if !real {
		return asUser{s.cluster, users, user}, nil
	}
	var seeds []string
	for _, broker := range secured.Brokers() {
		seeds = append(seeds, secured.Listener(broker))
	}
	client, err := collector.NewKafka(kgo.SeedBrokers(seeds...),
		kgo.SASL(scram.Auth{User: user, Pass: scenario.Password(user)}.AsSha256Mechanism()))
	if err == nil {
		s.t.Cleanup(client.Close)
	}
	return client, err
}

// watch ends the exporter and starts one that is a user. The oracle does not
// know what users may see, and does not judge it.
func (s *stage) watch(words []string) (scenario.Action, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("one user")
	}
	return func(_ context.Context, p *scenario.Play) (string, error) {
		users, ok := s.cluster.(scenario.Users)
		if !ok {
			return "", fmt.Errorf("%w: users", scenario.ErrNotOffered)
		}
		client, err := s.clientOf(users, p.Name(words[0]))
		if err != nil {
			return "", err
		}
		options := s.options
		options.Serial = s.sim != nil
		s.exporter = newExporter(s.t, words[0], client, s.cluster.Now, options, metrics.Options{})
		s.exporter.judged = false
		s.page = nil
		return "", nil
	}, nil
}

// security are the properties with which simulated brokers ask for rights.
var security = map[string]string{
	"listeners":                                         "PLAINTEXT://:0,SASL://:0",
	"listener.security.protocol.map":                    "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
	"sasl.enabled.mechanisms":                           "SCRAM-SHA-256",
	"listener.name.sasl.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	"authorizer.class.name":                             "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
	"super.users":                                       "User:ANONYMOUS",
}

// The stories of an exporter that may not see everything, on the simulator.
func TestRightsOnSimulator(t *testing.T) {
	for name, text := range texts(t, "rights") {
		t.Run(name, func(t *testing.T) {
			properties := litmus.Properties()
			maps.Copy(properties, security)
			_, own := given(t, name, text)
			maps.Copy(properties, own)
			cluster, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: properties, Clock: simbroker.Simulated(epoch), Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cluster.Close(); err != nil {
					t.Errorf("close the cluster: %v", err)
				}
			})
			s := newStage()
			s.t, s.cluster, s.sim = t, simulated.New(cluster), cluster
			play(t, "rights", name, text, s, scenario.Options{Given: properties}, false)
		})
	}
}

// The same on a real Kafka, where the exporter logs in.
func TestRightsOnKafka(t *testing.T) {
	cluster := kafka.StartFor(t, kafka.Config{Version: kafka.Version(t), Brokers: 3, Properties: litmus.Properties(), Secured: &kafka.Security{}})
	network, err := scenario.Dial(context.Background(), cluster.Bootstrap(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	for name, text := range texts(t, "rights") {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			s.t, s.cluster = t, network.Secured(cluster.UserListeners())
			play(t, "rights", name, text, s, scenario.Options{Given: litmus.Properties()}, *update)
		})
	}
}
