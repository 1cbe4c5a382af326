package collector

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Limits of what an audit asks about producers.
const (
	// firstProbe is of how many partitions a leader is asked first, so that the
	// size of an answer is known before many are asked.
	firstProbe = 50

	// maxProbed bounds the partitions of one leader that are asked about.
	maxProbed = 1000
)

// probed is a partition of which a leader is asked who writes to it: its place
// in the sample.
type probed struct{ topic, partition int }

// probe is what a leader answered about some partitions.
type probe struct {
	reply
	asked []probed
}

// readProducers asks the leaders of fragile partitions whether transactions
// write to them. The first partition of each topic comes first.
func (u *audit) readProducers(ctx context.Context) {
	byLeader := make(map[int32][]probed)
	for i := range u.sample.Topics {
		t := &u.sample.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			switch fragile, _ := t.Fragile(p); {
			case !fragile || t.Internal:
			case p.Leader == lag.NoBroker:
				p.Gap = lag.GapNoLeader
			default:
				p.Gap = lag.GapBudget
				byLeader[int32(p.Leader)] = append(byLeader[int32(p.Leader)], probed{i, j})
			}
		}
	}
	for _, partitions := range byLeader {
		slices.SortFunc(partitions, func(a, b probed) int {
			return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.topic, b.topic))
		})
	}
	fanOut(ctx, u.options.Serial, slices.Sorted(maps.Keys(byLeader)), always, 0,
		func(leader int32) []probe { return u.askLeader(ctx, leader, byLeader[leader]) },
		func(_ int32, probes []probe) {
			for _, p := range probes {
				u.takeProducers(p)
			}
		})
}

// askLeader asks a leader about the first few of its partitions, then about as
// many more as an answer of reasonable size can hold.
func (u *audit) askLeader(ctx context.Context, leader int32, partitions []probed) []probe {
	partitions = partitions[:min(len(partitions), maxProbed)]
	first := u.askProducers(ctx, leader, partitions[:min(len(partitions), firstProbe)])
	rest := partitions[len(first.asked):]
	if first.err != nil || len(rest) == 0 {
		return []probe{first}
	}
	rows := 0
	for _, t := range first.resp.(*kmsg.DescribeProducersResponse).Topics {
		for _, p := range t.Partitions {
			rows += len(p.ActiveProducers)
		}
	}
	rest = rest[:min(len(rest), maxRows*len(first.asked)/max(1, rows))]
	if len(rest) == 0 {
		return []probe{first}
	}
	return []probe{first, u.askProducers(ctx, leader, rest)}
}

// askProducers asks a leader who writes to its partitions.
func (u *audit) askProducers(ctx context.Context, leader int32, partitions []probed) probe {
	asked := slices.SortedFunc(slices.Values(partitions), func(a, b probed) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	req := kmsg.NewPtrDescribeProducersRequest()
	for _, at := range asked {
		t := &u.sample.Topics[at.topic]
		addProducersOf(req, t.Name, t.Partitions[at.partition].Number)
	}
	resp, err := u.Auditor.ask(ctx, leader, req)
	return probe{reply{resp, err}, asked}
}

// takeProducers takes over whether transactions write to partitions. A producer
// of transactions has one open, or has had an end marker written.
func (u *audit) takeProducers(p probe) {
	if p.err != nil {
		gap := u.gap(missOfError(p.err), lag.GapNoReadOnTopic)
		for _, at := range p.asked {
			u.sample.Topics[at.topic].Partitions[at.partition].Gap = gap
		}
		return
	}
	places := make(map[topicPartition]probed, len(p.asked))
	for _, at := range p.asked {
		t := &u.sample.Topics[at.topic]
		places[topicPartition{t.Name, t.Partitions[at.partition].Number}] = at
	}
	for _, t := range p.resp.(*kmsg.DescribeProducersResponse).Topics {
		for _, answer := range t.Partitions {
			at, ok := places[topicPartition{t.Topic, answer.Partition}]
			if !ok {
				continue
			}
			partition := &u.sample.Topics[at.topic].Partitions[at.partition]
			if answer.ErrorCode != 0 {
				partition.Gap = u.gap(missOfCode(answer.ErrorCode), lag.GapNoReadOnTopic)
				continue
			}
			partition.Gap = ""
			partition.Transactional = lag.Known(slices.ContainsFunc(answer.ActiveProducers,
				func(r kmsg.DescribeProducersResponseTopicPartitionActiveProducer) bool {
					return r.CurrentTxnStartOffset >= 0 || r.CoordinatorEpoch >= 0
				}))
		}
	}
}
