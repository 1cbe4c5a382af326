package scenario

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func fetchVerbs() []Verb {
	return []Verb{
		{
			Name:  "Fetch",
			Usage: "Fetch[/vN] ru|rc PARTITION@OFFSET [maxBytes=N] [at BROKER]",
			Doc: "One Fetch that does not wait. Prints the batches with their offsets, or empty; ab, the list of aborted transactions " +
				"(producer, first offset), null for ru; and the high watermark, LSO and log start offset of the answer.",
			Parse: parseFetch,
		},
		{
			Name:  "consume",
			Usage: "consume PARTITION from OFFSET",
			Doc: "Reads as a read_committed consumer does (rule D6), up to where it would wait. Prints the offsets that it would hand to the " +
				"application, one range a batch, and its position.",
			Parse: parseConsume,
		},
		{
			Name:  "markers",
			Usage: "markers PARTITION",
			Doc:   "Prints the end-of-transaction markers of the whole log with their coordinator epochs.",
			Parse: parseMarkers,
		},
	}
}

// fetchQuery is one Fetch of one partition.
type fetchQuery struct {
	version   int16 // -1 lets the Play choose
	committed bool
	offset    int64
	maxBytes  int32
	at        string
}

const fetchBytes = 1 << 20

func parseFetch(words []string) (Action, error) {
	args, err := parseArguments(words, "at ", "maxBytes", versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(2, 2); err != nil {
		return nil, err
	}
	q := fetchQuery{version: -1, committed: args.position[0] == "rc", maxBytes: fetchBytes, at: args.named["at"]}
	if !q.committed && args.position[0] != "ru" {
		return nil, fmt.Errorf("isolation is ru or rc")
	}
	where, offset, _ := strings.Cut(args.position[1], "@")
	ref, err := parsePartition(where)
	if err != nil {
		return nil, err
	}
	if q.offset, err = strconv.ParseInt(offset, 10, 64); err != nil {
		return nil, fmt.Errorf("%s is no PARTITION@OFFSET", args.position[1])
	}
	if value, given := args.named["maxBytes"]; given {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("maxBytes=%s", value)
		}
		q.maxBytes = int32(n)
	}
	if value, given := args.named[versionOption]; given {
		n, _ := strconv.ParseInt(value, 10, 16)
		q.version = int16(n)
	}
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		q := q
		q.offset += log.base
		part, refusal, err := p.fetch(ctx, log.topicPartition, q)
		if err != nil || refusal != "" {
			return refusal, err
		}
		return p.renderFetch(part)
	}, nil
}

// fetch sends one Fetch. A refusal is an error code of any level, printed.
func (p *Play) fetch(ctx context.Context, tp topicPartition, q fetchQuery) (part kmsg.FetchResponseTopicPartition, refusal string, err error) {
	broker, refusal, err := p.target(ctx, tp, q.at)
	if err != nil || refusal != "" {
		return part, refusal, err
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = p.version(req.Key(), q.version), 0, 0, fetchBytes
	req.SessionID, req.SessionEpoch = 0, -1
	if q.committed {
		req.IsolationLevel = 1
	}
	topic, want := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	want.Partition, want.FetchOffset, want.PartitionMaxBytes, want.CurrentLeaderEpoch = tp.partition, q.offset, q.maxBytes, -1
	topic.Topic, topic.Partitions = tp.topic, append(topic.Partitions, want)
	req.Topics = append(req.Topics, topic)
	answer, err := p.ask(ctx, broker, req)
	if err != nil {
		return part, "", err
	}
	resp := answer.(*kmsg.FetchResponse)
	if resp.ErrorCode != 0 {
		return part, renderError(resp.ErrorCode), nil
	}
	part = resp.Topics[0].Partitions[0]
	if part.ErrorCode != 0 {
		return part, renderError(part.ErrorCode), nil
	}
	return part, "", nil
}

func (p *Play) renderFetch(part kmsg.FetchResponseTopicPartition) (string, error) {
	batches, err := readBatches(part.RecordBatches)
	if err != nil {
		return "", err
	}
	words := make([]string, 0, len(batches)+1)
	for _, b := range batches {
		words = append(words, b.render(&p.symbols))
	}
	if len(words) == 0 {
		words = append(words, "empty")
	}
	aborted := "null"
	if part.AbortedTransactions != nil {
		entries := make([]string, len(part.AbortedTransactions))
		for i, a := range part.AbortedTransactions {
			entries[i] = fmt.Sprintf("(%s,%d)", p.symbols.producer(a.ProducerID), a.FirstOffset)
		}
		aborted = "[" + strings.Join(entries, " ") + "]"
	}
	return fmt.Sprintf("%s ab=%s (HWM %d LSO %d start %d)", strings.Join(words, " "), aborted,
		part.HighWatermark, part.LastStableOffset, part.LogStartOffset), nil
}

func parseConsume(words []string) (Action, error) {
	args, err := parseArguments(words, "from ")
	if err != nil {
		return nil, err
	}
	if err := args.want(1, 1); err != nil {
		return nil, err
	}
	ref, err := parsePartition(args.position[0])
	if err != nil {
		return nil, err
	}
	from, err := strconv.ParseInt(args.named["from"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("from wants an offset")
	}
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		return p.consume(ctx, log.topicPartition, from)
	}, nil
}

// consume reads to the end of what a read_committed consumer may see.
func (p *Play) consume(ctx context.Context, tp topicPartition, from int64) (string, error) {
	var reads []string
	position := from
	for {
		part, refusal, err := p.fetch(ctx, tp, fetchQuery{version: -1, committed: true, offset: position, maxBytes: fetchBytes})
		if err != nil || refusal != "" {
			return refusal, err
		}
		batches, err := readBatches(part.RecordBatches)
		if err != nil {
			return "", err
		}
		if len(batches) == 0 {
			break
		}
		for _, b := range surfaced(batches, part.AbortedTransactions) {
			b.baseOffset = max(b.baseOffset, position)
			if b.lastOffset >= position {
				reads = append(reads, b.offsets())
			}
		}
		position = batches[len(batches)-1].lastOffset + 1
	}
	if len(reads) == 0 {
		reads = []string{"nothing"}
	}
	return fmt.Sprintf("reads %s, position %d", strings.Join(reads, " "), position), nil
}

// surfaced are the batches whose records a read_committed consumer hands over:
// not control batches, and not those of transactions listed as aborted, from
// their first offset to their marker (rule D6).
func surfaced(batches []batch, aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction) []batch {
	var out []batch
	pending := append([]kmsg.FetchResponseTopicPartitionAbortedTransaction(nil), aborted...)
	dropped := map[int64]bool{}
	for _, b := range batches {
		rest := pending[:0]
		for _, a := range pending {
			if a.FirstOffset <= b.lastOffset {
				dropped[a.ProducerID] = true
			} else {
				rest = append(rest, a)
			}
		}
		pending = rest
		switch {
		case b.control():
			if b.marker != nil && !b.marker.commit {
				delete(dropped, b.producerID)
			}
		case !b.transactional() || !dropped[b.producerID]:
			out = append(out, b)
		}
	}
	return out
}

func parseMarkers(words []string) (Action, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("%d words where 1 is wanted", len(words))
	}
	ref, err := parsePartition(words[0])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		return p.markers(ctx, log.topicPartition)
	}, nil
}

func (p *Play) markers(ctx context.Context, tp topicPartition) (string, error) {
	var found []string
	for position := int64(0); ; {
		part, refusal, err := p.fetch(ctx, tp, fetchQuery{version: -1, offset: position, maxBytes: fetchBytes})
		if err != nil || refusal != "" {
			return refusal, err
		}
		batches, err := readBatches(part.RecordBatches)
		if err != nil {
			return "", err
		}
		if len(batches) == 0 {
			break
		}
		for _, b := range batches {
			if b.marker != nil {
				found = append(found, b.render(&p.symbols)+" ce "+p.symbols.coordinatorEpoch(b.producerID, b.marker.coordinatorEpoch))
			}
		}
		position = batches[len(batches)-1].lastOffset + 1
	}
	if len(found) == 0 {
		return "none", nil
	}
	return strings.Join(found, ", "), nil
}
