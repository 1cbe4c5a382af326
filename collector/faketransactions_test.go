package collector

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// noLookUps switches the collector of transactions off, for tests of the other
// collectors' requests: the fake's partitions are below from the start.
var noLookUps = []Collector{Transactions}

// transaction adds an Ongoing transaction of one minute that started at a time,
// on one partition, whose producer has it open there.
func (f *fake) transaction(id string, coordinator int32, producer int64, topic *fakeTopic, partition int32, startedMillis int64) *fakeTransaction {
	t := &fakeTransaction{
		id: id, coordinator: coordinator, producer: producer, state: "Ongoing", start: startedMillis, timeout: 60_000,
		topics: map[string][]int32{topic.name: {partition}},
	}
	f.transactions = append(f.transactions, t)
	p := topic.partitions[partition]
	p.producers = append(p.producers, fakeProducer{producer, 0, p.lso, startedMillis})
	return t
}

func (f *fake) describeProducers(_ int32, r *kmsg.DescribeProducersRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeProducersResponse()
	for _, asked := range r.Topics {
		topic := kmsg.NewDescribeProducersResponseTopic()
		topic.Topic = asked.Topic
		i := slices.IndexFunc(f.topics, func(t *fakeTopic) bool { return t.name == asked.Topic })
		for _, number := range asked.Partitions {
			answer := kmsg.NewDescribeProducersResponseTopicPartition()
			answer.Partition = number
			p := f.topics[i].partitions[number]
			answer.ErrorCode = p.producersError
			if p.producersError == 0 {
				for _, producer := range p.producers { // any replica answers
					row := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
					row.ProducerID, row.ProducerEpoch, row.CoordinatorEpoch = producer.id, producer.epoch, -1
					row.CurrentTxnStartOffset, row.LastTimestamp = producer.start, producer.timestamp
					answer.ActiveProducers = append(answer.ActiveProducers, row)
				}
			}
			topic.Partitions = append(topic.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func (f *fake) listTransactions(broker int32, r *kmsg.ListTransactionsRequest) kmsg.Response {
	resp := kmsg.NewPtrListTransactionsResponse()
	resp.ErrorCode = f.coordinators[broker]
	if resp.ErrorCode != 0 {
		return resp
	}
	ours := regexp.MustCompile(".*")
	if r.TransactionalIDPattern != nil && !f.oldLists {
		ours = regexp.MustCompile(*r.TransactionalIDPattern)
	}
	for _, t := range f.transactions {
		if !ours.MatchString(t.id) || t.coordinator != broker || f.hidesIDs || f.unaware[broker] || f.denied(t.id) || len(r.ProducerIDFilters) > 0 && !slices.Contains(r.ProducerIDFilters, t.producer) {
			continue
		}
		s := kmsg.NewListTransactionsResponseTransactionState()
		s.TransactionalID, s.ProducerID, s.TransactionState = t.id, t.producer, t.state
		resp.TransactionStates = append(resp.TransactionStates, s)
	}
	return resp
}

func (f *fake) describeTransactions(broker int32, r *kmsg.DescribeTransactionsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	for _, id := range r.TransactionalIDs {
		s := kmsg.NewDescribeTransactionsResponseTransactionState()
		s.TransactionalID = id
		i := slices.IndexFunc(f.transactions, func(t *fakeTransaction) bool { return t.id == id })
		switch {
		case f.hidesIDs, f.denied(id):
			s.ErrorCode = 53
		case f.unaware[broker]:
			s.ErrorCode = 16
		case f.coordinators[broker] != 0:
			s.ErrorCode = f.coordinators[broker]
		case i < 0 && strings.HasPrefix(id, unusedID) && f.stateLeader(id) != broker:
			s.ErrorCode = 16
		case i < 0:
			s.ErrorCode = 105
		case f.transactions[i].coordinator != broker:
			s.ErrorCode = 16
		default:
			t := f.transactions[i]
			s.State, s.TimeoutMillis, s.StartTimestamp, s.ProducerID = t.state, t.timeout, t.start, t.producer
			for _, name := range slices.Sorted(maps.Keys(t.topics)) {
				s.Topics = append(s.Topics, kmsg.DescribeTransactionsResponseTransactionStateTopic{Topic: name, Partitions: t.topics[name]})
			}
		}
		resp.TransactionStates = append(resp.TransactionStates, s)
	}
	return resp
}

// stateLeader is who leads the partition of __transaction_state to which an id
// belongs.
func (f *fake) stateLeader(id string) int32 {
	i := slices.IndexFunc(f.topics, func(t *fakeTopic) bool { return t.name == transactionStateTopic })
	partitions := f.topics[i].partitions
	return partitions[kafka.PartitionFor(id, int32(len(partitions)))].leader
}

// denied says whether an id may not be described: whether it is not of the only
// kind that may be, or one of the fake's ACLs, all of which deny, is about it.
func (f *fake) denied(id string) bool {
	return !strings.HasPrefix(id, f.onlyIDs) || slices.ContainsFunc(f.denials, func(d fakeDenial) bool {
		return d.prefix && strings.HasPrefix(id, d.name) || d.name == id
	})
}

func (f *fake) describeACLs(r *kmsg.DescribeACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.ErrorCode = f.aclsError
	if resp.ErrorCode != 0 || r.ResourceType != kmsg.ACLResourceTypeTransactionalId {
		return resp
	}
	for _, d := range f.denials {
		resource := kmsg.NewDescribeACLsResponseResource()
		resource.ResourceType, resource.ResourceName = r.ResourceType, d.name
		resource.ResourcePatternType = kmsg.ACLResourcePatternTypeLiteral
		if d.prefix {
			resource.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed
		}
		resp.Resources = append(resp.Resources, resource)
	}
	return resp
}

func (f *fake) describeConfigs(_ int32, r *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for _, asked := range r.Resources {
		resource := kmsg.NewDescribeConfigsResponseResource()
		resource.ResourceType, resource.ResourceName = asked.ResourceType, asked.ResourceName
		if f.scanPeriod == "" {
			resource.ErrorCode = 31
		} else {
			for _, name := range asked.ConfigNames {
				c := kmsg.NewDescribeConfigsResponseResourceConfig()
				c.Name, c.Value = name, kmsg.StringPtr(f.scanPeriod)
				resource.Configs = append(resource.Configs, c)
			}
		}
		resp.Resources = append(resp.Resources, resource)
	}
	return resp
}
