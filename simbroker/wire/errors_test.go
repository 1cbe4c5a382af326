package wire

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The codes are those that a client knows under the same names.
func TestCodesAreThoseOfKafka(t *testing.T) {
	for err, code := range codes {
		known := kerr.TypedErrorForCode(code)
		if err == kafka.ErrNotLeaderOrFollower && known == kerr.NotLeaderForPartition {
			continue // renamed in Kafka 2.6, not in kerr
		}
		if known == nil || known.Message != string(err) {
			t.Errorf("%s has code %d, which is %v", err, code, known)
		}
	}
}

// Every error that a room can answer has a code.
func TestEveryRoomErrorHasACode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../kafka/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := codes[kafka.Error(text)]; !ok {
				t.Errorf("%s has no code", text)
			}
			found++
		}
		return true
	})
	if found == 0 {
		t.Error("no errors found in package kafka")
	}
}

func TestCodeAndMessage(t *testing.T) {
	for _, test := range []struct {
		why     string
		err     error
		code    int16
		message string // "null" for null
	}{
		{"success", nil, 0, "null"},
		{"a name says it all", kafka.ErrInvalidTxnState, 48, "null"},
		{"wrapped with more to say", fmt.Errorf("topic t: %w", kafka.ErrInvalidRequest), 42, "topic t: INVALID_REQUEST"},
		{"a refusal's own words", &controller.Refusal{Err: kafka.ErrInvalidPartitions, Message: "Topic has 3."}, 37, "Topic has 3."},
		{"no error of Kafka's", fmt.Errorf("disk on fire"), -1, "disk on fire"},
	} {
		message := "null"
		if m := messageOf(test.err); m != nil {
			message = *m
		}
		if code := codeOf(test.err); code != test.code || message != test.message {
			t.Errorf("%s: %d %q, want %d %q", test.why, code, message, test.code, test.message)
		}
	}
}
