package scenario

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func produceVerbs() []Verb {
	return []Verb{{
		Name:  batchVerb,
		Usage: "BATCH[/vN] PARTITION [BATCH PARTITION]… [as ID] [acks=N] [timeout=DURATION] [ts=MILLIS|now±DURATION] [at BROKER]",
		Doc: "Produce, acks=1 unless it says otherwise, to the partition's leader. Batches: T(P,epoch,sequence,records) transactional, " +
			"I(…) idempotent, N(records) plain, C(P,epoch) and A(P,epoch) control batches, empty for no batch at all; a+b are two batches in one. " +
			"Fields follow in braces: N(2){count=3,crc=bad}; also baseOffset, magic. A transactional batch goes under the " +
			"transactional id of its producer, another one with as ID, none with as null. Prints ok and the base offset, or the error.",
		Parse: parseProduce,
	}}
}

type produceCommand struct {
	version   int16
	entries   []produceEntry
	id        string // transactional id symbol; "" is the producer's own
	acks      int16
	timeout   time.Duration
	timestamp timestampRef
	at        string
}

type produceEntry struct {
	batches   []batchRef
	partition partitionRef
}

// batchRef is a batch in a command.
type batchRef struct {
	kind         byte // T, I, N, C, A
	producer     producerRef
	sequence, n  int32
	count, magic *int32
	baseOffset   int64
	corrupt      bool
}

// timestampRef is the timestamp of the first record: absolute, or relative to
// the present.
type timestampRef struct {
	millis   int64
	relative bool
}

func parseTimestamp(word string) (timestampRef, error) {
	if word == "" {
		return timestampRef{relative: true}, nil
	}
	if rest, ok := strings.CutPrefix(word, "now"); ok {
		if rest == "" {
			return timestampRef{relative: true}, nil
		}
		d, err := time.ParseDuration(rest)
		return timestampRef{d.Milliseconds(), true}, err
	}
	millis, err := strconv.ParseInt(word, 10, 64)
	return timestampRef{millis: millis}, err
}

func (t timestampRef) at(now time.Time) int64 {
	if t.relative {
		return now.UnixMilli() + t.millis
	}
	return t.millis
}

func parseProduce(words []string) (Action, error) {
	args, err := parseArguments(words, "as ", "at ", "acks", "timeout", "ts")
	if err != nil {
		return nil, err
	}
	if len(args.position) == 0 || len(args.position)%2 != 0 {
		return nil, fmt.Errorf("each batch needs a partition")
	}
	c := produceCommand{version: -1, acks: 1, timeout: 5 * time.Second, id: args.named["as"], at: args.named["at"]}
	if m := versionSuffix.FindStringSubmatch(args.position[0]); m != nil {
		v, _ := strconv.ParseInt(m[2], 10, 16)
		args.position[0], c.version = m[1], int16(v)
	}
	for i := 0; i < len(args.position); i += 2 {
		e := produceEntry{}
		if e.batches, err = parseBatches(args.position[i]); err != nil {
			return nil, err
		}
		if e.partition, err = parsePartition(args.position[i+1]); err != nil {
			return nil, err
		}
		c.entries = append(c.entries, e)
	}
	if err := c.parseOptions(args); err != nil {
		return nil, err
	}
	return c.run, nil
}

func (c *produceCommand) parseOptions(args arguments) (err error) {
	if acks, given := args.named["acks"]; given {
		n, err := strconv.ParseInt(acks, 10, 16)
		if err != nil {
			return fmt.Errorf("acks=%s", acks)
		}
		c.acks = int16(n)
	}
	if timeout, given := args.named["timeout"]; given {
		if c.timeout, err = parseTimeout(timeout); err != nil {
			return err
		}
	}
	if c.id != "" {
		if _, err := parseID(c.id); err != nil {
			return err
		}
	}
	c.timestamp, err = parseTimestamp(args.named["ts"])
	return err
}

var batchForm = regexp.MustCompile(`^([TINCA])\(([^)]*)\)(?:\{([^}]*)\})?$`)

func parseBatches(word string) ([]batchRef, error) {
	if word == "empty" {
		return nil, nil
	}
	var refs []batchRef
	for _, part := range strings.Split(word, "+") {
		m := batchForm.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("%s is no batch", part)
		}
		ref, err := parseBatch(m[1][0], m[2])
		if err != nil {
			return nil, err
		}
		if err := ref.parseFields(m[3]); err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// maxRecords is how many records a batch of a text may have, far more than
// max.message.bytes lets through by default.
const maxRecords = 1_000_000

func parseBatch(kind byte, inside string) (batchRef, error) {
	ref := batchRef{kind: kind, n: 1, sequence: -1, producer: producerRef{"-1", -1}}
	fields := strings.Split(inside, ",")
	numbers := fields
	wanted := map[byte]int{'T': 4, 'I': 4, 'N': 1, 'C': 2, 'A': 2}[kind]
	if len(fields) != wanted {
		return ref, fmt.Errorf("%c takes %d fields", kind, wanted)
	}
	if kind != 'N' {
		var err error
		if ref.producer, err = parseProducer("(" + fields[0] + "," + fields[1] + ")"); err != nil {
			return ref, err
		}
		numbers = fields[2:]
	}
	values := make([]int32, len(numbers))
	for i, number := range numbers {
		v, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return ref, fmt.Errorf("%s is no number", number)
		}
		values[i] = int32(v)
	}
	switch len(values) {
	case 1:
		ref.n = values[0]
	case 2:
		ref.sequence, ref.n = values[0], values[1]
	}
	if ref.n < 0 || ref.n > maxRecords {
		return ref, fmt.Errorf("a batch has 0 to %d records, not %d", maxRecords, ref.n)
	}
	return ref, nil
}

func (r *batchRef) parseFields(braces string) error {
	if braces == "" {
		return nil
	}
	for _, field := range strings.Split(braces, ",") {
		name, value, _ := strings.Cut(field, "=")
		if name == "crc" && value == "bad" {
			r.corrupt = true
			continue
		}
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return fmt.Errorf("%s is no field of a batch", field)
		}
		small := int32(n)
		switch name {
		case "count":
			r.count = &small
		case "magic":
			r.magic = &small
		case "baseOffset":
			r.baseOffset = n
		default:
			return fmt.Errorf("%s is no field of a batch", field)
		}
	}
	return nil
}

func (c produceCommand) run(ctx context.Context, p *Play) (string, error) {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = p.version(req.Key(), c.version), c.acks, int32(c.timeout.Milliseconds())
	now := p.cluster.Now()
	owner := ""
	first, err := p.locate(ctx, c.entries[0].partition)
	if err != nil {
		return "", err
	}
	for _, e := range c.entries {
		log, err := p.locate(ctx, e.partition)
		if err != nil {
			return "", err
		}
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = log.partition, []byte{}
		for _, ref := range e.batches {
			b, id, err := ref.resolve(p, c.timestamp.at(now))
			if err != nil {
				return "", err
			}
			if ref.kind == 'T' {
				owner = cmp.Or(id, nobody)
			}
			part.Records = append(part.Records, b.encode()...)
		}
		addPartition(req, log.topic, part)
	}
	if req.TransactionID, err = p.producingID(ctx, c.id, owner); err != nil {
		return "", err
	}
	broker, refusal, err := p.target(ctx, first.topicPartition, c.at)
	if err != nil || refusal != "" {
		return refusal, err
	}
	resp, err := p.askAs(ctx, broker, p.producerClient(first), req)
	if err != nil {
		return "", err
	}
	return p.renderProduce(resp.(*kmsg.ProduceResponse), first.base), nil
}

// resolve gives the batch's fields their values, and the transactional id
// symbol of its producer.
func (r batchRef) resolve(p *Play, timestamp int64) (batch, string, error) {
	id, err := p.symbols.producerID(r.producer.producer)
	if err != nil {
		return batch{}, "", err
	}
	b := batch{baseOffset: r.baseOffset, magic: 2, producerID: id, producerEpoch: r.producer.epoch,
		baseSequence: r.sequence, timestamp: timestamp, records: int(r.n), count: r.n, corrupt: r.corrupt}
	switch r.kind {
	case 'T':
		b.attributes = attrTransactional
	case 'C', 'A':
		b.attributes = attrTransactional | attrControl
		b.marker = &marker{commit: r.kind == 'C'}
	}
	if r.count != nil {
		b.count = *r.count
	}
	if r.magic != nil {
		b.magic = int8(*r.magic)
	}
	return b, p.symbols.owners[id], nil
}

func addPartition(req *kmsg.ProduceRequest, topic string, part kmsg.ProduceRequestTopicPartition) {
	for i := range req.Topics {
		if req.Topics[i].Topic == topic {
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, part)
			return
		}
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{part}
	req.Topics = append(req.Topics, t)
}

// producingID is the transactional id of a Produce request: the named one, else
// that of the producer of its transactional batches. A producer that no id ever
// named gets one that does not exist.
func (p *Play) producingID(ctx context.Context, named, owner string) (*string, error) {
	switch named {
	case nullWord:
		return nil, nil
	case "":
		if owner == "" {
			return nil, nil
		}
		if owner == nobody {
			return kmsg.StringPtr(p.prefix + "nobody"), nil
		}
		named = owner
	}
	name, err := p.name(ctx, named)
	return &name, err
}

// nobody owns the producers that no transactional id ever named.
const nobody = "nobody"

func (p *Play) producerClient(log keeper) string {
	if strings.HasPrefix(log.topic, "__") {
		return adminClientID
	}
	return clientID
}

func (p *Play) renderProduce(resp *kmsg.ProduceResponse, base int64) string {
	var outputs []string
	for _, t := range resp.Topics {
		for _, part := range t.Partitions {
			out := renderError(part.ErrorCode)
			switch {
			case part.ErrorCode == 0:
				out += fmt.Sprintf(" @%d", part.BaseOffset-base)
			case part.BaseOffset >= 0:
				out += fmt.Sprintf(" base %d", part.BaseOffset-base)
			}
			outputs = append(outputs, out)
		}
	}
	return strings.Join(outputs, " ")
}
