package simbroker_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Every kind of fault is read from the document that it is written as.
func TestFaultDocuments(t *testing.T) {
	for document, want := range map[string]simbroker.Fault{
		`{"fault":"hold_markers","topic":"orders","partitions":[0,2]}`:             simbroker.HoldMarkers{Topic: "orders", Partitions: []int32{0, 2}},
		`{"fault":"drop_markers"}`:                                                 simbroker.DropMarkers{},
		`{"fault":"hold_fetches","broker":2,"topic":"orders"}`:                     simbroker.HoldFetches{Broker: 2, Topic: "orders"},
		`{"fault":"delay_requests","apis":["ListOffsets","Fetch"],"delay":"5s"}`:   simbroker.DelayRequests{APIs: []kmsg.Key{kmsg.ListOffsets, kmsg.Fetch}, Delay: 5 * time.Second},
		`{"fault":"fail_requests","broker":1,"error":"NOT_COORDINATOR","times":3}`: simbroker.FailRequests{Broker: 1, Err: kafka.ErrNotCoordinator, Times: 3},
		`{"fault":"delay_loading","topic":"__transaction_state","partitions":[3],"unaware":"140ms","loading":"60ms"}`: simbroker.DelayLoading{
			Topic: "__transaction_state", Partitions: []int32{3}, Unaware: 140 * time.Millisecond, Loading: 60 * time.Millisecond,
		},
		`{"fault":"lose_requests","broker":2}`:                                 simbroker.LoseRequests{Broker: 2},
		`{"fault":"trickle_answers","apis":["Fetch"],"bytes":10,"every":"1s"}`: simbroker.TrickleAnswers{APIs: []kmsg.Key{kmsg.Fetch}, Bytes: 10, Every: time.Second},
		`{"fault":"cut_answers","times":1,"bytes":7}`:                          simbroker.CutAnswers{Bytes: 7, Times: 1},
		`{"fault":"cut_off","broker":3}`:                                       simbroker.CutOff{Broker: 3},
		`{"fault":"skew_clock","broker":3,"by":"-5m0s"}`:                       simbroker.SkewClock{Broker: 3, By: -5 * time.Minute},
		`{"fault":"forget_transactional_id","transactional_id":"x"}`:           simbroker.ForgetTransactionalID{ID: "x"},
	} {
		got, err := simbroker.ParseFault([]byte(document))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v, want %#v", document, got, err, want)
		}
		if written, err := simbroker.Document(want); err != nil || string(written) != document {
			t.Errorf("%#v is written as %s, %v, want %s", want, written, err, document)
		}
	}
}

func TestFaultDocumentMistakes(t *testing.T) {
	for document, want := range map[string]string{
		`hold markers`: "invalid character",
		`{"fault":"hold_markers","topics":["orders"]}`:            `unknown field "topics"`,
		`{"topic":"orders"}`:                                      `fault "" is none`,
		`{"fault":"hold_markers","delay":"5s"}`:                   "hold_markers has no delay; it has topic, partitions",
		`{"fault":"delay_requests"}`:                              "delay is missing",
		`{"fault":"delay_requests","delay":"5"}`:                  "missing unit",
		`{"fault":"delay_requests","delay":"-5s"}`:                "not negative",
		`{"fault":"delay_requests","delay":"5s","apis":["List"]}`: `"List" is none that a broker serves`,
		`{"fault":"fail_requests","error":"BROKEN"}`:              `error "BROKEN" is none`,
		`{"fault":"forget_transactional_id"}`:                     "transactional_id is missing",
	} {
		if f, err := simbroker.ParseFault([]byte(document)); !errors.Is(err, simbroker.ErrFaultDocument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", document, f, err, want)
		}
	}
}

// A snapshot shows what is asked of no broker.
func TestSnapshot(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 2)
	p := s.begin("x", time.Minute)
	s.mustProduce(2, "t", -1, 2, p)
	s.must(s.Kill(3))
	got := s.Snapshot()
	if len(got.Brokers) != 3 || got.Brokers[0].State != "running" || got.Brokers[2].State != "killed" {
		t.Errorf("brokers %+v", got.Brokers)
	}
	var logs []simbroker.LogState
	for _, topic := range got.Topics {
		if topic.Name == "t" {
			logs = topic.Partitions[0].Logs
		}
	}
	if want := []simbroker.LogState{{Broker: 2, HighWatermark: 2, LogEndOffset: 2}}; !reflect.DeepEqual(logs, want) {
		t.Errorf("logs %+v, want %+v", logs, want)
	}
	if len(got.Transactions) != 1 || got.Transactions[0].State != "Ongoing" || !reflect.DeepEqual(got.Transactions[0].Partitions, []string{"t-0"}) {
		t.Errorf("transactions %+v", got.Transactions)
	}
}
