package wire_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// Brokers of a vendor offer what the vendor's do, and a client produces, consumes
// and lists offsets with it.
func TestVendors(t *testing.T) {
	for _, test := range []struct {
		vendor  string
		highest map[kmsg.Key]int16 // -1 for an API that there is not
		feature string             // of which ApiVersions tells; empty for none
	}{
		{"kafka-2.8", map[kmsg.Key]int16{kmsg.Fetch: 12, kmsg.ListTransactions: -1, kmsg.ListGroups: 4, kmsg.ConsumerGroupDescribe: -1}, ""},
		{"kafka-3.9", map[kmsg.Key]int16{kmsg.Fetch: 17, kmsg.ListTransactions: 1, kmsg.ConsumerGroupDescribe: 0}, ""},
		{"kafka-4.0", map[kmsg.Key]int16{kmsg.Produce: 12, kmsg.ListOffsets: 10, kmsg.ConsumerGroupHeartbeat: 1}, "transaction.version"},
		{"redpanda", map[kmsg.Key]int16{kmsg.ListGroups: 3, kmsg.DescribeProducers: 0, kmsg.EndTxn: 3}, ""},
		{"event-hubs", map[kmsg.Key]int16{kmsg.Produce: 7, kmsg.EndTxn: -1, kmsg.DescribeLogDirs: -1}, ""},
	} {
		t.Run(test.vendor, func(t *testing.T) {
			cluster, err := simbroker.Start(simbroker.Config{ListenAddress: "127.0.0.1:0", Vendor: test.vendor})
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "test", "1"
			answered, err := cluster.Request(context.Background(), 1, req)
			if err != nil {
				t.Fatal(err)
			}
			resp := answered.(*kmsg.ApiVersionsResponse)
			for key, want := range test.highest {
				got := int16(-1)
				if i := slices.IndexFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == int16(key) }); i >= 0 {
					got = resp.ApiKeys[i].MaxVersion
				}
				if got != want {
					t.Errorf("%s up to v%d, want v%d", key.Name(), got, want)
				}
			}
			if has := slices.ContainsFunc(resp.FinalizedFeatures, func(f kmsg.ApiVersionsResponseFinalizedFeature) bool { return f.Name == test.feature }); has != (test.feature != "") {
				t.Errorf("features %+v", resp.FinalizedFeatures)
			}
			useVendor(t, cluster)
		})
	}
	if _, err := simbroker.Start(simbroker.Config{Vendor: "nobody"}); err == nil || !strings.Contains(err.Error(), `vendor "nobody" is none; expected one of event-hubs, kafka-2.8`) {
		t.Errorf("an unknown vendor: %v", err)
	}
}

// Features of Kafka 4.0 to 4.2 are those of their own classes (Feature.java), and
// no others can be finalised.
func TestFeaturesOfVendors(t *testing.T) {
	const elr = "eligible.leader.replicas.version"
	for _, test := range []struct {
		vendor            string
		levels, supported map[string]int16 // the lowest of each is 0, but for metadata.version's 7
		share             int16            // what ShareGroupHeartbeat is told, if there is one
	}{
		{"kafka-3.9", nil, nil, -1},
		{"kafka-4.0", map[string]int16{"metadata.version": 25, "kraft.version": 1, "transaction.version": 2, "group.version": 1},
			map[string]int16{"metadata.version": 25, "kraft.version": 1, "transaction.version": 2, "group.version": 1, elr: 1}, -1},
		{"kafka-4.1", map[string]int16{"metadata.version": 27, "kraft.version": 1, "transaction.version": 2, "group.version": 1, elr: 1},
			map[string]int16{"metadata.version": 27, "kraft.version": 1, "transaction.version": 2, "group.version": 1, elr: 1, "share.version": 1}, 35},
		{"kafka-4.2", map[string]int16{"metadata.version": 29, "kraft.version": 1, "transaction.version": 2, "group.version": 1, elr: 1, "share.version": 1, "streams.version": 1},
			map[string]int16{"metadata.version": 29, "kraft.version": 1, "transaction.version": 2, "group.version": 1, elr: 1, "share.version": 1, "streams.version": 1}, 16}, // no coordinator yet
	} {
		t.Run(test.vendor, func(t *testing.T) {
			cluster, err := simbroker.Start(simbroker.Config{Vendor: test.vendor, Clock: simbroker.Simulated(time.UnixMilli(0))})
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			ask := func(req kmsg.Request) kmsg.Response {
				t.Helper()
				resp, err := cluster.Request(t.Context(), 1, req)
				if err != nil {
					t.Fatal(err)
				}
				return resp
			}
			versions := kmsg.NewPtrApiVersionsRequest()
			versions.Version, versions.ClientSoftwareName, versions.ClientSoftwareVersion = 3, "test", "1"
			if test.levels != nil {
				versions.Version = 4
			}
			told := ask(versions).(*kmsg.ApiVersionsResponse)
			levels, supported := map[string]int16{}, map[string]int16{}
			for _, f := range told.FinalizedFeatures {
				levels[f.Name] = f.MaxVersionLevel
			}
			for _, f := range told.SupportedFeatures {
				supported[f.Name] = f.MaxVersion
				if want := map[string]int16{"metadata.version": 7}[f.Name]; f.MinVersion != want {
					t.Errorf("%s from %d, want %d", f.Name, f.MinVersion, want)
				}
			}
			if !maps.Equal(levels, test.levels) || !maps.Equal(supported, test.supported) {
				t.Errorf("finalised %v of %v, want %v of %v", levels, supported, test.levels, test.supported)
			}
			if test.share >= 0 {
				beat := kmsg.NewPtrShareGroupHeartbeatRequest()
				beat.Version, beat.GroupID, beat.MemberID, beat.SubscribedTopicNames = 1, "s", "m", []string{"t"}
				if got := ask(beat).(*kmsg.ShareGroupHeartbeatResponse).ErrorCode; got != test.share {
					t.Errorf("ShareGroupHeartbeat: error %d, want %d", got, test.share)
				}
			}
			update := kmsg.NewPtrUpdateFeaturesRequest()
			update.Version = 1
			feature := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			feature.Feature, feature.MaxVersionLevel, feature.UpgradeType = "share.version", 1, 1
			update.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{feature}
			_, known := test.supported["share.version"]
			if got := ask(update).(*kmsg.UpdateFeaturesResponse).ErrorCode; (got == 0) != known {
				t.Errorf("UpdateFeatures of share.version: error %d, and that it is supported is %v", got, known)
			}
		})
	}
}

// useVendor writes a record and reads it.
func useVendor(t *testing.T, cluster *simbroker.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...), kgo.DisableIdempotentWrite(), kgo.ConsumeTopics("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if fetched := client.PollFetches(ctx); fetched.Err() != nil || len(fetched.Records()) != 1 {
		t.Fatalf("%d records, %v", len(fetched.Records()), fetched.Err())
	}
	ends, err := admin.ListEndOffsets(ctx, "orders")
	if end, ok := ends.Lookup("orders", 0); err != nil || !ok || end.Offset != 1 {
		t.Errorf("end %+v, %v", end, err)
	}
}
