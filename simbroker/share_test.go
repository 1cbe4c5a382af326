package simbroker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// sharer is a member of a share group (KIP-932).
func sharer(t *testing.T, c *simbroker.Cluster, group, topic string) *kgo.Client {
	t.Helper()
	return client(t, c, kgo.ShareGroup(group), kgo.ConsumeTopics(topic), kgo.MetadataMinAge(50*time.Millisecond), kgo.FetchMaxWait(100*time.Millisecond))
}

// shareOffsets asks for a group's start offset and lag in a partition.
func shareOffsets(t *testing.T, ctx context.Context, cl *kgo.Client, group string) map[int32][2]int64 {
	t.Helper()
	req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	g := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
	g.GroupID = group
	req.Groups = append(req.Groups, g)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		t.Fatal(err)
	}
	offsets := make(map[int32][2]int64)
	for _, topic := range resp.Groups[0].Topics {
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 {
				t.Errorf("partition %d: error %d", p.Partition, p.ErrorCode)
			}
			offsets[p.Partition] = [2]int64{p.StartOffset, p.Lag}
		}
	}
	return offsets
}

// awaitShare waits for a group's start offset and lag in partition 0.
func awaitShare(t *testing.T, ctx context.Context, cl *kgo.Client, group string, start, lag int64) {
	t.Helper()
	for {
		got, ok := shareOffsets(t, ctx, cl, group)[0]
		if ok && got == [2]int64{start, lag} {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("start offset and lag are %v, want %d and %d", got, start, lag)
		}
		time.Sleep(10 * time.Millisecond) // the other side is a real client, on real time
	}
}

// setGroup sets a property of a group.
func setGroup(t *testing.T, ctx context.Context, cl *kgo.Client, group, name, value string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = name, &value
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil || resp.Resources[0].ErrorCode != 0 {
		t.Fatalf("setting %s: %v, %+v", name, err, resp)
	}
}

// shared polls until so many records were acquired.
func shared(t *testing.T, ctx context.Context, cl *kgo.Client, n int) []*kgo.Record {
	t.Helper()
	var records []*kgo.Record
	for len(records) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// franz-go's members of a share group work through one partition together: what
// one has the other does not get, until it is given back; the lag follows what
// is acknowledged.
func TestShareGroupOverTCP(t *testing.T) {
	c := overTCP(t, brisk())
	ctx := within(t, 60*time.Second)
	createTopic(t, ctx, c, "jobs", 1, 3)
	admin := client(t, c)
	setGroup(t, ctx, admin, "s", "share.auto.offset.reset", "earliest")
	for i := range 4 {
		if err := admin.ProduceSync(ctx, &kgo.Record{Topic: "jobs", Value: []byte(fmt.Sprint(i))}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	first := sharer(t, c, "s", "jobs")
	got := shared(t, ctx, first, 4)
	awaitShare(t, ctx, admin, "s", -1, -1)
	got[0].Ack(kgo.AckAccept)
	got[1].Ack(kgo.AckReject)
	if err := first.FlushAcks(ctx); err != nil {
		t.Fatal(err)
	}
	awaitShare(t, ctx, admin, "s", 0, 2)
	got[2].Ack(kgo.AckRelease)
	if err := first.FlushAcks(ctx); err != nil {
		t.Fatal(err)
	}
	if again := shared(t, ctx, first, 1)[0]; string(again.Value) != "2" || again.DeliveryCount() != 2 {
		t.Errorf("delivered %s, %d times", again.Value, again.DeliveryCount())
	}
	awaitShare(t, ctx, admin, "s", 2, 1) // what was polled before counts as accepted
	second := sharer(t, c, "s", "jobs")
	first.Close()
	last := shared(t, ctx, second, 1)[0]
	if string(last.Value) != "2" || last.DeliveryCount() != 3 {
		t.Errorf("delivered %s, %d times", last.Value, last.DeliveryCount())
	}
	last.Ack(kgo.AckAccept)
	if err := second.FlushAcks(ctx); err != nil {
		t.Fatal(err)
	}
	awaitShare(t, ctx, admin, "s", 2, 0)
}

// A broker has as many share sessions as it is set to (group.share.max.share.sessions).
func TestShareSessionLimit(t *testing.T) {
	c, err := simbroker.Start(simbroker.Config{
		Brokers: 1, Clock: simbroker.Simulated(time.UnixMilli(1_000_000)),
		Properties: map[string]string{"group.share.max.share.sessions": "1", "group.share.max.size": "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for member, want := range []int16{0, 133} {
		req := kmsg.NewPtrShareFetchRequest()
		req.Version, req.GroupID, req.MemberID = 2, new("G1"), new(fmt.Sprint(member))
		resp, err := c.Request(t.Context(), 1, req)
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.(*kmsg.ShareFetchResponse).ErrorCode; got != want {
			t.Errorf("member %d: error %d, want %d", member, got, want)
		}
	}
}
