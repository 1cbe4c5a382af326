package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/diagnose"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// newPatient is a cluster with clients, and no exporter.
func newPatient(t *testing.T, properties map[string]string) *site {
	t.Helper()
	all := map[string]string{
		"offsets.topic.num.partitions":         "3",
		"transaction.state.log.num.partitions": "3",
		"broker.session.timeout.ms":            "1000",
		"broker.heartbeat.interval.ms":         "200",
	}
	for name, value := range properties {
		all[name] = value
	}
	cluster, err := simbroker.Start(simbroker.Config{Brokers: 3, ListenAddress: "127.0.0.1:0", Properties: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &site{t: t, cluster: cluster, client: client, admin: kadm.NewClient(client)}
}

// writer is a client that writes in transactions.
func (s *site) writer(id string) *kgo.Client {
	s.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Bootstrap()...), kgo.TransactionalID(id),
		kgo.TransactionTimeout(15*time.Minute), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cl.Close)
	return cl
}

// begin begins a transaction and writes n records of it to a partition.
func (s *site) begin(cl *kgo.Client, topic string, partition int32, n int) {
	s.t.Helper()
	if err := cl.BeginTransaction(); err != nil {
		s.t.Fatal(err)
	}
	for range n {
		if err := cl.ProduceSync(s.t.Context(), &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v")}).FirstErr(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// end ends a transaction.
func (s *site) end(cl *kgo.Client, how kgo.TransactionEndTry) {
	s.t.Helper()
	if err := cl.EndTransaction(s.t.Context(), how); err != nil {
		s.t.Fatal(err)
	}
}

// diagnosis is what one run of the command gave.
type diagnosis struct {
	status         int
	stdout, stderr string
}

// diagnose runs the command.
func (s *site) diagnose(arguments ...string) diagnosis {
	return diagnoseAt(strings.Join(s.cluster.Bootstrap(), ","), arguments...)
}

// diagnoseAt runs the command against some brokers.
func diagnoseAt(brokers string, arguments ...string) diagnosis {
	var out, errs bytes.Buffer
	p := &program{stop: context.Background(), stdout: &out, stderr: &errs, environment: []string{
		"LSO_EXPORTER_KAFKA_BROKERS=" + brokers,
		"LSO_EXPORTER_TRANSACTIONS_LOOK_UP_AFTER=1s",
		"LSO_EXPORTER_SWEEP_INTERVAL=1s", "LSO_EXPORTER_SWEEP_TIMEOUT=1s", "LSO_EXPORTER_KAFKA_REQUEST_TIMEOUT=1s",
	}}
	status := p.run(append([]string{"diagnose"}, arguments...))
	return diagnosis{status, out.String(), errs.String()}
}

// awaitDiagnosis runs the command until its report holds a text.
func (s *site) awaitDiagnosis(text string, arguments ...string) diagnosis {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		d := s.diagnose(arguments...)
		if strings.Contains(d.stdout, text) {
			return d
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no report came with %q; the last:\n%s%s", text, d.stdout, d.stderr)
		}
	}
}

// mustSay demands the exit status, and lines of a report as expressions.
func (d diagnosis) mustSay(t *testing.T, status int, expressions ...string) {
	t.Helper()
	if d.status != status || d.stderr != "" {
		t.Errorf("exit status %d, want %d; on standard error %q, want nothing\n%s", d.status, status, d.stderr, d.stdout)
	}
	for _, e := range expressions {
		if !regexp.MustCompile("(?m)" + e).MatchString(d.stdout) {
			t.Errorf("no line matches %s in\n%s", e, d.stdout)
		}
	}
	if strings.Contains(d.stdout, "\x1b") {
		t.Errorf("colours in a pipe:\n%q", d.stdout)
	}
}

func TestDiagnoseHealthy(t *testing.T) {
	t.Parallel()
	s := newPatient(t, nil)
	s.create("orders", everywhere(1))
	s.produce("orders", 0, 10)
	s.commit("billing", "orders", 0, 10)
	s.diagnose().mustSay(t, 0, `^HEALTHY: nothing is held back$`, `^cluster \S+: 3 brokers, 2 topics, 4 partitions, 1 group; `)
}

// A transaction that is open holds a group, is told with its deadline, and not
// called more than it is; filters find it, and find nothing else.
func TestDiagnoseOngoing(t *testing.T) {
	t.Parallel()
	s := newPatient(t, nil)
	s.create("orders", everywhere(2))
	s.create("payments", everywhere(1))
	s.produce("orders", 0, 5)
	s.produce("payments", 0, 5)
	s.commit("billing", "orders", 0, 5)
	s.commit("other", "payments", 0, 5)
	cl := s.writer("billing-7")
	s.begin(cl, "orders", 0, 3)
	s.produce("orders", 0, 2)

	d := s.awaitDiagnosis("WHAT IS HELD BACK")
	headline := `^group billing on orders-0 is blocked: transaction billing-7 \(producer \d+ epoch \d+\) open for \d+ s at offset 5 on broker 2, coordinator \d says Ongoing, will be aborted in 14 m$`
	d.mustSay(t, 1, `^HELD BACK: 1 ongoing transaction holds back 1 partition; 1 group is blocked$`, headline,
		`docs/runbooks/group-blocked\.md$`, `^    kafka-transactions.sh --bootstrap-server \S+ forceTerminateTransaction --transactionalId billing-7$`)
	if strings.Contains(d.stdout, " abort --topic") {
		t.Errorf("an abort by hand is offered for a transaction that is well:\n%s", d.stdout)
	}
	for _, filter := range []string{"--group=billing", "--topic=orders", "--transactional-id=billing-7"} {
		s.diagnose(filter).mustSay(t, 1, headline)
	}
	for _, filter := range []string{"--group=other", "--topic=payments", "--transactional-id=billing-8"} {
		s.diagnose(filter).mustSay(t, 0, `^HEALTHY: nothing is held back of what was asked about$`)
	}
	s.diagnose("--group=nobody").mustSay(t, 2, `^COULD NOT TELL: `, `^  - group nobody is not listed`)

	s.end(cl, kgo.TryCommit)
	s.awaitDiagnosis("HEALTHY").mustSay(t, 0)
}

// A partition is without a leader when the end marker is due: the coordinator
// passes it over, and the transaction hangs there, although its commit was
// acknowledged. The report gives the exact command that aborts it, and warns of
// what that discards, and of what the next transaction of the id does.
func TestDiagnoseHanging(t *testing.T) {
	t.Parallel()
	s := newPatient(t, nil)
	s.create("orders", []int32{2})
	s.create("elsewhere", everywhere(1))
	s.produce("orders", 0, 5)
	s.commit("billing", "orders", 0, 5)
	id := s.idNotOn(2)
	cl := s.writer(id)
	s.begin(cl, "orders", 0, 3)
	if err := s.cluster.Kill(2); err != nil {
		t.Fatal(err)
	}
	s.awaitFenced(2)
	s.end(cl, kgo.TryCommit)
	s.awaitState(id, "CompleteCommit")
	if err := s.cluster.Start(2); err != nil {
		t.Fatal(err)
	}
	d := s.awaitDiagnosis("1 hanging transaction")
	brokers := regexp.QuoteMeta(strings.Join(s.cluster.Bootstrap(), ","))
	abort := `^    kafka-transactions.sh --bootstrap-server ` + brokers + ` abort --topic orders --partition 0 `
	d.mustSay(t, 1,
		`^group billing on orders-0 is blocked: transaction `+id+` \(producer \d+ epoch \d+\).* at offset 5 on broker 2, coordinator \d says CompleteCommit: it hangs here, and no timeout ends it$`,
		`acknowledged as committed`, `^  What to do: First stop every application that uses `+id,
		`^    kafka-console-consumer.sh --bootstrap-server `+brokers+` --topic orders --partition 0 --offset 5 --max-messages 3 `,
		`^  Abort by hand discards, for ever, every record of producer \d+ in orders-0 from offset 5 on`,
		abort+`--start-offset 5$`, abort+`--producer-id \d+ --producer-epoch \d+ --coordinator-epoch \d+$`,
		`docs/runbooks/hanging-transaction\.md$`)

	// The same as JSON.
	d = s.diagnose("--output=json")
	var r diagnose.Report
	if err := json.Unmarshal([]byte(d.stdout), &r); err != nil {
		t.Fatal(err)
	}
	if d.status != 1 || r.Status != diagnose.HeldBack || len(r.Transactions) != 1 || r.Transactions[0].TransactionalID != id ||
		!strings.HasSuffix(r.Transactions[0].Partitions[0].Abort.Command, " --start-offset 5") {
		t.Errorf("status %d, report %s", d.status, d.stdout)
	}

	// What the report says first keeps the records: a commit of the same id.
	s.begin(cl, "orders", 0, 1)
	s.end(cl, kgo.TryCommit)
	s.awaitDiagnosis("HEALTHY").mustSay(t, 0)
	if got := s.readCommitted("orders"); got != 5+3+1 {
		t.Errorf("%d records can be read under read_committed, want 9", got)
	}
}

// A group that reads, and is far behind, is slow; nothing holds it.
func TestDiagnoseSlow(t *testing.T) {
	t.Parallel()
	s := newPatient(t, nil)
	s.create("orders", everywhere(1))
	s.produce("orders", 0, 1000)
	member, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Bootstrap()...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(), kgo.ClientID("worker-1"))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	if fetched := member.PollRecords(t.Context(), 1); fetched.Err() != nil {
		t.Fatal(fetched.Err())
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for at := int64(1); at < 900; at++ {
			// An error is of the end of the test.
			member.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{"orders": {0: {Epoch: -1, Offset: at}}}, nil)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	d := s.awaitDiagnosis(" is slow: ", "--groups.still-after=1s")
	cancel()
	<-done
	d.mustSay(t, 0, `^HEALTHY: nothing is held back$`,
		`^group billing on orders-0 is slow: \d+ offsets behind the last stable offset, its next record \d+ s old$`,
		`^  It reads, and nothing holds it back\.$`, `^  Assigned to worker-1 at \S+\.$`)
}

// A consumer that has read everything, and has a lag of one, is behind an end
// marker: there is nothing to read.
func TestDiagnoseEndMarker(t *testing.T) {
	t.Parallel()
	s := newPatient(t, nil)
	s.create("orders", everywhere(1))
	cl := s.writer("billing-7")
	s.begin(cl, "orders", 0, 10)
	s.end(cl, kgo.TryCommit)
	s.commit("billing", "orders", 0, 10)
	d := s.awaitDiagnosis("there is nothing to read")
	d.mustSay(t, 0, `^group billing on orders-0 has read everything: its lag of 1 offset is end markers of transactions, or aborted records, and there is nothing to read$`)
}

// A group whose member does not commit, with records to read, is stopped when
// it was watched for long enough, and not before.
func TestDiagnoseStopped(t *testing.T) {
	t.Parallel()
	s := newPatient(t, nil)
	s.create("orders", everywhere(1))
	s.produce("orders", 0, 10)
	s.commit("billing", "orders", 0, 4)
	member, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Bootstrap()...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(), kgo.ClientID("worker-1"))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	if fetched := member.PollFetches(t.Context()); fetched.Err() != nil {
		t.Fatal(fetched.Err())
	}
	s.diagnose("--wait=0s", "--group=billing").mustSay(t, 2, `^COULD NOT TELL: 1 group that may stand still$`, `^group billing on orders-0 may be stopped: it is 6 offsets behind`)
	s.diagnose("--groups.still-after=2s", "--group=billing").mustSay(t, 1,
		`^HELD BACK: 1 group is stopped$`,
		`^group billing on orders-0 is stopped: there are records to read \(6 offsets under read_committed\), and its commit has not moved for the 2 s that it was watched$`,
		`^  Assigned to worker-1 at \S+\.$`, `docs/runbooks/group-stopped\.md$`)
}

// Whatever may not be seen is never told as healthy, and the right that is
// missed is named with the command that grants it.
func TestDiagnoseRights(t *testing.T) {
	t.Parallel()
	s := newPatient(t, map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":           "User:admin",
		// For the test's own clients, until the rights are taken away.
		"allow.everyone.if.no.acl.found": "true",
	})
	s.create("orders", everywhere(1))
	s.produce("orders", 0, 5)
	s.commit("billing", "orders", 0, 5)
	cl := s.writer("billing-7")
	s.begin(cl, "orders", 0, 3)
	s.awaitDiagnosis("1 ongoing transaction")

	// An ACL for somebody else is one that does not allow this principal.
	for _, resource := range []kmsg.ACLResourceType{kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeGroup, kmsg.ACLResourceTypeTransactionalId, kmsg.ACLResourceTypeCluster} {
		s.allow("User:somebody", resource, kmsg.ACLOperationAll)
	}
	const acls = `^    kafka-acls.sh --bootstrap-server \S+ --add --allow-principal User:ANONYMOUS --operation `
	s.awaitDiagnosis("3 brokers, 0 topics").mustSay(t, 2, `^COULD NOT TELL: 2 rights missed$`, acls+`Describe --topic '\*'$`, acls+`Describe --group '\*'$`)

	s.allow("User:ANONYMOUS", kmsg.ACLResourceTypeTopic, kmsg.ACLOperationDescribe)
	s.allow("User:ANONYMOUS", kmsg.ACLResourceTypeGroup, kmsg.ACLOperationDescribe)
	d := s.awaitDiagnosis("READ on topic orders")
	d.mustSay(t, 1, `^group billing on orders-0 is blocked: an unknown transaction seen for `, `^  READ on topic orders hides which transaction holds its partitions`, acls+`Read --topic orders$`)
	if strings.Contains(d.stdout, "hang") && strings.Contains(d.stdout, "it hangs here") {
		t.Errorf("called hanging without the right to know:\n%s", d.stdout)
	}

	s.allow("User:ANONYMOUS", kmsg.ACLResourceTypeTopic, kmsg.ACLOperationRead)
	d = s.awaitDiagnosis("DESCRIBE on transactional ids * hides which")
	d.mustSay(t, 1, `^group billing on orders-0 is blocked: a transaction of producer \d+ epoch \d+.*: what becomes of it could not be told$`, acls+`Describe --transactional-id '\*'$`)

	s.allow("User:ANONYMOUS", kmsg.ACLResourceTypeTransactionalId, kmsg.ACLOperationDescribe)
	s.awaitDiagnosis("1 ongoing transaction").mustSay(t, 1,
		`^  DESCRIBE_CONFIGS on the cluster hides `, acls+`DescribeConfigs --cluster$`, `^  - not checked: verification; it takes DESCRIBE_CONFIGS on the cluster$`)
}

// The audit is part of the report, and not of the answer.
func TestDiagnoseAudit(t *testing.T) {
	t.Parallel()
	s := newPatient(t, map[string]string{"transaction.max.timeout.ms": "7200000"})
	s.create("orders", everywhere(1))
	s.diagnose().mustSay(t, 0, `^CLUSTER AUDIT: `, `^transaction.max.timeout.ms=7200000 allows transactions of 2 h$`)
}

// Without a broker that answers the status is 2, in no more than the time of a
// sweep, and the text says why.
func TestDiagnoseUnreachable(t *testing.T) {
	t.Parallel()
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := refusing.Addr().String()
	refusing.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for brokers, reason := range map[string]string{
		refused:                `connection refused`,
		silent.Addr().String(): `no answer within 500ms`,
	} {
		begun := time.Now()
		d := diagnoseAt(brokers, "--kafka.request-timeout=500ms")
		d.mustSay(t, 2, `^COULD NOT TELL: no broker answered: .*(`+reason+`)`)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %v to say so", took)
		}
		if d = diagnoseAt(brokers, "--kafka.request-timeout=500ms", "--output=json"); d.status != 2 || !strings.Contains(d.stdout, `"status": "unknown"`) {
			t.Errorf("status %d, JSON %s", d.status, d.stdout)
		}
	}
}

// Whoever interrupts it gets what is known so far.
func TestDiagnoseInterrupted(t *testing.T) {
	t.Parallel()
	s := newPatient(t, nil)
	s.create("orders", everywhere(1))
	s.produce("orders", 0, 10)
	s.commit("billing", "orders", 0, 4)
	member, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Bootstrap()...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	if fetched := member.PollFetches(t.Context()); fetched.Err() != nil {
		t.Fatal(fetched.Err())
	}
	stop, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	p := &program{stop: stop, stdout: &out, stderr: &errs}
	status := p.run([]string{"diagnose", "--kafka.brokers=" + strings.Join(s.cluster.Bootstrap(), ",")})
	if status != 2 || !strings.Contains(out.String(), "group billing on orders-0 may be stopped") {
		t.Errorf("status %d, report\n%s%s", status, &out, &errs)
	}
}

// allow makes an ACL, as the cluster's administrator.
func (s *site) allow(principal string, resource kmsg.ACLResourceType, operation kmsg.ACLOperation) {
	s.t.Helper()
	creation := kmsg.NewCreateACLsRequestCreation()
	creation.ResourceType, creation.ResourceName, creation.ResourcePatternType = resource, "*", kmsg.ACLResourcePatternTypeLiteral
	if resource == kmsg.ACLResourceTypeCluster {
		creation.ResourceName = "kafka-cluster"
	}
	creation.Principal, creation.Host, creation.Operation, creation.PermissionType = principal, "*", operation, kmsg.ACLPermissionTypeAllow
	req := kmsg.NewPtrCreateACLsRequest()
	req.Version = 3
	req.Creations = append(req.Creations, creation)
	resp, err := s.cluster.RequestBy(s.t.Context(), simbroker.Client{User: "admin"}, 1, req)
	if err != nil {
		s.t.Fatal(err)
	}
	if code := resp.(*kmsg.CreateACLsResponse).Results[0].ErrorCode; code != 0 {
		s.t.Fatalf("create an ACL: error %d", code)
	}
}

// idNotOn is a transactional id that a broker does not coordinate.
func (s *site) idNotOn(broker int32) string {
	s.t.Helper()
	for i := range 100 {
		id := fmt.Sprintf("billing-%d", i)
		if s.coordinator(id) != broker {
			return id
		}
	}
	s.t.Fatal("one broker coordinates everything")
	panic("unreachable")
}

// poll asks until it is done, and says what it waits for if it never is.
func (s *site) poll(what string, done func() bool) {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// coordinator finds a transactional id's coordinator.
func (s *site) coordinator(id string) (broker int32) {
	s.t.Helper()
	s.poll(id+" has a coordinator", func() bool {
		found := s.admin.FindTxnCoordinators(s.t.Context(), id)
		broker = found[id].NodeID
		return found.Error() == nil
	})
	return broker
}

// awaitFenced waits until a broker that was killed is out of the cluster.
func (s *site) awaitFenced(broker kafka.BrokerID) {
	s.t.Helper()
	s.poll(fmt.Sprintf("broker %d is fenced", broker), func() bool { return s.cluster.Fenced(broker) })
}

// awaitState waits until a coordinator says a state of a transactional id.
func (s *site) awaitState(id, state string) {
	s.t.Helper()
	s.poll(id+" is "+state, func() bool {
		described, err := s.admin.DescribeTransactions(s.t.Context(), id)
		return err == nil && described[id].State == state
	})
}

// readCommitted counts the records of a topic's partition 0 below its last
// stable offset.
func (s *site) readCommitted(topic string) int {
	s.t.Helper()
	ends, err := s.admin.ListCommittedOffsets(s.t.Context(), topic)
	if err != nil {
		s.t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Bootstrap()...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		s.t.Fatal(err)
	}
	defer cl.Close()
	n := 0
	for at := int64(0); at < end.Offset; {
		fetched := cl.PollFetches(s.t.Context())
		if err := fetched.Err(); err != nil {
			s.t.Fatal(err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			at = r.Offset + 1
			if !r.Attrs.IsControl() {
				n++
			}
		})
	}
	return n
}

// Progress is one line that goes away, on a terminal, and nothing elsewhere.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	silent := newProgress(&out)
	silent.show("looking")
	silent.end()
	if out.Len() > 0 {
		t.Errorf("progress in a pipe: %q", &out)
	}
	shown := &progress{terminal: &out}
	shown.show("looking")
	shown.show("waiting")
	shown.end()
	if want := "\r\x1b[Klooking…\r\x1b[Kwaiting…\r\x1b[K"; out.String() != want {
		t.Errorf("progress %q, want %q", &out, want)
	}
}
