package simbroker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// checkFault says whether a fault can strike in any cluster. The error names the
// field as documents do.
func checkFault(f Fault) error {
	switch f := f.(type) {
	case HoldMarkers:
		return checkPartitions(f.Partitions)
	case DropMarkers:
		return checkPartitions(f.Partitions)
	case HoldFetches:
		return cmp.Or(checkBroker(f.Broker), checkPartitions(f.Partitions))
	case DelayRequests:
		return cmp.Or(checkRequests(f.Broker, f.APIs), checkPositive("delay", f.Delay))
	case FailRequests:
		return cmp.Or(checkRequests(f.Broker, f.APIs), checkCode(f.Err), checkTimes(f.Times))
	case LoseRequests:
		return checkRequests(f.Broker, f.APIs)
	case TrickleAnswers:
		return cmp.Or(checkRequests(f.Broker, f.APIs), checkBytes(f.Bytes, 1), checkPositive("every", f.Every))
	case CutAnswers:
		return cmp.Or(checkRequests(f.Broker, f.APIs), checkBytes(f.Bytes, 0), checkTimes(f.Times))
	case SkewClock:
		if f.By == 0 {
			return errors.New("by is missing; expected a duration such as 5m or -5m")
		}
		return checkBroker(f.Broker)
	case CutOff:
		return checkBroker(f.Broker)
	case DelayLoading:
		return f.check()
	case ForgetTransactionalID:
		if f.ID == "" {
			return errors.New("transactional_id is missing")
		}
	}
	return nil
}

func (f DelayLoading) check() error {
	switch {
	case f.Unaware < 0:
		return checkPositive("unaware", f.Unaware)
	case f.Loading < 0:
		return checkPositive("loading", f.Loading)
	case f.Unaware+f.Loading == 0:
		return errors.New("unaware and loading are missing; expected at least one of them, a duration such as 5s")
	case f.Topic != "" && f.Topic != kafka.TransactionStateTopic && f.Topic != kafka.ConsumerOffsetsTopic:
		return fmt.Errorf("topic %q has no coordinators; expected %s, %s, or none for both", f.Topic, kafka.TransactionStateTopic, kafka.ConsumerOffsetsTopic)
	}
	return cmp.Or(checkBroker(f.Broker), checkPartitions(f.Partitions))
}

func checkBroker(id kafka.BrokerID) error {
	if id < 0 {
		return fmt.Errorf("broker %d is none; expected an id from 1, or none for all brokers", id)
	}
	return nil
}

func checkPartitions(partitions []int32) error {
	for _, p := range partitions {
		if p < 0 {
			return fmt.Errorf("partitions: %d is none; expected numbers from 0, or none for all partitions", p)
		}
	}
	return nil
}

func checkRequests(broker kafka.BrokerID, apis []kmsg.Key) error {
	for _, api := range apis {
		if _, served := wire.APINamed(api.Name()); !served {
			return fmt.Errorf("apis: %s (%d) is none that a broker serves; expected Kafka's, such as ListOffsets", api.Name(), api.Int16())
		}
	}
	return checkBroker(broker)
}

func checkCode(e kafka.Error) error {
	if _, ok := wire.ErrorNamed(string(e)); !ok {
		return fmt.Errorf("error %q is none; expected one of Kafka's names, such as COORDINATOR_NOT_AVAILABLE", string(e))
	}
	return nil
}

func checkTimes(n int) error {
	if n < 0 {
		return fmt.Errorf("times is %d; expected how often it strikes, from 1, or none for always", n)
	}
	return nil
}

func checkBytes(n, least int) error {
	if n < least {
		return fmt.Errorf("bytes is %d; expected how many are sent, from %d", n, least)
	}
	return nil
}

func checkPositive(field string, d time.Duration) error {
	switch {
	case d == 0:
		return fmt.Errorf("%s is missing; expected a duration such as 5s", field)
	case d < 0:
		return fmt.Errorf("%s is %v; expected a duration that is not negative, such as 5s", field, d)
	}
	return nil
}

// brokerOf is the broker that a fault is about, 0 if it is about every one.
func brokerOf(f Fault) kafka.BrokerID {
	switch f := f.(type) {
	case HoldFetches:
		return f.Broker
	case DelayRequests:
		return f.Broker
	case FailRequests:
		return f.Broker
	case LoseRequests:
		return f.Broker
	case TrickleAnswers:
		return f.Broker
	case CutAnswers:
		return f.Broker
	case SkewClock:
		return f.Broker
	case CutOff:
		return f.Broker
	case DelayLoading:
		return f.Broker
	}
	return 0
}

// checkFault says whether a fault can strike in this cluster.
func (c *Cluster) checkFault(f Fault) error {
	if err := checkFault(f); err != nil {
		return err
	}
	if id := brokerOf(f); id != 0 && !slices.Contains(c.Brokers(), id) {
		return fmt.Errorf("broker %d: %w (ids are 1 to %d)", id, ErrUnknownBroker, c.cfg.Brokers)
	}
	return nil
}
