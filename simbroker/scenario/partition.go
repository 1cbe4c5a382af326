package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func partitionVerbs() []Verb {
	return []Verb{
		{
			Name:  partitionVerb,
			Usage: "PARTITION LEO/HWM/LSO [at BROKER] or PARTITION leader",
			Doc: "LEO/HWM/LSO prints ListOffsets LATEST as replica -2, as a read_uncommitted and as a read_committed consumer (rule E1). " +
				"leader prints the leader, its epoch and the ISR from the metadata of the first broker that runs. " +
				"G1-log and X1-log are the partitions of the internal topics that keep G1 and X1; their offsets count from the log's end when the scenario began.",
			Parse: parsePartitionVerb,
		},
		{
			Name:  "ListOffsets",
			Usage: "ListOffsets[/vN] ru|rc PARTITION… TIMESTAMP [replica=ID] [leaderEpoch=N] [at BROKER]",
			Doc: "ListOffsets as a read_uncommitted or read_committed consumer, or as another replica id. TIMESTAMP is LATEST, EARLIEST, MAX, EARLIEST_LOCAL, " +
				"LATEST_TIERED, EARLIEST_PENDING_UPLOAD or a number of milliseconds. Prints the offset, with its timestamp for MAX and numbers, " +
				"with its leader epoch if leaderEpoch is given.",
			Parse: parseListOffsets,
		},
		{
			Name:  "OffsetForLeaderEpoch",
			Usage: "OffsetForLeaderEpoch PARTITION EPOCH",
			Doc:   "Prints the leader epoch that the leader found and its end offset (rule E5).",
			Parse: parseOffsetForLeaderEpoch,
		},
		{
			Name:  "DeleteRecords",
			Usage: "DeleteRecords PARTITION OFFSET",
			Doc:   "Deletes records before the offset; -1 is the high watermark. Prints the low watermark.",
			Parse: parseDeleteRecords,
		},
		{
			Name:  "DescribeProducers",
			Usage: "DescribeProducers PARTITION [at BROKER]",
			Doc: "Prints the producer states of the leader's replica, or of the broker's: epoch, last sequence, coordinator epoch (ce), " +
				"first offset of the open transaction (start); or none.",
			Parse: parseDescribeProducers,
		},
	}
}

var timestampNames = map[string]int64{"LATEST": latest, "EARLIEST": -2, "MAX": -3, "EARLIEST_LOCAL": -4,
	"LATEST_TIERED": -5, "EARLIEST_PENDING_UPLOAD": -6}

func parsePartitionVerb(words []string) (Action, error) {
	ref, err := parsePartition(words[0])
	if err != nil {
		return nil, err
	}
	args, err := parseArguments(words[1:], "at ")
	if err != nil {
		return nil, err
	}
	if err := args.want(1, 1); err != nil {
		return nil, err
	}
	switch args.position[0] {
	case "LEO/HWM/LSO":
		return func(ctx context.Context, p *Play) (string, error) { return p.threeOffsets(ctx, ref, args.named["at"]) }, nil
	case "leader":
		return func(ctx context.Context, p *Play) (string, error) { return p.leader(ctx, ref) }, nil
	}
	return nil, fmt.Errorf("a partition has LEO/HWM/LSO and leader")
}

func (p *Play) threeOffsets(ctx context.Context, ref partitionRef, at string) (string, error) {
	log, err := p.locate(ctx, ref)
	if err != nil {
		return "", err
	}
	outputs := make([]string, 0, 3)
	for _, q := range []offsetQuery{
		{replica: debugReplica, timestamp: latest, at: at},
		{replica: consumerReplica, timestamp: latest, at: at},
		{replica: consumerReplica, committed: true, timestamp: latest, at: at},
	} {
		parts, refusal, err := p.listOffsets(ctx, []topicPartition{log.topicPartition}, q)
		switch {
		case err != nil:
			return "", err
		case refusal != "":
			outputs = append(outputs, refusal)
		case parts[0].ErrorCode != 0:
			outputs = append(outputs, renderError(parts[0].ErrorCode))
		default:
			outputs = append(outputs, strconv.FormatInt(parts[0].Offset-log.base, 10))
		}
	}
	return strings.Join(outputs, "/"), nil
}

func (p *Play) leader(ctx context.Context, ref partitionRef) (string, error) {
	log, err := p.locate(ctx, ref)
	if err != nil {
		return "", err
	}
	part, refusal, err := p.partitionMetadata(ctx, log.topicPartition)
	if err != nil || refusal != "" {
		return refusal, err
	}
	return fmt.Sprintf("%s epoch %d ISR %s", p.letterOf(part.Leader), part.LeaderEpoch, p.lettersOf(part.ISR)), nil
}

func parseListOffsets(words []string) (Action, error) {
	args, err := parseArguments(words, "at ", versionOption, "replica", "leaderEpoch")
	if err != nil {
		return nil, err
	}
	if err := args.want(3, -1); err != nil {
		return nil, err
	}
	isolation, last := args.position[0], len(args.position)-1
	if isolation != "ru" && isolation != "rc" {
		return nil, fmt.Errorf("isolation is ru or rc")
	}
	refs, err := parsePartitions(args.position[1:last])
	if err != nil {
		return nil, err
	}
	q := offsetQuery{replica: consumerReplica, committed: isolation == "rc", at: args.named["at"]}
	name := args.position[last]
	var named bool
	if q.timestamp, named = timestampNames[name]; !named {
		if q.timestamp, err = strconv.ParseInt(name, 10, 64); err != nil {
			return nil, fmt.Errorf("%s is no timestamp", name)
		}
	}
	for option, field := range map[string]func(int64){
		versionOption: func(v int64) { q.version = int16(v) + 1 },
		"replica":     func(v int64) { q.replica = int32(v) },
		"leaderEpoch": func(v int64) { q.epoch = int32(v) + 1 },
	} {
		if value, given := args.named[option]; given {
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%s=%s", option, value)
			}
			field(n)
		}
	}
	_, withEpoch := args.named["leaderEpoch"]
	withTime := !named || name == "MAX"
	return func(ctx context.Context, p *Play) (string, error) {
		return p.runListOffsets(ctx, refs, q, withTime, withEpoch)
	}, nil
}

func (p *Play) runListOffsets(ctx context.Context, refs []partitionRef, q offsetQuery, withTime, withEpoch bool) (string, error) {
	var tps []topicPartition
	var base int64
	for _, ref := range refs {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		base = log.base
		tps = append(tps, log.topicPartition)
	}
	parts, refusal, err := p.listOffsets(ctx, tps, q)
	if err != nil || refusal != "" {
		return refusal, err
	}
	outputs := make([]string, len(parts))
	for i, part := range parts {
		if part.Offset >= 0 {
			part.Offset -= base
		}
		switch {
		case withEpoch:
			outputs[i] = fmt.Sprintf("%s offset %d leader epoch %d", renderError(part.ErrorCode), part.Offset, part.LeaderEpoch)
		case part.ErrorCode != 0:
			outputs[i] = renderError(part.ErrorCode)
		case withTime:
			outputs[i] = fmt.Sprintf("%d ts %s", part.Offset, renderTime(part.Timestamp, p.cluster.Now()))
		default:
			outputs[i] = strconv.FormatInt(part.Offset, 10)
		}
	}
	return strings.Join(outputs, " "), nil
}

// renderTime prints timestamps that no text can know as now.
func renderTime(millis int64, now time.Time) string {
	if d := now.Sub(time.UnixMilli(millis)).Abs(); millis >= 0 && d < time.Hour {
		return "now"
	}
	return strconv.FormatInt(millis, 10)
}

func parseOffsetForLeaderEpoch(words []string) (Action, error) {
	if len(words) != 2 {
		return nil, fmt.Errorf("%d words where 2 are wanted", len(words))
	}
	ref, err := parsePartition(words[0])
	if err != nil {
		return nil, err
	}
	epoch, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%s is no leader epoch", words[1])
	}
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		broker, refusal, err := p.target(ctx, log.topicPartition, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.Version, req.ReplicaID = p.version(req.Key(), -1), -1
		topic, part := kmsg.NewOffsetForLeaderEpochRequestTopic(), kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		part.Partition, part.CurrentLeaderEpoch, part.LeaderEpoch = log.partition, -1, int32(epoch)
		topic.Topic, topic.Partitions = log.topic, append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
		return fmt.Sprintf("%s epoch %d end %d", renderError(got.ErrorCode), got.LeaderEpoch, got.EndOffset), nil
	}, nil
}

func parseDeleteRecords(words []string) (Action, error) {
	if len(words) != 2 {
		return nil, fmt.Errorf("%d words where 2 are wanted", len(words))
	}
	ref, err := parsePartition(words[0])
	if err != nil {
		return nil, err
	}
	offset, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is no offset", words[1])
	}
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		broker, refusal, err := p.target(ctx, log.topicPartition, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.Version, req.TimeoutMillis = p.version(req.Key(), -1), 5000
		topic, part := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
		part.Partition, part.Offset = log.partition, offset
		topic.Topic, topic.Partitions = log.topic, append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
		if got.ErrorCode != 0 {
			return renderError(got.ErrorCode), nil
		}
		return fmt.Sprintf("ok low watermark %d", got.LowWatermark), nil
	}, nil
}

func parseDescribeProducers(words []string) (Action, error) {
	args, err := parseArguments(words, "at ")
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
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		broker, refusal, err := p.target(ctx, log.topicPartition, args.named["at"])
		if err != nil || refusal != "" {
			return refusal, err
		}
		req := kmsg.NewPtrDescribeProducersRequest()
		topic := kmsg.NewDescribeProducersRequestTopic()
		topic.Topic, topic.Partitions = log.topic, []int32{log.partition}
		req.Topics = append(req.Topics, topic)
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		return p.renderProducers(resp.(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0]), nil
	}, nil
}

func (p *Play) renderProducers(part kmsg.DescribeProducersResponseTopicPartition) string {
	if part.ErrorCode != 0 {
		return renderError(part.ErrorCode)
	}
	if len(part.ActiveProducers) == 0 {
		return "none"
	}
	slices.SortFunc(part.ActiveProducers, func(a, b kmsg.DescribeProducersResponseTopicPartitionActiveProducer) int {
		i, id := p.symbols.rank(a.ProducerID)
		j, other := p.symbols.rank(b.ProducerID)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(id, other))
	})
	outputs := make([]string, len(part.ActiveProducers))
	for i, a := range part.ActiveProducers {
		outputs[i] = fmt.Sprintf("%s epoch %d seq %d ce %s start %d", p.symbols.producer(a.ProducerID), a.ProducerEpoch,
			a.LastSequence, p.symbols.coordinatorEpoch(a.ProducerID, a.CoordinatorEpoch), a.CurrentTxnStartOffset)
	}
	return strings.Join(outputs, "; ")
}
