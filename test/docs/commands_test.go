package docs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A command is a command line of a page, as a reader would paste it.
type command struct {
	page  string // its path from the root
	line  int
	text  string // one line, without a prompt
	block int    // line at which its block begins; 0 in a sentence
}

func (c command) String() string { return fmt.Sprintf("%s:%d: %s", c.page, c.line, c.text) }

// assignment is a variable that a command line sets.
var assignment = regexp.MustCompile(`^[A-Z_]+=\S+$`)

// program is what a text begins with, if it is a command line.
func program(text string) string {
	for _, word := range strings.Fields(text) {
		if !assignment.MatchString(word) {
			if strings.HasSuffix(word, "/"+path.Base(word)) && strings.HasPrefix(word, "deploy/") {
				return word // a script of the project's own
			}
			return path.Base(word)
		}
	}
	return ""
}

// complete says whether a reader could run a command, as opposed to a name of a tool
// and of what it can do.
func (c command) complete() bool {
	switch name := program(c.text); {
	case strings.HasPrefix(name, "kafka-"):
		return strings.Contains(c.text, " --bootstrap-server ") || strings.Contains(c.text, " --files ")
	case name == "helm" || name == "kubectl":
		return c.block > 0
	}
	return c.block > 0 || strings.Contains(c.text, " --")
}

// judges say by whom the commands of each program are run.
var judges = map[string]string{
	"lso-exporter":       "this package, on the simulator",
	"mkdir":              "this package, on the simulator",
	"curl":               "this package, on the simulator",
	"go":                 "the tests themselves; this package holds what it names to what there is",
	"make":               "as go",
	"deploy/image/build": "test/image",
	"docker":             containersLedger,
	"podman":             containersLedger,
	"skopeo":             containersLedger,
	"helm":               kubernetesLedger,
	"kubectl":            kubernetesLedger,
	"promtool":           "alerting and metrics, which run it where it is installed",

	// The way of an alert is gone by test/alerts, with other addresses.
	"prometheus":              "test/alerts",
	"prometheus-alertmanager": "test/alerts",
	"python3":                 "test/alerts, which has a webhook of its own; that of the page was run by hand",

	"kafka-acls.sh":                kafkaLedger,
	"kafka-broker-api-versions.sh": kafkaLedger,
	"kafka-configs.sh":             kafkaLedger,
	"kafka-console-consumer.sh":    kafkaLedger,
	"kafka-consumer-groups.sh":     kafkaLedger,
	"kafka-dump-log.sh":            kafkaLedger,
	"kafka-features.sh":            kafkaLedger,
	"kafka-leader-election.sh":     kafkaLedger,
	"kafka-share-groups.sh":        kafkaLedger,
	"kafka-topics.sh":              kafkaLedger,
	"kafka-transactions.sh":        kafkaLedger,
}

// Ledgers list what is run elsewhere; the head of each says by whom.
const (
	kafkaLedger      = "test/docs/kafka-tools.txt"
	kubernetesLedger = "test/chart/apiserver/commands.txt"
	containersLedger = "test/image/commands.txt"
)

// A line that begins so is a command, whatever it is of.
var likeCommand = regexp.MustCompile(`^(\$ |(sudo |[A-Z_]+=\S+ )?[a-z][a-z0-9./-]* ([a-z-]+ )*-)`)

// commands are all command lines of the pages for users: each line of the blocks that
// hold some, and what sentences quote.
func commands(t *testing.T) []command {
	t.Helper()
	var all []command
	found := pages(t)
	for _, page := range slices.Sorted(maps.Keys(found)) {
		if strings.HasPrefix(page, "changelog/") {
			continue // what was, as it was
		}
		all = append(all, commandsOf(t, page, found[page])...)
	}
	if len(all) < 80 {
		t.Fatalf("only %d commands found", len(all))
	}
	return all
}

var (
	fence = regexp.MustCompile("^\\s*```(\\S*)\\s*$")
	span  = regexp.MustCompile("`([^`]+)`")
	gap   = regexp.MustCompile(`\s{3,}.*`) // behind it a line explains itself
)

// farIn begins a line that goes on with such an explanation.
const farIn = "          "

func commandsOf(t *testing.T, page, content string) (all []command) {
	t.Helper()
	inside, language := false, ""
	block, begun, text := 0, 0, ""
	for i, line := range strings.Split(content, "\n") {
		if m := fence.FindStringSubmatch(line); m != nil {
			inside, language, block = !inside, m[1], i+1
			continue
		}
		if !inside {
			for _, m := range span.FindAllStringSubmatch(line, -1) {
				if _, known := judges[program(m[1])]; known && strings.Contains(m[1], " ") {
					all = append(all, command{page, i + 1, m[1], 0})
				}
			}
			continue
		}
		if language != "" && language != "sh" || text == "" && strings.HasPrefix(line, farIn) {
			continue
		}
		if text == "" {
			begun = i + 1
		}
		text += strings.TrimSpace(line)
		if rest, goesOn := strings.CutSuffix(text, `\`); goesOn {
			text = rest
			continue
		}
		line, text = text, ""
		prompted, prompt := strings.CutPrefix(line, "$ ")
		prompted = strings.TrimSuffix(gap.ReplaceAllString(prompted, ""), " &")
		_, known := judges[program(prompted)]
		switch {
		case known && strings.Contains(prompted, " ") || strings.HasPrefix(program(prompted), "deploy/"):
			all = append(all, command{page, begun, prompted, block})
		case prompt || likeCommand.MatchString(line):
			t.Errorf("%s:%d: nobody runs %s", page, begun, line)
		}
	}
	return all
}

// Every command is run by somebody.
func TestEveryCommandIsRun(t *testing.T) {
	ran := make(map[string][]string) // by ledger
	for _, ledger := range []string{kafkaLedger, kubernetesLedger, containersLedger} {
		ran[ledger] = readLedger(t, ledger)
	}
	used := make(map[string]bool)
	for _, c := range commands(t) {
		ledger := judges[program(c.text)]
		if _, last, piped := strings.Cut(c.text, " | "); piped && ran[judges[program(last)]] != nil {
			ledger = judges[program(last)]
		}
		lines, isLedger := ran[ledger]
		if !isLedger {
			continue
		}
		if c.complete() {
			used[c.text] = true
			if !slices.Contains(lines, c.text) {
				t.Errorf("%s\n\tis not in %s: run it as the head of that file says, and add it", c, ledger)
			}
			continue
		}
		if !named(lines, c.text) {
			t.Errorf("%s\n\tnames what no command of its tool in %s has", c, ledger)
		}
	}
	for ledger, lines := range ran {
		for _, line := range lines {
			if !used[line] && !strings.HasPrefix(line, "+ ") {
				t.Errorf("%s has a command that no page has: %s", ledger, line)
			}
		}
	}
}

// named says whether each word of a text stands in a ledger's commands of its tool.
func named(lines []string, text string) bool {
	var words []string
	for _, line := range lines {
		line = strings.TrimPrefix(line, "+ ")
		if program(line) == program(text) {
			words = append(words, strings.Fields(line)...)
		}
	}
	for _, word := range strings.Fields(text) {
		if !slices.Contains(words, word) {
			return false
		}
	}
	return true
}

// readLedger is the commands of a ledger, one a line. One behind a plus is run for what
// pages name without all that it needs; a line that begins with # is a comment.
func readLedger(t *testing.T, file string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// What go and make are asked for exists.
func TestGoAndMake(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands(t) {
		switch program(c.text) {
		case "make":
			_, target, _ := strings.Cut(c.text, "make ")
			if !strings.Contains(string(makefile), "\n"+target+": ## ") {
				t.Errorf("%s: there is no such target", c)
			}
		case "go":
			for _, problem := range wrongWithGo(t, c.text) {
				t.Errorf("%s: %s", c, problem)
			}
		}
	}
}

// goFlags are those of go itself that pages use, and whether a value follows. Others have
// to be declared by the package that is tested.
var goFlags = map[string]bool{
	"-o": true, "-run": true, "-bench": true, "-benchtime": true, "-fuzz": true, "-fuzztime": true,
	"-count": true, "-timeout": true, "-p": true, "-v": false, "-race": false, "-short": false, "-benchmem": false,
}

// wrongWithGo looks for the packages, the flags, and the tests that expressions name.
func wrongWithGo(t *testing.T, text string) (problems []string) {
	t.Helper()
	_, text, _ = strings.Cut(text, "go ")
	words := strings.Fields(text)
	if words[0] == "get" {
		if words[1] != module {
			return []string{"the module is " + module}
		}
		return nil
	}
	if !slices.Contains([]string{"build", "run", "test"}, words[0]) {
		return []string{"nobody knows go " + words[0]}
	}
	source := ""
	for i := 1; i < len(words); i++ {
		word := words[i]
		takes, known := goFlags[word]
		switch {
		case strings.HasPrefix(word, "./"):
			if source = sourceOf(t, word); source == "" {
				problems = append(problems, "there is no package "+word)
			}
		case strings.HasPrefix(word, "-") && !known && !strings.Contains(source, `("`+word[1:]+`"`):
			problems = append(problems, "nobody knows "+word)
		case takes && i+1 < len(words):
			i++
			value := strings.Trim(words[i], "'")
			if slices.Contains([]string{"-run", "-bench", "-fuzz"}, word) && value != "^$" && !declares(source, value) {
				problems = append(problems, word+" "+value+" finds nothing")
			}
		}
	}
	return problems
}

const module = "github.com/lso-exporter/lso-exporter"

// sourceOf is the text of the files of a package, tests included, or of all packages
// below a folder.
func sourceOf(t *testing.T, name string) string {
	t.Helper()
	folder, all := strings.CutSuffix(name, "/...")
	pattern := filepath.Join(root, folder, "*.go")
	if all {
		pattern = filepath.Join(root, folder, "*", "*.go")
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	return text.String()
}

var function = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)

// declares says whether there is a test, benchmark or fuzz test for each way in which an
// expression may match. What stands behind a slash names parts of them.
func declares(source, expression string) bool {
	expression, _, _ = strings.Cut(expression, "/")
	for alternative := range strings.SplitSeq(expression, "|") {
		matches, err := regexp.Compile(alternative)
		if err != nil || !slices.ContainsFunc(function.FindAllStringSubmatch(source, -1), func(m []string) bool { return matches.MatchString(m[1]) }) {
			return false
		}
	}
	return true
}

var flag = regexp.MustCompile(`--[a-z][a-z.-]*`)

// What the programs of Prometheus are given are flags of theirs, where they are here.
func TestFlagsOfPrometheus(t *testing.T) {
	for _, c := range commands(t) {
		name := program(c.text)
		if !strings.HasPrefix(name, "prometheus") || !c.complete() {
			continue
		}
		help, err := exec.Command(name, "--help").CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			t.Logf("not run: %v", err)
			continue
		}
		for _, word := range flag.FindAllString(c.text, -1) {
			if !strings.Contains(string(help), word+"=") {
				t.Errorf("%s: there is no %s", c, word)
			}
		}
	}
}
