package simbroker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// ErrFaultDocument is wrapped by what ParseFault returns.
var ErrFaultDocument = errors.New("not the description of a fault")

// faultDocument is a fault as JSON: its kind under "fault", and of the rest what
// the kind has.
type faultDocument struct {
	Kind            string         `json:"fault"`
	Broker          kafka.BrokerID `json:"broker,omitempty"`
	Topic           string         `json:"topic,omitempty"`
	Partitions      []int32        `json:"partitions,omitempty"`
	APIs            []string       `json:"apis,omitempty"`
	Delay           duration       `json:"delay,omitempty"`
	Error           string         `json:"error,omitempty"`
	Times           int            `json:"times,omitempty"`
	Unaware         duration       `json:"unaware,omitempty"`
	Loading         duration       `json:"loading,omitempty"`
	TransactionalID string         `json:"transactional_id,omitempty"`
	Bytes           int            `json:"bytes,omitempty"`
	Every           duration       `json:"every,omitempty"`
	By              skew           `json:"by,omitempty"`
}

// skew is a duration that may be negative.
type skew time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *skew) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*s = skew(parsed)
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (s skew) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// duration is one in Go's notation, 1m30s.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err == nil && parsed < 0 {
		err = errors.New("a duration is not negative")
	}
	*d = duration(parsed)
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// faultKind is what a kind of fault takes besides its kind, and how it is made.
type faultKind struct {
	fields []string
	build  func(faultDocument) (Fault, error)
}

var faultKinds = map[string]faultKind{
	"hold_markers": {[]string{"topic", "partitions"}, func(d faultDocument) (Fault, error) {
		return HoldMarkers{d.Topic, d.Partitions}, nil
	}},
	"drop_markers": {[]string{"topic", "partitions"}, func(d faultDocument) (Fault, error) {
		return DropMarkers{d.Topic, d.Partitions}, nil
	}},
	"hold_fetches": {[]string{"broker", "topic", "partitions"}, func(d faultDocument) (Fault, error) {
		return HoldFetches{d.Broker, d.Topic, d.Partitions}, nil
	}},
	"delay_requests": {[]string{"broker", "apis", "delay"}, func(d faultDocument) (Fault, error) {
		apis, err := parseAPIs(d.APIs)
		if err == nil && d.Delay == 0 {
			err = errors.New("delay is missing; expected a duration such as 5s")
		}
		return DelayRequests{d.Broker, apis, time.Duration(d.Delay)}, err
	}},
	"fail_requests": {[]string{"broker", "apis", "error", "times"}, func(d faultDocument) (Fault, error) {
		apis, err := parseAPIs(d.APIs)
		code, ok := wire.ErrorNamed(d.Error)
		if err == nil && !ok {
			err = fmt.Errorf("error %q is none; expected one of Kafka's names, such as COORDINATOR_NOT_AVAILABLE", d.Error)
		}
		return FailRequests{d.Broker, apis, code, d.Times}, err
	}},
	"delay_loading": {[]string{"broker", "topic", "partitions", "unaware", "loading"}, func(d faultDocument) (Fault, error) {
		return DelayLoading{d.Broker, d.Topic, d.Partitions, time.Duration(d.Unaware), time.Duration(d.Loading)}, nil
	}},
	"lose_requests": {[]string{"broker", "apis"}, func(d faultDocument) (Fault, error) {
		apis, err := parseAPIs(d.APIs)
		return LoseRequests{d.Broker, apis}, err
	}},
	"trickle_answers": {[]string{"broker", "apis", "bytes", "every"}, func(d faultDocument) (Fault, error) {
		apis, err := parseAPIs(d.APIs)
		if err == nil && (d.Bytes <= 0 || d.Every <= 0) {
			err = errors.New("bytes and every say how much comes how often; expected such as 100 and 200ms")
		}
		return TrickleAnswers{d.Broker, apis, d.Bytes, time.Duration(d.Every)}, err
	}},
	"cut_answers": {[]string{"broker", "apis", "bytes", "times"}, func(d faultDocument) (Fault, error) {
		apis, err := parseAPIs(d.APIs)
		if err == nil && d.Bytes < 0 {
			err = errors.New("bytes is negative; expected how many are sent before the connection is closed")
		}
		return CutAnswers{d.Broker, apis, d.Bytes, d.Times}, err
	}},
	"skew_clock": {[]string{"broker", "by"}, func(d faultDocument) (Fault, error) {
		if d.By == 0 {
			return nil, errors.New("by is missing; expected a duration such as 5m or -5m")
		}
		return SkewClock{d.Broker, time.Duration(d.By)}, nil
	}},
	"cut_off": {[]string{"broker"}, func(d faultDocument) (Fault, error) { return CutOff{d.Broker}, nil }},
	"forget_transactional_id": {[]string{"transactional_id"}, func(d faultDocument) (Fault, error) {
		if d.TransactionalID == "" {
			return nil, errors.New("transactional_id is missing")
		}
		return ForgetTransactionalID{d.TransactionalID}, nil
	}},
}

// ParseFault reads a fault from JSON; docs/simulator.md lists the kinds:
//
//	{"fault": "hold_markers", "topic": "orders", "partitions": [0]}
//
// The error says what is wrong and wraps ErrFaultDocument.
func ParseFault(document []byte) (Fault, error) {
	fail := func(err error) (Fault, error) { return nil, fmt.Errorf("%w: %w", ErrFaultDocument, err) }
	var d faultDocument
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return fail(err)
	}
	kind, ok := faultKinds[d.Kind]
	if !ok {
		return fail(fmt.Errorf("fault %q is none; expected one of %s", d.Kind, strings.Join(slices.Sorted(maps.Keys(faultKinds)), ", ")))
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(document, &given); err != nil {
		return fail(err)
	}
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if field != "fault" && !slices.Contains(kind.fields, field) {
			return fail(fmt.Errorf("%s has no %s; it has %s", d.Kind, field, strings.Join(kind.fields, ", ")))
		}
	}
	f, err := kind.build(d)
	if err != nil {
		return fail(err)
	}
	return f, nil
}

// parseAPIs finds APIs by Kafka's names.
func parseAPIs(names []string) ([]kmsg.Key, error) {
	var keys []kmsg.Key
	for _, name := range names {
		key, ok := wire.APINamed(name)
		if !ok {
			return nil, fmt.Errorf("apis: %q is none that a broker serves; expected Kafka's names, such as ListOffsets", name)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Document is a fault as ParseFault reads it.
func Document(f Fault) ([]byte, error) { return json.Marshal(documentOf(f)) }

func documentOf(f Fault) faultDocument {
	switch f := f.(type) {
	case HoldMarkers:
		return faultDocument{Kind: "hold_markers", Topic: f.Topic, Partitions: f.Partitions}
	case DropMarkers:
		return faultDocument{Kind: "drop_markers", Topic: f.Topic, Partitions: f.Partitions}
	case HoldFetches:
		return faultDocument{Kind: "hold_fetches", Broker: f.Broker, Topic: f.Topic, Partitions: f.Partitions}
	case DelayRequests:
		return faultDocument{Kind: "delay_requests", Broker: f.Broker, APIs: apiNames(f.APIs), Delay: duration(f.Delay)}
	case FailRequests:
		return faultDocument{Kind: "fail_requests", Broker: f.Broker, APIs: apiNames(f.APIs), Error: string(f.Err), Times: f.Times}
	case DelayLoading:
		return faultDocument{
			Kind: "delay_loading", Broker: f.Broker, Topic: f.Topic, Partitions: f.Partitions,
			Unaware: duration(f.Unaware), Loading: duration(f.Loading),
		}
	case LoseRequests:
		return faultDocument{Kind: "lose_requests", Broker: f.Broker, APIs: apiNames(f.APIs)}
	case TrickleAnswers:
		return faultDocument{Kind: "trickle_answers", Broker: f.Broker, APIs: apiNames(f.APIs), Bytes: f.Bytes, Every: duration(f.Every)}
	case CutAnswers:
		return faultDocument{Kind: "cut_answers", Broker: f.Broker, APIs: apiNames(f.APIs), Bytes: f.Bytes, Times: f.Times}
	case SkewClock:
		return faultDocument{Kind: "skew_clock", Broker: f.Broker, By: skew(f.By)}
	case CutOff:
		return faultDocument{Kind: "cut_off", Broker: f.Broker}
	case ForgetTransactionalID:
		return faultDocument{Kind: "forget_transactional_id", TransactionalID: f.ID}
	}
	panic(fmt.Sprintf("fault %T has no document", f))
}

func apiNames(keys []kmsg.Key) []string {
	var names []string
	for _, key := range keys {
		names = append(names, key.Name())
	}
	return names
}
