package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func heartbeatVerbs() []Verb {
	return []Verb{
		{
			Name:  "ConsumerGroupHeartbeat",
			Usage: "ConsumerGroupHeartbeat[/vN] GROUP MEMBER EPOCH|join|leave [instance=NAME] [TOPIC…] [owns [PARTITION…]]",
			Doc: "A member of the consumer protocol (KIP-848) says its epoch, what it subscribes to and, behind owns, what it has. " +
				"Prints its epoch, and what it is to have if that is new. Who joins owns nothing.",
			Parse: parseConsumerHeartbeat,
		},
		{
			Name:  "ShareGroupHeartbeat",
			Usage: "ShareGroupHeartbeat GROUP MEMBER EPOCH|join|leave [TOPIC…]",
			Doc:   "A member of a share group (KIP-932) says its epoch and what it subscribes to. Prints as ConsumerGroupHeartbeat does.",
			Parse: parseShareHeartbeat,
		},
		{
			Name:  "StreamsGroupHeartbeat",
			Usage: "StreamsGroupHeartbeat GROUP MEMBER EPOCH|join|leave [TOPIC…] [owns [TASK…]]",
			Doc: "A member of a streams group (KIP-1071) says its epoch and, when it joins, its topology: one subtopology 0 that reads the topics. " +
				"Prints its epoch, the tasks that it is to have if that is new, as 0_1, and what is in the way, as status 1.",
			Parse: parseStreamsHeartbeat,
		},
	}
}

// beat is a heartbeat of one of the newer protocols.
type beat struct {
	memberOf
	epoch    int32
	instance string
	topics   []string
	owns     []string // nil if the text does not say
	version  int16
}

// epochWords are epochs that mean something of their own.
var epochWords = map[string]int32{"join": 0, "leave": -1}

func parseBeat(words []string) (b beat, err error) {
	if i := slices.Index(words, "owns"); i >= 0 {
		b.owns, words = append([]string{}, words[i+1:]...), words[:i]
	}
	args, err := parseArguments(words, "instance", versionOption)
	if err != nil {
		return b, err
	}
	if err := args.want(3, -1); err != nil {
		return b, err
	}
	if b.memberOf, err = parseMember(args.position); err != nil {
		return b, err
	}
	epoch, known := epochWords[args.position[2]]
	if !known {
		n, err := strconv.ParseInt(args.position[2], 10, 32)
		if err != nil {
			return b, fmt.Errorf("%s is no epoch", args.position[2])
		}
		epoch = int32(n)
	}
	b.epoch, b.instance = epoch, args.named["instance"]
	if b.topics, err = parseTopics(args.position[3:]); err != nil {
		return b, err
	}
	if b.epoch == 0 && b.owns == nil {
		b.owns = []string{}
	}
	b.version, err = versionOf(args)
	return b, err
}

// owned is the partitions that a member says it has.
func (b beat) owned(ctx context.Context, p *Play) (topics map[string][]int32, err error) {
	topics = make(map[string][]int32)
	for _, word := range b.owns {
		ref, err := parsePartition(word)
		if err != nil {
			return nil, err
		}
		log, err := p.locate(ctx, ref)
		if err != nil {
			return nil, err
		}
		topics[log.topic] = append(topics[log.topic], log.partition)
	}
	return topics, nil
}

func parseConsumerHeartbeat(words []string) (Action, error) {
	b, err := parseBeat(words)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.MemberID, req.MemberEpoch = p.version(req.Key(), b.version), memberName(b.member), b.epoch
		req.SubscribedTopicNames = p.topicNames(b.topics)
		if b.instance != "" {
			req.InstanceID = &b.instance
		}
		if b.epoch == 0 {
			req.RebalanceTimeoutMillis = 30000
		}
		ids, err := p.topicIDs(ctx)
		if err != nil {
			return "", err
		}
		owned, err := b.owned(ctx, p)
		if err != nil {
			return "", err
		}
		if b.owns != nil {
			req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		}
		for id, name := range ids {
			if partitions := owned[name]; partitions != nil {
				req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: id, Partitions: partitions})
			}
		}
		broker, name, refusal, err := p.coordinator(ctx, b.group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req.Group = name
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
		if got.ErrorCode != 0 {
			return p.refused(got.ErrorCode, got.ErrorMessage), nil
		}
		out := fmt.Sprintf("epoch %d", got.MemberEpoch)
		if got.Assignment != nil {
			var rows []string
			for _, t := range got.Assignment.Topics {
				rows = append(rows, p.partitionSymbols(ids[t.TopicID], t.Partitions)...)
			}
			out += " " + partitionsOf(rows)
		}
		return out, nil
	}, nil
}

func (p *Play) partitionSymbols(topic string, partitions []int32) []string {
	var symbols []string
	for _, n := range partitions {
		symbols = append(symbols, p.symbolOf(topic, n))
	}
	return symbols
}

// topicIDs are the names of the scenario's topics by their ids.
func (p *Play) topicIDs(ctx context.Context) (map[[16]byte]string, error) {
	broker, err := p.anyBroker()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range p.topics {
		names = append(names, p.topicName(t.Symbol))
	}
	meta, err := p.metadata(ctx, broker, names...)
	if err != nil {
		return nil, err
	}
	ids := make(map[[16]byte]string)
	for _, t := range meta.Topics {
		ids[t.TopicID] = *t.Topic
	}
	return ids, nil
}

func parseShareHeartbeat(words []string) (Action, error) {
	b, err := parseBeat(words)
	if err != nil {
		return nil, err
	}
	if b.instance != "" || len(b.owns) > 0 {
		return nil, fmt.Errorf("members of share groups have neither an instance nor partitions of their own")
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrShareGroupHeartbeatRequest()
		req.Version, req.MemberID, req.MemberEpoch = p.version(req.Key(), -1), memberName(b.member), b.epoch
		req.SubscribedTopicNames = p.topicNames(b.topics)
		ids, err := p.topicIDs(ctx)
		if err != nil {
			return "", err
		}
		broker, name, refusal, err := p.coordinator(ctx, b.group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req.GroupID = name
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.ShareGroupHeartbeatResponse)
		if got.ErrorCode != 0 {
			return p.refused(got.ErrorCode, got.ErrorMessage), nil
		}
		out := fmt.Sprintf("epoch %d", got.MemberEpoch)
		if got.Assignment != nil {
			var rows []string
			for _, t := range got.Assignment.TopicPartitions {
				rows = append(rows, p.partitionSymbols(ids[t.TopicID], t.Partitions)...)
			}
			out += " " + partitionsOf(rows)
		}
		return out, nil
	}, nil
}

func parseStreamsHeartbeat(words []string) (Action, error) {
	b, err := parseBeat(words)
	if err != nil {
		return nil, err
	}
	owned, err := parseTasks(b.owns)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
		req.Version, req.MemberID, req.MemberEpoch = p.version(req.Key(), -1), memberName(b.member), b.epoch
		req.ActiveTasks = owned
		if b.owns != nil {
			req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
		}
		if b.epoch == 0 {
			req.RebalanceTimeoutMillis, req.ProcessID = 30000, kmsg.StringPtr("process-"+req.MemberID)
			sub := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
			sub.SubtopologyID, sub.SourceTopics = "0", p.topicNames(b.topics)
			topology := kmsg.NewStreamsGroupHeartbeatRequestTopology()
			topology.Subtopologies = append(topology.Subtopologies, sub)
			req.Topology = &topology
		}
		broker, name, refusal, err := p.coordinator(ctx, b.group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req.Group = name
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.StreamsGroupHeartbeatResponse)
		if got.ErrorCode != 0 {
			return p.refused(got.ErrorCode, got.ErrorMessage), nil
		}
		out := fmt.Sprintf("epoch %d", got.MemberEpoch)
		if got.ActiveTasks != nil {
			out += " " + renderTasks(got.ActiveTasks)
		}
		for _, s := range got.Status {
			out += fmt.Sprintf(", status %d", s.StatusCode)
		}
		return out, nil
	}, nil
}

// parseTasks reads tasks, 0_1; nil if there is nothing to read.
func parseTasks(words []string) ([]kmsg.TaskIDs, error) {
	if words == nil {
		return nil, nil
	}
	tasks := []kmsg.TaskIDs{}
	for _, word := range words {
		subtopology, number, found := strings.Cut(word, "_")
		n, err := strconv.ParseInt(number, 10, 32)
		if !found || err != nil {
			return nil, fmt.Errorf("%s is no task", word)
		}
		i := slices.IndexFunc(tasks, func(t kmsg.TaskIDs) bool { return t.SubtopologyID == subtopology })
		if i < 0 {
			i = len(tasks)
			task := kmsg.NewTaskIDs()
			task.SubtopologyID = subtopology
			tasks = append(tasks, task)
		}
		tasks[i].Partitions = append(tasks[i].Partitions, int32(n))
	}
	return tasks, nil
}

func renderTasks(tasks []kmsg.TaskIDs) string {
	var rows []string
	for _, t := range tasks {
		for _, n := range t.Partitions {
			rows = append(rows, fmt.Sprintf("%s_%d", t.SubtopologyID, n))
		}
	}
	return partitionsOf(rows)
}

// refused is an error with the cluster's words, if it has any that say more.
func (p *Play) refused(code int16, message *string) string {
	out := renderError(code)
	if message != nil && *message != "" {
		out += fmt.Sprintf(" %q", p.InSymbols(*message))
	}
	return out
}
