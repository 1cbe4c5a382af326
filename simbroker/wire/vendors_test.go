package wire_test

import (
	"context"
	"slices"
	"strings"
	"testing"

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
