package scenario

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func aborted(producer, first int64) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	return []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: producer, FirstOffset: first}}
}

// quiet is a cluster of one broker on a clock of its own, which answers what a
// scenario without topics asks of it.
type quiet struct {
	noFaults
	now time.Time
}

func (q *quiet) Brokers() []int32                              { return []int32{1} }
func (q *quiet) Now() time.Time                                { return q.now }
func (q *quiet) Pause(context.Context, int32) error            { return nil }
func (q *quiet) Resume(context.Context, int32) error           { return nil }
func (q *quiet) Wait(_ context.Context, d time.Duration) error { q.now = q.now.Add(d); return nil }

func (q *quiet) Request(_ context.Context, _ int32, _ string, req kmsg.Request) (kmsg.Response, error) {
	resp := req.ResponseKind()
	switch r := resp.(type) {
	case *kmsg.MetadataResponse:
		r.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1}}
	case *kmsg.ApiVersionsResponse:
		r.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 0, MaxVersion: 11}}
	}
	return resp, nil
}

// counter is a command that prints how often it was carried out.
func counter() Verb {
	n := 0
	return Verb{Name: "count", Usage: "count", Doc: "counts", Parse: func([]string) (Action, error) {
		return func(context.Context, *Play) (string, error) {
			n++
			return strings.Repeat("I", n), nil
		}, nil
	}}
}

func runText(t *testing.T, text string, verbs ...Verb) (*Result, error) {
	t.Helper()
	s, err := Parse("text", text, verbs...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Run(context.Background(), &quiet{now: time.Unix(0, 0)}, Options{})
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		name, step string
		ok         bool
		attempts   int
		took       time.Duration
	}{
		{"once and right", "count => I", true, 1, 0},
		{"once and wrong", "count => II", false, 1, 0},
		{"awaited", "await count => III", true, 3, 2 * pollPeriod},
		{"awaited in vain", "await 100ms count => never", false, 6, 100 * time.Millisecond},
		{"sent and answered at once", "send count => I", true, 1, 0},
		{"held and broken", "hold count => I", false, 2, pollPeriod},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := runText(t, "brokers 1\n"+c.step, counter())
			if err != nil {
				t.Fatal(err)
			}
			s := r.Steps[0]
			if s.OK() != c.ok || s.Attempts != c.attempts || s.End.Sub(s.Begin) != c.took {
				t.Errorf("ok %v after %d attempts and %v, want %v, %d, %v", s.OK(), s.Attempts, s.End.Sub(s.Begin), c.ok, c.attempts, c.took)
			}
			if (r.Err() == nil) != c.ok {
				t.Errorf("Err is %v", r.Err())
			}
		})
	}
}

// What is sent is not waited for.
func TestSend(t *testing.T) {
	silent := Verb{Name: "ask", Usage: "ask", Doc: "asks in vain", Parse: func([]string) (Action, error) {
		return func(ctx context.Context, _ *Play) (string, error) {
			if _, limited := ctx.Deadline(); !limited {
				return "", errors.New("no limit")
			}
			return "", ErrNoAnswer
		}, nil
	}}
	r, err := runText(t, "brokers 1\nsend ask => sent", silent)
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() != nil {
		t.Error(r.Err())
	}
}

// A difference is shown with its line, what was wanted and what came.
func TestErrShowsTheDifference(t *testing.T) {
	r, err := runText(t, "brokers 1\n\ncount => II", counter())
	if err != nil {
		t.Fatal(err)
	}
	const want = "text:3: count\n  want II\n  got  I"
	if r.Err() == nil || r.Err().Error() != want {
		t.Errorf("%v, want %s", r.Err(), want)
	}
}

func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		text    string
		offered bool
	}{
		{"brokers 1\nrequires Produce v11", true},
		{"brokers 1\nrequires Produce v12", false},
		{"brokers 1\nrequires EndTxn v1", false},
		{"brokers 1\nrequires transaction.version 2", false},
		{"brokers 2", false},
		{"brokers 1\nN(1)/v11 T1-0 => ok @0", true},
		{"brokers 1\nN(1)/v12 T1-0 => ok @0", false},
		{"brokers 1\nEndTxn/v4 X1 COMMIT (P1,0) => ok", false},
		{"brokers 1\nvendor kafka-3.9", false},
	} {
		s, err := Parse("text", c.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Offered(context.Background(), &quiet{now: time.Unix(0, 0)}); (err == nil) != c.offered || !c.offered && !errors.Is(err, ErrNotOffered) {
			t.Errorf("%q: %v, offered should be %v", c.text, err, c.offered)
		}
	}
}

// A step that makes request after request is given up, also if each goes on where
// the last one failed.
func TestRequestsOfAStepAreBounded(t *testing.T) {
	asks := func(persistent bool) Verb {
		return Verb{Name: "ask", Usage: "ask", Doc: "asks without end", Parse: func([]string) (Action, error) {
			return func(ctx context.Context, p *Play) (string, error) {
				for ctx.Err() == nil {
					if _, err := p.ask(ctx, 1, kmsg.NewPtrMetadataRequest()); err != nil && !persistent {
						return "", err
					}
				}
				return "", ctx.Err()
			}, nil
		}}
	}
	for _, persistent := range []bool{false, true} {
		s, err := Parse("text", "brokers 1\nask", asks(persistent))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Run(context.Background(), &quiet{now: time.Unix(0, 0)}, Options{Requests: 50})
		if want := "text:2: ask: it has no end: 50 requests were made"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s…", err, want)
		}
	}
}

// A broker that the text left paused is resumed at the end.
func TestRestore(t *testing.T) {
	s, err := Parse("text", "brokers 1\npause A")
	if err != nil {
		t.Fatal(err)
	}
	resumed := &resuming{quiet: quiet{now: time.Unix(0, 0)}}
	if _, err := s.Run(context.Background(), resumed, Options{}); err != nil {
		t.Fatal(err)
	}
	if resumed.count != 1 {
		t.Errorf("resumed %d times, want once", resumed.count)
	}
}

type resuming struct {
	quiet
	count int
}

func (r *resuming) Resume(context.Context, int32) error { r.count++; return nil }

// An awaited output that is discarded leaves no symbols behind.
func TestSymbolsOfDiscardedOutputs(t *testing.T) {
	n := int64(0)
	shows := Verb{Name: "show", Usage: "show", Doc: "shows another producer each time", Parse: func([]string) (Action, error) {
		return func(_ context.Context, p *Play) (string, error) {
			n++
			return p.symbols.producer(100+n) + strings.Repeat("!", int(n)), nil
		}, nil
	}}
	r, err := runText(t, "brokers 1\nawait show => P1!!!\nshow => P2!!!!", shows)
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() != nil {
		t.Error(r.Err())
	}
}

func TestSymbols(t *testing.T) {
	s := newSymbols()
	if got := s.producer(500); got != "P1" {
		t.Errorf("first producer is %s", got)
	}
	invented, err := s.producerID("P2")
	if err != nil || invented < inventedProducers || s.producer(invented) != "P2" {
		t.Errorf("P2 is %d, %v", invented, err)
	}
	if _, err := s.producerID("P4"); err == nil {
		t.Error("P4 is named before P3")
	}
	if got := s.coordinatorEpoch(500, 9) + s.coordinatorEpoch(500, 11) + s.coordinatorEpoch(500, 9) + s.coordinatorEpoch(invented, 11) + s.coordinatorEpoch(500, -1); got != "CE1CE2CE1CE1-1" {
		t.Errorf("coordinator epochs %s", got)
	}
	if epoch, err := s.epochOf(500, "CE2"); err != nil || epoch != 11 {
		t.Errorf("CE2 is %d, %v", epoch, err)
	}
	if _, err := s.epochOf(invented, "CE2"); err == nil {
		t.Error("CE2 of the second producer has not appeared")
	}
}
