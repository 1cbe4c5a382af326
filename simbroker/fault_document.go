package simbroker

import (
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
	By              duration       `json:"by,omitempty"`
}

// duration is one in Go's notation, 1m30s or -5m.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
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
		return DelayRequests{d.Broker, apis, time.Duration(d.Delay)}, err
	}},
	"fail_requests": {[]string{"broker", "apis", "error", "times"}, func(d faultDocument) (Fault, error) {
		apis, err := parseAPIs(d.APIs)
		return FailRequests{d.Broker, apis, kafka.Error(d.Error), d.Times}, err
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
		return TrickleAnswers{d.Broker, apis, d.Bytes, time.Duration(d.Every)}, err
	}},
	"cut_answers": {[]string{"broker", "apis", "bytes", "times"}, func(d faultDocument) (Fault, error) {
		apis, err := parseAPIs(d.APIs)
		return CutAnswers{d.Broker, apis, d.Bytes, d.Times}, err
	}},
	"skew_clock": {[]string{"broker", "by"}, func(d faultDocument) (Fault, error) {
		return SkewClock{d.Broker, time.Duration(d.By)}, nil
	}},
	"cut_off": {[]string{"broker"}, func(d faultDocument) (Fault, error) { return CutOff{d.Broker}, nil }},
	"forget_transactional_id": {[]string{"transactional_id"}, func(d faultDocument) (Fault, error) {
		return ForgetTransactionalID{d.TransactionalID}, nil
	}},
}

// ParseFault reads a fault from JSON; docs/simulator.md lists the kinds:
//
//	{"fault": "hold_markers", "topic": "orders", "partitions": [0]}
//
// The error says what is wrong and wraps ErrFaultDocument.
func ParseFault(document []byte) (Fault, error) {
	f, err := parseFault(document)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFaultDocument, err)
	}
	return f, nil
}

func parseFault(document []byte) (Fault, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(document, &given); err != nil || given == nil {
		return nil, fmt.Errorf(`no JSON object; expected one such as {"fault": "hold_markers", "topic": "orders"}%s`, place(err))
	}
	var d faultDocument
	if err := d.set("fault", given["fault"]); err != nil {
		return nil, err
	}
	kind, ok := faultKinds[d.Kind]
	if !ok {
		return nil, fmt.Errorf("fault %q is none; expected one of %s", d.Kind, strings.Join(slices.Sorted(maps.Keys(faultKinds)), ", "))
	}
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if field != "fault" && !slices.Contains(kind.fields, field) {
			return nil, fmt.Errorf("%s has no %s; it has %s", d.Kind, field, strings.Join(kind.fields, ", "))
		}
		if err := d.set(field, given[field]); err != nil {
			return nil, err
		}
	}
	f, err := kind.build(d)
	if err == nil {
		err = checkFault(f)
	}
	return f, err
}

// place says where JSON goes wrong, if it does.
func place(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf(" (%v, at byte %d)", syntax, syntax.Offset)
	}
	return ""
}

// set gives a field its value. A value that is not there leaves it as it is.
func (d *faultDocument) set(field string, value json.RawMessage) error {
	const text, number, period = `a text in quotes`, "a whole number", `a duration in quotes, such as "5s"`
	target := map[string]struct {
		value    any
		expected string
	}{
		"fault":            {&d.Kind, text},
		"broker":           {&d.Broker, "the id of a broker, a whole number"},
		"topic":            {&d.Topic, text},
		"partitions":       {&d.Partitions, "a list of whole numbers, such as [0, 2]"},
		"apis":             {&d.APIs, `a list of names, such as ["Produce", "Fetch"]`},
		"delay":            {&d.Delay, period},
		"error":            {&d.Error, text},
		"times":            {&d.Times, number},
		"unaware":          {&d.Unaware, period},
		"loading":          {&d.Loading, period},
		"transactional_id": {&d.TransactionalID, text},
		"bytes":            {&d.Bytes, number},
		"every":            {&d.Every, period},
		"by":               {&d.By, `a duration in quotes, such as "5m" or "-5m"`},
	}[field]
	if value == nil {
		return nil
	}
	if err := json.Unmarshal(value, target.value); err != nil {
		return fmt.Errorf("%s cannot be %s; expected %s", field, value, target.expected)
	}
	return nil
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
		return faultDocument{Kind: "skew_clock", Broker: f.Broker, By: duration(f.By)}
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
