package scenario

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const story = `# A story.
#
# It has a header.
brokers 2
property transactional.id.expiration.ms=1000
requires Produce v12
requires transaction.version 2
id X1 coordinator=B
topic T1 partitions=2 replicas=A,B min.insync.replicas=2

N(3) T1-0 => ok @0
# Something happens.
await 5s T1-0 LEO/HWM/LSO => 3/3/3
hold T1-0 leader => A epoch 0 ISR [A B]
pause B
DescribeProducers T1-0 =>
  | P1 epoch 0
  | P2 epoch 0

await T1-1 LEO/HWM/LSO
`

func TestParse(t *testing.T) {
	s, err := Parse("story", story)
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "A story." || s.Brokers != 2 || s.coordinators["X1"] != "B" {
		t.Errorf("title %q, brokers %d, coordinators %v", s.Title, s.Brokers, s.coordinators)
	}
	if len(s.Requirements) != 2 || s.Requirements[0] != (Requirement{"Produce", 12}) {
		t.Errorf("requirements %v", s.Requirements)
	}
	if topic := s.Topics[0]; topic.Partitions != 2 || len(topic.Replicas) != 2 || topic.Configs[0] != (Property{"min.insync.replicas", "2"}) {
		t.Errorf("topic %+v", topic)
	}
	want := []Step{
		{Line: 11, Command: "N(3) T1-0", Want: "ok @0"},
		{Line: 13, Mode: Await, Within: 5 * time.Second, Command: "T1-0 LEO/HWM/LSO", Want: "3/3/3"},
		{Line: 14, Mode: Hold, Command: "T1-0 leader", Want: "A epoch 0 ISR [A B]"},
		{Line: 15, Command: "pause B"},
		{Line: 16, Command: "DescribeProducers T1-0", Want: "P1 epoch 0\nP2 epoch 0"},
		{Line: 20, Mode: Await, Command: "T1-1 LEO/HWM/LSO"},
	}
	if len(s.Steps) != len(want) {
		t.Fatalf("%d steps, want %d", len(s.Steps), len(want))
	}
	for i, got := range s.Steps {
		w := want[i]
		if got.Line != w.Line || got.Mode != w.Mode || got.Within != w.Within || got.Command != w.Command || got.Want != w.Want {
			t.Errorf("step %d: %+v, want %+v", i, got, w)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"unknown command", "frobnicate T1-0 => ok", "unknown command frobnicate"},
		{"directive after a step", "pause B\ntopic T1", "directives come before"},
		{"output without a command", "  | 3", "output without a command"},
		{"two kinds of output", "pause B => x\n  | y", "begin under a lone"},
		{"no such broker", "pause b", "wants a broker"},
		{"EndTxn without a version", "EndTxn X1 COMMIT (P1,0) => ok", "version"},
		{"producer without an epoch", "EndTxn/v5 X1 COMMIT P1 => ok", "PRODUCER,EPOCH"},
		{"batch with a missing field", "T(P1,0,3) T1-0 => ok @0", "takes 4 fields"},
		{"batch without a partition", "N(3) => ok @0", "needs a partition"},
		{"unknown option", "N(3) T1-0 ack=1 => ok @0", "no option ack"},
		{"unknown field of a batch", "N(3){speed=2} T1-0 => ok @0", "no field"},
		{"unknown timestamp", "ListOffsets ru T1-0 LAST => 0", "no timestamp"},
		{"await of nothing", "await 5s => ok", "no command"},
		{"topic of another name", "topic orders", "T1, T2"},
		{"user of another name", "as alice T1-0 leader => A", "wants a user"},
		{"a user's unknown command", "as U1 frobnicate => ok", "unknown command frobnicate"},
		{"right on nothing", "acl allow U1 READ => ok", "4 or 5 are wanted"},
		{"right on another kind", "acl allow U1 READ queue T1 => ok", "a resource is"},
		{"right on the wrong symbol", "acl allow U1 READ topic G1 => ok", "G1 is no topic"},
		{"unknown operation", "acl allow U1 PEEK topic T1 => ok", "PEEK is no operation; expected"},
		{"neither allow nor deny", "acl permit U1 READ topic T1 => ok", "neither allow nor deny"},
		{"fault without a kind", "fault => F1", "1 are wanted"},
		{"heal of nothing", "heal T1-0", "is no fault"},
		{"brokers are counted", "brokers many", "number"},
		{"broker that the text does not have", "kill D", "no broker D: the text has 3, up to C; the directive for more is brokers 4"},
		{"broker of a clause", "N(3) T1-0 at Z => ok", "no broker Z"},
		{"what is no broker", "N(3) T1-0 at T1 => ok", "T1 is no broker"},
		{"brokers of a reassignment", "brokers 2\nreassign T1-0 to A,C => ok", "no broker C"},
		{"replica that is none", "topic T1 replicas=A,D\nbrokers 3", "no broker D"},
		{"replica twice", "topic T1 replicas=A,A", "each once"},
		{"coordinator that is none", "id X1 coordinator=E", "no broker E"},
		{"topic twice", "topic T1\n\ntopic T1", "topic T1 stands in line 1 already"},
		{"property twice", "property a=1\nproperty a=2", "property a stands in line 1 already"},
		{"directive with an output", "topic=> T1", "a directive has no output"},
		{"requires what is no API", "requires Foo v12", "Foo is no API"},
		{"requires what is no feature", "requires foo.version 1", "foo.version is no feature; expected one of eligible"},
		{"feature without a level", "feature transaction.version", "NAME=LEVEL"},
		{"feature that is none", "feature foo.version=1", "foo.version is no feature"},
		{"level that is none", "feature group.version=on", `group.version is at no level "on"`},
		{"version that is none", "EndTxn/v9 X1 COMMIT (P1,0) => ok", "EndTxn has no version 9; expected one from 0 to 5"},
		{"version of a batch", "N(3)/v99 T1-0 => ok", "Produce has no version 99"},
		{"version for a user", "as U1 Fetch/v99 ru T1-0@0 => ok", "Fetch has no version 99"},
		{"fault that is not there", "fault hold_markers => F1\nheal F2", "there is no fault F2: the lines before make 1"},
		{"instance that is not there", "wake L1", "there is no paused instance L1"},
		{"fault about nothing", "fault hold_markers orders => F1", "orders is no partition, topic or id"},
		{"tally of a topic that is none", "topic T1\ntally T1 of T2", "the text has no topic T2"},
		{"output that is its input", "transform X1 G1 T1-0 T1-0", "T1-0 cannot be both input and output"},
		{"topic that is its own output", "streams X1 G1 T1 T1", "T1 cannot be both input and output"},
		{"sink into its source", "sink X1 T1-0 S1 T1-0", "T1-0 cannot be both input and output"},
		{"time without end", "wait 1000h", "1000h is no time that passes; expected one such as 5s, up to 480h"},
		{"time without a unit", "await 5x T1-0 leader => A", "5x is no time that passes; expected one such as 5s"},
		{"time that goes back", "wait -5s", "-5s is no time that passes"},
		{"held without end", "hold 1000h T1-0 leader => A", "1000h is no time that passes"},
		{"rows without end", "insert S1 100000000", "from 1 to 1000000"},
		{"records without end", "N(100000000) T1-0 => ok", "0 to 1000000 records"},
		{"coordinator without a broker", "id X1 coordinator=1", "coordinator=BROKER"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := Parse("text", c.text)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want a SyntaxError with %q", err, c.want)
			}
		})
	}
}

// Update changes outputs and nothing else.
func TestUpdate(t *testing.T) {
	s, err := Parse("story", story)
	if err != nil {
		t.Fatal(err)
	}
	r := &Result{}
	for i, got := range []string{"ok @0", "3/2/2", "A epoch 0 ISR [A B]", "", "none", "0/0/0"} {
		r.Steps = append(r.Steps, StepResult{Step: s.Steps[i], Got: got})
	}
	want := strings.NewReplacer("=> 3/3/3", "=> 3/2/2", "T1-0 =>\n  | P1 epoch 0\n  | P2 epoch 0", "T1-0 => none",
		"await T1-1 LEO/HWM/LSO", "await T1-1 LEO/HWM/LSO => 0/0/0").Replace(story)
	if got := s.Update(r); got != want {
		t.Errorf("updated text:\n%s\nwant:\n%s", got, want)
	}
}

// Every command says what it does, so that docs/scenarios.md can.
func TestVerbsAreDocumented(t *testing.T) {
	for _, v := range Verbs() {
		if v.Usage == "" || v.Doc == "" {
			t.Errorf("%s has no usage or documentation", v.Name)
		}
	}
}
