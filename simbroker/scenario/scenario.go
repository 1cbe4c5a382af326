package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scenario is a text that was parsed. It is immutable, but for File.
type Scenario struct {
	// Name is the text's name, usually its file's without the extension. It is part
	// of the real names of topics, groups and ids.
	Name string
	// File is what errors call the text; empty means Name.
	File string
	// Title is the first line of the first comment.
	Title string
	// Brokers is how many brokers the story needs, 3 unless the text says
	// otherwise.
	Brokers int
	// Properties are broker properties that the story needs, by Kafka's names,
	// on top of those of its suite.
	Properties []Property
	// Features are the levels of features that the story needs, which are put in
	// force before it and put back behind it.
	Features []Feature
	// Vendor is whose brokers they have to seem to be, by what they offer; empty
	// means that any will do.
	Vendor string
	// Topics are created before the first step.
	Topics []Topic
	// Requirements are what the cluster must offer for the story to make sense.
	Requirements []Requirement
	// Steps are the commands in order.
	Steps []Step

	coordinators map[string]string // X1 or G1 → broker letter
	declared     map[string]int    // the line of a directive, by its word and what it is about: "topic T1"
	lines        []string          // of the text, without line breaks
}

// file is what errors call the text.
func (s *Scenario) file() string { return cmp.Or(s.File, s.Name) }

// LineOf is the line of a directive by its word and what it is about, such as
// "topic" and "T1"; 0 if the text has none.
func (s *Scenario) LineOf(directive, about string) int { return s.declared[directive+" "+about] }

// Mistake is an error about a line of the text, counted from 1.
func (s *Scenario) Mistake(line int, why error) *SyntaxError {
	return &SyntaxError{Name: s.file(), Line: line, Text: s.lines[line-1], Why: why.Error()}
}

// at is an error about a line of the text, which is as it stands there but for its
// output. Line 0 is the text as a whole.
func (s *Scenario) at(line int, err error) error {
	switch {
	case err == nil:
		return nil
	case line == 0:
		return fmt.Errorf("%s: %w", s.file(), err)
	}
	command, _, _ := strings.Cut(s.lines[line-1], arrow)
	return fmt.Errorf("%s:%d: %s: %w", s.file(), line, strings.Join(strings.Fields(command), " "), err)
}

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
	compiled
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

// What is wrong with lines, whatever the verbs.
var (
	errStrayOutput = errors.New("output without a command; each line of it begins with two spaces, | and one space, below a command and a lone =>")
	errNoCommand   = errors.New("no command")
)

// Parse reads a text. Commands are those of this package and of extra, which
// may be nil. The error is a *SyntaxError.
func Parse(name, text string, extra ...Verb) (*Scenario, error) {
	s := &Scenario{Name: name, Brokers: 3, coordinators: map[string]string{}, declared: map[string]int{}, lines: splitLines(text)}
	verbs := verbTable(extra)
	for i := 0; i < len(s.lines); i++ {
		line := s.lines[i]
		fail := func(err error) (*Scenario, error) { return nil, s.Mistake(i+1, err) }
		switch kindOf(line) {
		case blankLine:
		case commentLine:
			if s.Title == "" {
				s.Title = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
			}
		case outputLine:
			return fail(errStrayOutput)
		case directiveLine:
			if len(s.Steps) > 0 {
				return fail(fmt.Errorf("directives come before the first step"))
			}
			if err := s.directive(i+1, strings.Fields(line)); err != nil {
				return fail(err)
			}
		default:
			step, err := parseStep(s.lines, i, verbs)
			if err != nil {
				return fail(err)
			}
			s.Steps = append(s.Steps, step)
			i += step.extent - 1
		}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// splitLines is a text's lines in UTF-8, whichever system ended them, without marks
// of that encoding.
func splitLines(text string) []string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\ufeff", "")
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r")
	}
	return lines
}

// lineKind is what a line is.
type lineKind uint8

const (
	stepLine lineKind = iota
	blankLine
	commentLine
	directiveLine
	outputLine
)

// kindOf tells what a line is, however it is indented. Only lines of output must
// begin in one way: what follows is as it is.
func kindOf(line string) lineKind {
	words := strings.Fields(line)
	switch {
	case strings.HasPrefix(line, continuation), len(words) > 0 && strings.HasPrefix(words[0], "|"):
		return outputLine
	case len(words) == 0:
		return blankLine
	case strings.HasPrefix(words[0], "#"):
		return commentLine
	}
	if word, _, _ := strings.Cut(words[0], arrow); directives[word] {
		return directiveLine
	}
	return stepLine
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
	step.compiled, err = compile(words, verbs)
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
	if first := words[0][0]; s.Mode != Send && (first >= '0' && first <= '9' || first == '-') {
		var err error
		if s.Within, err = parsePeriod(words[0]); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return nil, errNoCommand
	}
	return words, nil
}

var directives = map[string]bool{"brokers": true, "property": true, "feature": true, "vendor": true, "topic": true, "id": true, "group": true, "requires": true}

func (s *Scenario) directive(line int, words []string) error {
	name, args := words[0], words[1:]
	if strings.Contains(name, arrow) {
		return fmt.Errorf("a directive has no output")
	}
	if len(args) == 0 {
		return fmt.Errorf("%s needs an argument", name)
	}
	about := args[0]
	switch name {
	case "brokers":
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > 26 || len(args) > 1 {
			return fmt.Errorf("brokers wants one number from 1 to 26")
		}
		s.Brokers, about = n, ""
	case "property":
		key, value, ok := strings.Cut(strings.Join(args, " "), "=")
		if !ok || key == "" {
			return fmt.Errorf("property wants NAME=VALUE")
		}
		s.Properties = append(s.Properties, Property{key, value})
		about = key
	case "feature":
		feature, err := ParseFeature(strings.Join(args, " "))
		if err != nil {
			return err
		}
		s.Features = append(s.Features, feature)
		about = feature.Name
	case "vendor":
		if len(args) > 1 {
			return fmt.Errorf("vendor wants one name")
		}
		s.Vendor, about = args[0], ""
	case "topic":
		topic, err := parseTopic(args)
		if err != nil {
			return err
		}
		s.Topics = append(s.Topics, topic)
	case "id", "group":
		if err := s.coordinatorDirective(name, args); err != nil {
			return err
		}
	case "requires":
		r, err := parseRequirement(args)
		if err != nil {
			return err
		}
		s.Requirements = append(s.Requirements, r)
	}
	key := name + " " + about
	if before, twice := s.declared[key]; twice {
		return fmt.Errorf("%s stands in line %d already", strings.TrimSpace(key), before)
	}
	s.declared[key] = line
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

// features are those that Kafka 4.3 has (rule J4).
var features = []string{"eligible.leader.replicas.version", "group.version", "kraft.version", "metadata.version", "share.version", "streams.version", "transaction.version"}

func checkFeature(name string) error {
	if !slices.Contains(features, name) {
		return fmt.Errorf("%s is no feature; expected one of %s", name, strings.Join(features, ", "))
	}
	return nil
}

// ParseFeature reads a feature and its level, NAME=LEVEL.
func ParseFeature(text string) (Feature, error) {
	name, level, ok := strings.Cut(text, "=")
	if !ok {
		return Feature{}, fmt.Errorf("a feature is NAME=LEVEL, such as transaction.version=1")
	}
	n, err := strconv.ParseInt(level, 10, 16)
	if err != nil || n < 0 {
		return Feature{}, fmt.Errorf("%s is at no level %q; expected a number from 0", name, level)
	}
	return Feature{name, int16(n)}, checkFeature(name)
}

func parseRequirement(args []string) (Requirement, error) {
	number, isVersion := strings.CutPrefix(args[len(args)-1], "v")
	level, err := strconv.ParseInt(number, 10, 16)
	if err != nil || len(args) != 2 || level < 0 {
		return Requirement{}, fmt.Errorf("requires wants an API and a version, or a feature and a level")
	}
	r := Requirement{args[0], int16(level)}
	if apiKey(r.Name) >= 0 {
		return r, nil
	}
	if isVersion {
		return r, fmt.Errorf("%s is no API; expected one of Kafka's names, such as Produce", r.Name)
	}
	return r, checkFeature(r.Name)
}

// maxPartitions is how many a topic of a text may have.
const maxPartitions = 100_000

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
			if err != nil || n < 1 || n > maxPartitions {
				return t, fmt.Errorf("partitions wants a number from 1 to %d", maxPartitions)
			}
			t.Partitions = int32(n)
		case "replicas":
			t.Replicas = strings.Split(value, ",")
			for i, letter := range t.Replicas {
				if !brokerLetter.MatchString(letter) || slices.Contains(t.Replicas[:i], letter) {
					return t, fmt.Errorf("replicas are brokers A, B, …, each once")
				}
			}
		default:
			t.Configs = append(t.Configs, Property{key, value})
		}
	}
	return t, nil
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
