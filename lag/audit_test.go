package lag

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// soundSample is of a cluster of three brokers on which there is nothing weak.
func soundSample() *AuditSample {
	s := &AuditSample{
		Features: Known(map[string]int16{"transaction.version": 2, "group.version": 1}),
		Topics: []AuditedTopic{
			{Name: "__consumer_offsets", Internal: true, MinInSync: Known(2), Unclean: Known(false)},
			{Name: "__transaction_state", Internal: true, MinInSync: Known(2), Unclean: Known(false)},
			{Name: "orders", MinInSync: Known(2), Unclean: Known(false)},
		},
	}
	for id := range BrokerID(3) {
		s.Brokers = append(s.Brokers, AuditedBroker{
			ID: id + 1, MaxTransactionTimeout: Known(15 * time.Minute), Verification: Known(true),
		})
	}
	for i := range s.Topics {
		for n := range int32(2) {
			s.Topics[i].Partitions = append(s.Topics[i].Partitions, AuditedPartition{Number: n, Leader: BrokerID(n + 1), Replicas: 3})
		}
	}
	return s
}

// line is a check in one line.
func (c Check) line() string {
	text := fmt.Sprintf("%s: %s %q", c.Name, c.Result, c.Value)
	if len(c.Subjects) > 0 {
		text += fmt.Sprintf(" %q", c.Subjects)
	}
	if c.Unchecked > 0 {
		text += fmt.Sprintf(" (%d unchecked: %s)", c.Unchecked, c.Gap)
	}
	return text
}

// Each case changes one thing of a sound cluster, and names the checks that must
// say so; all others stay good.
func TestAudit(t *testing.T) {
	const offsets, state, orders = 0, 1, 2
	tests := []struct {
		reason string
		change func(*AuditSample)
		want   []string
	}{
		{"a sound cluster", func(*AuditSample) {}, nil},
		{"one partition of __transaction_state has two replicas", func(s *AuditSample) { s.Topics[state].Partitions[1].Replicas = 2 },
			[]string{`transaction_state_replication_factor: weak "2"`}},
		{"one broker holds all of __consumer_offsets", func(s *AuditSample) {
			for i := range s.Topics[offsets].Partitions {
				s.Topics[offsets].Partitions[i].Replicas = 1
			}
		}, []string{`consumer_offsets_replication_factor: weak "1"`}},
		{"one replica acknowledges a transaction's state", func(s *AuditSample) { s.Topics[state].MinInSync = Known(1) },
			[]string{`transaction_state_min_insync_replicas: weak "1"`}},
		{"one replica acknowledges a commit", func(s *AuditSample) { s.Topics[offsets].MinInSync = Known(1) },
			[]string{`consumer_offsets_min_insync_replicas: weak "1"`}},
		{"a coordinator's partition has no leader", func(s *AuditSample) {
			s.Topics[state].Partitions[1].Leader = NoBroker
			s.Topics[offsets].Partitions[0].Leader = NoBroker
		}, []string{`coordinators_without_leader: weak "2" ["__transaction_state-1" "__consumer_offsets-0"]`}},
		{"a topic of transactions needs one replica only", func(s *AuditSample) {
			s.Topics[orders].MinInSync = Known(1)
			s.Topics[orders].Partitions[0].Transactional = Known(true)
			s.Topics[orders].Partitions[1].Transactional = Known(false)
		}, []string{`fragile_transactional_partitions: weak "1" ["orders: 1 partition with min.insync.replicas=1"]`}},
		{"a topic of transactions has one replica", func(s *AuditSample) {
			for i := range s.Topics[orders].Partitions {
				s.Topics[orders].Partitions[i].Replicas = 1
				s.Topics[orders].Partitions[i].Transactional = Known(true)
			}
		}, []string{`fragile_transactional_partitions: weak "2" ["orders: 2 partitions with a single replica"]`}},
		{"no transaction writes to a topic with one replica", func(s *AuditSample) {
			for i := range s.Topics[orders].Partitions {
				s.Topics[orders].Partitions[i].Replicas = 1
				s.Topics[orders].Partitions[i].Transactional = Known(false)
			}
		}, nil},
		{"nobody may know who writes to a topic with one replica", func(s *AuditSample) {
			for i := range s.Topics[orders].Partitions {
				s.Topics[orders].Partitions[i].Replicas = 1
				s.Topics[orders].Partitions[i].Gap = GapNoReadOnTopic
			}
		}, []string{`fragile_transactional_partitions: not_checked "" (2 unchecked: no_read_on_topic)`}},
		{"weak wins over what is unknown", func(s *AuditSample) {
			s.Topics[orders].MinInSync = Known(1)
			s.Topics[orders].Partitions[0].Transactional = Known(true)
			s.Topics[orders].Partitions[1].Gap = GapNoLeader
		}, []string{`fragile_transactional_partitions: weak "1" ["orders: 1 partition with min.insync.replicas=1"] (1 unchecked: no_leader)`}},
		{"a topic may elect an unclean leader", func(s *AuditSample) { s.Topics[orders].Unclean = Known(true) },
			[]string{`unclean_leader_election: weak "1" ["orders"]`}},
		{"one broker allows long timeouts", func(s *AuditSample) { s.Brokers[1].MaxTransactionTimeout = Known(time.Hour) },
			[]string{`transaction_max_timeout: weak "3600000"`}},
		{"one broker does not verify", func(s *AuditSample) { s.Brokers[2].Verification = Known(false) },
			[]string{`transaction_partition_verification: weak "1" ["broker 3"]`}},
		{"brokers before verification was invented", func(s *AuditSample) {
			for i := range s.Brokers {
				s.Brokers[i].Verification = Optional[bool]{}
			}
		}, []string{`transaction_partition_verification: not_checked "" (3 unchecked: api_missing)`}},
		{"the first part of KIP-890 only", func(s *AuditSample) {
			s.Features = Known(map[string]int16{"transaction.version": 1, "group.version": 1})
		},
			[]string{`transaction_version: weak "1"`}},
		{"features that nobody has finalised", func(s *AuditSample) { s.Features = Known(map[string]int16{}) },
			[]string{`transaction_version: weak "0"`, `group_version: weak "0"`}},
		{"features that could not be read", func(s *AuditSample) {
			s.Features, s.FeaturesGap = Optional[map[string]int16]{}, GapUnreachable
		}, []string{`transaction_version: not_checked "" (1 unchecked: unreachable)`, `group_version: not_checked "" (1 unchecked: unreachable)`}},
		{"no DESCRIBE_CONFIGS", func(s *AuditSample) {
			for i := range s.Brokers {
				s.Brokers[i] = AuditedBroker{ID: s.Brokers[i].ID, Gap: GapNoDescribeConfigsOnCluster}
			}
			for i := range s.Topics {
				t := &s.Topics[i]
				t.MinInSync, t.Unclean, t.ConfigGap = Optional[int]{}, Optional[bool]{}, GapNoDescribeConfigsOnTopic
			}
		}, []string{
			`transaction_state_min_insync_replicas: not_checked "" (1 unchecked: no_describe_configs_on_topic)`,
			`consumer_offsets_min_insync_replicas: not_checked "" (1 unchecked: no_describe_configs_on_topic)`,
			`fragile_transactional_partitions: not_checked "" (2 unchecked: no_describe_configs_on_topic)`,
			`unclean_leader_election: not_checked "" (3 unchecked: no_describe_configs_on_topic)`,
			`transaction_max_timeout: not_checked "" (3 unchecked: no_describe_configs_on_cluster)`,
			`transaction_partition_verification: not_checked "" (3 unchecked: no_describe_configs_on_cluster)`,
		}},
		{"topics that are not listed", func(s *AuditSample) { s.Topics = s.Topics[orders:] }, []string{
			`transaction_state_replication_factor: not_checked "" (1 unchecked: not_listed)`,
			`transaction_state_min_insync_replicas: not_checked "" (1 unchecked: not_listed)`,
			`consumer_offsets_replication_factor: not_checked "" (1 unchecked: not_listed)`,
			`consumer_offsets_min_insync_replicas: not_checked "" (1 unchecked: not_listed)`,
			`coordinators_without_leader: not_checked "" (2 unchecked: not_listed)`,
		}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			s := soundSample()
			test.change(s)
			audit := s.Judge()
			var got []string
			var names []CheckName
			for _, c := range audit.Checks {
				names = append(names, c.Name)
				if c.Result != Good {
					got = append(got, c.line())
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
			if !slices.Equal(names, CheckNames()) {
				t.Errorf("checks %v, want %v", names, CheckNames())
			}
		})
	}
}

// An audit that read nothing checks nothing, and says why.
func TestAuditThatFailed(t *testing.T) {
	a := (&AuditSample{Failure: "connection refused"}).Judge()
	if len(a.Checks) > 0 || a.Failure != "connection refused" {
		t.Errorf("got %+v", a)
	}
}
