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

func commandList() string {
	var b strings.Builder
	for _, v := range Verbs() {
		b.WriteString("\n- `" + strings.ReplaceAll(v.Usage, " or PARTITION", "`, `PARTITION") + "`\n\n  " + v.Doc + "\n")
	}
	b.WriteString("\n")
	return b.String()
}
