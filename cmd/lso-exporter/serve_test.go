package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// site is a simulated cluster of three brokers, a client of it, and "serve"
// watching it over TCP.
type site struct {
	t       *testing.T
	cluster *simbroker.Cluster
	client  *kgo.Client
	admin   *kadm.Client
	base    string // of the exporter's pages
}

// newCluster starts the cluster of a site.
func newCluster(t *testing.T) *simbroker.Cluster {
	t.Helper()
	cluster, err := simbroker.Start(simbroker.Config{
		Brokers: 3, ListenAddress: "127.0.0.1:0",
		Properties: map[string]string{
			"offsets.topic.num.partitions":     "3",
			"offsets.topic.replication.factor": "3",
			"broker.session.timeout.ms":        "1000",
			"broker.heartbeat.interval.ms":     "200",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	return cluster
}

// newSite starts the exporter, which sweeps the cluster in an interval; it all
// ends with the test.
func newSite(t *testing.T, cluster *simbroker.Cluster, interval time.Duration, arguments ...string) *site {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	stop, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	p := &program{stop: stop, stdout: io.Discard, stderr: writer}
	done := make(chan int, 1)
	arguments = append([]string{
		"serve", "--kafka.brokers=" + strings.Join(cluster.Bootstrap(), ","), "--web.listen-address=127.0.0.1:0",
		"--sweep.interval=" + interval.String(), "--log.format=json",
	}, arguments...)
	go func() {
		done <- p.run(arguments)
		writer.Close()
	}()
	log := &journal{lines: logLines(reader)}
	t.Cleanup(func() {
		cancel()
		log.count("")
		if status := <-done; status != exitOK {
			t.Errorf("serve ended with status %d", status)
		}
	})
	base := "http://" + log.await(t, "Listening on")["address"].(string)
	go func() { // the log is not read any more, and must not block
		for range log.lines {
		}
	}()
	return &site{t: t, cluster: cluster, client: client, admin: kadm.NewClient(client), base: base}
}

// page is what a scrape shows: values by series, written as in PromQL.
type page map[string]float64

// maxScrape is far above what a scrape takes, and below a request that hangs.
const maxScrape = 2 * time.Second

func (s *site) scrape() page {
	s.t.Helper()
	begun := time.Now()
	status, body := get(s.t, s.base+"/metrics")
	if took := time.Since(begun); status != http.StatusOK || took > maxScrape {
		s.t.Fatalf("a scrape took %v and ended with status %d", took, status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		s.t.Fatalf("a page that cannot be parsed: %v", err)
	}
	values := make(page)
	for name, family := range families {
		for _, m := range family.GetMetric() {
			values[series(name, m)] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

func series(name string, m *dto.Metric) string {
	labels := make([]string, len(m.GetLabel()))
	for i, pair := range m.GetLabel() {
		labels[i] = fmt.Sprintf("%s=%q", pair.GetName(), pair.GetValue())
	}
	slices.Sort(labels)
	return name + "{" + strings.Join(labels, ",") + "}"
}

// await scrapes until the page is as want says, and returns it. want says what
// lacks, or nothing.
func (s *site) await(want func(page) string) page {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	poll := time.NewTicker(25 * time.Millisecond)
	defer poll.Stop()
	for {
		p := s.scrape()
		lacks := want(p)
		if lacks == "" {
			return p
		}
		select {
		case <-poll.C:
		case <-deadline:
			s.t.Fatalf("no page came with %s", lacks)
		}
	}
}

// has demands values.
func has(want page) func(page) string {
	return func(p page) string {
		for name, value := range want {
			if got, ok := p[name]; !ok || got != value {
				return fmt.Sprintf("%s %v (last: %v, there: %v)", name, value, got, ok)
			}
		}
		return ""
	}
}

// offsets demands the four offsets of a partition, none where there are none.
func offsetsOf(topic string, partition int, values ...float64) page {
	want := make(page)
	names := []string{"log_start_offset", "last_stable_offset", "high_watermark", "log_end_offset"}
	for i, v := range values {
		want[fmt.Sprintf(`kafka_partition_%s{partition="%d",topic=%q}`, names[i], partition, topic)] = v
	}
	return want
}

// create creates a topic of which partition i is on the brokers replicas[i].
func (s *site) create(topic string, replicas ...[]int32) {
	s.t.Helper()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1
	for i, brokers := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), brokers
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, t)
	request.TimeoutMillis = 10_000
	response, err := request.RequestWith(s.t.Context(), s.client)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, t := range response.Topics {
		if t.ErrorCode != 0 {
			s.t.Fatalf("create %s: error %d", topic, t.ErrorCode)
		}
	}
}

// produce writes n records to a partition.
func (s *site) produce(topic string, partition int32, n int) {
	s.t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v")}
	}
	if err := s.client.ProduceSync(s.t.Context(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// commit commits an offset of a group without members.
func (s *site) commit(group, topic string, partition int32, offset int64) {
	s.t.Helper()
	var o kadm.Offsets
	o.Add(kadm.Offset{Topic: topic, Partition: partition, At: offset, LeaderEpoch: -1})
	committed, err := s.admin.CommitOffsets(s.t.Context(), group, o)
	if err == nil {
		err = committed.Error()
	}
	if err != nil {
		s.t.Fatalf("commit for %q: %v", group, err)
	}
}

// everywhere is an assignment of one partition to all brokers, led by the first.
func everywhere(first int32) []int32 {
	return []int32{first, first%3 + 1, (first+1)%3 + 1}
}

// The exporter starts while no broker is there, says so, and recovers by itself
// when they come.
func TestRecoversWhenBrokersCome(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	for id := range 3 {
		if err := cluster.Kill(kafka.BrokerID(id + 1)); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, cluster, 500*time.Millisecond)
	s.await(has(page{"lso_exporter_last_sweep_success{}": 0, `lso_exporter_sweeps_total{result="complete"}`: 0}))
	deadline := time.After(20 * time.Second)
	ready := func(status int, reason string) {
		t.Helper()
		poll := time.NewTicker(25 * time.Millisecond)
		defer poll.Stop()
		for {
			got, body := get(t, s.base+"/readyz")
			if got == status && strings.Contains(body, reason) {
				return
			}
			select {
			case <-poll.C:
			case <-deadline:
				t.Fatalf("/readyz: %d %q, want %d and %q", got, body, status, reason)
			}
		}
	}
	ready(http.StatusServiceUnavailable, "no broker reachable")
	for id := range 3 {
		if err := cluster.Start(kafka.BrokerID(id + 1)); err != nil {
			t.Fatal(err)
		}
	}
	ready(http.StatusOK, "ready")
	s.await(has(page{"lso_exporter_last_sweep_success{}": 1}))
}

// A partition without a leader has no offsets and is counted; the others are as
// ever, and scrapes are not slower (field report F15).
func TestLeaderlessPartition(t *testing.T) {
	t.Parallel()
	s := newSite(t, newCluster(t), 500*time.Millisecond)
	s.create("orders", []int32{1}, []int32{2}, []int32{3})
	for partition := range int32(3) {
		s.produce("orders", partition, 10*int(partition+1))
		s.commit("billing", "orders", partition, 5)
	}
	lags := page{
		`kafka_group_partition_hwm_lag{group="billing",partition="0",topic="orders"}`: 5,
		`kafka_group_partition_hwm_lag{group="billing",partition="2",topic="orders"}`: 25,
	}
	sum := `kafka_group_topic_hwm_lag{group="billing",topic="orders"}`
	s.await(has(page{sum: 5 + 15 + 25}))
	s.await(has(lags))

	if err := s.cluster.Kill(2); err != nil {
		t.Fatal(err)
	}
	leader := `kafka_partition_leader{partition="1",topic="orders"}`
	p := s.await(func(p page) string {
		if _, there := p[leader]; there {
			return "no " + leader
		}
		return has(lags)(p)
	})
	// What is left of partition 1 is that it exists.
	for name := range p {
		if strings.Contains(name, `partition="1",topic="orders"`) &&
			!strings.HasPrefix(name, "kafka_partition_replicas{") && !strings.HasPrefix(name, "kafka_partition_in_sync_replicas{") &&
			!strings.HasPrefix(name, "kafka_group_partition_committed_offset{") {
			t.Errorf("%s has a sample", name)
		}
	}
	if value, there := p[sum]; there {
		t.Errorf("the sum of the group is %v although one of its parts is unknown", value)
	}
	for _, partition := range []int{0, 2} {
		n := float64(10 * (partition + 1))
		if lacks := has(offsetsOf("orders", partition, 0, n, n, n))(p); lacks != "" {
			t.Errorf("lacks %s", lacks)
		}
	}
	s.await(func(p page) string {
		if p[`lso_exporter_errors_total{kind="no_leader"}`] > 0 {
			return ""
		}
		return "an error counted"
	})

	if err := s.cluster.Start(2); err != nil {
		t.Fatal(err)
	}
	s.await(has(page{leader: 2, sum: 5 + 15 + 25, "lso_exporter_last_sweep_success{}": 1}))
}

// A broker that hangs makes no scrape slower, and no sample of the others late
// or absent.
func TestHungBroker(t *testing.T) {
	t.Parallel()
	s := newSite(t, newCluster(t), 2*time.Second) // time to answer on a machine that does other work, too
	s.create("orders", []int32{1}, []int32{2})
	s.produce("orders", 0, 10)
	s.produce("orders", 1, 10)
	s.await(has(offsetsOf("orders", 0, 0, 10, 10, 10)))
	if err := s.cluster.Pause(2); err != nil {
		t.Fatal(err)
	}
	ended := "lso_exporter_last_sweep_timestamp_seconds{}"
	other := `kafka_partition_high_watermark{partition="0",topic="orders"}`
	hung := `kafka_partition_high_watermark{partition="1",topic="orders"}`
	gone, sweeps, last := false, 0, 0.0
	s.await(func(p page) string {
		if p[other] != 10 {
			t.Errorf("%s is %v while another broker hangs", other, p[other])
		}
		if now := float64(time.Now().UnixMilli()) / 1000; p[ended] < now-6 {
			t.Errorf("the last sweep ended %v s ago", now-p[ended])
		}
		if _, there := p[hung]; !there {
			gone = true
		}
		if p[ended] != last {
			last = p[ended]
			sweeps++
		}
		if !gone || sweeps < 4 {
			return "four sweeps, and no sample of the hung broker"
		}
		return ""
	})
	if err := s.cluster.Resume(2); err != nil {
		t.Fatal(err)
	}
	s.await(has(page{other: 10, hung: 10, "lso_exporter_last_sweep_success{}": 1}))
}

// What is deleted has no series after the next sweep, and a group that lost its
// members keeps its lag (field report F14).
func TestSeriesLiveAsLongAsTheirObject(t *testing.T) {
	t.Parallel()
	s := newSite(t, newCluster(t), 500*time.Millisecond)
	s.create("orders", everywhere(1))
	s.create("temporary", everywhere(2))
	s.produce("orders", 0, 100)
	s.produce("temporary", 0, 1)
	s.commit("leaving", "temporary", 0, 1)

	member, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Bootstrap()...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	for n := 0; n < 100; {
		fetched := member.PollFetches(t.Context())
		if err := fetched.Err(); err != nil {
			t.Fatal(err)
		}
		n += fetched.NumRecords()
	}
	if err := member.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	lag := `kafka_group_partition_hwm_lag{group="billing",partition="0",topic="orders"}`
	s.await(has(page{`kafka_group_members{group="billing"}`: 1, `kafka_group_state{group="billing",state="Stable"}`: 1, lag: 0}))

	member.Close()
	s.produce("orders", 0, 500)
	s.await(has(page{`kafka_group_members{group="billing"}`: 0, `kafka_group_state{group="billing",state="Empty"}`: 1, lag: 500}))

	s.await(has(page{`kafka_group_partition_committed_offset{group="leaving",partition="0",topic="temporary"}`: 1}))
	if _, err := s.admin.DeleteGroup(t.Context(), "leaving"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.admin.DeleteTopic(t.Context(), "temporary"); err != nil {
		t.Fatal(err)
	}
	s.await(func(p page) string {
		for name := range p {
			if strings.Contains(name, `"leaving"`) || strings.Contains(name, `"temporary"`) {
				return "no " + name
			}
		}
		return has(page{lag: 500, "lso_exporter_last_sweep_success{}": 1})(p)
	})
}

// Names with odd characters come through from the cluster to the page (field
// report F25).
func TestOddNamesOfGroups(t *testing.T) {
	t.Parallel()
	s := newSite(t, newCluster(t), 500*time.Millisecond)
	s.create("orders", everywhere(1))
	s.produce("orders", 0, 10)
	want := make(page)
	for _, group := range []string{
		`"`, `\`, `\"`, "\n", "a\nb", "a:b", "{}", "ünï界",
		"Source: Custom Source -> Sink: Unnamed-7df19f87deec5680128845fd9a6ca18d-1",
		strings.Repeat("x", 1000),
	} {
		s.commit(group, "orders", 0, 4)
		want[fmt.Sprintf(`kafka_group_partition_lso_lag{group=%q,partition="0",topic="orders"}`, group)] = 6
	}
	long := strings.Repeat("y", 2000)
	s.commit(long, "orders", 0, 3)
	s.commit(long+"z", "orders", 0, 2)
	for group, lag := range map[string]float64{long: 7, long + "z": 8} {
		shown, _ := metrics.LabelValue(group)
		want[fmt.Sprintf(`kafka_group_partition_lso_lag{group=%q,partition="0",topic="orders"}`, shown)] = lag
	}
	want[`lso_exporter_altered_label_values{label="group"}`] = 2
	s.await(has(want))
}

// Topics and groups that are filtered out leave no trace.
func TestFilteredNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, newCluster(t), 500*time.Millisecond, "--topics.exclude=__.*|secret", "--groups.include=b.*", "--cluster=blue")
	for _, topic := range []string{"orders", "secret"} {
		s.create(topic, everywhere(1))
		s.produce(topic, 0, 10)
		s.commit("billing", topic, 0, 4)
		s.commit("shadow", topic, 0, 4)
	}
	p := s.await(has(page{
		`kafka_group_partition_lso_lag{cluster="blue",group="billing",partition="0",topic="orders"}`: 6,
		`kafka_group_orphan_commits{cluster="blue",group="billing"}`:                                 0,
		`lso_exporter_partitions{cluster="blue"}`:                                                    1,
		`lso_exporter_groups{cluster="blue"}`:                                                        1,
	}))
	for name := range p {
		if strings.Contains(name, "secret") || strings.Contains(name, "shadow") || strings.Contains(name, "__consumer_offsets") {
			t.Errorf("%s is shown", name)
		}
	}
}
