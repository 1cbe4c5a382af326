package collector

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// readShares asks coordinators where share groups are (KIP-932). They have no
// commits. The coordinator has to ask in its turn who keeps the state of the
// shared partitions, so that its answer may take long.
func (w *sweep) readShares(ctx context.Context) {
	requests := make(map[int32]kmsg.Request)
	asked := make(map[string]*lag.Group)
	for i := range w.groups {
		g := &w.groups[i]
		if g.Type != lag.ShareGroup {
			continue
		}
		coordinator := int32(g.Coordinator)
		if requests[coordinator] == nil {
			requests[coordinator] = kmsg.NewPtrDescribeShareGroupOffsetsRequest()
		}
		req := requests[coordinator].(*kmsg.DescribeShareGroupOffsetsRequest)
		group := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
		group.GroupID = g.Name // null topics: all
		req.Groups = append(req.Groups, group)
		asked[g.Name] = g
	}
	w.askOptional(ctx, Groups, askShares, requests, func(_ int32, a answered) {
		resp := a.resp.(*kmsg.DescribeShareGroupOffsetsResponse)
		for i := range resp.Groups {
			if g := asked[resp.Groups[i].GroupID]; g != nil {
				w.setShares(g, &resp.Groups[i])
			}
		}
	})
}

// setShares takes over where a share group is, on wanted topics. Negative values
// are none. A group that was deleted meanwhile has no topics.
func (w *sweep) setShares(g *lag.Group, d *kmsg.DescribeShareGroupOffsetsResponseGroup) {
	if d.ErrorCode != 0 {
		w.misses.add(missOfCode(d.ErrorCode), "group "+g.Name, 1, askShares+": "+codeText(d.ErrorCode), Groups)
		return
	}
	topics := make([]lag.TopicShares, 0, len(d.Topics))
	for i := range d.Topics {
		name, wanted := w.layout.intern(d.Topics[i].Topic)
		if !wanted {
			continue
		}
		t := lag.TopicShares{Topic: name}
		for _, p := range d.Topics[i].Partitions {
			if w.options.Assigned != nil && !owns(w.own[g.Name], name, p.Partition) {
				continue
			}
			if p.ErrorCode != 0 {
				w.misses.add(missOfCode(p.ErrorCode), "group "+g.Name, 1, askShares+" topic="+name+": "+codeText(p.ErrorCode), Groups)
				continue
			}
			share := lag.SharePartition{Partition: p.Partition}
			if p.StartOffset >= 0 {
				share.Start = lag.Known(lag.Offset(p.StartOffset))
			}
			if p.Lag >= 0 {
				share.Lag = lag.Known(lag.Count(p.Lag))
			}
			t.Partitions = append(t.Partitions, share)
		}
		slices.SortFunc(t.Partitions, func(a, b lag.SharePartition) int { return cmp.Compare(a.Partition, b.Partition) })
		topics = append(topics, t)
	}
	slices.SortFunc(topics, func(a, b lag.TopicShares) int { return strings.Compare(a.Topic, b.Topic) })
	g.Shares = lag.Known(topics)
}
