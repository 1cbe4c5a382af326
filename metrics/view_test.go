package metrics

import (
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// sweepEnd is when the sweeps of the tests ended.
var sweepEnd = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func offset(n lag.Offset) lag.Optional[lag.Offset] { return lag.Known(n) }
func count(n lag.Count) lag.Optional[lag.Count]    { return lag.Known(n) }

func duration(seconds float64) lag.Optional[time.Duration] {
	return lag.Known(time.Duration(seconds * float64(time.Second)))
}

// aView holds one thing of each kind: a healthy partition, one that is behind
// an open transaction and not fully replicated, one without a leader, groups
// with and without lag, and groups of which little is known.
func aView() *lag.View {
	return &lag.View{
		Started: sweepEnd.Add(-100 * time.Millisecond), Ended: sweepEnd, Period: 10 * time.Second,
		Cluster: lag.Known(lag.Cluster{
			ID: "4L6g3nShT-eMCtK--X86sw", Controller: 1,
			Brokers: []lag.Broker{
				{ID: 1, Host: "kafka-1", Port: 9092, Rack: "a"},
				{ID: 2, Host: "::1", Port: 9093},
			},
		}),
		Topics: []lag.TopicView{
			{Name: "__consumer_offsets", Internal: true, Partitions: []lag.PartitionView{{
				Number: 0, Leader: 2, Replicas: 1, InSync: 1,
				LogStart: offset(0), LastStable: offset(7), HighWatermark: offset(7), LogEnd: offset(7),
				ObservedFor: 90 * time.Second,
			}}},
			{Name: "orders", ID: lag.TopicID{0: 1, 15: 255}, Partitions: []lag.PartitionView{
				{
					Number: 0, Leader: 1, Replicas: 2, InSync: 1,
					LogStart: offset(10), LastStable: offset(100), HighWatermark: offset(250), LogEnd: offset(260),
					Below: true, BelowFor: 75500 * time.Millisecond, ObservedFor: 90 * time.Second, StalledFor: 65 * time.Second,
					Regressions: lag.Regressions{LogEnd: 2, HighWatermark: 1},
					Blocker: &lag.Blocker{
						Verdict: lag.OngoingTransaction, Reason: lag.ReasonNone, TransactionalID: "billing-7", State: lag.Ongoing, Coordinator: 2,
						Producer:         lag.Known(lag.Producer{ID: 4012, Epoch: 3, Start: offset(100)}),
						OpenTransactions: count(2), Age: 70 * time.Second, AgeSource: lag.AgeByCoordinator,
						Deadline: lag.Known(sweepEnd.Add(830 * time.Second)),
					},
				},
				{Number: 1, Leader: lag.NoBroker, Replicas: 2, InSync: 0},
				// A broker that has no answer for the log end: that metric alone lacks.
				{
					Number: 2, Leader: 2, Replicas: 2, InSync: 2,
					LogStart: offset(0), LastStable: offset(20), HighWatermark: offset(20),
				},
			}},
		},
		Groups: []lag.GroupView{
			{
				Name: "billing", Type: lag.Classic, ProtocolType: "consumer", Coordinator: 2, State: "Stable", Members: lag.Known(3),
				Uncommitted: count(1), Orphans: count(0),
				Topics: []lag.GroupTopicView{{
					Topic: "orders", State: lag.StateBlocked,
					Partitions: []lag.GroupPartitionView{
						{
							Partition: 0, Committed: offset(100), LSOLag: count(0), HWMLag: count(150), Lost: count(0), Ahead: count(0),
							HWMLagFor: duration(65), State: lag.StateBlocked, BlockedFor: duration(0),
						},
						{Partition: 1, Committed: offset(20), Unassigned: true},
					},
				}},
				Pending: []lag.PendingCommit{{Topic: "orders", Partition: 0, For: 0}, {Topic: "orders", Partition: 1, For: 20 * time.Second}},
			},
			{
				Name: "late", Type: lag.ConsumerGroup, Coordinator: 1, State: "Empty", Members: lag.Known(0),
				Uncommitted: count(0), Orphans: count(4),
				Topics: []lag.GroupTopicView{{
					Topic: "orders", LSOLag: count(105), HWMLag: count(255),
					LSOLagFor: duration(1800.5), HWMLagFor: duration(1800.5), State: lag.StateAhead, ReadUncommitted: true,
					Partitions: []lag.GroupPartitionView{
						{
							Partition: 0, Committed: offset(5), LSOLag: count(90), HWMLag: count(240), Lost: count(5), Ahead: count(0),
							LSOLagFor: duration(1800.5), HWMLagFor: duration(1800.5), Readable: count(0), State: lag.StateLost,
						},
						{
							Partition: 2, Committed: offset(23), LSOLag: count(0), HWMLag: count(0), Lost: count(0), Ahead: count(3),
							LSOLagFor: duration(0), HWMLagFor: duration(0), State: lag.StateAhead,
						},
					},
				}},
			},
			{Name: "refused", Coordinator: lag.NoBroker},
			{
				Name: "workers", Type: lag.ShareGroup, ProtocolType: "share", Coordinator: 1, State: "Stable", Members: lag.Known(2),
				Shares: []lag.ShareView{
					{Topic: "orders", SharePartition: lag.SharePartition{Partition: 0, Start: offset(5), Lag: count(6)}},
					{Topic: "orders", SharePartition: lag.SharePartition{Partition: 2}},
				},
			},
		},
		TransactionalIDs: lag.Known([]lag.IDCount{
			{State: lag.Empty, Application: "billing", Count: 0}, {State: lag.Ongoing, Application: "billing", Count: 2},
			{State: lag.Ongoing, Application: "other", Count: 198_000},
		}),
		TransactionLog: &lag.TransactionLog{
			Ended: []lag.EndedTransaction{
				{Application: "billing", Result: lag.Committed, Duration: duration(0.4), Completion: duration(0.02), Partitions: lag.Known(3)},
				{Application: "billing", Result: lag.TimedOut, Duration: duration(60.5)},
			},
			Initialized: []string{"billing"},
		},
		Completing: []lag.Completion{{Broker: 1, Longest: 0}, {Broker: 2, Longest: 3600 * time.Second}},
		Audit: &lag.Audit{Checks: []lag.Check{
			{Name: lag.TransactionStateReplication, Result: lag.Good, Value: "3"},
			{Name: lag.UncleanElection, Result: lag.Weak, Value: "1", Subjects: []string{"orders"}},
			{Name: lag.MaxTransactionTimeout, Result: lag.NotChecked, Unchecked: 1, Gap: lag.GapNoDescribeConfigsOnCluster},
		}},
		Missed: []lag.Miss{{Kind: lag.MissNoLeader, Subject: "topic orders", Count: 1}},
	}
}
