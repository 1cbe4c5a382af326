package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// locate finds the partition that a text names. G1-log and X1-log look up the
// group or id, which creates the internal topic if need be.
func (p *Play) locate(ctx context.Context, ref partitionRef) (keeper, error) {
	symbol, rest := ref.split()
	if symbol[0] == 'T' {
		var partition int32
		if _, err := fmt.Sscan(rest, &partition); err != nil {
			return keeper{}, fmt.Errorf("%s is no partition", ref)
		}
		return keeper{topicPartition: topicPartition{p.topicName(symbol), partition}}, nil
	}
	if _, err := p.name(ctx, symbol); err != nil {
		return keeper{}, err
	}
	return p.logs[symbol], nil
}

// name is the real name of X1 or G1. The first time, it is chosen so that its
// coordinator is where the text wants it, and that a group has a partition of
// __consumer_offsets that no other group of the scenario uses and no open
// transaction holds.
func (p *Play) name(ctx context.Context, symbol string) (string, error) {
	if name, known := p.names[symbol]; known {
		return name, nil
	}
	const candidates = 500
	for i := range candidates {
		name := p.prefix + strings.ToLower(symbol)
		if i > 0 {
			name += fmt.Sprintf("-%d", i)
		}
		log, fits, err := p.fitting(ctx, symbol, name)
		if err != nil {
			return "", err
		}
		if fits {
			p.names[symbol], p.logs[symbol] = name, log
			return name, nil
		}
	}
	return "", fmt.Errorf("no name for %s has its coordinator at %s", symbol, p.coordinators[symbol])
}

func (p *Play) fitting(ctx context.Context, symbol, name string) (log keeper, fits bool, err error) {
	var coordinator int32
	err = p.until(ctx, "find the coordinator of "+name, func() (bool, error) {
		var code int16
		coordinator, code, err = p.findCoordinator(ctx, symbol, name)
		return err == nil && code == 0, err
	})
	if err != nil {
		return log, false, err
	}
	if want := p.coordinators[symbol]; want != "" && p.letterOf(coordinator) != want {
		return log, false, nil
	}
	log, fits, err = p.keeperOf(ctx, symbol, name)
	if err != nil || !fits {
		return log, fits, err
	}
	return log, true, p.until(ctx, "wait for the coordinator of "+name, func() (bool, error) {
		return p.coordinatorServes(ctx, coordinator, symbol, name)
	})
}

func (p *Play) keeperOf(ctx context.Context, symbol, name string) (log keeper, fits bool, err error) {
	log.topic = kafka.TransactionStateTopic
	if symbol[0] == 'G' {
		log.topic = kafka.ConsumerOffsetsTopic
	}
	meta, err := p.metadata(ctx, p.brokers[0], log.topic)
	if err != nil {
		return log, false, err
	}
	count := int32(len(meta.Topics[0].Partitions))
	log.partition = kafka.PartitionFor(name, count)
	taken := 0
	for other, l := range p.logs {
		if other[0] == symbol[0] {
			taken++
			if symbol[0] == 'G' && l.topicPartition == log.topicPartition && taken < int(count) {
				return log, false, nil
			}
		}
	}
	var code, lsoCode int16
	log.base, code, err = p.listOffset(ctx, log.topicPartition, offsetQuery{replica: debugReplica, timestamp: latest})
	if err != nil || code != 0 {
		return log, false, err
	}
	lso, lsoCode, err := p.listOffset(ctx, log.topicPartition, offsetQuery{replica: consumerReplica, committed: true, timestamp: latest})
	return log, lsoCode == 0 && (symbol[0] != 'G' || lso == log.base), err
}

// coordinator is where to send a request about X1 or G1: the named broker, or
// the one that FindCoordinator names. Without one the refusal says why.
func (p *Play) coordinator(ctx context.Context, symbol, at string) (broker int32, name, refusal string, err error) {
	if name, err = p.name(ctx, symbol); err != nil {
		return 0, "", "", err
	}
	if at != "" {
		broker, err = p.broker(at)
		return broker, name, "", err
	}
	broker, code, err := p.findCoordinator(ctx, symbol, name)
	if err == nil && code != 0 {
		refusal = renderError(code)
	}
	return broker, name, refusal, err
}

// findCoordinator finds out who coordinates a transactional id or group, whoever
// gives the command.
func (p *Play) findCoordinator(ctx context.Context, symbol, name string) (broker int32, code int16, err error) {
	user := p.user
	p.user = ""
	defer func() { p.user = user }()
	return p.askCoordinator(ctx, symbol, name)
}

// askCoordinator asks who coordinates a transactional id or group, which makes
// the cluster create its internal topic.
func (p *Play) askCoordinator(ctx context.Context, symbol, name string) (broker int32, code int16, err error) {
	from, err := p.anyBroker()
	if err != nil {
		return -1, 0, err
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKey, req.CoordinatorKeys = p.version(req.Key(), -1), name, []string{name}
	if symbol[0] == 'X' {
		req.CoordinatorType = 1
	}
	resp, err := p.ask(ctx, from, req)
	if err != nil {
		return -1, 0, err
	}
	got := resp.(*kmsg.FindCoordinatorResponse)
	if req.Version < 4 { // which asks for one at a time
		return got.NodeID, got.ErrorCode, nil
	}
	return got.Coordinators[0].NodeID, got.Coordinators[0].ErrorCode, nil
}

// coordinatorServes says whether the coordinator has loaded what it keeps.
func (p *Play) coordinatorServes(ctx context.Context, coordinator int32, symbol, name string) (bool, error) {
	var code int16
	if symbol[0] == 'X' {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		if _, offered := p.offered[req.Key()]; !offered {
			return true, nil // who coordinates it is known, and nobody can be asked for more
		}
		req.TransactionalIDs = []string{name}
		resp, err := p.ask(ctx, coordinator, req)
		if err != nil {
			return false, err
		}
		code = resp.(*kmsg.DescribeTransactionsResponse).TransactionStates[0].ErrorCode
	} else {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.MemberEpoch = name, -1
		got, err := p.fetchOffsets(ctx, coordinator, -1, false, g)
		if err != nil {
			return false, err
		}
		code = got.ErrorCode
	}
	return code == 0 || code == kerr.TransactionalIDNotFound.Code, nil
}
