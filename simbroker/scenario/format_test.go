package scenario

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// scenarioFolders hold this project's texts, and nothing else that is called
// .txt.
var scenarioFolders = []string{"../../test/litmus", "../../test/rights", "../../test/e2e/testdata"}

// projectTexts are all texts of this project, by file.
func projectTexts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range scenarioFolders {
		before := len(all)
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".txt" {
				return err
			}
			content, err := os.ReadFile(path)
			all[path] = string(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == before {
			t.Errorf("no texts in %s", folder)
		}
	}
	return all
}

// Every text of the project is in the canonical form; "lso-exporter scenario fmt"
// writes it.
func TestTextsAreFormatted(t *testing.T) {
	for path, text := range projectTexts(t) {
		got, err := Format(path, text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got != text {
			t.Errorf("%s is not formatted: run go run ./cmd/lso-exporter scenario fmt %s", path, strings.TrimPrefix(path, "../../"))
		}
	}
}

// However a text is spaced, its canonical form is the same one.
func TestFormatOfSpacedTexts(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for path, text := range projectTexts(t) {
		spaced := space(text, random)
		if spaced == text {
			t.Errorf("%s: nothing was changed", path)
		}
		if got, err := Format(path, spaced); err != nil || got != text {
			t.Errorf("seed %d: %s: %v\n%s\nof\n%s", seed, path, err, got, spaced)
		}
	}
}

// space adds spaces and empty lines where they mean nothing.
func space(text string, random *rand.Rand) string {
	var out []string
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		switch {
		case line == "":
			line = "  "
			out = append(out, "")
		case strings.HasPrefix(line, continuation):
		case strings.HasPrefix(line, "#"):
			line += "\t"
		default:
			line = spaceWords(line, random)
		}
		out = append(out, line)
		if i+1 == len(lines) {
			out = append(out, "", " ")
		}
	}
	return "\n\n" + strings.Join(out, "\n")
}

func spaceWords(line string, random *rand.Rand) string {
	command, output, found := strings.Cut(line, arrow)
	words := strings.Fields(command)
	for i := range words[1:] {
		words[i+1] += strings.Repeat(" ", random.IntN(3))
	}
	line = strings.Join(words, " ")
	if found {
		line += arrow + strings.Repeat(" ", random.IntN(3)) + strings.TrimSpace(output)
	}
	return line + strings.Repeat(" ", random.IntN(2))
}

// The canonical form of a text has the same steps.
func TestFormatKeepsSteps(t *testing.T) {
	for path, text := range projectTexts(t) {
		if !strings.Contains(path, "litmus") {
			continue // commands of other packages
		}
		random := rand.New(rand.NewPCG(1, 0))
		want, err := Parse(path, space(text, random))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		same := slices.EqualFunc(want.Steps, got.Steps, sameStep)
		if !same {
			t.Errorf("%s has other steps", path)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "\n"},
		{"a comment without a space", "#story\n##\n#  indented\n", "# story\n##\n#  indented\n"},
		{"one line of output below", "a  b=>\n  | c\n", "a b => c\n"},
		{"a line of output that is spaced", "a =>\n  |  c \n", "a =>\n  |  c \n"},
		{"an empty line of output", "a =>\n  | \n", "a =>\n  | \n"},
		{"no output, and said so", "a=>\n", "a =>\n"},
		{"several lines of output", "a =>\n  | b  c\n  | d\n", "a =>\n  | b  c\n  | d\n"},
		{"line breaks of other systems", "a\r\nb => c\r\nd =>\r\n  | e\r\n  | f\r\n", "a\nb => c\nd =>\n  | e\n  | f\n"},
		{"a mark of the encoding", "\ufeff# a\n", "# a\n"},
		{"an indented comment", "  #x\n\t# y\n", "# x\n# y\n"},
		{"an indented directive", "\ttopic\tT1\n", "topic T1\n"},
		{"a comment of nothing", "#\r\r\n# \t\n", "#\n#\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Format("text", tt.text); err != nil || got != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
	for text, want := range map[string]string{
		"  | a\n":         `text:1: output without a command; each line of it begins with two spaces, | and one space, below a command and a lone =>: "  | a"`,
		"a\n=> b\n":       `text:2: no command: "=> b"`,
		"a => b\n  | c\n": `text:1: several lines of output begin under a lone =>: "a => b"`,
	} {
		if _, err := Format("text", text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Whatever stands in a text, its canonical form stays as it is and says the same.
func FuzzFormat(f *testing.F) {
	for _, text := range []string{"#a\ntopic  T1\nx =>\n  | a\n  | b\n", "a=>  b\n\n\n", "  #x", "#\r\r", "x =>\r\n  |  a\r\r\n", "\ufeff\ttopic T1\n", "\xef\xbb\ufeff\xbf"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkFormat(t, text) })
}

// The same for texts that are put together by chance from what means something.
func TestFormatOfRandomTexts(t *testing.T) {
	fragments := []string{
		"#", "# ", "#x", "##", "a", "await", "5s", "hold", "send", "as", "U1", "topic", "T1", "property", "n=v", "brokers", "3",
		"=>", "=> ", " => ", "x", "  | ", "|", "  |", " ", "  ", "\t", "\r", "\r\r", "\v", "\u00a0", "\u0085", "\ufeff", "\n", "\n", "\n", "\n  | ", "\r\n",
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	understood := 0
	for range 4_000 {
		var text strings.Builder
		for range random.IntN(14) {
			text.WriteString(fragments[random.IntN(len(fragments))])
		}
		if checkFormat(t, text.String()) {
			understood++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if understood < 200 {
		t.Errorf("seed %d: only %d texts were understood", seed, understood)
	}
}

// checkFormat formats a text twice, and parses it in both forms with a command
// that takes any words. understood says that it is a scenario.
func checkFormat(t *testing.T, text string) (understood bool) {
	t.Helper()
	once, err := Format("text", text)
	if err != nil {
		if _, err := Parse("text", text, anything("a"), anything("x")); err == nil {
			t.Errorf("%q is a scenario that has no form", text)
		}
		return false
	}
	if twice, err := Format("text", once); err != nil || twice != once {
		t.Errorf("%q becomes %q and then %q (%v)", text, once, twice, err)
	}
	before, err := Parse("text", text, anything("a"), anything("x"))
	after, errAfter := Parse("text", once, anything("a"), anything("x"))
	switch {
	case (err == nil) != (errAfter == nil):
		t.Errorf("%q: %v, but in the form %q: %v", text, err, once, errAfter)
	case err == nil && (before.Title != after.Title || !reflect.DeepEqual(before.Topics, after.Topics) ||
		!reflect.DeepEqual(before.Properties, after.Properties) || before.Brokers != after.Brokers || !slices.EqualFunc(before.Steps, after.Steps, sameStep)):
		t.Errorf("%q says something else as %q", text, once)
	}
	return err == nil
}

// anything is a command that takes any words.
func anything(name string) Verb {
	return Verb{Name: name, Usage: name, Doc: "takes any words", Parse: func([]string) (Action, error) {
		return func(context.Context, *Play) (string, error) { return "", nil }, nil
	}}
}

func sameStep(a, b Step) bool {
	return a.Mode == b.Mode && a.Within == b.Within && a.Command == b.Command && a.Want == b.Want && a.arrow == b.arrow
}
