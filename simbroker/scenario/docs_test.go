package scenario

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of commands in docs/scenarios.md")

const (
	page          = "../../docs/scenarios.md"
	commandsBegin = "<!-- begin commands: written by go test ./simbroker/scenario -update -->\n"
	commandsEnd   = "<!-- end commands -->\n"
)

// The page's list of commands is that of the language.
func TestPageListsCommands(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), commandsBegin)
	listed, after, ended := strings.Cut(rest, commandsEnd)
	if !found || !ended {
		t.Fatalf("%s has no list of commands", page)
	}
	want := commandList()
	if *update {
		if err := os.WriteFile(page, []byte(before+commandsBegin+want+commandsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if listed != want {
		t.Errorf("%s lists\n%s\nbut the commands are\n%s\nrun go test ./simbroker/scenario -update", page, listed, want)
	}
}

// The page tells of every directive, mode and symbol that the language has.
func TestPageIsComplete(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	for directive := range directives {
		wanted = append(wanted, "`"+directive+" ")
	}
	for _, mode := range []string{"await", "hold 5s", "send"} {
		wanted = append(wanted, "| `"+mode+" command")
	}
	for _, symbol := range []string{"T1", "X1", "G1", "U1", "F1", "S1", "L1", "P1", "CE1"} {
		wanted = append(wanted, "| `"+symbol+"`")
	}
	for _, row := range append(wanted, "`"+asUser+" U1 ", "`"+noAnswer+"`") {
		if !strings.Contains(string(content), row) {
			t.Errorf("%s has no row %s", page, row)
		}
	}
}

func commandList() string {
	var b strings.Builder
	for _, v := range Verbs() {
		b.WriteString("\n- `" + strings.ReplaceAll(v.Usage, " or PARTITION", "`, `PARTITION") + "`\n\n  " + v.Doc + "\n")
	}
	b.WriteString("\n")
	return b.String()
}
