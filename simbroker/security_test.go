package simbroker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	simsasl "github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// secured are the properties of a cluster with a plaintext listener, whose users
// may do everything, and one with SASL beside it.
var secured = with(small, map[string]string{
	"listeners":                                         "PLAINTEXT://:0,SASL://:0",
	"listener.security.protocol.map":                    "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
	"sasl.enabled.mechanisms":                           "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
	"listener.name.sasl.plain.sasl.jaas.config":         `org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alicepw" user_bob="bobpw";`,
	"listener.name.sasl.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	"listener.name.sasl.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	"authorizer.class.name":                             "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
	"super.users":                                       "User:ANONYMOUS;User:admin",
	"connection.failed.authentication.delay.ms":         "1",
})

func with(properties ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, p := range properties {
		for name, value := range p {
			all[name] = value
		}
	}
	return all
}

// securedOverTCP is a cluster with users admin (SCRAM-SHA-512), alice and bob
// (PLAIN).
func securedOverTCP(t *testing.T) *simbroker.Cluster {
	t.Helper()
	c, err := simbroker.Start(simbroker.Config{
		Brokers: 3, Properties: secured, ListenAddress: "127.0.0.1:0",
		Users: []simsasl.NewUser{{Mechanism: simsasl.ScramSHA512, Name: "admin", Password: "adminpw", Iterations: 4096}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	giveProducerIDs(t, c)
	return c
}

// login is a client that comes by the SASL listener.
func login(t *testing.T, c *simbroker.Cluster, mechanism sasl.Mechanism, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return client(t, c, append([]kgo.Opt{kgo.SeedBrokers(c.BootstrapOf("SASL")...), kgo.SASL(mechanism), kgo.RequestRetries(0), kgo.MetadataMinAge(10 * time.Millisecond)}, opts...)...)
}

// Clients log in by every mechanism, and work on, with every broker: each is
// told of the SASL listeners.
func TestLoginOverTCP(t *testing.T) {
	c := securedOverTCP(t)
	ctx := within(t, 20*time.Second)
	admin := kadm.NewClient(client(t, c))
	if _, err := admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{
		{User: "carol", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "carolpw"},
	}); err != nil {
		t.Fatal(err)
	}
	for user, mechanism := range map[string]sasl.Mechanism{
		"alice": plain.Auth{User: "alice", Pass: "alicepw"}.AsMechanism(),
		"carol": scram.Auth{User: "carol", Pass: "carolpw"}.AsSha256Mechanism(),
		"admin": scram.Auth{User: "admin", Pass: "adminpw"}.AsSha512Mechanism(),
	} {
		cl := login(t, c, mechanism)
		for _, b := range awaitBrokers(t, ctx, kadm.NewClient(cl), user) {
			if address := fmt.Sprintf("%s:%d", b.Host, b.Port); !slices.Contains(c.BootstrapOf("SASL"), address) {
				t.Errorf("%s is told of %s, listeners are at %v", user, address, c.BootstrapOf("SASL"))
			}
			if _, err := cl.Broker(int(b.NodeID)).Request(ctx, kmsg.NewPtrApiVersionsRequest()); err != nil {
				t.Errorf("%s at broker %d: %v", user, b.NodeID, err)
			}
		}
	}
}

// awaitBrokers lists the brokers as a user sees them. A new user's credential
// takes a moment to reach every broker.
func awaitBrokers(t *testing.T, ctx context.Context, admin *kadm.Client, user string) kadm.BrokerDetails {
	t.Helper()
	for {
		brokers, err := admin.ListBrokers(ctx)
		if err == nil {
			return brokers
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %v", user, err)
		}
	}
}

// A wrong password is SASL_AUTHENTICATION_FAILED, with Kafka's words.
func TestWrongPasswordOverTCP(t *testing.T) {
	c := securedOverTCP(t)
	ctx := within(t, 20*time.Second)
	for want, mechanism := range map[string]sasl.Mechanism{
		"Authentication failed: Invalid username or password":                                                      plain.Auth{User: "alice", Pass: "bobpw"}.AsMechanism(),
		"Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256": scram.Auth{User: "nobody", Pass: "x"}.AsSha256Mechanism(),
		"Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512": scram.Auth{User: "admin", Pass: "x"}.AsSha512Mechanism(),
	} {
		err := login(t, c, mechanism).Ping(ctx)
		if !errors.Is(err, kerr.SaslAuthenticationFailed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %v with %q", err, kerr.SaslAuthenticationFailed, want)
		}
	}
	if err := login(t, c, plain.Auth{User: "alice", Pass: "alicepw"}.AsMechanism()).Ping(ctx); err != nil {
		t.Errorf("the right password: %v", err)
	}
}

// kadm makes, lists and deletes ACLs, and they take effect.
func TestACLsByAdmin(t *testing.T) {
	c := securedOverTCP(t)
	ctx := within(t, 20*time.Second)
	createTopic(t, ctx, c, "orders", 1, 1)
	admin := kadm.NewClient(client(t, c))
	alice := kadm.NewClient(login(t, c, plain.Auth{User: "alice", Pass: "alicepw"}.AsMechanism()))

	// see waits until the topics that alice sees are these.
	see := func(when string, want ...string) {
		t.Helper()
		for {
			details, err := alice.ListTopics(ctx)
			if err == nil && slices.Equal(details.Names(), want) {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("%s: alice sees %v, %v, want %v", when, details.Names(), err, want)
			}
		}
	}
	see("at first")
	grant := kadm.NewACLs().Topics("ord").ResourcePatternType(kadm.ACLPatternPrefixed).Operations(kadm.OpRead).Allow("User:alice").AllowHosts("*")
	created, err := admin.CreateACLs(ctx, grant)
	if err != nil || len(created) != 1 || created[0].Err != nil {
		t.Fatal(created, err)
	}
	see("with READ on ord…", "orders")
	deny := kadm.NewACLs().Topics("orders").Operations(kadm.OpDescribe).Deny("User:alice").DenyHosts("*")
	if _, err := admin.CreateACLs(ctx, deny); err != nil {
		t.Fatal(err)
	}
	see("with DESCRIBE denied")

	described, err := admin.DescribeACLs(ctx, kadm.NewACLs().AnyResource().ResourcePatternType(kadm.ACLPatternMatch).Topics("orders").Operations(kadm.OpAny).Allow().AllowHosts().Deny().DenyHosts())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range described {
		for _, a := range d.Described {
			found = append(found, fmt.Sprint(a.Permission, " ", a.Principal, " ", a.Operation, " ", a.Type, " ", a.Pattern, " ", a.Name))
		}
	}
	slices.Sort(found)
	if want := []string{"ALLOW User:alice READ TOPIC PREFIXED ord", "DENY User:alice DESCRIBE TOPIC LITERAL orders"}; !slices.Equal(slices.Compact(found), want) {
		t.Errorf("described %q, want %q", found, want)
	}

	deleted, err := admin.DeleteACLs(ctx, deny)
	if err != nil || len(deleted) != 1 || len(deleted[0].Deleted) != 1 {
		t.Fatalf("deleted %+v, %v", deleted, err)
	}
	see("after the denial is gone", "orders")
	if got, err := alice.CreateACLs(ctx, grant); err == nil && !errors.Is(got[0].Err, kerr.ClusterAuthorizationFailed) {
		t.Errorf("alice makes ACLs: %+v", got)
	}
}

// Without an authorizer there are no ACLs.
func TestACLsWithoutAuthorizer(t *testing.T) {
	s := simulated(t, small)
	describe := kmsg.NewPtrDescribeACLsRequest()
	describe.ResourceType, describe.ResourcePatternType, describe.Operation, describe.PermissionType = 1, 1, 1, 1
	if got := ask[*kmsg.DescribeACLsResponse](s, 1, describe, 3); got.ErrorCode != kerr.SecurityDisabled.Code {
		t.Errorf("DescribeAcls: %+v", got)
	}
	create := kmsg.NewPtrCreateACLsRequest()
	create.Creations = []kmsg.CreateACLsRequestCreation{{ResourceType: 2, ResourceName: "t", ResourcePatternType: 3, Principal: "User:a", Host: "*", Operation: 3, PermissionType: 3}}
	if got := ask[*kmsg.CreateACLsResponse](s, 1, create, 3); got.Results[0].ErrorCode != kerr.SecurityDisabled.Code {
		t.Errorf("CreateAcls: %+v", got)
	}
	remove := kmsg.NewPtrDeleteACLsRequest()
	remove.Filters = []kmsg.DeleteACLsRequestFilter{{ResourceType: 1, ResourcePatternType: 1, Operation: 1, PermissionType: 1}}
	if got := ask[*kmsg.DeleteACLsResponse](s, 1, remove, 3); got.Results[0].ErrorCode != kerr.SecurityDisabled.Code {
		t.Errorf("DeleteAcls: %+v", got)
	}
}

// Properties that a broker would not start with.
func TestSecurityMistakes(t *testing.T) {
	for _, test := range []struct {
		name   string
		change map[string]string
		want   string
	}{
		{"another authorizer", map[string]string{"authorizer.class.name": "com.example.Authorizer"}, "there is no such authorizer"},
		{"a super user without a type", map[string]string{"super.users": "admin"}, "principalType:principalName"},
		{"a protocol that there is not", map[string]string{"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_TLS"}, "there is no security protocol SASL_TLS"},
		{"TLS without a certificate", map[string]string{"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL"}, "there is no key store"},
		{"TLS with Java's store", map[string]string{"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL", "ssl.keystore.location": "server.jks"}, "ssl.keystore.type=JKS; expected PEM"},
		{"TLS with a store that is not there", map[string]string{"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL", "ssl.keystore.type": "PEM", "ssl.keystore.location": "missing.pem"}, "key store: open missing.pem"},
		{"TLS with a bad rule", map[string]string{"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL", "ssl.principal.mapping.rules": "RULE:a"}, "invalid rule"},
		{"a listener without a protocol", map[string]string{"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}, "no security protocol is defined for listener SASL"},
		{"a mechanism that there is not", map[string]string{"sasl.enabled.mechanisms": "PLAIN,GSSAPI"}, "there is no mechanism GSSAPI"},
		{"tokens without a line", map[string]string{"sasl.enabled.mechanisms": "OAUTHBEARER"}, "no JAAS configuration for mechanism OAUTHBEARER"},
		{"tokens with another handler", map[string]string{
			"sasl.enabled.mechanisms":                         "OAUTHBEARER",
			"listener.name.sasl.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
			"sasl.server.callback.handler.class":              "com.example.Handler",
		}, "there is no such handler"},
		{"tokens without keys", map[string]string{
			"sasl.enabled.mechanisms":                                           "OAUTHBEARER",
			"listener.name.sasl.oauthbearer.sasl.jaas.config":                   "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
			"listener.name.sasl.oauthbearer.sasl.server.callback.handler.class": "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
			"sasl.oauthbearer.jwks.endpoint.url":                                "file:///missing.json",
		}, "sasl.oauthbearer.jwks.endpoint.url: open /missing.json"},
		{"a session of no length", map[string]string{"listener.name.sasl.connections.max.reauth.ms": "long"}, "connections.max.reauth.ms"},
		{"no users of PLAIN", map[string]string{"listener.name.sasl.plain.sasl.jaas.config": "user_alice=alicepw;"}, "login module of PLAIN"},
		{"a listener twice", map[string]string{"listeners": "SASL://:0,SASL://:0"}, "comes twice"},
		{"an address for no listener", map[string]string{"advertised.listeners": "PLAINTEXT://a:1,SASL://a:2,SSL://a:3"}, "there is no listener SSL"},
		{"an address twice", map[string]string{"advertised.listeners": "PLAINTEXT://a:1,SASL://a:2,SASL://a:3"}, "comes twice"},
		{"a listener without an address", map[string]string{"advertised.listeners": "PLAINTEXT://a:1"}, "listener SASL is missing"},
		{"an address that is all of them", map[string]string{"advertised.listeners": "PLAINTEXT://a:1,SASL://0.0.0.0:2"}, "cannot connect to all addresses"},
		{"an address without a port", map[string]string{"advertised.listeners": "PLAINTEXT://a:1,SASL://a"}, "advertised.listeners: \"SASL://a\": it has no port"},
		{"a listener without a port", map[string]string{"listeners": "SASL://127.0.0.1"}, "has no port"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := simbroker.Start(simbroker.Config{Properties: with(secured, test.change), Clock: simbroker.Simulated(epoch)})
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "alicepw") {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
	missing := with(secured)
	delete(missing, "listener.name.sasl.plain.sasl.jaas.config")
	if _, err := simbroker.Start(simbroker.Config{Properties: missing, Clock: simbroker.Simulated(epoch)}); err == nil || !strings.Contains(err.Error(), "no JAAS configuration for mechanism PLAIN") {
		t.Errorf("no JAAS line: %v", err)
	}
}

// A cluster can have a SASL listener alone.
func TestOnlySASL(t *testing.T) {
	c, err := simbroker.Start(simbroker.Config{
		Brokers: 2, ListenAddress: "127.0.0.1:0",
		Properties: with(secured, map[string]string{"listeners": "SASL://127.0.0.1:0"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := within(t, 10*time.Second)
	if got := c.Listeners(); !slices.Equal(got, []string{"SASL"}) {
		t.Errorf("listeners %v", got)
	}
	if err := login(t, c, plain.Auth{User: "bob", Pass: "bobpw"}.AsMechanism()).Ping(ctx); err != nil {
		t.Error(err)
	}
	if err := client(t, c, kgo.RequestRetries(0)).Ping(ctx); err == nil {
		t.Error("a client that does not log in is served")
	}
}

// Clients are told the addresses that are advertised: those of all brokers count
// up, one broker's own do not, and port 0 is the one on which it listens.
func TestAdvertisedListeners(t *testing.T) {
	c, err := simbroker.Start(simbroker.Config{
		Brokers: 3, ListenAddress: "127.0.0.1:0",
		Properties: map[string]string{"advertised.listeners": "PLAINTEXT://kafka.example:9092"},
		BrokerProperties: map[kafka.BrokerID]map[string]string{
			3: {"advertised.listeners": "PLAINTEXT://localhost:0"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	resp, err := client(t, c).SeedBrokers()[0].Request(within(t, 10*time.Second), kmsg.NewPtrMetadataRequest())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		got = append(got, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
	}
	_, port, _ := net.SplitHostPort(c.Addr(3))
	if want := []string{"kafka.example:9092", "kafka.example:9093", "localhost:" + port}; !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
}
