package collector_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/simbroker"
)

// audited is a cluster over TCP with users, and topics of all the kinds that an
// audit tells apart: "safe" needs two of three replicas, "single" has one
// replica, "quick" needs one of three; a transaction has written to each of
// them. Nobody writes to "idle", which has one replica, in a transaction.
func audited(t *testing.T) *simbroker.Cluster {
	t.Helper()
	c, err := simbroker.Start(simbroker.Config{
		Brokers: 3, ListenAddress: "127.0.0.1:0", Seed: 1,
		Properties: map[string]string{
			"offsets.topic.num.partitions":              "3",
			"transaction.state.log.num.partitions":      "3",
			"transaction.max.timeout.ms":                "3600000",
			"transaction.partition.verification.enable": "false",
			"listeners":                                 "PLAINTEXT://:0,SASL://:0",
			"listener.security.protocol.map":            "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
			"sasl.enabled.mechanisms":                   "PLAIN",
			"listener.name.sasl.plain.sasl.jaas.config": `org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alicepw";`,
			"authorizer.class.name":                     "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":                               "User:ANONYMOUS",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...), kgo.TransactionalID("writer"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	admin := kadm.NewClient(cl)
	for _, topic := range []struct {
		name     string
		replicas int16
		config   map[string]string
	}{
		{"safe", 3, map[string]string{"min.insync.replicas": "2"}},
		{"single", 1, nil},
		{"quick", 3, map[string]string{"unclean.leader.election.enable": "true"}},
		{"idle", 1, nil},
	} {
		config := make(map[string]*string)
		for name, value := range topic.config {
			config[name] = kadm.StringPtr(value)
		}
		created, err := admin.CreateTopics(ctx, 2, topic.replicas, config, topic.name)
		if err == nil {
			err = created[topic.name].Err
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"safe", "single", "quick"} {
		if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	var o kadm.Offsets
	o.Add(kadm.Offset{Topic: "safe", Partition: 0, At: 1, LeaderEpoch: -1})
	if committed, err := admin.CommitOffsets(ctx, "g", o); err != nil || committed.Error() != nil {
		t.Fatal(err, committed.Error())
	}
	return c
}

// grant gives alice rights, as "RESOURCE NAME OPERATION".
func grant(t *testing.T, c *simbroker.Cluster, rights ...string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	operations := map[string]kadm.ACLOperation{"DESCRIBE": kadm.OpDescribe, "DESCRIBE_CONFIGS": kadm.OpDescribeConfigs, "READ": kadm.OpRead}
	for _, right := range rights {
		words := strings.Fields(right)
		b := kadm.NewACLs().Allow("User:alice").AllowHosts("*").Operations(operations[words[2]]).ResourcePatternType(kadm.ACLPatternLiteral)
		switch words[0] {
		case "topic":
			b = b.Topics(words[1])
		case "group":
			b = b.Groups(words[1])
		case "id":
			b = b.TransactionalIDs(words[1])
		case "cluster":
			b = b.Clusters()
		}
		created, err := kadm.NewClient(cl).CreateACLs(t.Context(), b)
		if err == nil {
			err = created[0].Err
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// auditLines are the checks that are not good, one a line, and the sight.
func auditLines(a *lag.Audit) []string {
	var lines []string
	for _, c := range a.Checks {
		if c.Result != lag.Good {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %v %s", c.Name, c.Result, c.Value, c.Subjects, c.Gap)))
		}
	}
	sees := func(name string, all lag.Optional[bool]) {
		if yes, known := all.Get(); !known || !yes {
			lines = append(lines, fmt.Sprintf("sees all %s: %v, known %v", name, yes, known))
		}
	}
	sees("topics", a.Sight.AllTopics)
	sees("groups", a.Sight.AllGroups)
	sees("ids", a.Sight.AllTransactionalIDs)
	return lines
}

// counter counts requests of audits.
type counter struct {
	collector.Unobserved
	mu       sync.Mutex
	requests int
	audits   int
	success  map[collector.Collector]bool
}

func (c *counter) AuditRequest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.audits++
}

func (c *counter) Request(string, int32, time.Duration, lag.MissKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
}

func (c *counter) Collector(name collector.Collector, success bool, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.success == nil {
		c.success = make(map[collector.Collector]bool)
	}
	c.success[name] = success
}

// The audit finds what is weak, with few requests that are counted apart. With
// fewer rights it says of less that it is good, and never more.
func TestAudit(t *testing.T) {
	c := audited(t)
	weak := []string{
		"consumer_offsets_min_insync_replicas weak 1 []",
		"fragile_transactional_partitions weak 2 [quick: 1 partition with min.insync.replicas=1 single: 1 partition with a single replica]",
		"unclean_leader_election weak 1 [quick]",
		"transaction_max_timeout weak 3600000 []",
		"transaction_partition_verification weak 3 [broker 1 broker 2 broker 3]",
	}
	alice := []kgo.Opt{kgo.SeedBrokers(c.BootstrapOf("SASL")...), kgo.SASL(plain.Auth{User: "alice", Pass: "alicepw"}.AsMechanism())}
	for _, step := range []struct {
		reason  string
		options []kgo.Opt
		rights  []string
		want    []string
		success bool
	}{
		{"a user with all rights", []kgo.Opt{kgo.SeedBrokers(c.Bootstrap()...)}, nil, weak, true},
		{"no right at all", alice, nil, []string{
			"transaction_state_replication_factor not_checked  [] not_listed",
			"transaction_state_min_insync_replicas not_checked  [] not_listed",
			"consumer_offsets_replication_factor not_checked  [] not_listed",
			"consumer_offsets_min_insync_replicas not_checked  [] not_listed",
			"coordinators_without_leader not_checked  [] not_listed",
			"transaction_max_timeout not_checked  [] no_describe_configs_on_cluster",
			"transaction_partition_verification not_checked  [] no_describe_configs_on_cluster",
			"sees all topics: false, known true",
			"sees all groups: false, known true",
			"sees all ids: false, known true",
		}, false},
		{"DESCRIBE on everything", alice, []string{"topic * DESCRIBE", "group * DESCRIBE", "id * DESCRIBE"}, []string{
			"transaction_state_min_insync_replicas not_checked  [] no_describe_configs_on_topic",
			"consumer_offsets_min_insync_replicas not_checked  [] no_describe_configs_on_topic",
			"fragile_transactional_partitions not_checked  [] no_read_on_topic",
			"unclean_leader_election not_checked  [] no_describe_configs_on_topic",
			"transaction_max_timeout not_checked  [] no_describe_configs_on_cluster",
			"transaction_partition_verification not_checked  [] no_describe_configs_on_cluster",
		}, false},
		{"and DESCRIBE_CONFIGS", alice, []string{"topic * DESCRIBE_CONFIGS", "cluster - DESCRIBE_CONFIGS"},
			slices.Concat(weak[:1], []string{"fragile_transactional_partitions not_checked  [] no_read_on_topic"}, weak[2:]), false},
		{"and READ on the topics", alice, []string{"topic * READ"}, weak, true},
	} {
		t.Run(step.reason, func(t *testing.T) {
			grant(t, c, step.rights...)
			k, err := collector.NewKafka(step.options...)
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			var count counter
			a := collector.NewAuditor(k, collector.Options{Observer: &count})
			// A right reaches every broker within a moment.
			var got []string
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
				count.audits, count.requests = 0, 0
				sample := a.Audit(t.Context())
				if got = auditLines(sample.Judge()); slices.Equal(got, step.want) {
					break
				}
			}
			if !slices.Equal(got, step.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(step.want, "\n  "))
			}
			if count.audits > 6+3*3 || count.audits != count.requests {
				t.Errorf("%d requests, %d of audits; want them all to be, and at most 15", count.requests, count.audits)
			}
			if count.success[collector.Audits] != step.success {
				t.Errorf("success %v, want %v", count.success[collector.Audits], step.success)
			}
		})
	}
}

// Runs make audits beside their sweeps, and a view has the last one.
func TestRunnerAudits(t *testing.T) {
	c := simulated(t, true)
	r := collector.NewRunner(dial(t, c), collector.Options{Period: 100 * time.Millisecond, AuditPeriod: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	found := make(chan *lag.Audit, 1)
	r.Subscribe(func(v *lag.View) {
		if v.Audit != nil {
			select {
			case found <- v.Audit:
				cancel()
			default:
			}
		}
	})
	r.Run(ctx)
	select {
	case a := <-found:
		if len(a.Checks) != len(lag.CheckNames()) {
			t.Errorf("%d checks, want %d", len(a.Checks), len(lag.CheckNames()))
		}
	default:
		t.Error("no view has an audit")
	}
}

// A cluster has no __consumer_offsets before somebody uses a group. When a sweep
// sees it for the first time, an audit looks at it, long before its time, once.
func TestRunnerAuditsWhatAppears(t *testing.T) {
	c := simulated(t, true)
	createTopic(t, c, "orders", 1)
	var count counter
	r := collector.NewRunner(dial(t, c), collector.Options{Period: 100 * time.Millisecond, AuditPeriod: time.Hour, Observer: &count})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	committed, after := false, 0
	r.Subscribe(func(v *lag.View) {
		switch {
		case v.Audit == nil:
		case !committed:
			if n := v.Audit.Coordinating(); n != 0 {
				t.Errorf("the first audit saw %d topics of coordinators, want none", n)
			}
			commit(t, c, "g", "orders", 0)
			committed = true
		case v.Audit.Coordinating() == 1:
			if after++; after == 5 {
				cancel()
			}
		}
	})
	r.Run(ctx)
	count.mu.Lock()
	defer count.mu.Unlock()
	if after != 5 || count.audits > 2*(6+3*3) {
		t.Errorf("%d views with __consumer_offsets audited, want 5; %d requests, want those of two audits", after, count.audits)
	}
}

// An audit of a cluster that nobody answers for ends, and says why.
func TestAuditWithoutKafka(t *testing.T) {
	k, err := collector.NewKafka(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	sample := collector.NewAuditor(k, collector.Options{}).Audit(t.Context())
	if !strings.Contains(sample.Failure, "refused") || len(sample.Judge().Checks) > 0 {
		t.Errorf("failure %q", sample.Failure)
	}
}

// A thousand fragile partitions of a leader are two requests.
func TestAuditProbesInTwoRequests(t *testing.T) {
	c := simulated(t, false)
	createTopic(t, c, "wide", 4000)
	var count counter
	a := collector.NewAuditor(inProcess{c}, collector.Options{Observer: &count, Now: c.Now, Serial: true})
	sample := a.Audit(t.Context())
	for _, check := range sample.Judge().Checks {
		// Of some 1,333 partitions of each broker 1,000 are asked about.
		if check.Name == lag.FragilePartitions && (check.Result != lag.NotChecked || check.Unchecked != 1000 || check.Gap != lag.GapBudget) {
			t.Errorf("got %+v", check)
		}
	}
	if count.audits != 6+3*3 {
		t.Errorf("%d requests, want 15", count.audits)
	}
}
