package java

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// text is a file of testdata: lines for the reader and commands.
type text struct {
	name  string
	steps []step
	// end are the lines behind the last command's output.
	end []string
}

// step is a command, with the lines before it and what it has to print.
type step struct {
	before  []string // comments and empty lines
	command string
	input   []string
	want    []string
}

const (
	commandMark = "$ "
	inputMark   = "< "
)

// readText reads testdata/NAME.txt. An empty line or a comment ends the output of
// a command.
func readText(name string) (*text, error) {
	t := &text{name: name}
	b, err := os.ReadFile(t.path())
	if err != nil {
		return nil, err
	}
	between := true
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, commandMark)
		last := len(t.steps) - 1
		switch {
		case isCommand:
			t.steps = append(t.steps, step{before: t.end, command: command})
			t.end, between = nil, false
		case line == "" || strings.HasPrefix(line, "#"):
			t.end, between = append(t.end, line), true
		case between:
			return nil, fmt.Errorf("%s: %q belongs to no command", t.path(), line)
		case strings.HasPrefix(line, inputMark) && t.steps[last].want == nil:
			t.steps[last].input = append(t.steps[last].input, strings.TrimPrefix(line, inputMark))
		default:
			t.steps[last].want = append(t.steps[last].want, line)
		}
	}
	return t, nil
}

// path is where the text is.
func (t *text) path() string { return filepath.Join("testdata", t.name+".txt") }

// render is the text with what the steps printed.
func (t *text) render(printed [][]string) string {
	var lines []string
	for i, s := range t.steps {
		lines = append(lines, s.before...)
		lines = append(lines, commandMark+s.command)
		for _, line := range s.input {
			lines = append(lines, inputMark+line)
		}
		lines = append(lines, printed[i]...)
	}
	lines = append(lines, t.end...)
	return strings.Join(lines, "\n") + "\n"
}

// machinery is what a text can do to the processes of a cluster's brokers.
type machinery interface {
	Kill(ctx context.Context, broker int32) error
	Start(ctx context.Context, broker int32) error
}

// player plays texts on a cluster.
type player struct {
	shell     *shell
	machinery machinery
	bootstrap []string
	symbols   *symbols
}

// errUnknownCommand is returned for a command that is neither one of Kafka's
// tools nor a program.
var errUnknownCommand = errors.New("no such command")

// errUnsettled is returned for a command that prints something else each time.
var errUnsettled = errors.New("the output goes on changing: what differs wants a symbol")

const (
	// eventually marks a command whose output is what comes of something that
	// takes its time: it is repeated.
	eventually = "eventually "
	settled    = 30 * time.Second // within which the output has come, or stays
	again      = 200 * time.Millisecond
	still      = 2 * time.Second // without a change is the end of it
)

// play runs a step and returns its lines.
func (p *player) play(s step) ([]string, error) {
	command, repeated := strings.CutPrefix(s.command, eventually)
	lines, err := p.once(command, s.input)
	if !repeated {
		return lines, err
	}
	known := p.symbols.clone()
	for end := time.Now().Add(settled); err == nil && !slices.Equal(lines, s.want) && time.Now().Before(end); {
		<-time.After(again)
		p.symbols = known.clone()
		lines, err = p.once(command, s.input)
	}
	return lines, err
}

// settle runs a step and returns its lines when they do not change any more.
// What goes on changing is an error with the last two outputs.
func (p *player) settle(s step) ([]string, error) {
	command, repeated := strings.CutPrefix(s.command, eventually)
	known := p.symbols.clone()
	lines, err := p.once(command, s.input)
	if !repeated {
		return lines, err
	}
	var before []string
	end := time.Now().Add(settled)
	for since := time.Now(); err == nil && time.Since(since) < still; {
		if time.Now().After(end) {
			return nil, fmt.Errorf("%w: after %v, of two outputs:\n%s", errUnsettled, settled, difference(before, lines))
		}
		<-time.After(again)
		p.symbols = known.clone()
		var next []string
		if next, err = p.once(command, s.input); !slices.Equal(next, lines) {
			before, lines, since = lines, next, time.Now()
		}
	}
	return lines, err
}

// once runs a command.
func (p *player) once(command string, input []string) ([]string, error) {
	words := splitWords(command)
	for i, word := range words {
		words[i] = p.symbols.value(word)
	}
	if words[0] == "broker" {
		return nil, p.broker(words[1:])
	}
	class, isTool := kafka.Tools[words[0]]
	arguments := words[1:]
	switch {
	case isTool:
		arguments = append([]string{"--bootstrap-server", strings.Join(p.bootstrap, ",")}, arguments...)
	case strings.HasSuffix(words[0], ".sh"):
		return nil, fmt.Errorf("%w: %s", errUnknownCommand, words[0])
	default:
		class, arguments = words[0], append([]string{strings.Join(p.bootstrap, ",")}, arguments...)
	}
	printed, status, err := p.shell.run(class, arguments, input)
	if err != nil {
		return nil, err
	}
	lines := p.symbols.replace(printed)
	if status != 0 {
		lines = append(lines, "status "+strconv.Itoa(status))
	}
	return lines, nil
}

// broker kills or starts one.
func (p *player) broker(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("%w: broker kill|start ID", errUnknownCommand)
	}
	id, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch words[0] {
	case "kill":
		return p.machinery.Kill(ctx, int32(id))
	case "start":
		return p.machinery.Start(ctx, int32(id))
	}
	return fmt.Errorf("%w: broker %s", errUnknownCommand, words[0])
}

// splitWords splits a command at spaces; what stands between single quotes is one
// word.
func splitWords(command string) []string {
	var words []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// difference shows the lines of two outputs that are only in one of them.
func difference(want, got []string) string {
	var b strings.Builder
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			b.WriteString("  " + want[i] + "\n")
			i, j = i+1, j+1
		case i < len(want) && (j == len(got) || !slices.Contains(got[j:], want[i])):
			b.WriteString("- " + want[i] + "\n")
			i++
		default:
			b.WriteString("+ " + got[j] + "\n")
			j++
		}
	}
	return b.String()
}
