package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func sharingVerbs() []Verb {
	return []Verb{
		{
			Name:  "ShareFetch",
			Usage: "ShareFetch GROUP MEMBER EPOCH PARTITION [max=N]",
			Doc: "A member of a share group asks the partition's leader for records, in the epoch of its session there, which begins with 0. " +
				"Prints what it has acquired, as 0-4*1: offsets, and how often they were delivered.",
			Parse: parseShareFetch,
		},
		{
			Name:  "ShareAcknowledge",
			Usage: "ShareAcknowledge GROUP MEMBER EPOCH|close PARTITION [FIRST-LAST:gap|accept|release|reject…]",
			Doc:   "A member acknowledges records at the partition's leader, and closes its session with close. Prints the result for the partition.",
			Parse: parseShareAcknowledge,
		},
		{
			Name:  "DescribeShareGroupOffsets",
			Usage: "DescribeShareGroupOffsets GROUP all|PARTITION…",
			Doc:   "Prints start offset and lag of a share group in its partitions, or in those named.",
			Parse: parseShareOffsets,
		},
		{
			Name:  "AlterShareGroupOffsets",
			Usage: "AlterShareGroupOffsets GROUP PARTITION@OFFSET…",
			Doc:   "Says where a share group without members goes on; prints the result for each partition.",
			Parse: parseAlterShareOffsets,
		},
		{
			Name:  "DeleteShareGroupOffsets",
			Usage: "DeleteShareGroupOffsets GROUP TOPIC…",
			Doc:   "Makes a share group without members forget topics; prints the result for each.",
			Parse: parseDeleteShareOffsets,
		},
	}
}

// leaderOf is the leader of a partition, and its topic's id.
func (p *Play) leaderOf(ctx context.Context, ref partitionRef) (broker int32, log keeper, id [16]byte, err error) {
	if log, err = p.locate(ctx, ref); err != nil {
		return 0, log, id, err
	}
	from, err := p.anyBroker()
	if err != nil {
		return 0, log, id, err
	}
	meta, err := p.metadata(ctx, from, log.topic)
	if err != nil {
		return 0, log, id, err
	}
	t := meta.Topics[0]
	i := slices.IndexFunc(t.Partitions, func(part kmsg.MetadataResponseTopicPartition) bool { return part.Partition == log.partition })
	if i < 0 {
		return 0, log, id, fmt.Errorf("%s is not there", ref)
	}
	return t.Partitions[i].Leader, log, t.TopicID, nil
}

// sharing is the beginning of ShareFetch and ShareAcknowledge.
type sharing struct {
	memberOf
	epoch     int32
	partition partitionRef
}

func parseSharing(words []string) (s sharing, err error) {
	if len(words) < 4 {
		return s, fmt.Errorf("group, member, epoch and partition are wanted")
	}
	if s.memberOf, err = parseMember(words); err != nil {
		return s, err
	}
	epoch, err := strconv.ParseInt(words[2], 10, 32)
	if words[2] == "close" {
		epoch, err = -1, nil
	}
	if err != nil {
		return s, fmt.Errorf("%s is no epoch", words[2])
	}
	s.epoch = int32(epoch)
	s.partition, err = parsePartition(words[3])
	return s, err
}

func parseShareFetch(words []string) (Action, error) {
	args, err := parseArguments(words, "max")
	if err != nil {
		return nil, err
	}
	if err := args.want(4, 4); err != nil {
		return nil, err
	}
	s, err := parseSharing(args.position)
	if err != nil {
		return nil, err
	}
	most := int64(500)
	if value, given := args.named["max"]; given {
		if most, err = strconv.ParseInt(value, 10, 32); err != nil {
			return nil, fmt.Errorf("%s is no number", value)
		}
	}
	return func(ctx context.Context, p *Play) (string, error) {
		broker, log, id, err := p.leaderOf(ctx, s.partition)
		if err != nil {
			return "", err
		}
		group, err := p.name(ctx, s.group)
		if err != nil {
			return "", err
		}
		req := kmsg.NewPtrShareFetchRequest()
		req.Version, req.GroupID, req.MemberID = p.version(req.Key(), -1), &group, kmsg.StringPtr(memberName(s.member))
		req.ShareSessionEpoch, req.MaxRecords, req.BatchSize = s.epoch, int32(most), 500
		req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 500, 1, 1<<20
		topic, part := kmsg.NewShareFetchRequestTopic(), kmsg.NewShareFetchRequestTopicPartition()
		part.Partition = log.partition
		topic.TopicID, topic.Partitions = id, append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		return renderShareFetch(resp.(*kmsg.ShareFetchResponse)), nil
	}, nil
}

func renderShareFetch(got *kmsg.ShareFetchResponse) string {
	if got.ErrorCode != 0 {
		return renderError(got.ErrorCode)
	}
	var runs []string
	for _, t := range got.Topics {
		for _, part := range t.Partitions {
			if part.ErrorCode != 0 {
				return renderError(part.ErrorCode)
			}
			for _, r := range part.AcquiredRecords {
				runs = append(runs, fmt.Sprintf("%d-%d*%d", r.FirstOffset, r.LastOffset, r.DeliveryCount))
			}
		}
	}
	if len(runs) == 0 {
		return "nothing"
	}
	return strings.Join(runs, " ")
}

// ackTypes are the types of acknowledgements by their names in texts.
var ackTypes = map[string]int8{"gap": 0, "accept": 1, "release": 2, "reject": 3}

func parseShareAcknowledge(words []string) (Action, error) {
	s, err := parseSharing(words)
	if err != nil {
		return nil, err
	}
	part := kmsg.NewShareAcknowledgeRequestTopicPartition()
	for _, word := range words[4:] {
		b := kmsg.NewShareAcknowledgeRequestTopicPartitionAcknowledgementBatch()
		offsets, kind, _ := strings.Cut(word, ":")
		t, known := ackTypes[kind]
		if _, err := fmt.Sscanf(offsets, "%d-%d", &b.FirstOffset, &b.LastOffset); err != nil || !known {
			return nil, fmt.Errorf("%s is no acknowledgement", word)
		}
		b.AcknowledgeTypes = []int8{t}
		part.AcknowledgementBatches = append(part.AcknowledgementBatches, b)
	}
	return func(ctx context.Context, p *Play) (string, error) {
		broker, log, id, err := p.leaderOf(ctx, s.partition)
		if err != nil {
			return "", err
		}
		group, err := p.name(ctx, s.group)
		if err != nil {
			return "", err
		}
		req := kmsg.NewPtrShareAcknowledgeRequest()
		req.Version, req.GroupID, req.MemberID, req.ShareSessionEpoch = p.version(req.Key(), -1), &group, kmsg.StringPtr(memberName(s.member)), s.epoch
		if len(part.AcknowledgementBatches) > 0 {
			topic, named := kmsg.NewShareAcknowledgeRequestTopic(), part
			named.Partition = log.partition
			topic.TopicID, topic.Partitions = id, append(topic.Partitions, named)
			req.Topics = append(req.Topics, topic)
		}
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.ShareAcknowledgeResponse)
		if got.ErrorCode != 0 || len(got.Topics) == 0 {
			return renderError(got.ErrorCode), nil
		}
		return renderError(got.Topics[0].Partitions[0].ErrorCode), nil
	}, nil
}

func parseShareOffsets(words []string) (Action, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("a group and all, or partitions, are wanted")
	}
	group, err := parseGroup(words[0])
	if err != nil {
		return nil, err
	}
	var refs []partitionRef
	if words[1] != "all" {
		if refs, err = parsePartitions(words[1:]); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
		req.Version = p.version(req.Key(), -1)
		g := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
		for _, ref := range refs {
			log, err := p.locate(ctx, ref)
			if err != nil {
				return "", err
			}
			g.Topics = append(g.Topics, kmsg.DescribeShareGroupOffsetsRequestGroupTopic{Topic: log.topic, Partitions: []int32{log.partition}})
		}
		broker, name, refusal, err := p.coordinator(ctx, group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		g.GroupID = name
		req.Groups = append(req.Groups, g)
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		return p.renderShareOffsets(resp.(*kmsg.DescribeShareGroupOffsetsResponse).Groups[0]), nil
	}, nil
}

func (p *Play) renderShareOffsets(g kmsg.DescribeShareGroupOffsetsResponseGroup) string {
	if g.ErrorCode != 0 {
		return p.refused(g.ErrorCode, g.ErrorMessage)
	}
	var rows []string
	for _, t := range g.Topics {
		for _, part := range t.Partitions {
			row := fmt.Sprintf("%s start %d lag %d", p.symbolOf(t.Topic, part.Partition), part.StartOffset, part.Lag)
			if part.ErrorCode != 0 {
				row = p.symbolOf(t.Topic, part.Partition) + " " + renderError(part.ErrorCode)
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return "no rows"
	}
	return rowsOf(rows)
}

// shareStart is a partition and where to go on in it: T1-0@4.
type shareStart struct {
	partition partitionRef
	offset    int64
}

func parseShareStart(word string) (shareStart, error) {
	name, offset, _ := strings.Cut(word, "@")
	ref, err := parsePartition(name)
	if err != nil {
		return shareStart{}, err
	}
	at, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return shareStart{}, fmt.Errorf("%s has no offset: PARTITION@OFFSET is wanted", word)
	}
	return shareStart{ref, at}, nil
}

func parseAlterShareOffsets(words []string) (Action, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("a group and partitions with offsets are wanted")
	}
	group, err := parseGroup(words[0])
	if err != nil {
		return nil, err
	}
	var starts []shareStart
	for _, word := range words[1:] {
		start, err := parseShareStart(word)
		if err != nil {
			return nil, err
		}
		starts = append(starts, start)
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrAlterShareGroupOffsetsRequest()
		req.Version = p.version(req.Key(), -1)
		for _, start := range starts {
			log, err := p.locate(ctx, start.partition)
			if err != nil {
				return "", err
			}
			i := slices.IndexFunc(req.Topics, func(t kmsg.AlterShareGroupOffsetsRequestTopic) bool { return t.Topic == log.topic })
			if i < 0 {
				i = len(req.Topics)
				req.Topics = append(req.Topics, kmsg.AlterShareGroupOffsetsRequestTopic{Topic: log.topic})
			}
			part := kmsg.AlterShareGroupOffsetsRequestTopicPartition{Partition: log.partition, StartOffset: start.offset}
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, part)
		}
		broker, name, refusal, err := p.coordinator(ctx, group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req.GroupID = name
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.AlterShareGroupOffsetsResponse)
		if got.ErrorCode != 0 {
			return p.refused(got.ErrorCode, got.ErrorMessage), nil
		}
		var rows []string
		for _, t := range got.Topics {
			for _, part := range t.Partitions {
				rows = append(rows, p.symbolOf(t.Topic, part.Partition)+" "+p.refused(part.ErrorCode, part.ErrorMessage))
			}
		}
		return rowsOf(rows), nil
	}, nil
}

func parseDeleteShareOffsets(words []string) (Action, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("a group and topics are wanted")
	}
	group, err := parseGroup(words[0])
	if err != nil {
		return nil, err
	}
	topics, err := parseTopics(words[1:])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
		req.Version = p.version(req.Key(), -1)
		symbols := make(map[string]string)
		for _, symbol := range topics {
			symbols[p.topicName(symbol)] = symbol
			req.Topics = append(req.Topics, kmsg.DeleteShareGroupOffsetsRequestTopic{Topic: p.topicName(symbol)})
		}
		broker, name, refusal, err := p.coordinator(ctx, group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req.GroupID = name
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.DeleteShareGroupOffsetsResponse)
		if got.ErrorCode != 0 {
			return p.refused(got.ErrorCode, got.ErrorMessage), nil
		}
		var rows []string
		for _, t := range got.Topics {
			rows = append(rows, symbols[t.Topic]+" "+p.refused(t.ErrorCode, t.ErrorMessage))
		}
		return rowsOf(rows), nil
	}, nil
}
