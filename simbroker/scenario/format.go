package scenario

import "strings"

// Format writes a text in its canonical form: one space between the words of
// directives and commands, around the arrow and behind the # of a comment, an
// output of one line behind the arrow and one of several below it, no spaces at
// either end of lines, no two empty lines in a row and none at the beginning or
// the end. What it says stays the same, and a text in that form stays as it is. It
// needs no verbs: commands may be those of other packages. The error is a
// *SyntaxError.
func Format(name, text string) (string, error) {
	lines := splitLines(text)
	var out []string
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		fail := func(err error) (string, error) {
			return "", &SyntaxError{Name: name, Line: i + 1, Text: line, Why: err.Error()}
		}
		switch kindOf(line) {
		case blankLine:
			if len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, "")
			}
		case commentLine:
			out = append(out, formatComment(strings.TrimSpace(line)))
		case outputLine:
			return fail(errStrayOutput)
		case directiveLine:
			out = append(out, strings.Join(strings.Fields(line), " "))
		default:
			step, words, err := splitStep(lines, i)
			if err == nil && len(words) == 0 {
				err = errNoCommand
			}
			if err != nil {
				return fail(err)
			}
			out = append(out, strings.Split(strings.Join(words, " ")+formatOutput(step), "\n")...)
			i += step.extent - 1
		}
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n", nil
}

// formatComment takes a comment without spaces around it.
func formatComment(line string) string {
	if text := line[1:]; text != "" && !strings.ContainsAny(text[:1], " \t#") {
		return "# " + text
	}
	return line
}

// formatOutput is what follows the words of a command.
func formatOutput(s Step) string {
	switch {
	case !s.arrow:
		return ""
	case s.Want == "" && s.extent == 1:
		return " " + arrow // nothing is expected, and said so
	case strings.TrimSpace(s.Want) != s.Want || s.Want == "":
		// A line alone that would lose its spaces behind the arrow.
		return " " + arrow + "\n" + continuation + strings.ReplaceAll(s.Want, "\n", "\n"+continuation)
	}
	return renderOutput(s.Want)
}
