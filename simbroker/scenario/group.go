package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func groupVerbs() []Verb {
	return []Verb{
		{
			Name:  "OffsetCommit",
			Usage: "OffsetCommit[/vN] GROUP PARTITION OFFSET [by MEMBER@EPOCH]",
			Doc: "Commits an offset for a group without members, or by one of them: of a classic group in its generation, " +
				"of the consumer protocol in its epoch (rule H4).",
			Parse: parseOffsetCommit,
		},
		{
			Name:  "TxnOffsetCommit",
			Usage: "TxnOffsetCommit/vN ID (P,epoch) GROUP PARTITION OFFSET",
			Doc:   "Commits an offset within a transaction (rule H5); v5 adds the group's partition to it, below v5 AddOffsetsToTxn comes first.",
			Parse: parseTxnOffsetCommit,
		},
		{
			Name:  "OffsetFetch",
			Usage: "OffsetFetch[/vN] GROUP stable=true|false all|PARTITION…",
			Doc:   "Prints the group's committed offsets, of all partitions or of those named, with require-stable or without (rule H7).",
			Parse: parseOffsetFetch,
		},
	}
}

func parseOffsetCommit(words []string) (Action, error) {
	args, err := parseArguments(words, "by ", versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(3, 3); err != nil {
		return nil, err
	}
	by, err := parseCommitter(args.named["by"])
	if err != nil {
		return nil, err
	}
	group, err := parseGroup(args.position[0])
	if err != nil {
		return nil, err
	}
	ref, err := parsePartition(args.position[1])
	if err != nil {
		return nil, err
	}
	offset, err := strconv.ParseInt(args.position[2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is no offset", args.position[2])
	}
	version, err := versionOf(args)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version = p.version(req.Key(), version)
		req.MemberID, req.Generation = by.of(p)
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		broker, name, refusal, err := p.coordinator(ctx, group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req.Group = name
		topic, part := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
		part.Partition, part.Offset = log.partition, offset
		topic.Topic, topic.Partitions = log.topic, append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		return renderError(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode), nil
	}, nil
}

// committer is the member that commits; the zero one stands for none.
type committer struct {
	member string
	epoch  int32
}

func parseCommitter(word string) (c committer, err error) {
	if word == "" {
		return c, nil
	}
	member, epoch, _ := strings.Cut(word, "@")
	n, err := strconv.ParseInt(epoch, 10, 32)
	if err != nil || !memberSymbol.MatchString(member) {
		return c, fmt.Errorf("%s is no MEMBER@EPOCH", word)
	}
	return committer{member, int32(n)}, nil
}

// of is the member's id and epoch, as requests have them.
func (c committer) of(p *Play) (string, int32) {
	switch member, classic := p.members[c.member]; {
	case c.member == "":
		return "", -1
	case classic:
		return member.id, c.epoch
	}
	return memberName(c.member), c.epoch
}

func parseTxnOffsetCommit(words []string) (Action, error) {
	args, err := parseArguments(words, versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(5, 5); err != nil {
		return nil, err
	}
	c := txnOffsetCommit{}
	if c.id, c.producer, err = idAndProducer(args.position[0], args.position[1]); err != nil {
		return nil, err
	}
	if c.group, err = parseGroup(args.position[2]); err != nil {
		return nil, err
	}
	if c.partition, err = parsePartition(args.position[3]); err != nil {
		return nil, err
	}
	if c.offset, err = strconv.ParseInt(args.position[4], 10, 64); err != nil {
		return nil, fmt.Errorf("%s is no offset", args.position[4])
	}
	if c.version, err = versionOf(args); err != nil || c.version < 0 {
		return nil, fmt.Errorf("TxnOffsetCommit wants a version, which decides the protocol")
	}
	return c.run, nil
}

type txnOffsetCommit struct {
	version   int16
	id, group string
	producer  producerRef
	partition partitionRef
	offset    int64
}

func (c txnOffsetCommit) run(ctx context.Context, p *Play) (string, error) {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.Generation, req.ProducerEpoch = c.version, -1, c.producer.epoch
	var err error
	if req.TransactionalID, err = p.name(ctx, c.id); err != nil {
		return "", err
	}
	if req.ProducerID, err = p.producerOf(c.producer, c.id); err != nil {
		return "", err
	}
	log, err := p.locate(ctx, c.partition)
	if err != nil {
		return "", err
	}
	broker, name, refusal, err := p.coordinator(ctx, c.group, "")
	if err != nil || refusal != "" {
		return refusal, err
	}
	req.Group = name
	topic, part := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	part.Partition, part.Offset = log.partition, c.offset
	topic.Topic, topic.Partitions = log.topic, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	return renderError(resp.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode), nil
}

func parseOffsetFetch(words []string) (Action, error) {
	args, err := parseArguments(words, "stable", versionOption)
	if err != nil {
		return nil, err
	}
	if err := args.want(2, -1); err != nil {
		return nil, err
	}
	group, err := parseGroup(args.position[0])
	if err != nil {
		return nil, err
	}
	stable, err := strconv.ParseBool(args.named["stable"])
	if err != nil {
		return nil, fmt.Errorf("stable is true or false")
	}
	var refs []partitionRef
	if args.position[1] != "all" {
		if refs, err = parsePartitions(args.position[1:]); err != nil {
			return nil, err
		}
	}
	version, err := versionOf(args)
	if err != nil || version >= 0 && version < firstManyGroups {
		return nil, fmt.Errorf("OffsetFetch begins at v%d, which takes many groups", firstManyGroups)
	}
	return func(ctx context.Context, p *Play) (string, error) {
		broker, name, refusal, err := p.coordinator(ctx, group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.MemberEpoch = name, -1
		for _, ref := range refs {
			log, err := p.locate(ctx, ref)
			if err != nil {
				return "", err
			}
			topic := kmsg.NewOffsetFetchRequestGroupTopic()
			topic.Topic, topic.Partitions = log.topic, []int32{log.partition}
			g.Topics = append(g.Topics, topic)
		}
		got, err := p.fetchOffsets(ctx, broker, version, stable, g)
		if err != nil {
			return "", err
		}
		return group + " " + p.renderOffsets(got), nil
	}, nil
}

func (p *Play) renderOffsets(g kmsg.OffsetFetchResponseGroup) string {
	if g.ErrorCode != 0 {
		return renderError(g.ErrorCode)
	}
	var rows []string
	for _, topic := range g.Topics {
		for _, part := range topic.Partitions {
			row := fmt.Sprintf("%s=%d", p.symbolOf(topic.Topic, part.Partition), part.Offset)
			if part.ErrorCode != 0 {
				row += " " + renderError(part.ErrorCode)
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return "no rows"
	}
	slices.Sort(rows)
	return strings.Join(rows, " ")
}
