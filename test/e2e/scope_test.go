package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/litmus"
)

// Three consumers share a group, each with an exporter that shows what is
// assigned to it: between them they show what one exporter of the whole cluster
// does, and nothing twice, before, during and after a rebalance.
func TestScopeOnSimulator(t *testing.T) {
	t.Parallel()
	sim, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: litmus.Properties(), ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	tellScope(t, sim.Bootstrap())
}

func TestScopeOnKafka(t *testing.T) {
	kafka.Long(t)
	cluster := kafka.StartFor(t, kafka.Config{Version: kafka.Version(t), Brokers: 3, Properties: litmus.Properties()})
	tellScope(t, cluster.Bootstrap())
}

// scopeStory is a group of which some members run, and its exporters.
type scopeStory struct {
	t         *testing.T
	bootstrap []string
	admin     *kadm.Client
	members   map[string]*kgo.Client // by host
	sidecars  map[string]*exporter
	whole     *exporter
}

const (
	scopeTopic, scopeGroup = "scope-orders", "scope-billing"
	scopePartitions        = 6
)

func tellScope(t *testing.T, bootstrap []string) {
	s := &scopeStory{t: t, bootstrap: bootstrap, members: map[string]*kgo.Client{}, sidecars: map[string]*exporter{}}
	s.prepare()
	s.whole = s.exporter("whole", collector.Options{}, metrics.Options{})
	hosts := []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"}
	for _, host := range hosts {
		ours := func(m lag.Member) bool { return m.Host == "/"+host }
		s.sidecars[host] = s.exporter(host, collector.Options{Assigned: ours}, metrics.Options{Scoped: true})
	}
	s.join(hosts[0])
	s.join(hosts[1])
	s.await("Stable", 2)
	s.compare("before", map[string]int{hosts[0]: 3, hosts[1]: 3, hosts[2]: 0})

	// The others hear of it with their next heartbeat.
	s.join(hosts[2])
	s.await("PreparingRebalance", 0)
	s.compare("while one joins", map[string]int{hosts[0]: 3, hosts[1]: 3, hosts[2]: 0})
	if s.state().State == "Stable" {
		t.Log("the rebalance was over before all exporters had looked")
	}
	s.await("Stable", 3)
	s.compare("after", map[string]int{hosts[0]: 2, hosts[1]: 2, hosts[2]: 2})

	s.members[hosts[0]].Close()
	s.await("PreparingRebalance", 0)
	s.compare("while one leaves", map[string]int{hosts[0]: 2, hosts[1]: 2, hosts[2]: 2})
	s.await("Stable", 2)
	s.compare("in the end", map[string]int{hosts[0]: 0, hosts[1]: 3, hosts[2]: 3})
}

// prepare makes a topic with records and commits on each partition.
func (s *scopeStory) prepare() {
	client := s.client("127.0.0.1", kgo.RecordPartitioner(kgo.ManualPartitioner()))
	s.admin = kadm.NewClient(client)
	ctx := s.t.Context()
	if _, err := s.admin.CreateTopic(ctx, scopePartitions, 1, nil, scopeTopic); err != nil {
		s.t.Fatal(err)
	}
	commits := kadm.Offsets{}
	for p := range int32(scopePartitions) {
		for range 10 + p {
			if err := client.ProduceSync(ctx, &kgo.Record{Topic: scopeTopic, Partition: p, Value: []byte("v")}).FirstErr(); err != nil {
				s.t.Fatal(err)
			}
		}
		commits.AddOffset(scopeTopic, p, int64(p), -1)
	}
	if err := s.admin.CommitAllOffsets(ctx, scopeGroup, commits); err != nil {
		s.t.Fatal(err)
	}
}

// client is one that connects from an address.
func (s *scopeStory) client(host string, options ...kgo.Opt) *kgo.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(s.bootstrap...), kgo.Dialer(dialer.DialContext))...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	return client
}

// join starts a member, which reads nothing.
func (s *scopeStory) join(host string) {
	s.members[host] = s.client(host, kgo.ConsumerGroup(scopeGroup), kgo.ConsumeTopics(scopeTopic), kgo.DisableAutoCommit(),
		kgo.Balancers(kgo.RangeBalancer()), kgo.HeartbeatInterval(2*time.Second))
}

// exporter starts an exporter of the cluster.
func (s *scopeStory) exporter(name string, options collector.Options, page metrics.Options) *exporter {
	client, err := collector.NewKafka(kgo.SeedBrokers(s.bootstrap...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	return newExporter(s.t, name, client, time.Now, options, page)
}

// state describes the group.
func (s *scopeStory) state() kadm.DescribedGroup {
	groups, err := s.admin.DescribeGroups(s.t.Context(), scopeGroup)
	if err != nil {
		s.t.Fatal(err)
	}
	return groups[scopeGroup]
}

// await waits for a state, with that many members.
func (s *scopeStory) await(state string, members int) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	var last kadm.DescribedGroup
	for ctx.Err() == nil {
		if last = s.state(); last.State == state && (members == 0 || len(last.Members) == members) {
			return
		}
	}
	s.t.Fatalf("the group is %s with %d members, want %s with %d", last.State, len(last.Members), state, members)
}

// compare sweeps with all exporters, and holds the series of the sidecars to
// those of the exporter of all. partitions is how many each has.
func (s *scopeStory) compare(when string, partitions map[string]int) {
	s.t.Helper()
	whole := parsePage(s.whole.sweep())
	shown := map[string]float64{}
	for host, e := range s.sidecars {
		p := parsePage(e.sweep())
		if n := len(p["kafka_group_partition_hwm_lag"]); n != partitions[host] {
			s.t.Errorf("%s: %s shows %d partitions, want %d", when, host, n, partitions[host])
		}
		if missed := e.runner.View().Missed; len(missed) > 0 {
			s.t.Errorf("%s: %s missed %v", when, host, missed)
		}
		for name, samples := range p {
			if !strings.HasPrefix(name, "kafka_") {
				continue
			}
			for _, m := range samples {
				series := fmt.Sprint(name, labelsOf(m))
				if _, twice := shown[series]; twice {
					s.t.Errorf("%s: %s is shown twice", when, series)
				}
				shown[series] = valueOf(m)
			}
		}
	}
	for _, name := range []string{
		"kafka_group_partition_committed_offset", "kafka_group_partition_hwm_lag", "kafka_group_partition_lso_lag",
		"kafka_partition_log_start_offset", "kafka_partition_last_stable_offset", "kafka_partition_high_watermark", "kafka_partition_log_end_offset", "kafka_partition_leader",
	} {
		n, sum, parts := 0, 0.0, 0.0
		for _, m := range whole[name] {
			if labelsOf(m)["topic"] != scopeTopic {
				continue // the internal topics are nobody's
			}
			n++
			sum += valueOf(m)
			series := fmt.Sprint(name, labelsOf(m))
			v, ok := shown[series]
			if !ok || v != valueOf(m) {
				s.t.Errorf("%s: %s is %v in part (%v), %v in all", when, series, v, ok, valueOf(m))
			}
			parts += v
		}
		if parts != sum {
			s.t.Errorf("%s: %s adds up to %v in parts, %v in all", when, name, parts, sum)
		}
		if n != scopePartitions {
			s.t.Errorf("%s: the exporter of all shows %d series of %s", when, n, name)
		}
	}
}
