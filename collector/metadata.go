package collector

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// metadataOrder returns the brokers to ask for Metadata, the most promising
// first: those that answered, the seeds, and those that did not answer.
//
// Among those that answered it begins behind the one that gave the last answer,
// so that two sweeps in a row take the word of two brokers: one that is cut off
// from the controller goes on telling what it knew, and leading what it led. One
// that has told newer leader epochs since comes before all.
func (w *sweep) metadataOrder() []int32 {
	var good, bad []int32
	if w.layout != nil {
		turn := 0
		for _, b := range w.layout.cluster.Brokers {
			switch id := int32(b.ID); {
			case w.down[id]:
			case w.isSuspended(id):
				bad = append(bad, id)
			default:
				if good = append(good, id); id <= w.asked {
					turn = len(good)
				}
			}
		}
		if at := slices.Index(good, w.ahead); at >= 0 {
			turn = at
		}
		good = slices.Concat(good[turn:], good[:turn])
	}
	for _, id := range w.client.Seeds() {
		if !slices.Contains(good, id) && !slices.Contains(bad, id) && !w.down[id] {
			good = append(good, id)
		}
	}
	return append(good, bad...)
}

// askLayout returns the cluster as the first broker tells it that is not behind
// what is known of it, which may be nothing. Where all are behind, as after a
// cluster was restored, it is as the first of them tells it. In doubt the word of
// two is taken, if there are two. If nobody answers, the error says of each why.
func (w *sweep) askLayout(ctx context.Context, order []int32, before *layout, doubt bool) (*layout, error) {
	var told *layout
	err := w.askMetadata(ctx, order, func(id int32, resp *kmsg.MetadataResponse) (enough bool) {
		l := newLayout(resp, before, w.options.Topics)
		isBehind := before != nil && l.isBehind(before)
		if told == nil || !isBehind && told.isBehind(l) {
			told, w.asked, w.ahead = l, w.identify(id, l), -1
		}
		enough = !isBehind && !doubt
		doubt = doubt && isBehind
		return enough
	})
	if told == nil {
		return nil, err
	}
	return told, nil
}

// hearAnother returns the layout to go by where the one that was told has other
// topics than the sweep before: that of the next broker, unless it is behind. Leader
// epochs do not tell which of two brokers is behind of which one has not heard of a
// topic that was created, or deleted; so the word of two is taken, and what only one
// that is cut off from the controller says does not come and go with its turns. A next
// broker that is silent is not waited for alone: the first is asked again.
func (w *sweep) hearAnother(ctx context.Context, l *layout) *layout {
	order := w.metadataOrder()
	if w.last == nil || l.sameTopics(w.last) || len(order) == 0 || order[0] < 0 || order[0] == w.asked || w.isSuspended(order[0]) {
		return l
	}
	asked := w.asked
	another, err := w.askLayout(ctx, []int32{order[0], asked}, l, false)
	if err != nil || another.isBehind(l) {
		w.asked = asked
		return l
	}
	return another
}

// sameTopics says whether two layouts have the same topics with as many partitions.
func (l *layout) sameTopics(other *layout) bool {
	return slices.EqualFunc(l.topics, other.topics, func(a, b topicLayout) bool {
		return a.name == b.name && a.id == b.id && a.end-a.first == b.end-b.first
	})
}

// identify returns the id of the broker that a seed is, where one is listed at the
// seed's address, and the seed's own otherwise.
func (w *sweep) identify(id int32, l *layout) int32 {
	client, ok := w.client.(interface{ seedAddress(id int32) string })
	if id >= 0 || !ok {
		return id
	}
	address := client.seedAddress(id)
	for _, b := range l.cluster.Brokers {
		if address == net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))) {
			return int32(b.ID)
		}
	}
	return id
}

// isBehind says whether a layout is older than another one: a leader epoch never
// goes back while a topic lives.
func (l *layout) isBehind(other *layout) bool {
	older := func(a, b lag.LeaderEpoch) bool { return a >= 0 && a < b }
	for i := range min(len(l.transactionState), len(other.transactionState)) {
		if older(l.transactionState[i].Epoch, other.transactionState[i].Epoch) {
			return true
		}
	}
	for i := range l.topics {
		topic := &l.topics[i]
		at, known := other.index[topic.name]
		if !known || topic.id == (lag.TopicID{}) || other.topics[at].id != topic.id {
			continue
		}
		for place := topic.first; place < topic.end; place++ {
			there, known := other.place(topic.name, l.partitions[place].Number)
			if known && older(l.partitions[place].LeaderEpoch, other.partitions[there].LeaderEpoch) {
				return true
			}
		}
	}
	return false
}

// metadataReply is what became of one request for Metadata.
type metadataReply struct {
	line *line
	resp *kmsg.MetadataResponse // nil where there was no answer
}

// askMetadata asks brokers for Metadata, one after the other, and has each answer
// judged until one is enough. One that lets metadataPatience pass is not waited
// for alone: the next is asked as well. If no answer is enough, the error says of
// each broker that gave none why.
func (w *sweep) askMetadata(ctx context.Context, order []int32, judge func(id int32, resp *kmsg.MetadataResponse) (enough bool)) error {
	failed := make(map[int32]error)
	asked, waiting := []int32{}, []int32{}          // in this order; those of them that have not answered
	replies := make(chan metadataReply, len(order)) // never blocks a request that nobody waits for
	for next := true; ctx.Err() == nil && len(waiting)+len(order) > 0; {
		if next && len(order) > 0 {
			asked, waiting = append(asked, order[0]), append(waiting, order[0])
			w.sendMetadata(ctx, order[0], replies)
			order = order[1:]
		}
		var patience <-chan time.Time
		if len(order) > 0 {
			patience = time.After(w.options.metadataPatience())
		}
		select {
		case r := <-replies:
			waiting = slices.DeleteFunc(waiting, func(id int32) bool { return id == r.line.id })
			enough, err := w.takeMetadata(ctx, r, judge)
			if enough {
				w.passOver(waiting)
				return nil
			}
			failed[r.line.id] = err
			next = true
		case <-patience:
			next = true
		case <-ctx.Done():
		}
	}
	w.giveUp(waiting, failed)
	var why failures
	for _, id := range asked {
		if err := failed[id]; err != nil {
			why = append(why, err)
		}
	}
	if ctx.Err() != nil {
		why = append(why, fmt.Errorf("%w before a broker had answered", errOver))
	}
	if len(why) == 0 {
		return errOver
	}
	return why
}

// metadataPatience is how long one broker alone is waited for. By then it counts as
// silent (see silenceOf), unless a request may take most of the sweep.
func (o *Options) metadataPatience() time.Duration {
	return min(o.BrokerTimeout/2, o.Deadline/4)
}

// sendMetadata asks a broker for Metadata.
func (w *sweep) sendMetadata(ctx context.Context, id int32, replies chan<- metadataReply) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	req.IncludeClusterAuthorizedOperations = true
	l := &line{sweep: w, id: id, contacts: w.contacts}
	send := func() {
		a, _ := l.send(ctx, req)
		resp, _ := a.resp.(*kmsg.MetadataResponse)
		replies <- metadataReply{l, resp}
	}
	if w.options.Serial {
		send()
		return
	}
	w.pending.Go(send)
}

// takeMetadata takes over what a broker answered. The error says why it gave no
// answer.
func (w *sweep) takeMetadata(ctx context.Context, r metadataReply, judge func(id int32, resp *kmsg.MetadataResponse) bool) (enough bool, err error) {
	switch {
	case r.resp != nil && len(r.resp.Brokers) > 0:
		w.answers++
		w.endProbe(r.line.id, true)
		return judge(r.line.id, r.resp), nil
	case r.resp != nil:
		return false, w.refusedMetadata(r.line, r.resp)
	case ctx.Err() != nil:
		if err := w.silenceOf(r.line.id); err != nil {
			w.endedBy(r.line.id, "Metadata")
			return false, err
		}
		return false, nil
	}
	w.markDown(r.line)
	return false, r.line.err
}

// passOver notes which brokers are still waited for though another one has
// answered. What they have used up of BrokerTimeout they lack in step 1. A seed has
// no step 1: one that has been silent for long is taken for one that does not answer.
func (w *sweep) passOver(waiting []int32) {
	for _, id := range waiting {
		switch {
		case id >= 0:
			w.late[id] = w.contacts.silence(id, w.options.Now())
		case w.silenceOf(id) != nil:
			w.endedBy(id, "Metadata")
		}
	}
}

// giveUp takes the brokers that are still waited for and have been silent for long
// enough for such that do not answer, and notes why.
func (w *sweep) giveUp(waiting []int32, failed map[int32]error) {
	for _, id := range waiting {
		if err := w.silenceOf(id); err != nil {
			w.endedBy(id, "Metadata")
			failed[id] = err
		}
	}
}
