package scenario

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func transactionVerbs() []Verb {
	return []Verb{
		{
			Name:  "InitProducerId",
			Usage: "InitProducerId[/vN] ID|null [with (P,epoch)] [timeout=DURATION] [N times] [at BROKER]",
			Doc: "Asks the id's coordinator for a producer, with a transaction timeout of 60s unless it says otherwise. " +
				"N times stops at the first refusal and prints the last answer.",
			Parse: parseInitProducerID,
		},
		{
			Name:  "AddPartitionsToTxn",
			Usage: "AddPartitionsToTxn/v3 ID (P,epoch) PARTITION… [at BROKER]",
			Doc:   "Adds partitions to the transaction as clients of protocol 1 do (rule G8). Prints one result a partition.",
			Parse: parseAddPartitions,
		},
		{
			Name:  "AddOffsetsToTxn",
			Usage: "AddOffsetsToTxn/v3 ID (P,epoch) GROUP [at BROKER]",
			Doc:   "Adds the group's partition of __consumer_offsets to the transaction (rule G9).",
			Parse: parseAddOffsets,
		},
		{
			Name:  "EndTxn",
			Usage: "EndTxn/vN ID COMMIT|ABORT (P,epoch) [at BROKER]",
			Doc: "Ends the transaction: v5 and above by protocol 2, which prints the producer to go on with, below by protocol 1. " +
				"The answer comes before the markers are written (rule G12).",
			Parse: parseEndTxn,
		},
		{
			Name:  "DescribeTransactions",
			Usage: "DescribeTransactions ID [at BROKER]",
			Doc: "Prints state, producer, epoch, start (set or -1) and the partitions of the transaction, as its coordinator knows them (rule G22). " +
				"A time is printed as set.",
			Parse: parseDescribeTransactions,
		},
		{
			Name:  "ListTransactions",
			Usage: "ListTransactions all|STATE…",
			Doc:   "Asks every running broker and prints the scenario's own transactional ids with producer and state, or none.",
			Parse: parseListTransactions,
		},
		{
			Name:  "tombstone",
			Usage: "tombstone ID",
			Doc: "Writes a tombstone for the id into its __transaction_state partition. The coordinator learns of it when it loads that " +
				"partition again.",
			Parse: parseTombstone,
		},
	}
}

// transactionTimeout is what InitProducerId asks for unless the text says more.
const transactionTimeout = 60 * time.Second

// producerOf resolves (P1,0) and notes whose producer it is.
func (p *Play) producerOf(ref producerRef, id string) (int64, error) {
	producer, err := p.symbols.producerID(ref.producer)
	if err == nil {
		p.symbols.own(producer, id)
	}
	return producer, err
}

func (p *Play) renderProducer(id int64, epoch int16) string {
	return fmt.Sprintf("(%s,%d)", p.symbols.producer(id), epoch)
}

func parseInitProducerID(words []string) (Action, error) {
	args, err := parseArguments(words, "with ", "at ", "timeout", versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(1, 3); err != nil {
		return nil, err
	}
	id, err := parseID(args.position[0])
	if err != nil {
		return nil, err
	}
	c := initProducerID{id: id, at: args.named["at"], times: 1, timeout: transactionTimeout, with: producerRef{"-1", -1}}
	if c.version, err = versionOf(args); err != nil {
		return nil, err
	}
	if len(args.position) > 1 {
		if c.times, err = strconv.Atoi(args.position[1]); err != nil || len(args.position) != 3 || args.position[2] != "times" {
			return nil, fmt.Errorf("repetition is N times")
		}
	}
	if with, given := args.named["with"]; given {
		if c.with, err = parseProducer(with); err != nil {
			return nil, err
		}
	}
	if timeout, given := args.named["timeout"]; given {
		if c.timeout, err = parseTimeout(timeout); err != nil {
			return nil, err
		}
	}
	return c.run, nil
}

type initProducerID struct {
	version int16
	id, at  string
	with    producerRef
	timeout time.Duration
	times   int
}

func (c initProducerID) run(ctx context.Context, p *Play) (string, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionTimeoutMillis = p.version(req.Key(), c.version), int32(c.timeout.Milliseconds())
	var err error
	if req.ProducerID, err = p.symbols.producerID(c.with.producer); err != nil {
		return "", err
	}
	req.ProducerEpoch = c.with.epoch
	broker, refusal, owner := int32(0), "", c.id
	switch {
	case c.id != nullWord:
		var name string
		broker, name, refusal, err = p.coordinator(ctx, c.id, c.at)
		req.TransactionalID = &name
	case c.at != "":
		broker, err = p.broker(c.at)
		owner = ""
	default:
		broker, err = p.anyBroker()
		owner = ""
	}
	if err != nil || refusal != "" {
		return refusal, err
	}
	for range c.times - 1 {
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		if code := resp.(*kmsg.InitProducerIDResponse).ErrorCode; code != 0 {
			return renderError(code), nil
		}
	}
	answer, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	resp := answer.(*kmsg.InitProducerIDResponse)
	if resp.ErrorCode != 0 {
		return renderError(resp.ErrorCode), nil
	}
	p.symbols.own(resp.ProducerID, owner)
	return ok + " " + p.renderProducer(resp.ProducerID, resp.ProducerEpoch), nil
}

// idAndProducer parses the ID (P,epoch) with which transaction requests begin.
func idAndProducer(id, producer string) (string, producerRef, error) {
	id, err := parseID(id)
	if err != nil {
		return "", producerRef{}, err
	}
	ref, err := parseProducer(producer)
	return id, ref, err
}

func parseAddPartitions(words []string) (Action, error) {
	args, err := parseArguments(words, "at ", versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(3, -1); err != nil {
		return nil, err
	}
	id, ref, err := idAndProducer(args.position[0], args.position[1])
	if err != nil {
		return nil, err
	}
	partitions, err := parsePartitions(args.position[2:])
	if err != nil {
		return nil, err
	}
	version, err := versionOf(args)
	if err != nil || version < 0 || version > 3 {
		return nil, fmt.Errorf("clients send v0 to v3")
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.Version = version
		broker, name, refusal, err := p.coordinator(ctx, id, args.named["at"])
		if err != nil || refusal != "" {
			return refusal, err
		}
		if req.ProducerID, err = p.producerOf(ref, id); err != nil {
			return "", err
		}
		req.TransactionalID, req.ProducerEpoch = name, ref.epoch
		for _, ref := range partitions {
			log, err := p.locate(ctx, ref)
			if err != nil {
				return "", err
			}
			addTxnPartition(req, log.topicPartition)
		}
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		return p.renderAddPartitions(ctx, resp.(*kmsg.AddPartitionsToTxnResponse), partitions)
	}, nil
}

func addTxnPartition(req *kmsg.AddPartitionsToTxnRequest, tp topicPartition) {
	for i := range req.Topics {
		if req.Topics[i].Topic == tp.topic {
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, tp.partition)
			return
		}
	}
	topic := kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic, topic.Partitions = tp.topic, []int32{tp.partition}
	req.Topics = append(req.Topics, topic)
}

// renderAddPartitions prints the results in the order of the command.
func (p *Play) renderAddPartitions(ctx context.Context, resp *kmsg.AddPartitionsToTxnResponse, asked []partitionRef) (string, error) {
	codes := map[topicPartition]int16{}
	for _, t := range resp.Topics {
		for _, part := range t.Partitions {
			codes[topicPartition{t.Topic, part.Partition}] = part.ErrorCode
		}
	}
	outputs := make([]string, len(asked))
	for i, ref := range asked {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		code, answered := codes[log.topicPartition]
		if outputs[i] = renderError(code); !answered {
			outputs[i] = noAnswer
		}
	}
	return strings.Join(outputs, " "), nil
}

func parseAddOffsets(words []string) (Action, error) {
	args, err := parseArguments(words, "at ", versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(3, 3); err != nil {
		return nil, err
	}
	id, ref, err := idAndProducer(args.position[0], args.position[1])
	if err != nil {
		return nil, err
	}
	group, err := parseGroup(args.position[2])
	if err != nil {
		return nil, err
	}
	version, err := versionOf(args)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.Version = p.version(req.Key(), version)
		broker, name, refusal, err := p.coordinator(ctx, id, args.named["at"])
		if err != nil || refusal != "" {
			return refusal, err
		}
		if req.ProducerID, err = p.producerOf(ref, id); err != nil {
			return "", err
		}
		if req.Group, err = p.name(ctx, group); err != nil {
			return "", err
		}
		req.TransactionalID, req.ProducerEpoch = name, ref.epoch
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		return renderError(resp.(*kmsg.AddOffsetsToTxnResponse).ErrorCode), nil
	}, nil
}

func parseEndTxn(words []string) (Action, error) {
	args, err := parseArguments(words, "at ", versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(3, 3); err != nil {
		return nil, err
	}
	id, ref, err := idAndProducer(args.position[0], args.position[2])
	if err != nil {
		return nil, err
	}
	commit := args.position[1] == "COMMIT"
	if !commit && args.position[1] != "ABORT" {
		return nil, fmt.Errorf("a transaction ends by COMMIT or ABORT")
	}
	version, err := versionOf(args)
	if err != nil || version < 0 {
		return nil, fmt.Errorf("EndTxn wants a version, which decides the protocol")
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrEndTxnRequest()
		req.Version, req.Commit = version, commit
		broker, name, refusal, err := p.coordinator(ctx, id, args.named["at"])
		if err != nil || refusal != "" {
			return refusal, err
		}
		if req.ProducerID, err = p.producerOf(ref, id); err != nil {
			return "", err
		}
		req.TransactionalID, req.ProducerEpoch = name, ref.epoch
		answer, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		resp := answer.(*kmsg.EndTxnResponse)
		if resp.ErrorCode != 0 || version < 5 {
			return renderError(resp.ErrorCode), nil
		}
		p.symbols.own(resp.ProducerID, id)
		return ok + " " + p.renderProducer(resp.ProducerID, resp.ProducerEpoch), nil
	}, nil
}

func parseDescribeTransactions(words []string) (Action, error) {
	args, err := parseArguments(words, "at ")
	if err != nil {
		return nil, err
	}
	if err := args.want(1, 1); err != nil {
		return nil, err
	}
	id, err := parseID(args.position[0])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		broker, name, refusal, err := p.coordinator(ctx, id, args.named["at"])
		if err != nil || refusal != "" {
			return refusal, err
		}
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{name}
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		return p.renderTransaction(resp.(*kmsg.DescribeTransactionsResponse).TransactionStates[0]), nil
	}, nil
}

func (p *Play) renderTransaction(t kmsg.DescribeTransactionsResponseTransactionState) string {
	if t.ErrorCode != 0 {
		return renderError(t.ErrorCode)
	}
	start := "set"
	if t.StartTimestamp < 0 {
		start = strconv.FormatInt(t.StartTimestamp, 10)
	}
	var topics []string
	for _, topic := range t.Topics {
		for _, partition := range topic.Partitions {
			topics = append(topics, p.symbolOf(topic.Topic, partition))
		}
	}
	slices.Sort(topics)
	return fmt.Sprintf("%s %s epoch %d start %s topics [%s]", t.State, p.symbols.producer(t.ProducerID), t.ProducerEpoch,
		start, strings.Join(topics, " "))
}

func parseListTransactions(words []string) (Action, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("all, or the states that are wanted")
	}
	states := words
	if len(words) == 1 && words[0] == "all" {
		states = nil
	}
	return func(ctx context.Context, p *Play) (string, error) {
		rows := map[string]string{}
		for _, broker := range p.brokers {
			if p.silent[broker] != "" {
				continue
			}
			req := kmsg.NewPtrListTransactionsRequest()
			req.Version, req.StateFilters, req.DurationFilterMillis = p.version(req.Key(), -1), states, -1
			answer, err := p.ask(ctx, broker, req)
			if err != nil {
				return "", err
			}
			resp := answer.(*kmsg.ListTransactionsResponse)
			if resp.ErrorCode != 0 {
				return renderError(resp.ErrorCode), nil
			}
			for _, t := range resp.TransactionStates {
				if symbol := p.idSymbolOf(t.TransactionalID); symbol != "" {
					rows[symbol] = fmt.Sprintf("%s %s %s", symbol, p.symbols.producer(t.ProducerID), t.TransactionState)
				}
			}
		}
		if len(rows) == 0 {
			return "none", nil
		}
		outputs := make([]string, 0, len(rows))
		for _, symbol := range slices.Sorted(maps.Keys(rows)) {
			outputs = append(outputs, rows[symbol])
		}
		return strings.Join(outputs, "; "), nil
	}, nil
}

func parseTombstone(words []string) (Action, error) {
	if len(words) != 1 || !idSymbol.MatchString(words[0]) {
		return nil, fmt.Errorf("tombstone wants a transactional id")
	}
	id := words[0]
	return func(ctx context.Context, p *Play) (string, error) {
		name, err := p.name(ctx, id)
		if err != nil {
			return "", err
		}
		log := p.logs[id]
		// Key version 0 and the id (rule G2); a null value removes it.
		key := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(len(name)))
		b := batch{magic: 2, producerID: -1, producerEpoch: -1, baseSequence: -1, timestamp: p.cluster.Now().UnixMilli(),
			records: 1, count: 1, tombstone: append(key, name...)}
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = p.version(req.Key(), -1), -1, 5000
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = log.partition, b.encode()
		addPartition(req, log.topic, part)
		broker, refusal, err := p.target(ctx, log.topicPartition, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		resp, err := p.askAs(ctx, broker, adminClientID, req)
		if err != nil {
			return "", err
		}
		return renderError(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode), nil
	}, nil
}
