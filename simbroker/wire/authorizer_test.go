package wire

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// nothingAllowed denies everything to everybody.
type nothingAllowed struct{}

func (nothingAllowed) Allows(acl.Client, acl.Operation, acl.ResourceType, string) bool { return false }

func (nothingAllowed) AllowsAny(acl.Client, acl.Operation, acl.ResourceType) bool { return false }

func (nothingAllowed) Operations(acl.Client, acl.ResourceType, string) []acl.Operation { return nil }

// readOnlyCluster shows metadata and does nothing: asked for anything else, it
// panics, but for requests that have nothing left in them.
type readOnlyCluster struct {
	Cluster
	image *controller.Image
}

func (c readOnlyCluster) Image() *controller.Image { return c.image }

func (c readOnlyCluster) Config() *property.Config { return property.NewConfig(nil) }

func (c readOnlyCluster) CreateTopics(topics []controller.NewTopic, _ bool, done func([]controller.CreatedTopic)) {
	done(make([]controller.CreatedTopic, len(topics)))
}

func (c readOnlyCluster) DeleteTopics(topics []controller.TopicResult, done func([]controller.TopicResult)) {
	done(make([]controller.TopicResult, len(topics)))
}

func (c readOnlyCluster) CreatePartitions(topics []controller.MorePartitions, _ bool, done func([]controller.TopicResult)) {
	done(make([]controller.TopicResult, len(topics)))
}

func (c readOnlyCluster) AlterConfigs(alterations []controller.ConfigAlteration, _ bool, done func([]controller.ConfigResult)) {
	done(make([]controller.ConfigResult, len(alterations)))
}

// forbidden are the codes for a lack of rights.
var forbidden = []kafka.Error{
	kafka.ErrTopicAuthorizationFailed, kafka.ErrGroupAuthorizationFailed,
	kafka.ErrClusterAuthorizationFailed, kafka.ErrTransactionalIDAuthorizationFailed,
}

// Without any right, every API that asks for one refuses, in every version,
// before it has asked a room: the rooms of this broker are nil.
func TestNothingIsDoneWithoutRights(t *testing.T) {
	loop := clock.NewSimulated(time.UnixMilli(0))
	metadata := controller.New(loop, nil, controller.DefaultFeatures(), 1, func(kafka.BrokerID, *controller.Update) {})
	epoch := metadata.Register(controller.Registration{ID: 1, Endpoints: []controller.Endpoint{{Host: "127.0.0.1", Port: 9092}}, PreviousEpoch: -1})
	if _, err := metadata.Heartbeat(controller.Heartbeat{ID: 1, Epoch: epoch, MetadataOffset: metadata.Image().Offset()}); err != nil {
		t.Fatal(err)
	}
	if created := metadata.CreateTopics([]controller.NewTopic{{Name: "text", Partitions: 1, ReplicationFactor: 1}}, false); created[0].Err != nil {
		t.Fatal(created[0].Err)
	}
	topic, _ := metadata.Image().Topic("text")
	server := NewServer(&Broker{
		ID: 1, Loop: loop, Host: clock.NewHost(loop), Authorizer: nothingAllowed{},
		Cluster: readOnlyCluster{image: metadata.Image()},
	})
	withoutRights := map[kmsg.Key]string{
		kmsg.ApiVersions:             "needs no right",
		kmsg.DescribeCluster:         "needs no right to tell of brokers",
		kmsg.ListGroups:              "leaves out what may not be seen",
		kmsg.DescribeGroups:          "asks the room about the groups that are left, none",
		kmsg.DeleteGroups:            "asks the room about the groups that are left, none",
		kmsg.ListTransactions:        "leaves out what may not be seen",
		kmsg.CreateDelegationToken:   "there are none",
		kmsg.RenewDelegationToken:    "there are none",
		kmsg.ExpireDelegationToken:   "there are none",
		kmsg.DescribeDelegationToken: "there are none",
		kmsg.SASLHandshake:           "comes too late here",
		kmsg.SASLAuthenticate:        "comes too late here",
	}
	requestFrames(func(name string, _ []byte, req kmsg.Request) {
		if _, ok := withoutRights[kmsg.Key(req.Key())]; ok {
			return
		}
		adapt(req, topic.ID)
		answered := false
		server.Handle(ConnInfo{}, req, func(resp kmsg.Response) {
			answered = true
			if !refusesRights(resp) {
				t.Errorf("%s v%d answered %+v", name, req.GetVersion(), resp)
			}
		})
		if !answered {
			t.Errorf("%s v%d: no answer", name, req.GetVersion())
		}
	})
}

// Share coordinators are told to brokers only.
func TestShareCoordinatorsAreForBrokers(t *testing.T) {
	loop := clock.NewSimulated(time.UnixMilli(0))
	server := NewServer(&Broker{ID: 1, Loop: loop, Host: clock.NewHost(loop), Authorizer: nothingAllowed{}})
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKeys = 6, shareCoordinator, []string{"g:AAAAAAAAAAAAAAAAAAAAAQ:0"}
	var got []kmsg.FindCoordinatorResponseCoordinator
	server.Handle(ConnInfo{}, req, func(resp kmsg.Response) { got = resp.(*kmsg.FindCoordinatorResponse).Coordinators })
	if len(got) != 1 || got[0].ErrorCode != 31 {
		t.Errorf("got %+v", got)
	}
}

// adapt makes a filled request one that asks for what there is.
func adapt(req kmsg.Request, id kafka.TopicID) {
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		req.Acks = -1
		req.Topics[0].TopicID = id
		req.TransactionID = nil
	case *kmsg.FetchRequest:
		req.Topics[0].TopicID = id
		req.ReplicaID, req.ReplicaState.ID = -1, -1
	case *kmsg.MetadataRequest:
		if req.Version >= 12 {
			req.Topics[0].TopicID, req.Topics[0].Topic = id, nil
		}
	case *kmsg.OffsetCommitRequest:
		req.Topics[0].TopicID = id
	case *kmsg.DeleteTopicsRequest:
		for i := range req.Topics {
			req.Topics[i].TopicID, req.Topics[i].Topic = id, nil
		}
	case *kmsg.DescribeTopicPartitionsRequest:
		req.Cursor = nil
	case *kmsg.DescribeConfigsRequest:
		req.Resources[0].ResourceType = kmsg.ConfigResourceTypeTopic
	case *kmsg.AlterConfigsRequest:
		req.Resources[0].ResourceType = kmsg.ConfigResourceTypeTopic
	case *kmsg.IncrementalAlterConfigsRequest:
		req.Resources[0].ResourceType = kmsg.ConfigResourceTypeTopic
	case *kmsg.InitProducerIDRequest:
		req.ProducerID, req.ProducerEpoch = -1, -1
	}
}

// refusesRights says whether a response has a code for a lack of rights
// anywhere.
func refusesRights(resp kmsg.Response) bool { return hasForbiddenCode(reflect.ValueOf(resp).Elem()) }

func hasForbiddenCode(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "ErrorCode" && isForbidden(int16(v.Field(i).Int())) || hasForbiddenCode(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if hasForbiddenCode(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

func isForbidden(code int16) bool {
	return slices.ContainsFunc(forbidden, func(err kafka.Error) bool { return codes[err] == code })
}
