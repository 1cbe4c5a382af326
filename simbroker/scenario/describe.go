package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func describeVerbs() []Verb {
	return []Verb{
		{
			Name:  "DescribeGroups",
			Usage: "DescribeGroups[/vN] GROUP",
			Doc:   "Prints state, protocol type and protocol of a classic group, and what each member has.",
			Parse: parseGroupVerb(describeClassic),
		},
		{
			Name:  "ConsumerGroupDescribe",
			Usage: "ConsumerGroupDescribe GROUP",
			Doc: "Prints state, group epoch, assignment epoch and assignor of a group of the consumer protocol, and of each member its epoch, " +
				"what it has and, if that is another thing, what it is to have.",
			Parse: parseGroupVerb(describeConsumer),
		},
		{
			Name:  "ShareGroupDescribe",
			Usage: "ShareGroupDescribe GROUP",
			Doc:   "Prints a share group as ConsumerGroupDescribe does.",
			Parse: parseGroupVerb(describeShare),
		},
		{
			Name:  "StreamsGroupDescribe",
			Usage: "StreamsGroupDescribe GROUP",
			Doc:   "Prints a streams group as ConsumerGroupDescribe does, with its subtopologies and what they read; tasks in place of partitions.",
			Parse: parseGroupVerb(describeStreams),
		},
		{
			Name:  "DeleteGroups",
			Usage: "DeleteGroups GROUP",
			Doc:   "Deletes a group.",
			Parse: parseGroupVerb(deleteGroup),
		},
		{
			Name:  "OffsetDelete",
			Usage: "OffsetDelete GROUP PARTITION",
			Doc:   "Deletes what a group has committed for a partition.",
			Parse: parseOffsetDelete,
		},
	}
}

// groupQuestion is what a verb asks the coordinator of a group, by its name.
type groupQuestion func(ctx context.Context, p *Play, broker int32, name string, version int16) (string, error)

// parseGroupVerb is a verb that wants a group and nothing else.
func parseGroupVerb(do groupQuestion) func([]string) (Action, error) {
	return func(words []string) (Action, error) {
		args, err := parseArguments(words, versionOption)
		if err != nil {
			return nil, err
		}
		if err := args.want(1, 1); err != nil {
			return nil, err
		}
		group, err := parseGroup(args.position[0])
		if err != nil {
			return nil, err
		}
		version, err := versionOf(args)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, p *Play) (string, error) {
			broker, name, refusal, err := p.coordinator(ctx, group, "")
			if err != nil || refusal != "" {
				return refusal, err
			}
			return do(ctx, p, broker, name, version)
		}, nil
	}
}

// description is a group in one line: what it is, and its members in order.
func description(what string, members []string) string {
	slices.Sort(members)
	return strings.Join(append([]string{what}, members...), ", ")
}

func describeClassic(ctx context.Context, p *Play, broker int32, name string, version int16) (string, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = p.version(req.Key(), version), []string{name}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	g := resp.(*kmsg.DescribeGroupsResponse).Groups[0]
	if g.ErrorCode != 0 {
		return g.State + " " + p.refused(g.ErrorCode, g.ErrorMessage), nil
	}
	var members []string
	for _, m := range g.Members {
		members = append(members, p.memberSymbolOf(m.MemberID)+" has "+p.renderAssignment(g.ProtocolType, m.MemberAssignment))
	}
	what := g.State
	for _, word := range []string{g.ProtocolType, g.Protocol} {
		if word != "" {
			what += " " + word
		}
	}
	return description(what, members), nil
}

// holding is a member with what it has and is to have.
func (p *Play) holding(id string, epoch int32, has, wants string) string {
	row := fmt.Sprintf("%s at %d has %s", p.memberSymbolOf(id), epoch, has)
	if wants != has {
		row += " wants " + wants
	}
	return row
}

func describeConsumer(ctx context.Context, p *Play, broker int32, name string, _ int16) (string, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Version, req.Groups = p.version(req.Key(), -1), []string{name}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	g := resp.(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
	if g.ErrorCode != 0 {
		return p.refused(g.ErrorCode, g.ErrorMessage), nil
	}
	partitions := func(a kmsg.Assignment) string {
		var rows []string
		for _, t := range a.TopicPartitions {
			rows = append(rows, p.partitionSymbols(t.Topic, t.Partitions)...)
		}
		return partitionsOf(rows)
	}
	var members []string
	for _, m := range g.Members {
		row := p.holding(m.MemberID, m.MemberEpoch, partitions(m.Assignment), partitions(m.TargetAssignment))
		if m.MemberType == 0 {
			row += " (classic)"
		}
		members = append(members, row)
	}
	return description(fmt.Sprintf("%s epoch %d/%d %s", g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName), members), nil
}

func describeShare(ctx context.Context, p *Play, broker int32, name string, _ int16) (string, error) {
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.Version, req.GroupIDs = p.version(req.Key(), -1), []string{name}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	g := resp.(*kmsg.ShareGroupDescribeResponse).Groups[0]
	if g.ErrorCode != 0 {
		return p.refused(g.ErrorCode, g.ErrorMessage), nil
	}
	var members []string
	for _, m := range g.Members {
		var rows []string
		for _, t := range m.Assignment.TopicPartitions {
			rows = append(rows, p.partitionSymbols(t.Topic, t.Partitions)...)
		}
		has := partitionsOf(rows)
		members = append(members, p.holding(m.MemberID, m.MemberEpoch, has, has))
	}
	return description(fmt.Sprintf("%s epoch %d/%d %s", g.GroupState, g.GroupEpoch, g.AssignmentEpoch, g.Assignor), members), nil
}

func describeStreams(ctx context.Context, p *Play, broker int32, name string, _ int16) (string, error) {
	req := kmsg.NewPtrStreamsGroupDescribeRequest()
	req.Version, req.Groups = p.version(req.Key(), -1), []string{name}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	g := resp.(*kmsg.StreamsGroupDescribeResponse).Groups[0]
	if g.ErrorCode != 0 {
		return p.refused(g.ErrorCode, g.ErrorMessage), nil
	}
	what := fmt.Sprintf("%s epoch %d/%d", g.State, g.Epoch, g.AssignmentEpoch)
	if g.Topology != nil {
		for _, s := range g.Topology.Subtopologies {
			what += " " + s.SubtopologyID + " reads " + p.InSymbols(strings.Join(s.SourceTopics, " "))
		}
	}
	var members []string
	for _, m := range g.Members {
		members = append(members, p.holding(m.MemberID, m.MemberEpoch, renderTasks(m.Assignment.ActiveTasks), renderTasks(m.TargetAssignment.ActiveTasks)))
	}
	return description(what, members), nil
}

func deleteGroup(ctx context.Context, p *Play, broker int32, name string, _ int16) (string, error) {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version, req.Groups = p.version(req.Key(), -1), []string{name}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	return renderError(resp.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode), nil
}

func parseOffsetDelete(words []string) (Action, error) {
	if len(words) != 2 {
		return nil, fmt.Errorf("a group and a partition are wanted")
	}
	group, err := parseGroup(words[0])
	if err != nil {
		return nil, err
	}
	ref, err := parsePartition(words[1])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		log, err := p.locate(ctx, ref)
		if err != nil {
			return "", err
		}
		broker, name, refusal, err := p.coordinator(ctx, group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req := kmsg.NewPtrOffsetDeleteRequest()
		topic, part := kmsg.NewOffsetDeleteRequestTopic(), kmsg.NewOffsetDeleteRequestTopicPartition()
		part.Partition = log.partition
		topic.Topic, topic.Partitions = log.topic, append(topic.Partitions, part)
		req.Group, req.Topics = name, append(req.Topics, topic)
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.OffsetDeleteResponse)
		if got.ErrorCode != 0 {
			return renderError(got.ErrorCode), nil
		}
		return renderError(got.Topics[0].Partitions[0].ErrorCode), nil
	}, nil
}
