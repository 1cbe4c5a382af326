package rights

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// properties are those of both clusters: one broker, few internal partitions.
var properties = map[string]string{
	"auto.create.topics.enable":                        "false",
	"group.initial.rebalance.delay.ms":                 "0",
	"offsets.topic.num.partitions":                     "1",
	"offsets.topic.replication.factor":                 "1",
	"transaction.state.log.num.partitions":             "1",
	"transaction.state.log.replication.factor":         "1",
	"transaction.state.log.min.isr":                    "1",
	"share.coordinator.state.topic.replication.factor": "1",
	"share.coordinator.state.topic.min.isr":            "1",
	"connection.failed.authentication.delay.ms":        "1",
}

// security are the properties that test/kafka gives a secured cluster, for the
// simulator.
var security = map[string]string{
	"listeners":                                         "PLAINTEXT://:0,SASL://:0",
	"listener.security.protocol.map":                    "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
	"sasl.enabled.mechanisms":                           "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
	"listener.name.sasl.plain.sasl.jaas.config":         `org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";`,
	"listener.name.sasl.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	"listener.name.sasl.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	"authorizer.class.name":                             "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
	"super.users":                                       "User:ANONYMOUS",
}

// world is a cluster of one broker on which there is something to see: topics
// orders and hidden with records, groups g and h with commits on both, and a
// transaction of id billing that is open on both.
type world struct {
	t       *testing.T
	ctx     context.Context
	cluster *scenario.Secured
	seeds   []string
	ids     map[string][16]byte // of topics
	offered map[int16]int16     // highest version of each API
	levels  map[string]int16    // of finalised features
}

// broker is the only one's id.
const broker = 1

func onSimulator(t *testing.T) *world {
	t.Helper()
	all := maps.Clone(properties)
	maps.Copy(all, security)
	cluster, err := simbroker.Start(simbroker.Config{Properties: all, ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	network, err := simulated.DialSecured(context.Background(), cluster, "SASL")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	return furnish(t, network, cluster.Bootstrap())
}

func onKafka(t *testing.T) *world {
	t.Helper()
	cluster := kafka.StartFor(t, kafka.Config{Version: kafka.Version(t), Brokers: 1, Properties: properties, Secured: &kafka.Security{Plain: map[string]string{"alice": "secret"}}})
	network, err := scenario.Dial(context.Background(), cluster.Bootstrap(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	return furnish(t, network.Secured(cluster.UserListeners()), cluster.Bootstrap())
}

// must fails the test on an error.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// furnish puts in what there is to see.
func furnish(t *testing.T, network *scenario.Secured, seeds []string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, cluster: network, seeds: seeds, ids: map[string][16]byte{}, offered: map[int16]int16{}, levels: map[string]int16{}}
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.Version, versions.ClientSoftwareName, versions.ClientSoftwareVersion = 3, "rights", "1"
	answer := w.ask("", versions).(*kmsg.ApiVersionsResponse)
	for _, k := range answer.ApiKeys {
		w.offered[k.ApiKey] = k.MaxVersion
	}
	for _, f := range answer.FinalizedFeatures {
		w.levels[f.Name] = f.MaxVersionLevel
	}
	w.transact()
	w.commit()
	return w
}

// client is a client of one who may do everything.
func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(w.seeds...)}, opts...)...)
	w.must(err)
	return cl
}

var topics = []string{"orders", "hidden"}

// transact makes the topics, and a transaction that stays open.
func (w *world) transact() {
	cl := w.client(kgo.TransactionalID("billing"), kgo.TransactionTimeout(10*time.Minute))
	w.t.Cleanup(cl.Close)
	created, err := kadm.NewClient(cl).CreateTopics(w.ctx, 1, 1, nil, topics...)
	w.must(err)
	for _, topic := range created {
		w.must(topic.Err)
		w.ids[topic.Topic] = topic.ID
	}
	w.must(cl.BeginTransaction())
	for _, topic := range topics {
		w.must(cl.ProduceSync(w.ctx, &kgo.Record{Topic: topic, Value: []byte("record")}).FirstErr())
	}
}

// commit makes the groups.
func (w *world) commit() {
	cl := w.client()
	defer cl.Close()
	var offsets kadm.Offsets
	for _, topic := range topics {
		offsets.Add(kadm.Offset{Topic: topic, LeaderEpoch: -1})
	}
	for _, group := range []string{"g", "h", "deleted"} {
		committed, err := kadm.NewClient(cl).CommitOffsets(w.ctx, group, offsets)
		w.must(err)
		w.must(committed.Error())
	}
}

// ask sends a request as a user, "" for one who may do everything, in the
// version that is set, or in the highest.
func (w *world) ask(user string, req kmsg.Request) kmsg.Response {
	w.t.Helper()
	if req.GetVersion() == 0 {
		if highest, known := w.offered[req.Key()]; known {
			req.SetVersion(min(req.MaxVersion(), highest))
		}
	}
	var resp kmsg.Response
	var err error
	if user == "" {
		resp, err = w.cluster.Request(w.ctx, broker, "rights", req)
	} else {
		resp, err = w.cluster.RequestAs(w.ctx, broker, user, "rights", req)
	}
	w.must(err)
	return resp
}

// offers says whether the cluster has the API in the version that is set, and has
// finalised the feature, if one is named.
func (w *world) offers(req kmsg.Request, feature string) bool {
	highest, known := w.offered[req.Key()]
	return known && req.GetVersion() <= highest && (feature == "" || w.levels[feature] > 0)
}

// enrol makes users, none of whom has a right, and waits until all can log in.
func (w *world) enrol(users []string) {
	w.t.Helper()
	admin := w.client()
	defer admin.Close()
	var upserts []kadm.UpsertSCRAM
	for _, user := range users {
		upserts = append(upserts, kadm.UpsertSCRAM{User: user, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: scenario.Password(user)})
	}
	altered, err := kadm.NewClient(admin).AlterUserSCRAMs(w.ctx, nil, upserts)
	w.must(err)
	w.must(altered.Error())
	for _, user := range users {
		for w.ctx.Err() == nil {
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "rights", "1"
			if _, err := w.cluster.RequestAs(w.ctx, broker, user, "rights", req); err == nil {
				break
			}
		}
	}
	w.must(w.ctx.Err())
}

var resourceTypes = map[string]kmsg.ACLResourceType{
	"topic": kmsg.ACLResourceTypeTopic, "group": kmsg.ACLResourceTypeGroup,
	"id": kmsg.ACLResourceTypeTransactionalId, "cluster": kmsg.ACLResourceTypeCluster,
}

// grant gives a user a right, such as READ topic orders, and waits until the
// broker knows of it.
func (w *world) grant(user, right string) {
	w.t.Helper()
	words := strings.Fields(right)
	kind, known := resourceTypes[words[1]]
	operation, err := kmsg.ParseACLOperation(words[0])
	if err != nil || !known || len(words) != 3 && words[1] != "cluster" {
		w.t.Fatalf("%q is no right: %v", right, err)
	}
	name := "kafka-cluster"
	if len(words) == 3 {
		name = words[2]
	}
	create := kmsg.NewPtrCreateACLsRequest()
	c := kmsg.NewCreateACLsRequestCreation()
	c.ResourceType, c.ResourceName, c.ResourcePatternType = kind, name, kmsg.ACLResourcePatternTypeLiteral
	c.Principal, c.Host, c.Operation, c.PermissionType = "User:"+user, "*", operation, kmsg.ACLPermissionTypeAllow
	create.Creations = append(create.Creations, c)
	w.must(kerr.ErrorForCode(w.ask("", create).(*kmsg.CreateACLsResponse).Results[0].ErrorCode))
	for {
		describe := kmsg.NewPtrDescribeACLsRequest()
		describe.ResourceType, describe.ResourceName, describe.ResourcePatternType = kind, &name, kmsg.ACLResourcePatternTypeLiteral
		describe.Principal, describe.Operation, describe.PermissionType = &c.Principal, operation, kmsg.ACLPermissionTypeAllow
		if len(w.ask("", describe).(*kmsg.DescribeACLsResponse).Resources) > 0 {
			return
		}
		w.must(w.ctx.Err())
	}
}

// none is how an empty list is shown.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}
