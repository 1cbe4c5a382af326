package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// clientVerbs are the commands for which package scenario has no need.
func (s *stage) clientVerbs() []scenario.Verb {
	verb := func(name string, words int, do func(context.Context, *scenario.Play, []string) (string, error)) scenario.Verb {
		return scenario.Verb{Name: name, Usage: fmt.Sprintf("%s with %d words", name, words), Parse: func(given []string) (scenario.Action, error) {
			if len(given) != words {
				return nil, fmt.Errorf("%d words where %d are wanted", len(given), words)
			}
			return func(ctx context.Context, p *scenario.Play) (string, error) { return do(ctx, p, given) }, nil
		}}
	}
	return []scenario.Verb{
		verb("join", 2, s.join),
		verb("leave", 1, s.leave),
		verb("CreateTopic", 2, s.createTopic),
		verb("DeleteTopic", 1, s.deleteTopic),
		verb("DeleteGroup", 1, s.deleteGroup),
		verb("OffsetDelete", 2, s.offsetDelete),
		verb("lossy", 1, s.lossy),
		verb("delay", 2, s.delay),
	}
}

// outcome is how an error code is printed.
func outcome(code int16) string {
	if code == 0 {
		return "ok"
	}
	if e, is := kerr.ErrorForCode(code).(*kerr.Error); is {
		return e.Message
	}
	return fmt.Sprint(code)
}

// ask sends a request to a broker and returns its answer.
func ask[R kmsg.Response](ctx context.Context, s *stage, broker int32, req kmsg.Request) (R, error) {
	resp, err := s.cluster.Request(ctx, broker, "verbs", req)
	if err != nil {
		var none R
		return none, fmt.Errorf("%w: %w", scenario.ErrNoAnswer, err)
	}
	return resp.(R), nil
}

// coordinator finds a group's coordinator.
func (s *stage) coordinator(ctx context.Context, group string) (int32, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKeys = 4, []string{group}
	for {
		resp, err := ask[*kmsg.FindCoordinatorResponse](ctx, s, s.cluster.Brokers()[0], req)
		if err != nil {
			return 0, err
		}
		if c := resp.Coordinators[0]; c.ErrorCode == 0 {
			return c.NodeID, nil
		}
		if err := s.cluster.Wait(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

func (s *stage) join(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = []string{p.Name(words[1])}
	assignment := kmsg.NewConsumerMemberAssignment()
	topic := kmsg.NewConsumerMemberAssignmentTopic()
	topic.Topic, topic.Partitions = meta.Topics[0], []int32{0}
	assignment.Topics = append(assignment.Topics, topic)
	return s.joinClassic(ctx, p.Name(words[0]), "consumer", "range", meta.AppendTo(nil), assignment.AppendTo(nil))
}

func (s *stage) leave(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	broker, err := s.coordinator(ctx, group)
	if err != nil {
		return "", err
	}
	if modern := s.members[group].modern; modern != nil {
		resp, err := ask[kmsg.Response](ctx, s, broker, modern(-1))
		if err != nil {
			return "", err
		}
		return outcome(errorOf(resp)), nil
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = 3, group
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = s.members[group].id
	req.Members = append(req.Members, m)
	resp, err := ask[*kmsg.LeaveGroupResponse](ctx, s, broker, req)
	if err != nil {
		return "", err
	}
	return outcome(resp.ErrorCode), nil
}

// controller is the broker that takes requests to the controller: any does.
func (s *stage) controller() int32 { return s.cluster.Brokers()[0] }

// createTopic creates a topic with one partition on a broker.
func (s *stage) createTopic(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = p.Name(words[0]), -1, -1
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	a.Replicas = []int32{int32(words[1][0]-'A') + 1}
	t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.CreateTopicsResponse](ctx, s, s.controller(), req)
	if err != nil {
		return "", err
	}
	return outcome(resp.Topics[0].ErrorCode), nil
}

func (s *stage) deleteTopic(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames, req.TimeoutMillis = 5, []string{p.Name(words[0])}, 10_000
	resp, err := ask[*kmsg.DeleteTopicsResponse](ctx, s, s.controller(), req)
	if err != nil {
		return "", err
	}
	return outcome(resp.Topics[0].ErrorCode), nil
}

func (s *stage) deleteGroup(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	broker, err := s.coordinator(ctx, group)
	if err != nil {
		return "", err
	}
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version, req.Groups = 2, []string{group}
	resp, err := ask[*kmsg.DeleteGroupsResponse](ctx, s, broker, req)
	if err != nil {
		return "", err
	}
	return outcome(resp.Groups[0].ErrorCode), nil
}

func (s *stage) offsetDelete(ctx context.Context, p *scenario.Play, words []string) (string, error) {
	group := p.Name(words[0])
	symbol, number, _ := strings.Cut(words[1], "-")
	broker, err := s.coordinator(ctx, group)
	if err != nil {
		return "", err
	}
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	t := kmsg.NewOffsetDeleteRequestTopic()
	t.Topic = p.Name(symbol)
	part := kmsg.NewOffsetDeleteRequestTopicPartition()
	if _, err := fmt.Sscan(number, &part.Partition); err != nil {
		return "", err
	}
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.OffsetDeleteResponse](ctx, s, broker, req)
	if err != nil {
		return "", err
	}
	if resp.ErrorCode != 0 {
		return outcome(resp.ErrorCode), nil
	}
	return outcome(resp.Topics[0].Partitions[0].ErrorCode), nil
}

func (s *stage) lossy(_ context.Context, p *scenario.Play, words []string) (string, error) {
	symbol, number, _ := strings.Cut(words[0], "-")
	act := oracle.Act{Kind: oracle.LoseRecords, Sent: s.cluster.Now(), Topic: p.Name(symbol)}
	_, err := fmt.Sscan(number, &act.Partition)
	s.witness.Add(act)
	return "", err
}

func (s *stage) delay(_ context.Context, _ *scenario.Play, words []string) (string, error) {
	if remove := s.faults[words[0]]; remove != nil {
		remove()
		delete(s.faults, words[0])
	}
	d, err := time.ParseDuration(words[1])
	if err != nil || d == 0 {
		return "", err
	}
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		if kmsg.NameForKey(key) == words[0] {
			s.faults[words[0]] = s.sim.Install(simbroker.DelayRequests{APIs: []kmsg.Key{kmsg.Key(key)}, Delay: d})
			return "", nil
		}
	}
	return "", fmt.Errorf("no API %s", words[0])
}
