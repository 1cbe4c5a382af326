package secured

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509/pkix"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	simsasl "github.com/lso-exporter/lso-exporter/simbroker/sasl"
	"github.com/lso-exporter/lso-exporter/test/certificates"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/tokens"
)

// protocols are the listeners of both clusters, beside PLAINTEXT.
var protocols = map[string]string{
	"TLS":       "SSL",
	"MTLS":      "SSL",            // wants a client certificate
	"EXPIRED":   "SSL",            // has a certificate that has expired
	"ELSEWHERE": "SSL",            // has the certificate of kafka.elsewhere
	"LOGIN":     "SASL_SSL",       // by every mechanism; tokens are signed
	"BRIEF":     "SASL_PLAINTEXT", // sessions of three seconds
	"UNSIGNED":  "SASL_PLAINTEXT", // by tokens that need no signature, and nothing else
}

// order is that of the listeners in properties.
var order = []string{"TLS", "MTLS", "EXPIRED", "ELSEWHERE", "LOGIN", "BRIEF", "UNSIGNED"}

// The users. Names have what must be escaped somewhere.
const (
	plainUser    = "al.ice"
	scramUser    = "scr am"
	oauthClient  = "ex porter"
	clientName   = `CN=exporter,OU=a\, b\=c,O=Ops`
	otherSubject = "sub-0f3a"
)

// world is a cluster with a topic, and what the exporter needs to reach it.
type world struct {
	dir     string
	address map[string]string // by listener
	seed    string            // in clear, as a user who may do everything

	issuer, unsigned, alien *tokens.Issuer
	tokenURL, unsignedURL   string // of endpoints with TLS
	alienURL, brokenURL     string

	tokenHandler string // the brokers' class that checks tokens

	mu      sync.Mutex
	secrets map[string]string // by what they are
	outputs map[string]string // by what they come from
}

// newWorld makes certificates, passwords and token endpoints.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		dir: t.TempDir(), address: map[string]string{}, secrets: map[string]string{}, outputs: map[string]string{},
		tokenHandler: "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
	}
	ca, other := certificates.NewAuthority(t, "Cluster CA"), certificates.NewAuthority(t, "Another CA")
	certificates.WriteFile(t, w.dir, "ca.crt", ca.PEM)
	certificates.WriteFile(t, w.dir, "other-ca.crt", other.PEM)
	here, past := []string{"127.0.0.1", "localhost"}, time.Now().Add(-time.Hour)
	store := func(name string, r certificates.Request) {
		certificates.WriteFile(t, w.dir, name, ca.Issue(t, r).KeyStore())
	}
	store("server.pem", certificates.Request{Names: here})
	store("expired.pem", certificates.Request{Names: here, NotAfter: past})
	store("elsewhere.pem", certificates.Request{Names: []string{"kafka.elsewhere"}})
	client := certificates.Request{Subject: pkix.Name{Organization: []string{"Ops"}, OrganizationalUnit: []string{"a, b=c"}, CommonName: "exporter"}}
	pair := ca.Issue(t, client)
	pair.Write(t, w.dir, "client")
	w.secrets["key of the client certificate"] = strings.Split(string(pair.Key), "\n")[1]
	other.Issue(t, client).Write(t, w.dir, "stranger")
	client.NotAfter = past
	ca.Issue(t, client).Write(t, w.dir, "old")

	for _, name := range []string{"plain", "scram", "oauth", "wrong"} {
		w.secrets[name] = "pw+/&%~ " + name + " " + rand.Text()[:8]
		certificates.WriteFile(t, w.dir, name+".secret", []byte(w.secrets[name]+"\n"))
	}
	w.issuer, w.unsigned, w.alien = tokens.NewIssuer(t), tokens.NewIssuer(t), tokens.NewIssuer(t)
	w.unsigned.Unsecured = true
	for _, i := range []*tokens.Issuer{w.issuer, w.unsigned, w.alien} {
		i.Clients[oauthClient] = w.secrets["oauth"]
		i.Claims = map[string]any{"iss": "https://sso.example", "aud": "kafka", "sub": otherSubject}
	}
	endpoint := func(i *tokens.Issuer) string {
		server := httptest.NewUnstartedServer(i)
		issued := ca.Issue(t, certificates.Request{Names: here})
		certificate, err := tls.X509KeyPair(issued.Certificate, issued.Key)
		if err != nil {
			t.Fatal(err)
		}
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		server.StartTLS()
		t.Cleanup(server.Close)
		return server.URL + "/token"
	}
	broken := tokens.NewIssuer(t)
	broken.Fail(503, "try again: "+w.secrets["oauth"])
	w.tokenURL, w.unsignedURL, w.alienURL, w.brokenURL = endpoint(w.issuer), endpoint(w.unsigned), endpoint(w.alien), endpoint(broken)
	return w
}

// file is the path of one of the world's files.
func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

const (
	plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule required "
	scramModule = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	oauthModule = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
)

// properties are those of the brokers of both clusters. keysURL is where the
// public keys of tokens are.
func (w *world) properties(keysURL string) map[string]string {
	all := map[string]string{
		"offsets.topic.num.partitions":              "1",
		"offsets.topic.replication.factor":          "1",
		"authorizer.class.name":                     "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":                               "User:ANONYMOUS;User:" + plainUser + ";User:" + scramUser + ";User:" + otherSubject + ";User:" + clientName,
		"connection.failed.authentication.delay.ms": "1",
		"ssl.keystore.type":                         "PEM",
		"ssl.keystore.location":                     w.file("server.pem"),
		"ssl.truststore.type":                       "PEM",
		"ssl.truststore.location":                   w.file("ca.crt"),
		"ssl.client.auth":                           "none",
	}
	of := func(listener, name, value string) { all["listener.name."+strings.ToLower(listener)+"."+name] = value }
	of("MTLS", "ssl.client.auth", "required")
	of("EXPIRED", "ssl.keystore.location", w.file("expired.pem"))
	of("EXPIRED", "ssl.keystore.type", "PEM")
	of("ELSEWHERE", "ssl.keystore.location", w.file("elsewhere.pem"))
	of("ELSEWHERE", "ssl.keystore.type", "PEM")
	of("LOGIN", "sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER")
	of("BRIEF", "sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512")
	for _, listener := range []string{"LOGIN", "BRIEF"} {
		of(listener, "plain.sasl.jaas.config", fmt.Sprintf(`%s user_%s="%s";`, plainModule, plainUser, w.secrets["plain"]))
		of(listener, "scram-sha-256.sasl.jaas.config", scramModule)
		of(listener, "scram-sha-512.sasl.jaas.config", scramModule)
	}
	of("BRIEF", "connections.max.reauth.ms", "3000")
	of("LOGIN", "oauthbearer.sasl.jaas.config", oauthModule+";")
	of("LOGIN", "oauthbearer.sasl.server.callback.handler.class", w.tokenHandler)
	of("LOGIN", "sasl.oauthbearer.jwks.endpoint.url", keysURL)
	of("LOGIN", "sasl.oauthbearer.expected.issuer", "https://sso.example")
	of("LOGIN", "sasl.oauthbearer.expected.audience", "kafka")
	of("UNSIGNED", "sasl.enabled.mechanisms", "OAUTHBEARER")
	of("UNSIGNED", "oauthbearer.sasl.jaas.config", oauthModule+`unsecuredLoginStringClaim_sub="broker";`)
	return all
}

// scram are the users of SCRAM, as kafka-storage.sh takes them.
func (w *world) scram() []string {
	var users []string
	for _, m := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		users = append(users, fmt.Sprintf(`%s=[name="%s",password="%s"]`, m, scramUser, w.secrets["scram"]))
	}
	return users
}

// simulatedProperties are properties with the listeners of a simulated cluster.
func (w *world) simulatedProperties(keysURL string) map[string]string {
	all := w.properties(keysURL)
	all["listeners"], all["listener.security.protocol.map"] = "PLAINTEXT://:0", "PLAINTEXT:PLAINTEXT"
	for _, name := range order {
		all["listeners"] += "," + name + "://:0"
		all["listener.security.protocol.map"] += "," + name + ":" + protocols[name]
	}
	return all
}

// simulate starts a simulated cluster.
func (w *world) simulate(t *testing.T, config simbroker.Config) *simbroker.Cluster {
	t.Helper()
	keys := certificates.WriteFile(t, w.dir, "keys.json", w.issuer.Keys())
	properties := w.simulatedProperties("file://" + keys)
	for name, value := range config.Properties {
		properties[name] = value
	}
	config.Properties, config.ListenAddress = properties, "127.0.0.1:0"
	for _, m := range []simsasl.Mechanism{simsasl.ScramSHA256, simsasl.ScramSHA512} {
		config.Users = append(config.Users, simsasl.NewUser{Mechanism: m, Name: scramUser, Password: w.secrets["scram"], Iterations: 4096})
	}
	cluster, err := simbroker.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range append([]string{"PLAINTEXT"}, order...) {
		w.address[name] = cluster.BootstrapOf(name)[0]
	}
	w.seed = w.address["PLAINTEXT"]
	return cluster
}

// onSimulator is a world with a simulated broker.
func onSimulator(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.simulate(t, simbroker.Config{})
	w.createTopic(t)
	return w
}

// onKafka is a world with a real one.
func onKafka(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	if strings.HasPrefix(kafka.Version(t), "3.") {
		w.tokenHandler = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
	}
	keys := httptest.NewServer(w.issuer)
	t.Cleanup(keys.Close)
	cluster := kafka.StartFor(t, kafka.Config{
		Version: kafka.Version(t), Brokers: 1, Properties: w.properties(keys.URL + "/keys"),
		Secured: &kafka.Security{Scram: w.scram()}, Listeners: protocols,
		JVM: []string{"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=" + keys.URL + "/keys"},
	})
	for _, name := range order {
		w.address[name] = cluster.Listener(name)[1]
	}
	w.seed = cluster.Bootstrap()[0]
	w.address["PLAINTEXT"] = w.seed
	w.createTopic(t)
	return w
}

// createTopic makes the topic that whoever may see all sees.
func (w *world) createTopic(t *testing.T) {
	t.Helper()
	w.createTopics(t, map[string]int32{"orders": 1})
}

// createTopics makes topics of one partition, each at a broker.
func (w *world) createTopics(t *testing.T, brokers map[string]int32) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.seed))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	for name, broker := range brokers {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
		topic.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{broker}}}
		req.Topics = append(req.Topics, topic)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range resp.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			t.Fatalf("topic %s: %v", topic.Topic, err)
		}
	}
}

// keep keeps an output to be searched for secrets.
func (w *world) keep(from, output string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outputs[from] += output
}

// configuration writes a file with the section kafka and gives its path.
func (w *world) configuration(t *testing.T, name, listener, section string) string {
	t.Helper()
	text := "sweep: {interval: 500ms}\nkafka:\n  brokers: ['" + w.address[listener] + "']\n  request_timeout: 300ms\n" + section
	path := w.file(strings.ReplaceAll(name, " ", "-") + ".yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
