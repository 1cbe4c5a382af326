package scenario

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// StepResult is a step with what it gave.
type StepResult struct {
	Step
	Got        string
	Begin, End time.Time // on the cluster's clock
	Attempts   int
}

// OK says whether the output is the expected one.
func (r StepResult) OK() bool { return r.Got == r.Want }

// String renders the step as it stands in a text, with the output that came,
// and says so if another was expected.
func (r StepResult) String() string {
	line := r.Command + renderOutput(r.Got)
	if !r.OK() {
		line += "\n# expected" + renderOutput(r.Want)
	}
	return line
}

// Result is what a scenario gave, step by step.
type Result struct {
	Name  string // by which errors call the text: its File, or its Name without one
	Steps []StepResult
}

// Err is nil if every step gave its expected output; otherwise it shows each
// difference with the line of the text.
func (r *Result) Err() error {
	var b strings.Builder
	for _, s := range r.Steps {
		if !s.OK() {
			fmt.Fprintf(&b, "\n%s:%d: %s\n  want %s\n  got  %s", r.Name, s.Line, s.Command, indent(s.Want), indent(s.Got))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return errors.New(strings.TrimPrefix(b.String(), "\n"))
}

func indent(output string) string { return strings.ReplaceAll(output, "\n", "\n       ") }

// Transcript renders commands and outputs, one a line, without the story.
func (r *Result) Transcript() string {
	var b strings.Builder
	for _, s := range r.Steps {
		b.WriteString(s.Command + renderOutput(s.Got) + "\n")
	}
	return b.String()
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
