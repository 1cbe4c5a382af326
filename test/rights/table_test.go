package rights

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// row is one way to use an API. Its user begins without a right, and is given
// one after the other.
type row struct {
	name string // what is asked for, beyond the API's name
	ask  func(*world) kmsg.Request
	// show is what matters of the answer; all error codes unless it says
	// otherwise.
	show func(kmsg.Response) string
	want []answer
	// feature must be finalised by the cluster; empty for none.
	feature string
}

// answer is what comes once the user has one right more, which is empty at
// first. Several rights of one step have commas between them.
type answer struct{ right, shown string }

// codes are the error codes of an answer, in the order of its fields.
func codes(resp kmsg.Response) string {
	var found []string
	collectCodes(reflect.ValueOf(resp).Elem(), &found)
	return strings.Join(found, " ")
}

func collectCodes(v reflect.Value, found *[]string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name == "ErrorCode" || name == "ConfigErrorCode" {
				*found = append(*found, fmt.Sprint(v.Field(i).Int()))
				continue
			}
			collectCodes(v.Field(i), found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collectCodes(v.Index(i), found)
		}
	}
}

// The same on the simulator and on a real Kafka.
func TestSimulator(t *testing.T) { check(t, onSimulator(t)) }

func TestKafka(t *testing.T) { check(t, onKafka(t)) }

func check(t *testing.T, w *world) {
	t.Run("logins", func(t *testing.T) { checkLogins(t, w) })
	t.Run("rights", func(t *testing.T) { play(t, w) })
}

func play(t *testing.T, w *world) {
	var users []string
	for i := range table {
		users = append(users, userOf(i))
	}
	w.enrol(users)
	for i, r := range table {
		t.Run(r.title(), func(t *testing.T) {
			w.t = t
			if req := r.ask(w); !w.offers(req, r.feature) {
				t.Skipf("not run: not offered by this cluster: %s v%d %s", kmsg.NameForKey(req.Key()), req.GetVersion(), r.feature)
			}
			show := r.show
			if show == nil {
				show = codes
			}
			for _, a := range r.want {
				if a.right != "" {
					for _, right := range strings.Split(a.right, ", ") {
						w.grant(userOf(i), right)
					}
				}
				if got := settle(func() string { return show(w.ask(userOf(i), r.ask(w))) }); got != a.shown {
					t.Errorf("with %q: %s, want %s", a.right, got, a.shown)
				}
			}
		})
	}
}

// settle asks again while a coordinator is not ready.
func settle(ask func() string) string {
	got := ask()
	for deadline := time.Now().Add(30 * time.Second); (got == "14" || got == "15" || got == "0 15") && time.Now().Before(deadline); {
		got = ask()
	}
	return got
}

func userOf(row int) string { return fmt.Sprintf("user-%d", row) }

func (r row) title() string {
	name := kmsg.NameForKey(r.ask(&world{ids: map[string][16]byte{}}).Key())
	if r.name != "" {
		name += " " + r.name
	}
	return name
}

// Every API that the simulator serves has a row.
func TestTableIsComplete(t *testing.T) {
	has := map[int16]bool{}
	for _, r := range table {
		has[r.ask(&world{ids: map[string][16]byte{}}).Key()] = true
	}
	for _, key := range wire.Kafka43().Keys() {
		if !has[key] {
			t.Errorf("%s has no row", kmsg.NameForKey(key))
		}
	}
}

// records is a batch of one record.
func records(p commitlog.Producing) []byte {
	return commitlog.Build(p, []commitlog.Record{{TimestampMs: 1767225600000, Value: []byte("record")}}).Raw
}

var unknownProducer = commitlog.Producing{Producer: kafka.Producer{ID: 4242424242}, Transactional: true}

func produce(topic string, p commitlog.Producing, id *string) kmsg.Request {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis, req.TransactionID = 12, -1, 10000, id
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: records(p)}}}}
	return req
}

func fetch(replica int32) kmsg.Request {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxBytes, req.MinBytes = 12, replica, 1<<20, 0
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	req.Topics = []kmsg.FetchRequestTopic{{Topic: "orders", Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return req
}

func listOffsets(replica int32, timestamp int64) kmsg.Request {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = replica
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = timestamp
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "orders", Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	return req
}

func metadata(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = 12, false
	if names == nil {
		return req
	}
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr(name)})
	}
	return req
}

// topicsOf shows the topics of Metadata, each with its error.
func topicsOf(resp kmsg.Response) string {
	var names []string
	for _, t := range resp.(*kmsg.MetadataResponse).Topics {
		name := "null"
		if t.Topic != nil {
			name = *t.Topic
		}
		names = append(names, fmt.Sprintf("%s %d", name, t.ErrorCode))
	}
	return list(names)
}

func coordinator(kind int8, key string) kmsg.Request {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = kind, []string{key}
	return req
}

func addPartitions(topic string) kmsg.Request {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID = 3, "mine", 4242424242
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	return req
}

func markers(topic string) kmsg.Request {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 1
	req.Markers = []kmsg.WriteTxnMarkersRequestMarker{{
		ProducerID: 4242424242, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: topic, Partitions: []int32{0}}},
	}}
	return req
}

func describeConfigs(kind kmsg.ConfigResourceType, name string) kmsg.Request {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name}}
	return req
}

func alterConfigs(kind kmsg.ConfigResourceType, name, config, value string) kmsg.Request {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = true
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kind, ResourceName: name,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: config, Value: &value}},
	}}
	return req
}

func deleteTopic(name string, id [16]byte) kmsg.Request {
	req := kmsg.NewPtrDeleteTopicsRequest()
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.TopicID = id
	if name != "" {
		t.Topic = &name
	}
	req.Topics = append(req.Topics, t)
	return req
}

// deletedTopics shows the topics of DeleteTopics, each with its error.
func deletedTopics(resp kmsg.Response) string {
	var names []string
	for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
		name := "null"
		if t.Topic != nil {
			name = *t.Topic
		}
		names = append(names, fmt.Sprintf("%s %d", name, t.ErrorCode))
	}
	return list(names)
}

func createTopic(name string) kmsg.Request {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly, req.TimeoutMillis = true, 10000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
	req.Topics = append(req.Topics, t)
	return req
}

func offsetFetch(group string, topics ...string) kmsg.Request {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = 9
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = group, -1
	for _, topic := range topics {
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: topic, Partitions: []int32{0}})
	}
	req.Groups = append(req.Groups, g)
	return req
}

// fetchedTopics shows a group's error, and its topics each with theirs.
func fetchedTopics(resp kmsg.Response) string {
	g := resp.(*kmsg.OffsetFetchResponse).Groups[0]
	var names []string
	for _, t := range g.Topics {
		names = append(names, fmt.Sprintf("%s %d", t.Topic, t.Partitions[0].ErrorCode))
	}
	return fmt.Sprint(g.ErrorCode, " ", list(names))
}

// transactions shows the ids that ListTransactions tells of.
func transactions(resp kmsg.Response) string {
	got := resp.(*kmsg.ListTransactionsResponse)
	var names []string
	for _, t := range got.TransactionStates {
		if t.TransactionalID == "billing" {
			names = append(names, t.TransactionalID+" "+t.TransactionState)
		}
	}
	return fmt.Sprint(got.ErrorCode, " ", list(names))
}

// described shows what DescribeTransactions tells of a transaction.
func described(resp kmsg.Response) string {
	got := resp.(*kmsg.DescribeTransactionsResponse).TransactionStates[0]
	var names []string
	for _, t := range got.Topics {
		names = append(names, t.Topic)
	}
	return fmt.Sprintf("%d %s %s", got.ErrorCode, got.State, list(names))
}

// groups shows the groups that ListGroups tells of.
func groups(resp kmsg.Response) string {
	got := resp.(*kmsg.ListGroupsResponse)
	var names []string
	for _, g := range got.Groups {
		if g.Group == "g" || g.Group == "h" {
			names = append(names, g.Group)
		}
	}
	return fmt.Sprint(got.ErrorCode, " ", list(names))
}

// describedTopics shows the topics of DescribeTopicPartitions, each with its
// error.
func describedTopics(resp kmsg.Response) string {
	var names []string
	for _, t := range resp.(*kmsg.DescribeTopicPartitionsResponse).Topics {
		names = append(names, fmt.Sprintf("%s %d", *t.Topic, t.ErrorCode))
	}
	return list(names)
}

// operations names the bits of authorized operations.
func operations(bits int32) string {
	if bits == -1<<31 {
		return "not told"
	}
	var names []string
	for code := range 32 {
		if bits&(1<<code) != 0 {
			names = append(names, kmsg.ACLOperation(code).String())
		}
	}
	return list(names)
}
