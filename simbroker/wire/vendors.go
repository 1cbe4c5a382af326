package wire

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
)

// Vendor is what brokers offer that are not those of Kafka 4.3: older ones, and
// others that speak Kafka's protocol. Only what they offer differs: what a request
// in a version means is the same here as in Kafka 4.3.
type Vendor struct {
	Versions Versions
	// Features are the levels that are finalised when a cluster is formatted, and
	// Supported those that there are.
	Features  map[string]int16
	Supported map[string]controller.FeatureRange
	// NoVerification says that brokers do not ask whether a partition belongs to a
	// transaction (before Kafka 3.6).
	NoVerification bool
	// Resets resets the connection of whoever asks for ApiVersions in a version that
	// is not offered, instead of answering in v0 (KIP-511).
	Resets bool
}

// VendorNamed finds a vendor by the name that VendorNames lists.
func VendorNamed(name string) (Vendor, bool) {
	v, ok := vendors[name]
	if !ok {
		return Vendor{}, false
	}
	return v(), true
}

// VendorNames lists the names of vendors.
func VendorNames() []string { return slices.Sorted(maps.Keys(vendors)) }

var vendors = map[string]func() Vendor{
	"kafka-2.8": func() Vendor { return kafkaBefore36(kversion.V2_8_0()) },
	"kafka-3.0": func() Vendor { return kafkaBefore36(kversion.V3_0_0()) },
	"kafka-3.1": func() Vendor { return kafkaBefore36(kversion.V3_1_0()) },
	"kafka-3.2": func() Vendor { return kafkaBefore36(kversion.V3_2_0()) },
	"kafka-3.3": func() Vendor { return kafkaBefore36(kversion.V3_3_0()) },
	"kafka-3.4": func() Vendor { return kafkaBefore36(kversion.V3_4_0()) },
	"kafka-3.5": func() Vendor { return kafkaBefore36(kversion.V3_5_0()) },
	"kafka-3.6": func() Vendor { return olderKafka(kversion.V3_6_0()) },
	"kafka-3.7": func() Vendor { return olderKafka(kversion.V3_7_0()) },
	"kafka-3.8": func() Vendor { return olderKafka(kversion.V3_8_0()) },
	"kafka-3.9": func() Vendor { return olderKafka(kversion.V3_9_0()) },
	"kafka-4.0": func() Vendor { return kafka4(kversion.V4_0_0(), 25, nil, []string{eligibleLeaderReplicas}) },
	"kafka-4.1": func() Vendor {
		return kafka4(kversion.V4_1_0(), 27, []string{eligibleLeaderReplicas}, []string{"share.version"})
	},
	"kafka-4.2": func() Vendor {
		return kafka4(kversion.V4_2_0(), 29, []string{eligibleLeaderReplicas, "share.version", "streams.version"}, nil)
	},
	"event-hubs": eventHubs,
	"redpanda":   redpanda,
}

// eligibleLeaderReplicas is the feature of KIP-966.
const eligibleLeaderReplicas = "eligible.leader.replicas.version"

// kafka4 is a release of Kafka 4: its metadata.version, and which further features
// it has at level 1, switched on when a cluster is formatted (on) and not (off).
func kafka4(release *kversion.Versions, metadataVersion int16, on, off []string) Vendor {
	v := olderKafka(release)
	v.Features = map[string]int16{"metadata.version": metadataVersion, "kraft.version": 1, "transaction.version": 2, "group.version": 1}
	for _, name := range on {
		v.Features[name] = 1
	}
	v.Supported = make(map[string]controller.FeatureRange)
	for name, level := range v.Features {
		v.Supported[name] = controller.FeatureRange{Max: level}
	}
	for _, name := range off {
		v.Supported[name] = controller.FeatureRange{Max: 1}
	}
	v.Supported["metadata.version"] = controller.FeatureRange{Min: controller.SupportedFeatures()["metadata.version"].Min, Max: metadataVersion}
	return v
}

// olderKafka offers of Kafka 4.3's versions those that a release had, up to 3.9
// with ZooKeeper, and no features then. What it had below them is left out.
func olderKafka(release *kversion.Versions) Vendor {
	return Vendor{Versions: upTo(func(key int16) (int16, bool) { return release.LookupMaxKeyVersion(key) })}
}

func kafkaBefore36(release *kversion.Versions) Vendor {
	v := olderKafka(release)
	v.NoVerification = true
	return v
}

// upTo is Kafka 4.3's table, cut down to the highest versions of another broker.
func upTo(highest func(key int16) (int16, bool)) Versions {
	versions := Versions{}
	for key, offered := range Kafka43() {
		if most, ok := highest(key); ok && most >= offered.Min {
			versions[key] = VersionRange{offered.Min, min(offered.Max, most)}
		}
	}
	return versions
}

func tableOf(highest map[kmsg.Key]int16) Versions {
	return upTo(func(key int16) (int16, bool) {
		most, ok := highest[kmsg.Key(key)]
		return most, ok
	})
}

// eventHubs is Azure Event Hubs, as far as users have published what it answers:
// no transactions, no groups of the consumer protocol, no log directories.
func eventHubs() Vendor {
	return Vendor{Resets: true, Versions: tableOf(map[kmsg.Key]int16{
		kmsg.Produce: 7, kmsg.Fetch: 6, kmsg.ListOffsets: 8, kmsg.Metadata: 5,
		kmsg.OffsetCommit: 8, kmsg.OffsetFetch: 8, kmsg.FindCoordinator: 4,
		kmsg.JoinGroup: 9, kmsg.Heartbeat: 4, kmsg.LeaveGroup: 5, kmsg.SyncGroup: 5,
		kmsg.DescribeGroups: 5, kmsg.ListGroups: 4,
		kmsg.SASLHandshake: 1, kmsg.SASLAuthenticate: 1, kmsg.ApiVersions: 3,
		kmsg.CreateTopics: 5, kmsg.DeleteTopics: 4, kmsg.CreatePartitions: 1,
		kmsg.DescribeConfigs: 2, kmsg.DeleteGroups: 0,
	})}
}

// redpanda is Redpanda, as its public sources have it: transactions of the first
// protocol, with all that describes them; groups are listed without their states.
func redpanda() Vendor {
	return Vendor{Versions: tableOf(map[kmsg.Key]int16{
		kmsg.Produce: 7, kmsg.Fetch: 13, kmsg.ListOffsets: 4, kmsg.Metadata: 8,
		kmsg.OffsetCommit: 8, kmsg.OffsetFetch: 7, kmsg.FindCoordinator: 3,
		kmsg.JoinGroup: 6, kmsg.Heartbeat: 3, kmsg.LeaveGroup: 4, kmsg.SyncGroup: 3,
		kmsg.DescribeGroups: 5, kmsg.ListGroups: 3,
		kmsg.SASLHandshake: 1, kmsg.SASLAuthenticate: 2, kmsg.ApiVersions: 3,
		kmsg.CreateTopics: 5, kmsg.DeleteTopics: 3, kmsg.CreatePartitions: 3, kmsg.DeleteRecords: 2,
		kmsg.DescribeConfigs: 2, kmsg.AlterConfigs: 1, kmsg.IncrementalAlterConfigs: 0,
		kmsg.DescribeLogDirs: 2, kmsg.DeleteGroups: 2, kmsg.OffsetDelete: 0, kmsg.OffsetForLeaderEpoch: 4,
		kmsg.DescribeACLs: 2, kmsg.CreateACLs: 2, kmsg.DeleteACLs: 2,
		kmsg.InitProducerID: 1, kmsg.AddPartitionsToTxn: 2, kmsg.AddOffsetsToTxn: 1, kmsg.TxnOffsetCommit: 3, kmsg.EndTxn: 3,
		kmsg.AlterPartitionAssignments: 0, kmsg.ListPartitionReassignments: 0,
		kmsg.DescribeProducers: 0, kmsg.DescribeTransactions: 0, kmsg.ListTransactions: 0,
		kmsg.DescribeClientQuotas: 1, kmsg.AlterClientQuotas: 1,
	})}
}
