package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// twisted is a collector.Client under which an exporter reads wrongly.
type twisted struct {
	collector.Client
	request func(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error)
}

func (c *twisted) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	return c.request(ctx, broker, req)
}

// isLatest says whether a request is for the end of partitions, as a consumer of
// an isolation level sees it.
func isLatest(req kmsg.Request, isolation int8) bool {
	r, is := req.(*kmsg.ListOffsetsRequest)
	return is && r.ReplicaID == -1 && r.IsolationLevel == isolation && r.Topics[0].Partitions[0].Timestamp == -1
}

// An exporter that reads wrongly is found out: the oracle of these tests can
// fail. Each fault is one that a peer has, or had.
func TestOracleFindsFaultyExporters(t *testing.T) {
	tests := []struct {
		name  string
		rules []string // some of which must be found broken
		twist func(client collector.Client) collector.Client
	}{
		{"right", nil, func(c collector.Client) collector.Client { return c }},
		{"the last stable offset is read before the high watermark", []string{"the last stable offset is not true", "time below though no transaction was open"},
			func(c collector.Client) collector.Client {
				early := map[int32]kmsg.Response{}
				return &twisted{c, func(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
					if isLatest(req, 0) {
						stable := *req.(*kmsg.ListOffsetsRequest)
						stable.IsolationLevel = 1
						resp, err := c.Request(ctx, broker, &stable)
						if err != nil {
							return nil, err
						}
						early[broker] = resp
					}
					if isLatest(req, 1) && early[broker] != nil {
						return early[broker], nil
					}
					return c.Request(ctx, broker, req)
				}}
			}},
		{"isolation is ignored", []string{"the last stable offset is not true", "time below is missing though a transaction was open all the time"},
			func(c collector.Client) collector.Client {
				return &twisted{c, func(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
					if isLatest(req, 1) {
						asked := *req.(*kmsg.ListOffsetsRequest)
						asked.IsolationLevel = 0
						req = &asked
					}
					return c.Request(ctx, broker, req)
				}}
			}},
		{"high watermarks are those of the sweep before", []string{"the high watermark is not true"},
			func(c collector.Client) collector.Client {
				last := map[int32]kmsg.Response{}
				return &twisted{c, func(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
					resp, err := c.Request(ctx, broker, req)
					if isLatest(req, 0) && err == nil {
						resp, last[broker] = last[broker], resp
						if resp == nil {
							resp = last[broker]
						}
					}
					return resp, err
				}}
			}},
		{"commits are those of the sweep before", []string{"the committed offset is not true"},
			func(c collector.Client) collector.Client {
				last := map[int32]kmsg.Response{}
				return &twisted{c, func(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
					resp, err := c.Request(ctx, broker, req)
					if _, is := req.(*kmsg.OffsetFetchRequest); is && err == nil {
						resp, last[broker] = last[broker], resp
						if resp == nil {
							resp = last[broker]
						}
					}
					return resp, err
				}}
			}},
		{"a broker is forgotten", []string{"a partition that can be read lacks a sample"},
			func(c collector.Client) collector.Client {
				return &twisted{c, func(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
					if _, is := req.(*kmsg.ListOffsetsRequest); is && broker == 2 {
						return nil, context.DeadlineExceeded
					}
					return c.Request(ctx, broker, req)
				}}
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLoad(t, 3)
			client := &inProcess{cluster: l.sim, before: l.between}
			e := newExporter(t, t.Name(), tt.twist(client), l.sim.Now,
				collector.Options{Period: time.Minute, Deadline: time.Minute, BrokerTimeout: time.Minute, Serial: true}, metrics.Options{})
			for range 150 {
				e.sweep()
				l.between()
				l.wait(time.Duration(l.rnd.IntN(2000)) * time.Millisecond)
			}
			truth, err := oracle.Learn(l.witness.Acts())
			if err != nil {
				t.Fatal(err)
			}
			judge := oracle.NewJudge(truth)
			found := map[string]int{}
			for _, sc := range e.scrapes {
				for _, v := range judge.Judge(sc) {
					found[v.Rule]++
				}
			}
			if len(tt.rules) == 0 && len(found) > 0 {
				t.Errorf("found %v", found)
			}
			for _, rule := range tt.rules {
				if found[rule] > 0 {
					return
				}
			}
			if len(tt.rules) > 0 {
				t.Errorf("found %v, want %s", found, strings.Join(tt.rules, " or "))
			}
		})
	}
}

// The high watermark under the log end offset's name is true of most sweeps, as
// replication takes less time than they do. Where a follower stands still, it is
// found out.
func TestOracleFindsHighWatermarkAsLogEnd(t *testing.T) {
	w := newWorld(t, 2, nil)
	w.createTopic("t", []int32{1, 2})
	w.mustProduce(1, "t", 0, 5)
	if err := w.Pause(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	w.wait(time.Millisecond)
	if code := w.produce(1, "t", 0, 7, 1, nil); code != 0 {
		t.Fatalf("produce: error %d", code)
	}
	w.wait(time.Millisecond)
	client := &inProcess{cluster: w.sim}
	asConsumer := &twisted{client, func(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
		if r, is := req.(*kmsg.ListOffsetsRequest); is && r.ReplicaID == -2 {
			asked := *r
			asked.ReplicaID, asked.IsolationLevel = -1, 0
			req = &asked
		}
		return client.Request(ctx, broker, req)
	}}
	truth, err := oracle.Learn(w.witness.Acts())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		client collector.Client
		want   bool
	}{{client, false}, {asConsumer, true}} {
		e := newExporter(t, t.Name(), tt.client, w.sim.Now, collector.Options{Serial: true}, metrics.Options{})
		e.sweep()
		found := false
		for _, v := range oracle.NewJudge(truth).Judge(e.scrapes[0]) {
			found = found || v.Rule == "the log end offset is not true"
		}
		if found != tt.want {
			t.Errorf("found out: %v, want %v", found, tt.want)
		}
	}
}
