package scenario

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Scenario is a text that was parsed. It is immutable.
type Scenario struct {
	// Name is the text's name, usually its file's without the extension.
	Name string
	// Title is the first line of the first comment.
	Title string
	// Brokers is how many brokers the story needs, 3 unless the text says
	// otherwise.
	Brokers int
	// Properties are broker properties that the story needs, by Kafka's names,
	// on top of those of its suite.
	Properties []Property
	// Topics are created before the first step.
	Topics []Topic
	// Requirements are what the cluster must offer for the story to make sense.
	Requirements []Requirement
	// Steps are the commands in order.
	Steps []Step

	coordinators map[string]string // X1 or G1 → broker letter
	lines        []string          // of the text, without line breaks
}

// Property is a broker or topic property by Kafka's name.
type Property struct{ Name, Value string }

// Topic is a topic that a scenario asks for.
type Topic struct {
	Symbol     string   // T1, …
	Partitions int32    // at least 1
	Replicas   []string // broker letters, the first leads; the same for all partitions
	Configs    []Property
}

// Requirement is an API in a version, or a finalised feature at a level, that a
// scenario cannot do without.
type Requirement struct {
	Name  string // an API such as Produce, or a feature such as transaction.version
	Level int16
}

// String renders the requirement as it stands in the text.
func (r Requirement) String() string { return fmt.Sprintf("%s %d", r.Name, r.Level) }

// Mode says how often a step's command is carried out.
type Mode uint8

// The modes of a step.
const (
	// Once carries out the command one time and compares.
	Once Mode = iota
	// Await repeats the command until its output is the expected one, or a
	// deadline has passed.
	Await
	// Hold repeats the command for a while, during which its output must stay
	// the expected one.
	Hold
	// Send carries out the command one time and does not wait for an answer:
	// its output is "sent", unless the answer is there at once.
	Send
)

// Step is one command with the output it must give.
type Step struct {
	Line    int // of the text, from 1
	Mode    Mode
	Within  time.Duration // of Await and Hold; zero means the default
	Command string
	// Want is the expected output, lines joined by "\n". A command without
	// output has none.
	Want string

	arrow  bool // the text has "=>"
	extent int  // lines of the text that the step takes
	action Action
}

const (
	arrow        = "=>"
	continuation = "  | "
)

// SyntaxError is a line that Parse does not understand.
type SyntaxError struct {
	Name string
	Line int
	Text string // the line
	Why  string
}

// Error names file, line, cause and text.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %q", e.Name, e.Line, e.Why, e.Text)
}

// Parse reads a text. Commands are those of this package and of extra, which
// may be nil. The error is a *SyntaxError.
func Parse(name, text string, extra ...Verb) (*Scenario, error) {
	s := &Scenario{Name: name, Brokers: 3, coordinators: map[string]string{},
		lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	verbs := verbTable(extra)
	for i := 0; i < len(s.lines); i++ {
		line := s.lines[i]
		fail := func(err error) error {
			return &SyntaxError{Name: name, Line: i + 1, Text: line, Why: err.Error()}
		}
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case strings.HasPrefix(line, "#"):
			if s.Title == "" {
				s.Title = strings.TrimSpace(strings.TrimPrefix(line, "#"))
			}
			continue
		case strings.HasPrefix(line, continuation):
			return nil, fail(errStrayOutput)
		}
		if isDirective(line) {
			if len(s.Steps) > 0 {
				return nil, fail(fmt.Errorf("directives come before the first step"))
			}
			if err := s.directive(strings.Fields(line)); err != nil {
				return nil, fail(err)
			}
			continue
		}
		step, err := parseStep(s.lines, i, verbs)
		if err != nil {
			return nil, fail(err)
		}
		s.Steps = append(s.Steps, step)
		i += step.extent - 1
	}
	return s, nil
}

func parseStep(lines []string, at int, verbs map[string]Verb) (Step, error) {
	step, words, err := splitStep(lines, at)
	if err != nil {
		return step, err
	}
	if words, err = step.parseMode(words); err != nil {
		return step, err
	}
	step.Command = strings.Join(words, " ")
	step.action, err = compile(words, verbs)
	return step, err
}

// splitStep tells the words of a step from its output, without understanding
// them.
func splitStep(lines []string, at int) (step Step, words []string, err error) {
	step = Step{Line: at + 1, extent: 1}
	command, want, found := strings.Cut(lines[at], arrow)
	step.arrow, step.Want = found, strings.TrimSpace(want)
	for at+step.extent < len(lines) && strings.HasPrefix(lines[at+step.extent], continuation) {
		if !found || strings.TrimSpace(want) != "" {
			return step, nil, fmt.Errorf("several lines of output begin under a lone %s", arrow)
		}
		if step.extent > 1 {
			step.Want += "\n"
		}
		step.Want += strings.TrimPrefix(lines[at+step.extent], continuation)
		step.extent++
	}
	return step, strings.Fields(command), nil
}

func (s *Step) parseMode(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, errNoCommand
	}
	switch words[0] {
	case "await":
		s.Mode = Await
	case "hold":
		s.Mode = Hold
	case "send":
		s.Mode = Send
	default:
		return words, nil
	}
	if words = words[1:]; len(words) == 0 {
		return nil, errNoCommand
	}
	if d, err := time.ParseDuration(words[0]); err == nil {
		s.Within, words = d, words[1:]
	}
	if len(words) == 0 {
		return nil, errNoCommand
	}
	return words, nil
}

var directives = map[string]bool{"brokers": true, "property": true, "topic": true, "id": true, "group": true, "requires": true}

func isDirective(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return directives[word]
}

var (
	topicSymbol  = regexp.MustCompile(`^T\d+$`)
	idSymbol     = regexp.MustCompile(`^X\d+$`)
	groupSymbol  = regexp.MustCompile(`^G\d+$`)
	brokerLetter = regexp.MustCompile(`^[A-Z]$`)
)

func (s *Scenario) directive(words []string) error {
	name, args := words[0], words[1:]
	if len(args) == 0 {
		return fmt.Errorf("%s needs an argument", name)
	}
	switch name {
	case "brokers":
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > 26 || len(args) > 1 {
			return fmt.Errorf("brokers wants one number from 1 to 26")
		}
		s.Brokers = n
	case "property":
		key, value, ok := strings.Cut(strings.Join(args, " "), "=")
		if !ok {
			return fmt.Errorf("property wants NAME=VALUE")
		}
		s.Properties = append(s.Properties, Property{key, value})
	case "topic":
		topic, err := parseTopic(args)
		if err != nil {
			return err
		}
		s.Topics = append(s.Topics, topic)
	case "id", "group":
		return s.coordinatorDirective(name, args)
	case "requires":
		level, err := strconv.ParseInt(strings.TrimPrefix(args[len(args)-1], "v"), 10, 16)
		if err != nil || len(args) != 2 {
			return fmt.Errorf("requires wants an API and a version, or a feature and a level")
		}
		s.Requirements = append(s.Requirements, Requirement{args[0], int16(level)})
	}
	return nil
}

func (s *Scenario) coordinatorDirective(name string, args []string) error {
	symbol := idSymbol
	if name == "group" {
		symbol = groupSymbol
	}
	letter, ok := strings.CutPrefix(args[len(args)-1], "coordinator=")
	if !ok || len(args) != 2 || !symbol.MatchString(args[0]) || !brokerLetter.MatchString(letter) {
		return fmt.Errorf("%s wants a symbol and coordinator=BROKER", name)
	}
	s.coordinators[args[0]] = letter
	return nil
}

func parseTopic(args []string) (Topic, error) {
	t := Topic{Symbol: args[0], Partitions: 1, Replicas: []string{"A"}}
	if !topicSymbol.MatchString(t.Symbol) {
		return t, fmt.Errorf("topics are called T1, T2, …")
	}
	for _, arg := range args[1:] {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return t, fmt.Errorf("topic wants NAME=VALUE, not %s", arg)
		}
		switch key {
		case "partitions":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 1 {
				return t, fmt.Errorf("partitions wants a number from 1")
			}
			t.Partitions = int32(n)
		case "replicas":
			t.Replicas = strings.Split(value, ",")
			for _, letter := range t.Replicas {
				if !brokerLetter.MatchString(letter) {
					return t, fmt.Errorf("replicas are brokers A, B, …")
				}
			}
		default:
			t.Configs = append(t.Configs, Property{key, value})
		}
	}
	return t, nil
}

// Update renders the text with the outputs of a run in the place of the
// expected ones. Everything else stays as it is.
func (s *Scenario) Update(r *Result) string {
	var b strings.Builder
	next := 1
	copyTo := func(line int) {
		for ; next < line; next++ {
			b.WriteString(s.lines[next-1])
			b.WriteByte('\n')
		}
	}
	for i, step := range s.Steps {
		copyTo(step.Line)
		if i >= len(r.Steps) {
			break
		}
		command, _, _ := strings.Cut(s.lines[step.Line-1], arrow)
		b.WriteString(strings.TrimRight(command, " "))
		b.WriteString(renderOutput(r.Steps[i].Got))
		b.WriteByte('\n')
		next = step.Line + step.extent
	}
	copyTo(len(s.lines) + 1)
	return b.String()
}

func renderOutput(output string) string {
	switch {
	case output == "":
		return ""
	case strings.Contains(output, "\n"):
		return " " + arrow + "\n" + continuation + strings.ReplaceAll(output, "\n", "\n"+continuation)
	}
	return " " + arrow + " " + output
}
