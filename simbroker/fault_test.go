package simbroker_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// A held follower falls behind in the held topic alone, and catches up when it
// is let go.
func TestHoldFetchesKeepsTheHighWatermark(t *testing.T) {
	c := overTCP(t, small)
	ctx := within(t, 20*time.Second)
	cl := client(t, c, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	createTopic(t, ctx, cl, "held", 1, 2)
	createTopic(t, ctx, cl, "free", 1, 2)
	remove := c.Install(simbroker.HoldFetches{Topic: "held"})
	c.Advance(time.Second) // past the fetch that was under way
	for _, topic := range []string{"held", "free"} {
		if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	awaitEnds(ctx, t, cl, "free", 1, 1)
	awaitEnds(ctx, t, cl, "held", 0, 1)
	remove()
	c.Advance(time.Second) // past replica.fetch.backoff.ms
	awaitEnds(ctx, t, cl, "held", 1, 1)
}

// awaitEnds waits until partition 0 of a topic has the high watermark and the
// log end offset.
func awaitEnds(ctx context.Context, t *testing.T, cl *kgo.Client, topic string, hwm, leo int64) {
	t.Helper()
	var gotHWM, gotLEO int64
	for ctx.Err() == nil {
		ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		end, _ := ends.Lookup(topic, 0)
		if gotHWM, gotLEO = end.Offset, logEnd(ctx, t, cl, topic); gotHWM == hwm && gotLEO == leo {
			return
		}
	}
	t.Fatalf("%s: HWM %d and LEO %d, want %d and %d", topic, gotHWM, gotLEO, hwm, leo)
}

func logEnd(ctx context.Context, t *testing.T, cl *kgo.Client, topic string) int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -2
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Timestamp = -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{partition}}}
	answer, err := req.RequestWith(ctx, cl)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Topics[0].Partitions[0].Offset
}
