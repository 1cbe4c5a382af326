package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

// member is the member that a text has in a group.
type member struct {
	id         string
	generation int32 // of a classic group, or the member epoch
	modern     func(epoch int32) kmsg.Request
}

// groupVerbs are the commands about groups and about how the exporter judges
// them.
func (s *stage) groupVerbs() []scenario.Verb {
	verb := func(name string, least, most int, do func(context.Context, *scenario.Play, []string) (string, error)) scenario.Verb {
		return scenario.Verb{Name: name, Usage: name, Parse: func(given []string) (scenario.Action, error) {
			if len(given) < least || len(given) > most {
				return nil, fmt.Errorf("%d words where %d to %d are wanted", len(given), least, most)
			}
			return func(ctx context.Context, p *scenario.Play) (string, error) { return do(ctx, p, given) }, nil
		}}
	}
	return []scenario.Verb{
		verb("exporter", 1, 8, s.newExporter),
		verb("commit", 3, 3, s.commitAsMember),
		verb("joinConsumer", 2, 2, s.joinConsumer),
		verb("joinConnect", 1, 1, s.joinConnect),
		verb("joinShare", 2, 2, s.joinShare),
		verb("acquire", 2, 2, s.acquire),
		verb("acknowledge", 3, 3, s.acknowledge),
		verb("joinStreams", 2, 2, s.joinStreams),
	}
}

// newExporter ends the exporter and starts another one with options.
func (s *stage) newExporter(_ context.Context, p *scenario.Play, words []string) (string, error) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "without":
			switch value {
			case "readable-lag":
				s.options.NoReadableLag = true
			case "time-index":
				s.options.NoTimeIndex = true
			case "pending-commits":
				s.options.NoPendingCommits = true
			default:
				return "", fmt.Errorf("no option %s", word)
			}
			continue
		case "read-uncommitted":
			group := p.Name(value)
			s.options.ReadUncommitted = func(name string) bool { return name == group }
			continue
		case "compatibility":
			if value != "kafka-exporter" {
				return "", fmt.Errorf("no metrics as of %s", value)
			}
			s.pages.KafkaExporter = true
			continue
		case "applications":
			if value != "default" {
				return "", fmt.Errorf("no patterns of applications called %s", value)
			}
			applications, err := defaultApplications()
			if err != nil {
				return "", err
			}
			s.options.Application = applications.Of
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			return "", err
		}
		switch name {
		case "period":
			s.options.Period = d
			s.options.BrokerTimeout = d / 2
		case "still-after":
			s.options.StillAfter = d
		case "look-up-after":
			s.options.LookUpAfter = d
		case "txnlog":
			s.options.TransactionLog = d > 0
			s.options.Application = func(id string) string { return id }
		case "census":
			s.options.CensusPeriod = d
			s.options.Application = func(id string) string { return id }
		default:
			return "", fmt.Errorf("no option %s", word)
		}
	}
	s.page = page{}
	if s.restart != nil { // else watch starts it
		s.exporter = s.restart()
	}
	return "", nil
}

// defaultApplications are the patterns of applications that a configuration has
// unless it says otherwise.
func defaultApplications() (*config.Applications, error) {
	loaded, err := config.Load(config.Sources{Environment: []string{"LSO_EXPORTER_KAFKA_BROKERS=127.0.0.1:9092"}})
	if err != nil {
		return nil, err
	}
	c, err := loaded.Validated()
	return c.Transactions.Applications, err
}

// commitAsMember commits for the member that joined the group.
func (s *stage) commitAsMember(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	broker, err := s.coordinator(ctx, group)
	if err != nil {
		return "", err
	}
	topic, partition, err := p.Partition(ctx, words[1])
	if err != nil {
		return "", err
	}
	m := s.members[group]
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 8, group, m.id, m.generation
	if m.modern != nil {
		req.Version = 9
	}
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Partition = partition
	if _, err := fmt.Sscan(words[2], &part.Offset); err != nil {
		return "", err
	}
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.OffsetCommitResponse](ctx, s, broker, req)
	if err != nil {
		return "", err
	}
	return outcome(resp.Topics[0].Partitions[0].ErrorCode), nil
}

// joinConsumer has a member join a group of the consumer protocol (KIP-848) and
// waits until it has its partitions.
func (s *stage) joinConsumer(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	broker, err := s.coordinator(ctx, group)
	if err != nil {
		return "", err
	}
	beat := func(epoch int32) kmsg.Request {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, group, memberID, epoch
		return req
	}
	first := beat(0).(*kmsg.ConsumerGroupHeartbeatRequest)
	first.RebalanceTimeoutMillis, first.SubscribedTopicNames = 30_000, []string{p.Name(words[1])}
	first.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	var req kmsg.Request = first
	for range 1000 {
		resp, err := ask[*kmsg.ConsumerGroupHeartbeatResponse](ctx, s, broker, req)
		if err != nil {
			return "", err
		}
		if resp.ErrorCode != 0 {
			return outcome(resp.ErrorCode), nil
		}
		s.members[group] = member{id: memberID, generation: resp.MemberEpoch, modern: beat}
		if a := resp.Assignment; a != nil && len(a.Topics) > 0 {
			// What was assigned has to be told back as owned.
			owned := beat(resp.MemberEpoch).(*kmsg.ConsumerGroupHeartbeatRequest)
			for _, t := range a.Topics {
				topic := kmsg.NewConsumerGroupHeartbeatRequestTopic()
				topic.TopicID, topic.Partitions = t.TopicID, t.Partitions
				owned.Topics = append(owned.Topics, topic)
			}
			if resp, err = ask[*kmsg.ConsumerGroupHeartbeatResponse](ctx, s, broker, owned); err != nil {
				return "", err
			}
			s.members[group] = member{id: memberID, generation: resp.MemberEpoch, modern: beat}
			return outcome(resp.ErrorCode), nil
		}
		if err := s.cluster.Wait(ctx, 20*time.Millisecond); err != nil {
			return "", err
		}
		req = beat(resp.MemberEpoch)
	}
	return "", fmt.Errorf("%w: no assignment", scenario.ErrNoAnswer)
}

// joinConnect has a worker join a group of Connect's protocol, whose assignment
// is none of the consumers' protocol.
func (s *stage) joinConnect(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	return s.joinClassic(ctx, p.Name(words[0]), "connect", "sessioned", []byte{0, 2, 0, 0}, []byte{0, 2, 0, 0, 0, 6, 'l', 'e', 'a', 'd', 'e', 'r'})
}

// joinClassic has a member join a classic group, in which it is alone, and hands
// it an assignment.
func (s *stage) joinClassic(ctx context.Context, group, protocolType, protocol string, metadata, assignment []byte) (string, error) {
	broker, err := s.coordinator(ctx, group)
	if err != nil {
		return "", err
	}
	offer := kmsg.NewJoinGroupRequestProtocol()
	offer.Name, offer.Metadata = protocol, metadata
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType = 5, group, protocolType
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 30_000, 30_000
	join.Protocols = append(join.Protocols, offer)
	var joined *kmsg.JoinGroupResponse
	for {
		if joined, err = ask[*kmsg.JoinGroupResponse](ctx, s, broker, join); err != nil {
			return "", err
		}
		if joined.ErrorCode != kerr.MemberIDRequired.Code {
			break
		}
		join.MemberID = joined.MemberID
	}
	if joined.ErrorCode != 0 {
		return outcome(joined.ErrorCode), nil
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.Generation, sync.MemberID = 3, group, joined.Generation, joined.MemberID
	own := kmsg.NewSyncGroupRequestGroupAssignment()
	own.MemberID, own.MemberAssignment = joined.MemberID, assignment
	sync.GroupAssignment = append(sync.GroupAssignment, own)
	synced, err := ask[*kmsg.SyncGroupResponse](ctx, s, broker, sync)
	if err != nil {
		return "", err
	}
	s.members[group] = member{id: joined.MemberID, generation: joined.Generation}
	return outcome(synced.ErrorCode), nil
}

// defaultOptions are those of the exporter of a text, until the text wants
// others.
func defaultOptions() collector.Options { return collector.Options{LookUpAfter: lookUpAfter} }

// errorOf is the error code of an answer to a heartbeat.
func errorOf(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.ConsumerGroupHeartbeatResponse:
		return r.ErrorCode
	case *kmsg.ShareGroupHeartbeatResponse:
		return r.ErrorCode
	case *kmsg.StreamsGroupHeartbeatResponse:
		return r.ErrorCode
	}
	panic(fmt.Sprintf("%T is no answer to a heartbeat", resp))
}

// shareSession is a share session of a group's member with one leader.
type shareSession struct {
	broker int32
	epoch  int32
}

// memberID is the id of the members that name themselves.
const memberID = "AAAAAAAAAAAAAAAAAAAAAQ"

// joinShare has a member join a share group (KIP-932) and waits until it has its
// partitions.
func (s *stage) joinShare(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	broker, err := s.coordinator(ctx, group)
	if err != nil {
		return "", err
	}
	beat := func(epoch int32) kmsg.Request {
		req := kmsg.NewPtrShareGroupHeartbeatRequest()
		req.Version, req.GroupID, req.MemberID, req.MemberEpoch = 1, group, memberID, epoch
		return req
	}
	first := beat(0).(*kmsg.ShareGroupHeartbeatRequest)
	first.SubscribedTopicNames = []string{p.Name(words[1])}
	var req kmsg.Request = first
	for range 1000 {
		resp, err := ask[*kmsg.ShareGroupHeartbeatResponse](ctx, s, broker, req)
		if err != nil {
			return "", err
		}
		if resp.ErrorCode != 0 {
			return outcome(resp.ErrorCode), nil
		}
		s.members[group] = member{id: memberID, generation: resp.MemberEpoch, modern: beat}
		if a := resp.Assignment; a != nil && len(a.TopicPartitions) > 0 {
			return "ok", nil
		}
		if err := s.cluster.Wait(ctx, 20*time.Millisecond); err != nil {
			return "", err
		}
		req = beat(resp.MemberEpoch)
	}
	return "", fmt.Errorf("%w: no assignment", scenario.ErrNoAnswer)
}

// acquire fetches for the member of a share group, and prints the offsets that
// it acquired.
func (s *stage) acquire(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	topic, partition, err := p.Partition(ctx, words[1])
	if err != nil {
		return "", err
	}
	session := s.sessions[group]
	if session == nil {
		id, leader, err := s.locate(ctx, topic, partition)
		if err != nil {
			return "", err
		}
		session = &shareSession{broker: leader}
		s.sessions[group], s.topicIDs[topic] = session, id
	}
	req := kmsg.NewPtrShareFetchRequest()
	req.Version, req.GroupID, req.MemberID, req.ShareSessionEpoch = 1, &group, kmsg.StringPtr(memberID), session.epoch
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.MaxRecords, req.BatchSize = 200, 1, 1<<20, 100, 100
	t := kmsg.NewShareFetchRequestTopic()
	t.TopicID = s.topicIDs[topic]
	part := kmsg.NewShareFetchRequestTopicPartition()
	part.Partition = partition
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.ShareFetchResponse](ctx, s, session.broker, req)
	if err != nil {
		return "", err
	}
	if resp.ErrorCode != 0 {
		return outcome(resp.ErrorCode), nil
	}
	session.epoch++
	var out []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return outcome(p.ErrorCode), nil
			}
			for _, a := range p.AcquiredRecords {
				out = append(out, fmt.Sprintf("%d-%d", a.FirstOffset, a.LastOffset))
			}
		}
	}
	if len(out) == 0 {
		return "none", nil
	}
	return strings.Join(out, " "), nil
}

// acknowledge accepts what the member of a share group has acquired.
func (s *stage) acknowledge(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	topic, partition, err := p.Partition(ctx, words[1])
	if err != nil {
		return "", err
	}
	session := s.sessions[group]
	batch := kmsg.NewShareAcknowledgeRequestTopicPartitionAcknowledgementBatch()
	if _, err := fmt.Sscanf(words[2], "%d-%d", &batch.FirstOffset, &batch.LastOffset); err != nil {
		return "", err
	}
	batch.AcknowledgeTypes = []int8{1} // accept
	req := kmsg.NewPtrShareAcknowledgeRequest()
	req.Version, req.GroupID, req.MemberID, req.ShareSessionEpoch = 1, &group, kmsg.StringPtr(memberID), session.epoch
	t := kmsg.NewShareAcknowledgeRequestTopic()
	t.TopicID = s.topicIDs[topic]
	part := kmsg.NewShareAcknowledgeRequestTopicPartition()
	part.Partition = partition
	part.AcknowledgementBatches = append(part.AcknowledgementBatches, batch)
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.ShareAcknowledgeResponse](ctx, s, session.broker, req)
	if err != nil {
		return "", err
	}
	if resp.ErrorCode != 0 {
		return outcome(resp.ErrorCode), nil
	}
	session.epoch++
	return outcome(resp.Topics[0].Partitions[0].ErrorCode), nil
}

// locate returns a topic's id and the leader of a partition.
func (s *stage) locate(ctx context.Context, topic string, partition int32) (id [16]byte, leader int32, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &topic
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.MetadataResponse](ctx, s, s.cluster.Brokers()[0], req)
	if err != nil {
		return id, 0, err
	}
	for _, p := range resp.Topics[0].Partitions {
		if p.Partition == partition {
			return resp.Topics[0].TopicID, p.Leader, nil
		}
	}
	return id, 0, fmt.Errorf("no partition %s-%d", topic, partition)
}

// joinStreams has a member join a streams group (KIP-1071) whose one subtopology
// reads a topic, and waits until it has its tasks.
func (s *stage) joinStreams(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	broker, err := s.coordinator(ctx, group)
	if err != nil {
		return "", err
	}
	beat := func(epoch int32) kmsg.Request {
		req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.MemberEpoch = 0, group, memberID, epoch
		return req
	}
	first := beat(0).(*kmsg.StreamsGroupHeartbeatRequest)
	first.RebalanceTimeoutMillis, first.ProcessID = 30_000, kmsg.StringPtr("p")
	first.ActiveTasks, first.StandbyTasks, first.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	first.ClientTags = []kmsg.StreamsGroupHeartbeatRequestClientTag{}
	sub := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
	sub.SubtopologyID, sub.SourceTopics = "0", []string{p.Name(words[1])}
	topology := kmsg.NewStreamsGroupHeartbeatRequestTopology()
	topology.Subtopologies = append(topology.Subtopologies, sub)
	first.Topology = &topology
	var req kmsg.Request = first
	for range 1000 {
		resp, err := ask[*kmsg.StreamsGroupHeartbeatResponse](ctx, s, broker, req)
		if err != nil {
			return "", err
		}
		if resp.ErrorCode != 0 {
			return outcome(resp.ErrorCode), nil
		}
		s.members[group] = member{id: memberID, generation: resp.MemberEpoch, modern: beat}
		if len(resp.ActiveTasks) > 0 {
			owned := beat(resp.MemberEpoch).(*kmsg.StreamsGroupHeartbeatRequest)
			owned.ActiveTasks, owned.StandbyTasks, owned.WarmupTasks = resp.ActiveTasks, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
			if resp, err = ask[*kmsg.StreamsGroupHeartbeatResponse](ctx, s, broker, owned); err != nil {
				return "", err
			}
			s.members[group] = member{id: memberID, generation: resp.MemberEpoch, modern: beat}
			return outcome(resp.ErrorCode), nil
		}
		if err := s.cluster.Wait(ctx, 20*time.Millisecond); err != nil {
			return "", err
		}
		req = beat(resp.MemberEpoch)
	}
	return "", fmt.Errorf("%w: no tasks", scenario.ErrNoAnswer)
}
