package scenario

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func memberVerbs() []Verb {
	return []Verb{
		{
			Name:  "JoinGroup",
			Usage: "JoinGroup[/vN] GROUP MEMBER [type=TYPE] [TOPIC…]",
			Doc: "A member joins a classic group, subscribed to topics, with the protocol range of type consumer, or of another type as connect. " +
				"Prints generation, protocol and leader, or the error. A member whose id is required joins again.",
			Parse: parseJoinGroup,
		},
		{
			Name:  "SyncGroup",
			Usage: "SyncGroup GROUP MEMBER [PARTITION…]",
			Doc:   "A member asks for its assignment, after it was given the partitions named, if it leads the group. Prints what it has, or nothing.",
			Parse: parseSyncGroup,
		},
		{
			Name:  "Heartbeat",
			Usage: "Heartbeat GROUP MEMBER",
			Doc:   "A member of a classic group says that it is alive.",
			Parse: parseMemberVerb(heartbeat),
		},
		{
			Name:  "LeaveGroup",
			Usage: "LeaveGroup GROUP MEMBER",
			Doc:   "A member leaves a classic group.",
			Parse: parseMemberVerb(leaveGroup),
		},
	}
}

var memberSymbol = regexp.MustCompile(`^M\d+$`)

// memberOf names a member of a group: M1 of G1.
type memberOf struct{ group, member string }

func parseMember(words []string) (memberOf, error) {
	if len(words) < 2 {
		return memberOf{}, fmt.Errorf("a group and a member are wanted")
	}
	group, err := parseGroup(words[0])
	if err != nil {
		return memberOf{}, err
	}
	if !memberSymbol.MatchString(words[1]) {
		return memberOf{}, fmt.Errorf("%s is no member", words[1])
	}
	return memberOf{group, words[1]}, nil
}

// memberName is the id of a member that makes its own.
func memberName(symbol string) string { return strings.ToLower(symbol) }

// memberSymbolOf is the symbol of a member by its id, which is kept if the text
// has none.
func (p *Play) memberSymbolOf(id string) string {
	for _, symbol := range slices.Sorted(maps.Keys(p.members)) {
		if p.members[symbol].id == id {
			return symbol
		}
	}
	if symbol := strings.ToUpper(id); memberSymbol.MatchString(symbol) {
		return symbol
	}
	return id
}

const (
	consumerType = "consumer" // the protocol type of consumers
	onlyProtocol = "range"    // the protocol that members of classic groups know
)

func parseJoinGroup(words []string) (Action, error) {
	args, err := parseArguments(words, "type", versionOption)
	if err != nil {
		return nil, err
	}
	m, err := parseMember(args.position)
	if err != nil {
		return nil, err
	}
	topics, err := parseTopics(args.position[2:])
	if err != nil {
		return nil, err
	}
	version, err := versionOf(args)
	if err != nil {
		return nil, err
	}
	kind := args.named["type"]
	if kind == "" {
		kind = consumerType
	}
	return func(ctx context.Context, p *Play) (string, error) {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.ProtocolType, req.MemberID = p.version(req.Key(), version), kind, p.members[m.member].id
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30000, 30000
		protocol := kmsg.NewJoinGroupRequestProtocol()
		protocol.Name, protocol.Metadata = onlyProtocol, []byte(kind)
		if kind == consumerType {
			protocol.Metadata = p.subscription(topics)
		}
		req.Protocols = append(req.Protocols, protocol)
		broker, name, refusal, err := p.coordinator(ctx, m.group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req.Group = name
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.JoinGroupResponse)
		p.members[m.member] = classicMember{got.MemberID, got.Generation, kind}
		if got.ErrorCode != 0 {
			return renderError(got.ErrorCode), nil
		}
		return fmt.Sprintf("generation %d protocol %s leader %s", got.Generation, *got.Protocol, p.memberSymbolOf(got.LeaderID)), nil
	}, nil
}

func parseTopics(words []string) ([]string, error) {
	for _, word := range words {
		if !topicSymbol.MatchString(word) {
			return nil, fmt.Errorf("%s is no topic", word)
		}
	}
	return words, nil
}

func (p *Play) topicNames(symbols []string) []string {
	var names []string
	for _, symbol := range symbols {
		names = append(names, p.topicName(symbol))
	}
	return names
}

// subscription is a consumer's metadata in version 0 of its protocol.
func (p *Play) subscription(topics []string) []byte {
	data := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(len(topics)))
	for _, name := range p.topicNames(topics) {
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(name))), name...)
	}
	return binary.BigEndian.AppendUint32(data, 0xffffffff) // no user data
}

// assignmentOf is a consumer's assignment in version 0 of its protocol.
func assignmentOf(partitions []topicPartition) []byte {
	data := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(len(partitions)))
	for _, tp := range partitions {
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(tp.topic))), tp.topic...)
		data = binary.BigEndian.AppendUint32(data, 1)
		data = binary.BigEndian.AppendUint32(data, uint32(tp.partition))
	}
	return binary.BigEndian.AppendUint32(data, 0xffffffff)
}

// renderAssignment prints the partitions in an assignment of the consumer
// protocol, and others by their size.
func (p *Play) renderAssignment(kind string, data []byte) string {
	if kind != consumerType {
		return fmt.Sprintf("%d bytes", len(data))
	}
	if len(data) == 0 {
		return "nothing"
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(data); err != nil {
		return err.Error()
	}
	var rows []string
	for _, t := range a.Topics {
		for _, n := range t.Partitions {
			rows = append(rows, p.symbolOf(t.Topic, n))
		}
	}
	return partitionsOf(rows)
}

// partitionsOf prints partitions in order, or nothing.
func partitionsOf(rows []string) string {
	if len(rows) == 0 {
		return "nothing"
	}
	slices.Sort(rows)
	return strings.Join(rows, " ")
}

func parseSyncGroup(words []string) (Action, error) {
	m, err := parseMember(words)
	if err != nil {
		return nil, err
	}
	refs, err := parsePartitions(words[2:])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		member := p.members[m.member]
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.MemberID, req.Generation = p.version(req.Key(), -1), member.id, member.generation
		req.ProtocolType, req.Protocol = &member.kind, kmsg.StringPtr(onlyProtocol)
		var given []topicPartition
		for _, ref := range refs {
			log, err := p.locate(ctx, ref)
			if err != nil {
				return "", err
			}
			given = append(given, log.topicPartition)
		}
		if len(given) > 0 {
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			a.MemberID, a.MemberAssignment = member.id, assignmentOf(given)
			req.GroupAssignment = append(req.GroupAssignment, a)
		}
		broker, name, refusal, err := p.coordinator(ctx, m.group, "")
		if err != nil || refusal != "" {
			return refusal, err
		}
		req.Group = name
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		got := resp.(*kmsg.SyncGroupResponse)
		if got.ErrorCode != 0 {
			return renderError(got.ErrorCode), nil
		}
		return p.renderAssignment(member.kind, got.MemberAssignment), nil
	}, nil
}

// parseMemberVerb is a verb that wants a group and a member and nothing else.
func parseMemberVerb(do func(ctx context.Context, p *Play, m memberOf, member classicMember) (string, error)) func([]string) (Action, error) {
	return func(words []string) (Action, error) {
		m, err := parseMember(words)
		if err != nil || len(words) > 2 {
			return nil, fmt.Errorf("a group and a member are wanted")
		}
		return func(ctx context.Context, p *Play) (string, error) { return do(ctx, p, m, p.members[m.member]) }, nil
	}
}

func heartbeat(ctx context.Context, p *Play, m memberOf, member classicMember) (string, error) {
	broker, name, refusal, err := p.coordinator(ctx, m.group, "")
	if err != nil || refusal != "" {
		return refusal, err
	}
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = p.version(req.Key(), -1), name, member.id, member.generation
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	return renderError(resp.(*kmsg.HeartbeatResponse).ErrorCode), nil
}

func leaveGroup(ctx context.Context, p *Play, m memberOf, member classicMember) (string, error) {
	broker, name, refusal, err := p.coordinator(ctx, m.group, "")
	if err != nil || refusal != "" {
		return refusal, err
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = p.version(req.Key(), -1), name
	leaving := kmsg.NewLeaveGroupRequestMember()
	leaving.MemberID = member.id
	req.Members = append(req.Members, leaving)
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	got := resp.(*kmsg.LeaveGroupResponse)
	if got.ErrorCode != 0 || len(got.Members) == 0 {
		return renderError(got.ErrorCode), nil
	}
	return renderError(got.Members[0].ErrorCode), nil
}
