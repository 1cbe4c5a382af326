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
		`hold markers`:                                                   `no JSON object; expected one such as {"fault": "hold_markers", "topic": "orders"} (invalid character 'h' looking for beginning of value, at byte 1)`,
		`["hold_markers"]`:                                               `no JSON object; expected one`,
		`null`:                                                           `no JSON object; expected one`,
		`{"fault":"hold_markers"} {}`:                                    `no JSON object; expected one`,
		`{"fault":7}`:                                                    `fault cannot be 7; expected a text in quotes`,
		`{"fault":"hold_markers","topic":7}`:                             `topic cannot be 7; expected a text in quotes`,
		`{"fault":"hold_markers","partitions":0}`:                        `partitions cannot be 0; expected a list of whole numbers, such as [0, 2]`,
		`{"fault":"hold_markers","partitions":[-1]}`:                     `partitions: -1 is none; expected numbers from 0`,
		`{"fault":"hold_fetches","broker":1.5}`:                          `broker cannot be 1.5; expected the id of a broker, a whole number`,
		`{"fault":"cut_off","broker":-1}`:                                `broker -1 is none`,
		`{"fault":"hold_markers","topics":["orders"]}`:                   `hold_markers has no topics; it has topic, partitions`,
		`{"fault":"hold_markers","Topic":"orders"}`:                      `hold_markers has no Topic; it has topic, partitions`,
		`{"fault":"fail_requests","error":"NOT_COORDINATOR","times":-1}`: `times is -1; expected how often`,
		`{"fault":"delay_loading"}`:                                      `unaware and loading are missing`,
		`{"fault":"delay_loading","unaware":"0s","loading":"0s"}`:        `unaware and loading are missing`,
		`{"fault":"delay_loading","unaware":"5s","topic":"orders"}`:      `topic "orders" has no coordinators; expected __transaction_state`,
		`{"fault":"trickle_answers","every":"1s"}`:                       `bytes is 0; expected how many are sent, from 1`,
		`{"fault":"trickle_answers","bytes":5}`:                          `every is missing`,
		`{"fault":"cut_answers","bytes":-1}`:                             `bytes is -1`,
		`{"fault":"skew_clock"}`:                                         `by is missing`,
		`{"topic":"orders"}`:                                             `fault "" is none`,
		`{"fault":"hold_markers","delay":"5s"}`:                          "hold_markers has no delay; it has topic, partitions",
		`{"fault":"delay_requests"}`:                                     "delay is missing",
		`{"fault":"delay_requests","delay":"5"}`:                         `delay cannot be "5"; expected a duration in quotes, such as "5s"`,
		`{"fault":"delay_requests","delay":"-5s"}`:                       "not negative",
		`{"fault":"delay_requests","delay":"5s","apis":["List"]}`:        `"List" is none that a broker serves`,
		`{"fault":"fail_requests","error":"BROKEN"}`:                     `error "BROKEN" is none`,
		`{"fault":"forget_transactional_id"}`:                            "transactional_id is missing",
	} {
		if f, err := simbroker.ParseFault([]byte(document)); !errors.Is(err, simbroker.ErrFaultDocument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", document, f, err, want)
		}
	}
}

// What can never strike is not installed.
func TestFaultsThatNeverStrike(t *testing.T) {
	s := simulated(t, small)
	for _, tt := range []struct {
		fault simbroker.Fault
		want  string
		is    error
	}{
		{simbroker.FailRequests{Err: "NOPE"}, `fail requests with NOPE: error "NOPE" is none`, nil},
		{simbroker.FailRequests{}, `error "" is none`, nil},
		{simbroker.DelayRequests{Delay: -time.Second}, "delay is -1s; expected a duration that is not negative", nil},
		{simbroker.DelayRequests{}, "delay is missing", nil},
		{simbroker.LoseRequests{APIs: []kmsg.Key{999}}, "is none that a broker serves", nil},
		{simbroker.TrickleAnswers{}, "bytes is 0", nil},
		{simbroker.SkewClock{Broker: 2}, "by is missing", nil},
		{simbroker.HoldMarkers{Partitions: []int32{-1}}, "partitions: -1 is none", nil},
		{simbroker.CutOff{Broker: 9}, "broker 9: no such broker (ids are 1 to 3)", simbroker.ErrUnknownBroker},
		{simbroker.HoldFetches{Broker: 9}, "broker 9: no such broker", simbroker.ErrUnknownBroker},
		{simbroker.ForgetTransactionalID{ID: "x"}, "no such transactional id", simbroker.ErrUnknownTransactionalID},
	} {
		if _, err := s.Inject(tt.fault); err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%#v: %v, want %s", tt.fault, err, tt.want)
		}
		func() {
			defer func() {
				if said, ok := recover().(string); !ok || !strings.Contains(said, tt.want) {
					t.Errorf("%#v: Install says %v", tt.fault, said)
				}
			}()
			s.Install(tt.fault)
		}()
	}
	if left := s.Faults(); left != nil {
		t.Errorf("installed %v", left)
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
