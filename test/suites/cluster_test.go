package suites

import (
	"context"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	sim "github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// setting is the cluster that a suite wants.
type setting struct {
	brokers    int
	properties map[string]string
	// own are properties of single brokers, by id.
	own map[int32]map[string]string
	// logins adds a listener on which users log in, by SCRAM-SHA-256 or with
	// tokens that nobody has signed.
	logins bool
	// advertised are the addresses that clients are told, by broker id; nil for
	// those of the brokers.
	advertised map[int32]string
	// parent is where a real Kafka keeps its files; empty for the system's folder
	// for temporary files.
	parent string
}

// cluster is what a suite runs on.
type cluster interface {
	// addresses are where the brokers listen, by id.
	addresses() map[int32]string
	// loginAddresses are where users log in.
	loginAddresses() []string
	stop(id int32) error
	start(id int32) error
	// log is what a broker has logged since a moment.
	log(id int32, since time.Time) string
}

// loginListener is the listener on which users log in, and with what.
const loginListener = "LOGIN"

var loginProperties = map[string]string{
	"sasl.enabled.mechanisms":                            "SCRAM-SHA-256,OAUTHBEARER",
	"listener.name.login.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	"listener.name.login.oauthbearer.sasl.jaas.config":   "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
}

// on runs a test on the simulator and, where one is asked for, on a real Kafka.
func on(t *testing.T, want setting, test func(*testing.T, cluster)) {
	t.Run("simulator", func(t *testing.T) { test(t, onSimulator(t, want)) })
	t.Run("kafka", func(t *testing.T) { test(t, onKafka(t, want)) })
}

type simulated struct {
	*simbroker.Cluster
	mu    sync.Mutex
	lines []logLine
}

type logLine struct {
	at   time.Time
	text string
}

func onSimulator(t *testing.T, want setting) cluster {
	t.Helper()
	s := &simulated{}
	config := simbroker.Config{
		Brokers: want.brokers, ListenAddress: "127.0.0.1:0", Properties: want.properties,
		BrokerProperties: map[sim.BrokerID]map[string]string{}, Seed: 1, Log: s.note,
	}
	if want.logins {
		config.Properties = maps.Clone(want.properties)
		maps.Copy(config.Properties, loginProperties)
		config.Properties["listeners"] = "PLAINTEXT://:0," + loginListener + "://:0"
		config.Properties["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT," + loginListener + ":SASL_PLAINTEXT"
	}
	for id := range int32(want.brokers) {
		own := map[string]string{}
		maps.Copy(own, want.own[id+1])
		if told, ok := want.advertised[id+1]; ok {
			own["advertised.listeners"] = "PLAINTEXT://" + told
		}
		config.BrokerProperties[sim.BrokerID(id+1)] = own
	}
	var err error
	if s.Cluster, err = simbroker.Start(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil { // which checks every replica
			t.Error(err)
		}
	})
	return s
}

func (s *simulated) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, logLine{time.Now(), line})
}

func (s *simulated) addresses() map[int32]string {
	all := map[int32]string{}
	for _, id := range s.Brokers() {
		all[int32(id)] = s.Addr(id)
	}
	return all
}

func (s *simulated) loginAddresses() []string { return s.BootstrapOf(loginListener) }

func (s *simulated) stop(id int32) error  { return s.Stop(sim.BrokerID(id)) }
func (s *simulated) start(id int32) error { return s.Start(sim.BrokerID(id)) }

func (s *simulated) log(_ int32, since time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, l := range s.lines {
		if !l.at.Before(since) {
			text.WriteString(l.text + "\n")
		}
	}
	return text.String()
}

type real struct{ *kafka.Cluster }

// clients is the listener of a real Kafka by which suites come, if what it
// advertises is not where it listens.
const clients = "CLIENTS"

func onKafka(t *testing.T, want setting) cluster {
	t.Helper()
	config := kafka.Config{Version: kafka.Version(t), Brokers: want.brokers, Properties: want.properties, Own: want.own, Parent: want.parent}
	if want.logins {
		config.Properties = maps.Clone(want.properties)
		maps.Copy(config.Properties, loginProperties)
		config.Listeners = map[string]string{loginListener: "SASL_PLAINTEXT"}
	}
	if want.advertised != nil {
		config.Listeners = map[string]string{clients: "PLAINTEXT"}
		config.Advertised = map[string]map[int32]string{clients: want.advertised}
	}
	return real{kafka.StartFor(t, config)}
}

func (r real) addresses() map[int32]string {
	if at := r.Listener(clients); at[1] != "" {
		return at
	}
	all := map[int32]string{}
	for i, address := range r.Bootstrap() {
		all[int32(i+1)] = address
	}
	return all
}

func (r real) loginAddresses() []string {
	var all []string
	for _, address := range r.Listener(loginListener) {
		all = append(all, address)
	}
	return all
}

func (r real) stop(id int32) error  { return r.Stop(context.Background(), id) }
func (r real) start(id int32) error { return r.Start(context.Background(), id) }

// log leaves out the lines before a moment; lines without a time belong to the
// one before.
func (r real) log(id int32, since time.Time) string {
	const layout = "2006-01-02 15:04:05,000"
	var text strings.Builder
	young := false
	for line := range strings.Lines(r.Log(id)) {
		if len(line) > len(layout)+2 && line[0] == '[' {
			if at, err := time.ParseInLocation(layout, line[1:1+len(layout)], time.Local); err == nil {
				young = !at.Before(since)
			}
		}
		if young {
			text.WriteString(line)
		}
	}
	return text.String()
}

// bootstrap is the addresses of all brokers, as clients take them.
func bootstrap(c cluster) string {
	at := c.addresses()
	all := make([]string, 0, len(at))
	for id := range int32(len(at)) {
		all = append(all, at[id+1])
	}
	return strings.Join(all, ",")
}

// toolsVersion is the version of Kafka's tools, and that which suites are told.
func toolsVersion() string {
	if version := os.Getenv(kafka.VersionVariable); version != "" {
		return version
	}
	return "4.3.1"
}
