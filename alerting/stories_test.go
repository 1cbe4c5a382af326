package alerting

import "math"

// The clusters of most stories, and what they are about.
const (
	blue  = "blue"
	green = "green"
)

// of is the labels of an alert in the cluster blue.
func of(pairs ...string) map[string]string {
	l := map[string]string{"cluster": blue}
	for i := 0; i < len(pairs); i += 2 {
		l[pairs[i]] = pairs[i+1]
	}
	return l
}

// in moves an alert's labels to another cluster.
func in(cluster string, l map[string]string) map[string]string {
	l["cluster"] = cluster
	return l
}

var (
	orders0   = func() map[string]string { return of("topic", "orders", "partition", "0") }
	billing   = func() map[string]string { return of("group", "billing", "topic", "orders") }
	exporterA = func() map[string]string { return of("job", "lso-exporter", "instance", "a:10308") }
)

// watched is one exporter on a cluster.
func watched(c *cluster) *exporter { return &exporter{of: c, instance: "a:10308"} }

func clusterOf(name string, partitions []partition, groups ...group) *cluster {
	return &cluster{name: name, partitions: partitions, groups: groups}
}

// completingFrom is a decided transaction that is not completed, as censuses of
// one a minute see it from a minute on; below 0 before.
func completingFrom(minute float64) course {
	return steady(-1).until(minute, func(m float64) float64 { return math.Floor(m-minute) * 60 })
}

// pinned is a partition whose last stable offset stands still from minute 2 on
// for so long, while records go on to be written, and is stable before and
// after.
func pinned(minutes float64, holder *blocker) partition {
	hwm := growing(1000, 100)
	end := 2 + minutes
	return partition{
		topic: "orders", number: 0, hwm: hwm,
		lso: hwm.until(2, steady(1200).until(end, hwm)),
		blocker: func(m float64) *blocker {
			if holder == nil || m < 2.25 || m >= end {
				return nil
			}
			return holder
		},
	}
}

func ongoing() *blocker { return &blocker{id: "billing-7", verdict: "ongoing", began: 2} }

// busy is a partition with transactions that follow each other closely, each a
// little over a minute long: the last stable offset is always below the high
// watermark, and always moves.
func busy(number int) partition {
	step := func(m float64) float64 { return math.Floor(m/1.25) * 1000 }
	return partition{
		topic: "busy", number: number, lso: step,
		hwm: func(m float64) float64 { return step(m) + 50 + math.Floor(m*10) },
		blocker: func(m float64) *blocker {
			return &blocker{id: "sink", verdict: "ongoing", began: math.Floor(m/1.25) * 1.25}
		},
	}
}

// idle is a partition to which nothing is written.
func idle(topic string, number int) partition {
	return partition{topic: topic, number: number, lso: steady(20), hwm: steady(20)}
}

// reading is a group that keeps up with partition 0 of a topic.
func reading(name, topic string) group {
	return group{name: name, topic: topic, members: steady(2), state: inState("consuming"), rows: []row{
		{partition: 0, committed: growing(0, 90), lag: steady(40), seconds: steady(3)},
	}}
}

// markers are the rows of partitions that end in a marker, of which a consumer
// that commits "last record + 1" is one short for ever. Where nobody could look
// whether it is one, its age grows.
func markers(n int, readable course) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{partition: i, committed: steady(19), lag: steady(1), readable: readable}
		if readable == nil {
			rows[i].seconds = growing(3600, 60)
		}
	}
	return rows
}

var stories = []story{
	{
		name: "busy healthy transactions", minutes: 40,
		exporters: []*exporter{watched(clusterOf(blue, []partition{busy(0), busy(1)}, reading("a", "busy")))},
	},
	{
		name: "transactions of eight minutes, with a threshold above them", minutes: 60,
		exporters: []*exporter{watched(clusterOf(blue, []partition{{
			topic: "sink", lso: func(m float64) float64 { return math.Floor(m/8) * 800 }, hwm: growing(1, 100),
		}}))},
	},
	{
		name: "idle partitions", minutes: 30,
		exporters: []*exporter{watched(clusterOf(blue, []partition{idle("a", 0), idle("a", 1), idle("__consumer_offsets", 3)},
			group{name: "g", topic: "a", members: steady(1), state: inState("caught_up"), rows: []row{{committed: steady(20), lag: steady(0), seconds: steady(0)}}}))},
	},
	{
		name: "60 partitions that end in a marker", minutes: 20,
		settings: []string{"ALERTS_GROUP_LAG=.* 50 10m"},
		exporters: []*exporter{watched(clusterOf(blue, []partition{idle("a", 0)},
			group{name: "g", topic: "a", members: steady(1), state: inState("caught_up"), rows: markers(60, steady(0))}))},
	},
	{
		name: "60 partitions that end in a marker, and nobody could look", minutes: 20,
		settings: []string{"ALERTS_GROUP_LAG=.* 50 10m"},
		exporters: []*exporter{watched(clusterOf(blue, []partition{idle("a", 0)},
			group{name: "g", topic: "a", members: steady(1), state: inState("undetermined"), rows: markers(60, nil)},
			group{name: "h", topic: "a", members: steady(1).until(5, steady(0)), state: inState("inactive"), rows: markers(60, nil)}))},
	},
	{
		name: "a tail of aborted records", minutes: 30,
		settings: []string{"ALERTS_GROUP_LAG=.* 5 1m"},
		exporters: []*exporter{watched(clusterOf(blue, []partition{idle("a", 0)},
			group{name: "g", topic: "a", members: steady(1), state: inState("caught_up"),
				rows: []row{{committed: steady(0), lag: steady(21), readable: steady(0)}}}))},
	},

	// The last stable offset.
	{
		name: "a transaction that does not end", minutes: 30,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, ongoing()), busy(0)}))},
		firing:    []firing{{"KafkaLSOStalled", orders0(), 13, 24}},
	},
	{
		name: "one about which nothing is known", minutes: 30,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, nil)}))},
		firing:    []firing{{"KafkaLSOStalled", orders0(), 13, 24}},
	},
	{
		name: "one of an internal topic", minutes: 20,
		exporters: []*exporter{watched(clusterOf(blue, []partition{{
			topic: "__consumer_offsets", number: 12, lso: steady(700), hwm: steady(900),
		}}))},
		firing: []firing{{"KafkaLSOStalled", of("topic", "__consumer_offsets", "partition", "12"), 10, 20}},
	},
	{
		name: "a transaction that ends in time", minutes: 30,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(9, ongoing())}))},
	},
	{
		name: "a verdict that changes in the middle", minutes: 30,
		exporters: []*exporter{watched(clusterOf(blue, []partition{func() partition {
			p := pinned(18, nil)
			p.blocker = func(m float64) *blocker {
				switch {
				case m < 3:
					return nil
				case m < 8:
					return &blocker{verdict: "unknown", reason: "coordinator_loading", source: "observed", began: 2}
				case m < 15:
					return ongoing()
				case m < 20:
					return &blocker{id: "billing-7", verdict: "completing", began: 2}
				}
				return nil
			}
			return p
		}()}))},
		firing: []firing{
			{"KafkaLSOStalled", orders0(), 13, 24},
			{"KafkaTransactionCompleting", orders0(), 16, 24},
		},
	},
	{
		name: "an exporter that restarts in the middle, as another instance", minutes: 40,
		exporters: func() []*exporter {
			c := clusterOf(blue, []partition{pinned(28, nil)})
			return []*exporter{
				{of: c, instance: "a:10308", up: between(0, 15)},
				{of: c, instance: "b:10308", up: from(16)},
			}
		}(),
		firing: []firing{
			{"KafkaLSOStalled", orders0(), 13, 34},
			{"LSOExporterTargetDown", exporterA(), 20, 40},
		},
	},
	{
		name: "an exporter that restarts in the middle, at a time that the history looks back to later", minutes: 40,
		settings: []string{"ALERTS_KEEP_FIRING=0s"},
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{pinned(28, nil)}))
			e.up, e.starts = between(14, 17).not(), []float64{17}
			return []*exporter{e}
		}(),
		firing: []firing{{"KafkaLSOStalled", orders0(), 13, 13}, {"KafkaLSOStalled", orders0(), 17, 29}},
	},
	{
		name: "an exporter that restarts again and again, and remembers nothing for long", minutes: 40,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{pinned(28, nil)}))
			for m := 3.0; m < 40; m += 3 {
				e.starts = append(e.starts, m)
			}
			return []*exporter{e}
		}(),
		firing: []firing{{"KafkaLSOStalled", orders0(), 13, 34}},
	},
	{
		name: "an exporter that starts in the middle, under a Prometheus without history", minutes: 10,
		exporters: []*exporter{watched(clusterOf(blue, []partition{{
			topic: "orders", lso: steady(144), hwm: steady(200),
			blocker: func(float64) *blocker { return &blocker{id: "billing-7", verdict: "ongoing", began: -60} },
		}}))},
		firing: []firing{{"KafkaLSOStalled", orders0(), 0, 10}},
	},
	{
		name: "the same, with an age that only the producer's timestamps tell", minutes: 10,
		exporters: []*exporter{watched(clusterOf(blue, []partition{{
			topic: "orders", lso: steady(1193596434), hwm: steady(1193599999),
			blocker: func(float64) *blocker {
				return &blocker{verdict: "unknown", reason: "no_describe_on_transaction_state", source: "producer_timestamp", began: -32825}
			},
		}}))},
		firing: []firing{
			{"KafkaLSOStalled", orders0(), 2, 10},
			{"LSOExporterUnauthorized", exporterA(), 5, 10},
		},
	},
	{
		name: "transactions of half a minute that write records of six years ago", minutes: 30,
		exporters: []*exporter{watched(clusterOf(blue, []partition{{
			topic: "backfill", lso: func(m float64) float64 { return math.Floor(m*2) * 100 }, hwm: func(m float64) float64 { return math.Floor(m*2)*100 + 99 },
			blocker: func(float64) *blocker {
				return &blocker{verdict: "unknown", reason: "coordinator_unavailable", source: "producer_timestamp", began: -3_000_000}
			},
		}}))},
	},
	{
		name: "retention under an open transaction", minutes: 30,
		exporters: []*exporter{watched(clusterOf(blue, []partition{func() partition {
			p := pinned(18, ongoing())
			lso := p.lso
			p.lso = lso.until(9, steady(1250).until(20, p.hwm)) // what had been read is removed, up to the middle of the transaction
			return p
		}()}))},
		firing: []firing{{"KafkaLSOStalled", orders0(), 13, 24}},
	},
	{
		name: "a log that is truncated and written again", minutes: 40,
		exporters: []*exporter{watched(clusterOf(blue, []partition{{
			topic: "orders", number: 0,
			lso: growing(5000, 100).until(12, growing(900, 10)),
			hwm: growing(5050, 100).until(12, growing(940, 10)),
		}}))},
	},
	{
		name: "a topic that is made anew", minutes: 40,
		exporters: []*exporter{watched(clusterOf(blue, []partition{{
			topic: "orders", number: 0,
			lso: growing(5000, 100).until(12, steady(0).until(16, growing(0, 5))),
			hwm: growing(5050, 100).until(12, steady(10).until(16, growing(10, 5))),
		}}))},
	},
	{
		name: "a frozen exporter, that shows a partition as it was in a transaction", minutes: 60,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{busy(0), pinned(3, ongoing())}))
			e.frozen = from(4)
			return []*exporter{e}
		}(),
		firing: []firing{{"LSOExporterStale", exporterA(), 8, 60}},
	},
	{
		name: "a frozen exporter, that shows a stall", minutes: 60,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{pinned(50, &blocker{id: "billing-7", verdict: "hanging", began: 2})},
				group{name: "billing", topic: "orders", members: steady(1), state: inState("blocked")}))
			e.frozen = from(20)
			return []*exporter{e}
		}(),
		firing: []firing{
			{"KafkaLSOStalled", orders0(), 13, 27},
			{"KafkaTransactionHanging", orders0(), 3, 27},
			{"KafkaGroupBlockedByTransaction", billing(), 8, 26},
			{"LSOExporterStale", exporterA(), 24, 60},
		},
	},
	{
		name: "two exporters of one cluster, of which one knows less", minutes: 30,
		exporters: func() []*exporter {
			p := pinned(18, nil)
			less := p
			p.blocker = func(m float64) *blocker {
				if m < 3 || m >= 20 {
					return nil
				}
				return &blocker{id: "billing-7", verdict: "hanging", began: 2}
			}
			less.blocker = func(m float64) *blocker {
				if m < 3 || m >= 20 {
					return nil
				}
				return &blocker{verdict: "unknown", reason: "coordinator_unreachable", source: "observed", began: 2}
			}
			return []*exporter{
				{of: clusterOf(blue, []partition{less, busy(0)}), instance: "b:10308", starts: []float64{12}},
				{of: clusterOf(blue, []partition{p, busy(0)}), instance: "a:10308"},
			}
		}(),
		firing: []firing{
			{"KafkaLSOStalled", orders0(), 13, 24},
			{"KafkaTransactionHanging", orders0(), 3, 24},
		},
	},
	{
		name: "two clusters, of which one has a stall", minutes: 30,
		exporters: []*exporter{
			watched(clusterOf(blue, []partition{{topic: "orders", number: 0, lso: growing(1000, 100), hwm: growing(1050, 100)}})),
			{of: clusterOf(green, []partition{pinned(18, ongoing())}), instance: "g:10308"},
		},
		firing: []firing{{"KafkaLSOStalled", in(green, orders0()), 13, 24}},
	},
	{
		name: "two clusters, and rules for one of them", minutes: 30,
		settings: []string{"CLUSTER=blue"},
		exporters: []*exporter{
			watched(clusterOf(blue, []partition{busy(0)})),
			{of: clusterOf(green, []partition{pinned(18, &blocker{id: "x", verdict: "hanging", began: 2})}), instance: "g:10308", up: between(0, 28)},
		},
	},
	{
		name: "a cluster without a name", minutes: 30,
		exporters: []*exporter{watched(clusterOf("", []partition{pinned(18, nil), busy(0)}))},
		firing:    []firing{{"KafkaLSOStalled", map[string]string{"topic": "orders", "partition": "0"}, 13, 24}},
	},

	// Verdicts.
	{
		name: "a hanging transaction", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, &blocker{id: "billing-7", verdict: "hanging", began: 2})}))},
		firing:    []firing{{"KafkaTransactionHanging", orders0(), 3, 9}},
	},
	{
		name: "a transaction that nobody knows", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, &blocker{verdict: "ownerless", began: 2})}))},
		firing:    []firing{{"KafkaTransactionOwnerless", orders0(), 3, 9}},
	},
	{
		name: "a suspicion that is not confirmed", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(4, &blocker{id: "billing-7", verdict: "unknown", reason: "not_yet_confirmed", began: 2})}))},
	},
	{
		name: "an exporter that restarts and has to prove a hanging transaction again", minutes: 20,
		settings: []string{"ALERTS_STALLED=1h"},
		exporters: func() []*exporter {
			p := pinned(30, nil)
			p.blocker = func(m float64) *blocker {
				if m < 3 || m >= 10 && m < 11 {
					return &blocker{id: "billing-7", verdict: "unknown", reason: "not_yet_confirmed", began: 2}
				}
				return &blocker{id: "billing-7", verdict: "hanging", began: 2}
			}
			e := watched(clusterOf(blue, []partition{p}))
			e.up, e.starts = between(8, 10).not(), []float64{10}
			return []*exporter{e}
		}(),
		firing: []firing{{"KafkaTransactionHanging", orders0(), 3, 20}},
	},
	{
		name: "an overdue transaction", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, &blocker{id: "billing-7", verdict: "overdue", began: 2})}))},
		firing:    []firing{{"KafkaTransactionOverdue", orders0(), 4, 9}},
	},
	{
		name: "a transaction that is aborted late, and no more", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(0.75, &blocker{id: "billing-7", verdict: "overdue", began: 2})}))},
	},
	{
		name: "an end marker that does not arrive", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, &blocker{id: "billing-7", verdict: "completing", began: 2})}))},
		firing:    []firing{{"KafkaTransactionCompleting", orders0(), 4, 9}},
	},
	{
		name: "end markers that take a moment", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(0.75, &blocker{id: "billing-7", verdict: "completing", began: 2})}))},
	},

	// Coordinators.
	{
		name: "a coordinator that is stuck, though no partition is held", minutes: 20,
		exporters: []*exporter{watched(&cluster{name: blue, completing: completingFrom(2).until(12, steady(-1))})},
		firing:    []firing{{"KafkaCoordinatorCompleting", of("broker", "2"), 8, 16}},
	},
	{
		name: "a coordinator with a transaction that completes in each census, another one each time", minutes: 20,
		exporters: []*exporter{watched(&cluster{name: blue, completing: steady(0)})},
	},

	// Groups.
	{
		name: "a group behind an open transaction, and others on the same topic", minutes: 20,
		settings: []string{"ALERTS_GROUP_LAG=.* 100 1m"},
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(30, ongoing()), busy(0)},
			group{name: "billing", topic: "orders", members: steady(1),
				state: func(m float64) string {
					if m < 2.5 {
						return "consuming"
					}
					return "blocked"
				},
				rows: []row{{committed: growing(1000, 100).until(2, steady(1200)), lag: steady(0), blocked: from(2.5)}}},
			group{name: "dirty-reader", topic: "orders", members: steady(1), state: inState("consuming"),
				rows: []row{{committed: growing(1000, 100), lag: steady(0)}}},
			reading("other", "busy")))},
		firing: []firing{
			{"KafkaGroupBlockedByTransaction", billing(), 8, 20},
			{"KafkaLSOStalled", orders0(), 13, 20},
		},
	},
	{
		name: "a group that is blocked for a moment, again and again", minutes: 30,
		exporters: []*exporter{watched(clusterOf(blue, []partition{busy(0)},
			group{name: "billing", topic: "busy", members: steady(1), state: inState("blocked")}))},
	},
	{
		name: "a blocked group and an exporter that restarts", minutes: 25,
		settings: []string{"ALERTS_STALLED=1h"},
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{pinned(30, nil)},
				group{name: "billing", topic: "orders", members: steady(1), state: func(m float64) string {
					if m < 3 || m >= 12 && m < 13 {
						return "undetermined"
					}
					return "blocked"
				}}))
			e.up, e.starts = between(10, 12).not(), []float64{12}
			return []*exporter{e}
		}(),
		firing: []firing{{"KafkaGroupBlockedByTransaction", billing(), 8, 25}},
	},
	{
		name: "a group that is slow", minutes: 40,
		settings: []string{"ALERTS_GROUP_LAG=batch-.* - -,.* 1000 10m"},
		exporters: []*exporter{watched(clusterOf(blue, []partition{{topic: "orders", lso: growing(0, 200), hwm: growing(0, 200)}},
			group{name: "billing", topic: "orders", members: steady(1), state: inState("consuming"), rows: []row{
				{partition: 0, committed: growing(0, 100), lag: growing(0, 100), seconds: growing(0, 30)},
				{partition: 1, committed: steady(9), lag: steady(1), seconds: growing(100_000, 60)}, // a marker
			}},
			group{name: "batch-1", topic: "orders", members: steady(1), state: inState("consuming"), rows: []row{
				{committed: steady(0), lag: growing(0, 200), seconds: growing(0, 60)},
			}},
		))},
		firing: []firing{
			{"KafkaGroupLSOLagOffsets", objective(billing(), ".* 1000 10m"), 16, 40},
			{"KafkaGroupLSOLagSeconds", objective(billing(), ".* 1000 10m"), 26, 40},
		},
	},
	{
		name: "a group that is slow, seen by two exporters that show topics only", minutes: 30,
		settings: []string{"ALERTS_GROUP_LAG=.* 1500 10m"},
		exporters: func() []*exporter {
			c := clusterOf(blue, nil,
				group{name: "billing", topic: "orders", members: steady(1), state: inState("consuming"), rows: []row{
					{committed: growing(0, 100), lag: growing(0, 100), seconds: growing(0, 60)},
				}},
				group{name: "done", topic: "orders", members: steady(1), state: inState("caught_up"), rows: []row{
					{committed: growing(0, 100), lag: steady(2000), seconds: growing(0, 60)},
				}})
			return []*exporter{
				{of: c, instance: "a:10308", without: []string{"kafka_group_partition"}},
				{of: c, instance: "b:10308", without: []string{"kafka_group_partition"}},
			}
		}(),
		firing: []firing{
			{"KafkaGroupLSOLagOffsets", objective(billing(), ".* 1500 10m"), 21, 30},
			{"KafkaGroupLSOLagSeconds", objective(billing(), ".* 1500 10m"), 16, 30},
		},
	},
	{
		name: "a group in two clusters, 60 partitions each, seen by two exporters each", minutes: 15,
		settings: []string{"ALERTS_GROUP_LAG=.* 119 -"},
		exporters: func() []*exporter {
			rows := make([]row, 30)
			for i := range rows {
				rows[i] = row{partition: i, committed: steady(10), lag: steady(3)} // 90 a cluster
			}
			g := group{name: "billing", topic: "orders", members: steady(1), state: inState("consuming"), rows: rows}
			b, c := clusterOf(blue, nil, g), clusterOf(green, nil, g)
			return []*exporter{{of: b, instance: "a:1"}, {of: b, instance: "b:1"}, {of: c, instance: "c:1"}, {of: c, instance: "d:1"}}
		}(),
	},
	{
		name: "a group that has stopped", minutes: 20,
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "billing", topic: "orders", members: steady(1), state: func(m float64) string {
				if m < 2 {
					return "consuming"
				}
				return "stopped"
			}, rows: []row{{committed: steady(10), lag: growing(1, 1), readable: growing(1, 1)}}}))},
		firing: []firing{{"KafkaGroupStopped", billing(), 7, 20}},
	},
	{
		name: "a group with one record to read", minutes: 20,
		settings: []string{"ALERTS_GROUP_LAG=.* - 3m"},
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "billing", topic: "orders", members: steady(1), state: inState("stopped"),
				rows: []row{{committed: steady(10), lag: steady(1), readable: steady(1), seconds: growing(0, 60)}}}))},
		firing: []firing{
			{"KafkaGroupStopped", billing(), 5, 20},
			{"KafkaGroupLSOLagSeconds", objective(billing(), ".* - 3m"), 9, 20},
		},
	},
	{
		name: "a topic that a group has left, and one of which it has left a part", minutes: 20,
		settings: []string{"ALERTS_GROUP_LAG=.* 1000 1m"},
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "g", topic: "old", members: steady(1), state: inState("stopped"), rows: []row{
				{partition: 0, committed: steady(5000), lag: growing(4000, 10), readable: growing(4000, 10), seconds: growing(600, 60), unassigned: always},
				{partition: 1, committed: steady(5000), lag: growing(4000, 10), readable: growing(4000, 10), seconds: growing(600, 60), unassigned: always},
			}},
			group{name: "billing", topic: "orders", members: steady(1), state: inState("stopped"), rows: []row{
				{partition: 0, committed: steady(5000), lag: growing(4000, 10), readable: growing(4000, 10), seconds: growing(600, 60), unassigned: always},
				{partition: 1, committed: growing(5000, 10), lag: steady(0), unassigned: never},
			}}))},
		firing: []firing{
			{"KafkaGroupStopped", billing(), 5, 20},
			{"KafkaGroupLSOLagOffsets", objective(billing(), ".* 1000 1m"), 5, 20},
			{"KafkaGroupLSOLagSeconds", objective(billing(), ".* 1000 1m"), 5, 20},
		},
	},
	{
		name: "groups without members: one whose application has gone, one that was abandoned, one with nothing to read", minutes: 90,
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "billing", topic: "orders", members: steady(2).until(3, steady(0)), state: func(m float64) string {
				if m < 4 {
					return "consuming"
				}
				return "inactive"
			}, rows: []row{{committed: growing(0, 100).until(3, steady(300)), lag: growing(0, 10), seconds: growing(0, 60)}}},
			group{name: "abandoned", topic: "orders", members: steady(0), state: inState("inactive"),
				rows: []row{{committed: steady(300), lag: growing(0, 1000), readable: steady(9000), seconds: growing(0, 60)}}},
			group{name: "finished", topic: "orders", members: steady(2).until(3, steady(0)), state: inState("inactive"),
				rows: []row{{committed: steady(300), lag: steady(7), readable: steady(0)}}}))},
		firing: []firing{{"KafkaGroupStopped", billing(), 9, 90}},
	},
	{
		name: "a group that commits without members, and does no more", minutes: 100,
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "billing", topic: "orders", members: steady(0), state: func(m float64) string {
				if m < 70 {
					return "consuming"
				}
				return "inactive"
			}, rows: []row{{committed: growing(0, 100).until(69, steady(6900)), lag: growing(0, 10), seconds: growing(0, 1)}}}))},
		firing: []firing{{"KafkaGroupStopped", billing(), 75, 100}},
	},
	{
		name: "an offset commit that is pending", minutes: 20,
		exporters: []*exporter{watched(clusterOf(blue, []partition{idle("orders", 0)},
			group{name: "billing", topic: "orders", members: steady(1), state: inState("caught_up"), rows: []row{
				{partition: 0, committed: steady(400), lag: steady(0), pended: between(2, 13)},
				{partition: 1, committed: steady(400), lag: steady(0), pended: between(2, 6)},
			}}))},
		firing: []firing{{"KafkaGroupOffsetCommitPending", of("group", "billing", "topic", "orders", "partition", "0"), 8, 17}},
	},
	{
		name: "commits above the high watermark", minutes: 20,
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "billing", topic: "orders", members: steady(0), state: func(m float64) string {
				if m >= 2 {
					return "ahead"
				}
				return "caught_up"
			}},
			group{name: "racing", topic: "orders", members: steady(1), state: func(m float64) string {
				if m >= 2 && m < 5 {
					return "ahead"
				}
				return "caught_up"
			}}))},
		firing: []firing{{"KafkaGroupCommitsAhead", billing(), 7, 20}},
	},
	{
		name: "commits below the log start, of a group that somebody misses and of one that nobody does", minutes: 20,
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "billing", topic: "orders", members: steady(1), state: inState("lost"), rows: []row{{committed: steady(1000), lag: steady(0)}}},
			group{name: "abandoned", topic: "orders", members: steady(0), state: inState("lost"), rows: []row{{committed: steady(1000), lag: steady(0)}}}))},
		firing: []firing{{"KafkaGroupCommitsLost", billing(), 5, 20}},
	},

	// The exporter.
	{
		name: "an exporter that shows no cluster, as its view has expired", minutes: 30,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{pinned(18, ongoing())}, reading("billing", "orders")))
			e.without = []string{"kafka_"}
			return []*exporter{e}
		}(),
	},
	{
		name: "an exporter that shows partitions only", minutes: 30,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{pinned(18, ongoing())}, reading("billing", "orders")))
			e.without = []string{"kafka_group", "kafka_partition_blocking"}
			return []*exporter{e}
		}(),
		firing: []firing{{"KafkaLSOStalled", orders0(), 13, 24}},
	},
	{
		name: "the only exporter goes", minutes: 30,
		exporters: []*exporter{
			{of: clusterOf(blue, []partition{busy(0)}), instance: "a:10308", up: between(0, 10)},
			{of: clusterOf(green, []partition{busy(0)}), instance: "g:10308"},
		},
		firing: []firing{
			{"LSOExporterDown", of(), 15, 30},
			{"LSOExporterTargetDown", exporterA(), 15, 30},
		},
	},
	{
		name: "the only exporter of all goes", minutes: 30,
		exporters: []*exporter{{of: clusterOf(blue, []partition{busy(0)}), instance: "a:10308", up: between(0, 10)}},
		firing: []firing{
			{"LSOExporterDown", of(), 15, 30},
			{"LSOExporterTargetDown", exporterA(), 15, 30},
		},
	},
	{
		name: "the only exporter of all goes, of a cluster without a name", minutes: 30,
		exporters: []*exporter{{of: clusterOf("", []partition{busy(0)}), instance: "a:10308", up: between(0, 10)}},
		firing: []firing{
			{"LSOExporterDown", map[string]string{}, 15, 30},
			{"LSOExporterTargetDown", map[string]string{"job": "lso-exporter", "instance": "a:10308"}, 15, 30},
		},
	},
	{
		name: "the only exporter of all goes, with rules for its cluster", minutes: 30,
		settings:  []string{"CLUSTER=blue"},
		exporters: []*exporter{{of: clusterOf(blue, []partition{busy(0)}), instance: "a:10308", up: between(0, 10)}},
		firing: []firing{
			{"LSOExporterDown", of(), 15, 30},
			{"LSOExporterTargetDown", exporterA(), 15, 30},
		},
	},
	{
		name: "one of two exporters goes", minutes: 30,
		exporters: func() []*exporter {
			c := clusterOf(blue, []partition{busy(0)})
			return []*exporter{{of: c, instance: "a:10308", up: between(0, 10)}, {of: c, instance: "b:10308"}}
		}(),
		firing: []firing{{"LSOExporterTargetDown", exporterA(), 15, 30}},
	},
	{
		name: "an exporter that restarts", minutes: 30,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{busy(0)}))
			e.up, e.starts = between(10, 14).not(), []float64{14}
			return []*exporter{e}
		}(),
	},
	{
		name: "there was never an exporter", minutes: 20,
		exporters: nil,
		firing:    []firing{{"LSOExporterDown", map[string]string{}, 5, 20}},
	},
	{
		name: "there was never an exporter of the one cluster", minutes: 20,
		settings:  []string{"CLUSTER=blue"},
		exporters: []*exporter{{of: clusterOf(green, nil), instance: "g:10308"}},
		firing:    []firing{{"LSOExporterDown", of(), 5, 20}},
	},
	{
		name: "an exporter whose first sweep does not end", minutes: 10,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, nil))
			e.sweepless = true
			return []*exporter{e}
		}(),
		firing: []firing{{"LSOExporterStale", exporterA(), 1, 10}},
	},
	{
		name: "an exporter that cannot read everything for a while, then for good", minutes: 60,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{busy(0)}))
			e.incomplete = func(m float64) bool { return m >= 5 && m < 15 || m >= 30 }
			return []*exporter{e}
		}(),
		firing: []firing{{"LSOExporterIncomplete", exporterA(), 45, 60}},
	},
	{
		name: "a cluster that cannot be reached for a while", minutes: 30,
		exporters: []*exporter{{of: clusterOf(blue, nil), instance: "a:10308", incomplete: between(2, 11)}},
		firing:    []firing{{"LSOExporterBlind", of(), 7, 10}},
	},
	{
		name: "a cluster without topics", minutes: 10,
		exporters: []*exporter{watched(clusterOf(blue, nil))},
	},
	{
		name: "two exporters of one cluster, of which one can read nothing", minutes: 12,
		exporters: []*exporter{
			{of: clusterOf(blue, nil), instance: "a:10308", incomplete: from(2)},
			{of: clusterOf(blue, []partition{busy(0)}), instance: "b:10308", incomplete: from(2)},
		},
	},
	{
		name: "an exporter that can read nothing, and is frozen", minutes: 20,
		exporters: []*exporter{{of: clusterOf(blue, nil), instance: "a:10308", incomplete: from(2), frozen: from(10)}},
		firing: []firing{
			{"LSOExporterBlind", of(), 7, 12},
			{"LSOExporterStale", exporterA(), 14, 20},
			{"LSOExporterIncomplete", exporterA(), 17, 20},
		},
	},
	{
		name: "an exporter that lacks a right", minutes: 20,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{busy(0)}))
			e.incomplete, e.kind = from(2), "unauthorized"
			return []*exporter{e}
		}(),
		firing: []firing{
			{"LSOExporterUnauthorized", exporterA(), 7, 20},
			{"LSOExporterIncomplete", exporterA(), 17, 20},
		},
	},

	// Logins and TLS.
	{
		name: "an exporter whose password has changed", minutes: 30,
		exporters: []*exporter{refused("authentication", between(2, 21))},
		firing: []firing{
			{"LSOExporterAuthenticationFailed", exporterA(), 7, 20},
			{"LSOExporterIncomplete", exporterA(), 17, 20},
		},
	},
	{
		name: "one broker's certificate that has expired", minutes: 12,
		exporters: []*exporter{refused("tls", from(2))},
		firing:    []firing{{"LSOExporterAuthenticationFailed", exporterA(), 7, 12}},
	},
	{
		name: "a password that is changed at the brokers four minutes before it is at the exporter", minutes: 20,
		exporters: []*exporter{refused("authentication", between(2, 6))},
	},
	{
		name: "a login that fails, an exporter that restarts, and it still fails", minutes: 20,
		exporters: func() []*exporter {
			e := refused("authentication", from(2))
			e.starts = []float64{4, 10}
			return []*exporter{e}
		}(),
		firing: []firing{
			{"LSOExporterAuthenticationFailed", exporterA(), 7, 20},
			{"LSOExporterIncomplete", exporterA(), 17, 20},
		},
	},
	{
		name: "a login that fails, and an exporter that restarts with the right password", minutes: 20,
		exporters: func() []*exporter {
			e := refused("authentication", between(2, 5))
			e.up, e.starts = between(5, 6).not(), []float64{6}
			return []*exporter{e}
		}(),
	},
	{
		name: "logins that fail, and an exporter that does not count errors", minutes: 15,
		exporters: func() []*exporter {
			e := refused("authentication", from(2))
			e.without = []string{"lso_exporter_errors_total"}
			return []*exporter{e}
		}(),
	},
	{
		name: "two exporters of one cluster, of which one has the old password", minutes: 15,
		exporters: []*exporter{
			{of: clusterOf(blue, []partition{busy(0)}), instance: "b:10308"},
			refused("authentication", from(2)),
		},
		firing: []firing{{"LSOExporterAuthenticationFailed", exporterA(), 7, 15}},
	},
	{
		name: "two exporters of one cluster, and neither gets TLS", minutes: 15,
		exporters: []*exporter{
			{of: clusterOf(blue, nil), instance: "b:10308", incomplete: from(4), kind: "tls"},
			refused("tls", from(2)),
		},
		firing: []firing{
			{"LSOExporterAuthenticationFailed", exporterA(), 7, 15},
			{"LSOExporterAuthenticationFailed", of("job", "lso-exporter", "instance", "b:10308"), 9, 15},
		},
	},
	{
		name: "two clusters, of which one refuses the login", minutes: 15,
		exporters: []*exporter{
			watched(clusterOf(blue, []partition{busy(0)})),
			{of: clusterOf(green, nil), instance: "g:10308", incomplete: from(2), kind: "authentication"},
		},
		firing: []firing{
			{"LSOExporterAuthenticationFailed", in(green, of("job", "lso-exporter", "instance", "g:10308")), 7, 15},
			{"LSOExporterBlind", in(green, of()), 7, 15},
		},
	},
	{
		name: "two clusters, of which one refuses the login, and rules for the other", minutes: 15,
		settings: []string{"CLUSTER=blue"},
		exporters: []*exporter{
			watched(clusterOf(blue, []partition{busy(0)})),
			{of: clusterOf(green, nil), instance: "g:10308", incomplete: from(2), kind: "authentication"},
		},
	},

	// Configurations.
	{
		name: "a configuration that cannot be reloaded, and is corrected", minutes: 30,
		exporters: []*exporter{misread(blue, "a:10308", between(2, 21))},
		firing:    []firing{{"LSOExporterReloadFailed", exporterA(), 12, 20}},
	},
	{
		name: "a configuration that is corrected in time", minutes: 30,
		exporters: []*exporter{misread(blue, "a:10308", between(2, 11))},
	},
	{
		name: "a threshold for reloads", minutes: 8,
		settings:  []string{"ALERTS_EXPORTER_RELOAD=2m"},
		exporters: []*exporter{misread(blue, "a:10308", from(2))},
		firing:    []firing{{"LSOExporterReloadFailed", exporterA(), 4, 8}},
	},
	{
		name: "a bad configuration, and an exporter that restarts with a good one", minutes: 30,
		exporters: func() []*exporter {
			e := misread(blue, "a:10308", between(2, 11))
			e.up, e.starts = between(11, 12).not(), []float64{12}
			return []*exporter{e}
		}(),
	},
	{
		name: "a bad configuration, and an exporter that does not start again with it", minutes: 30,
		exporters: func() []*exporter {
			e := misread(blue, "a:10308", from(2))
			e.up = between(0, 15)
			return []*exporter{e, {of: e.of, instance: "b:10308"}}
		}(),
		firing: []firing{
			{"LSOExporterReloadFailed", exporterA(), 12, 14},
			{"LSOExporterTargetDown", exporterA(), 20, 30},
		},
	},
	{
		name: "a bad configuration, and an exporter that does not tell of reloads", minutes: 20,
		exporters: func() []*exporter {
			e := misread(blue, "a:10308", from(2))
			e.without = []string{reloadSuccessful}
			return []*exporter{e}
		}(),
	},
	{
		name: "a bad configuration of a cluster that cannot be read", minutes: 16,
		exporters: func() []*exporter {
			e := misread(blue, "a:10308", from(2))
			e.incomplete = from(2)
			return []*exporter{e}
		}(),
		firing: []firing{{"LSOExporterReloadFailed", exporterA(), 12, 16}},
	},
	{
		name: "two exporters of one cluster, of which one reads a bad configuration", minutes: 20,
		exporters: []*exporter{misread(blue, "b:10308", never), misread(blue, "a:10308", from(2))},
		firing:    []firing{{"LSOExporterReloadFailed", exporterA(), 12, 20}},
	},
	{
		name: "two clusters, with a bad configuration for one", minutes: 20,
		exporters: []*exporter{misread(blue, "a:10308", never), misread(green, "g:10308", from(2))},
		firing:    []firing{{"LSOExporterReloadFailed", in(green, of("job", "lso-exporter", "instance", "g:10308")), 12, 20}},
	},
	{
		name: "two clusters, with bad configurations, and rules for one", minutes: 20,
		settings:  []string{"CLUSTER=blue"},
		exporters: []*exporter{misread(blue, "a:10308", from(5)), misread(green, "g:10308", from(2))},
		firing:    []firing{{"LSOExporterReloadFailed", exporterA(), 15, 20}},
	},
	{
		name: "a bad configuration, in a cluster without a name", minutes: 15,
		exporters: []*exporter{misread("", "a:10308", from(2))},
		firing:    []firing{{"LSOExporterReloadFailed", map[string]string{"job": "lso-exporter", "instance": "a:10308"}, 12, 15}},
	},
}

// refused is an exporter to which, at times, a broker gives no secured
// connection.
func refused(kind string, when present) *exporter {
	e := watched(clusterOf(blue, []partition{busy(0)}))
	e.incomplete, e.kind = when, kind
	return e
}

// misread is an exporter whose configuration is bad at times.
func misread(name, instance string, when present) *exporter {
	return &exporter{of: clusterOf(name, []partition{busy(0)}), instance: instance, misread: when}
}

// objective adds the label of an objective.
func objective(l map[string]string, text string) map[string]string {
	l["objective"] = text
	return l
}
