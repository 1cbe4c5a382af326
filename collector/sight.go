package collector

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// describeBit is the operation DESCRIBE in a set of authorized operations
// (KIP-430).
const describeBit = 1 << 8

// readSight finds out whether a sweep without any topic, or any group, saw all
// there is. Kafka leaves out what a principal may not describe, without an
// error, so that a cluster on which it has no right looks like one on which
// there is nothing. A name of the kind that is watched is asked for: it is
// refused to who may not describe it, and is not known to who may. Whoever may
// describe the cluster is listed every group.
//
// Where something is seen, more may be hidden. That is no miss: a principal with
// rights to a part of the cluster is told of that part.
func (w *sweep) readSight(ctx context.Context) {
	if w.options.enabled(Groups) && len(w.groups)+len(w.outside) == 0 && !w.misses.failed[Groups] && !w.layout.describesCluster && w.refusesGroups(ctx) {
		w.misses.add(lag.MissUnauthorized, lag.AllGroups, 1, "this principal lacks the right to describe the groups to watch (Describe on groups, or on the cluster)", Groups)
	}
	if len(w.layout.topics) == 0 && w.refusesTopics(ctx) {
		w.misses.add(lag.MissUnauthorized, lag.AllTopics, 1, "this principal lacks the right to describe the topics to watch (Describe on topics)", Offsets, Groups)
	}
}

// refusesTopics says whether topics of the kind that is watched may not be
// described.
func (w *sweep) refusesTopics(ctx context.Context) bool {
	resp, ok := w.askForSight(ctx, metadataFor(w.options.SightTopic)).(*kmsg.MetadataResponse)
	return ok && len(resp.Topics) == 1 && denied(resp.Topics[0].ErrorCode)
}

// refusesGroups says whether groups of the kind that is watched may not be
// described. The broker need not be the coordinator: it looks at rights first.
func (w *sweep) refusesGroups(ctx context.Context) bool {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{w.options.SightGroup}
	resp, ok := w.askForSight(ctx, req).(*kmsg.DescribeGroupsResponse)
	return ok && len(resp.Groups) == 1 && denied(resp.Groups[0].ErrorCode)
}

// askForSight asks a broker that has answered before; without an answer nothing
// is known.
func (w *sweep) askForSight(ctx context.Context, req kmsg.Request) kmsg.Response {
	l := &line{sweep: w, id: w.asked}
	a, miss := l.ask(ctx, req)
	if miss != "" {
		w.markDown(l)
		return nil
	}
	return a.resp
}

// metadataFor returns the Metadata request for topics by name, which creates
// none.
func metadataFor(topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}
