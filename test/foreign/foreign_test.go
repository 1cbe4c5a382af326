package foreign

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// update rewrites the golden texts with what a real Kafka prints.
var update = flag.Bool("update", false, "rewrite golden/ with what a real Kafka prints")

// patience is how long a program may take. It takes tens of seconds by itself,
// most of which it waits for timeouts and rebalances.
const patience = 6 * time.Minute

// program is one of those in programs/.
type program struct {
	name string
	// variable is the environment variable that says where its client is; check
	// fails where the client is not there.
	variable, client string
	check            func(place string) error
	// command is the command line, given that place and the bootstrap addresses.
	command func(place, bootstrap string) *exec.Cmd
	topics  assigned
}

// programs are all of them.
func programs() []program {
	python := func(name, module string) program {
		return program{
			name: name, variable: "LSO_PYTHON", client: "a Python that has " + module,
			check: func(place string) error { return exec.Command(place, "-c", "import "+module).Run() },
			command: func(place, bootstrap string) *exec.Cmd {
				cmd := exec.Command(place, name+".py", bootstrap)
				cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
				return cmd
			},
		}
	}
	return []program{
		python("librdkafka_transactions", "confluent_kafka"),
		python("librdkafka_consumers", "confluent_kafka"),
		python("librdkafka_admin", "confluent_kafka"),
		python("aio", "aiokafka"),
		{
			name: "kafkajs", variable: "LSO_NODE", client: "a folder whose node_modules has kafkajs",
			check: func(place string) error {
				_, node := exec.LookPath("node")
				_, module := os.Stat(filepath.Join(place, "node_modules", "kafkajs"))
				return errors.Join(node, module)
			},
			command: func(place, bootstrap string) *exec.Cmd {
				cmd := exec.Command("node", "kafkajs.js", bootstrap)
				cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(place, "node_modules"))
				return cmd
			},
		},
		{
			name: "kcat", variable: "LSO_KCAT", client: "kcat 1.7.1",
			check: func(place string) error {
				out, err := exec.Command(place, "-V").Output()
				if err == nil && !strings.Contains(string(out), kcatVersion) {
					err = fmt.Errorf("it is another version:\n%s", out)
				}
				return err
			},
			command: func(place, bootstrap string) *exec.Cmd { return exec.Command("sh", "kcat.sh", place, bootstrap) },
			topics:  assigned{"kcat-orders": {{1, 2, 3}, {2, 3, 1}}, "kcat-target": {{3}}},
		},
	}
}

// kcatVersion is in what kcat says of itself: others print other words.
const kcatVersion = "Version 1.7.1 "

// place is where the environment says that the client is. The error tells why a
// program cannot run.
func (p program) place() (string, error) {
	place := os.Getenv(p.variable)
	if place == "" {
		return "", fmt.Errorf("not run: no %s names %s", p.variable, p.client)
	}
	if err := p.check(place); err != nil {
		return "", fmt.Errorf("not run: %s=%s is not %s: %w", p.variable, place, p.client, err)
	}
	return place, nil
}

// Each program prints on the simulator what a real Kafka printed.
func TestOnSimulator(t *testing.T) {
	runAll(t, func() []string { return startSimulator(t) }, compare)
}

// The golden texts are what a real Kafka prints.
func TestOnKafka(t *testing.T) {
	judge := compare
	if *update {
		t.Setenv("LSO_LONG", "1")
		judge = write
	}
	runAll(t, clusterOf(startKafka(t)), judge)
}

// clusterOf is one cluster for all programs, which keep to names of their own.
func clusterOf(bootstrap []string) func() []string { return func() []string { return bootstrap } }

// runAll runs all programs at once, as they mostly wait, each on the cluster that
// it is given, and judges what each has printed.
func runAll(t *testing.T, cluster func() []string, judge func(*testing.T, program, []string)) {
	type outcome struct {
		printed      []string
		err, missing error
	}
	outcomes := map[string]chan outcome{}
	for _, p := range programs() {
		ended := make(chan outcome, 1)
		outcomes[p.name] = ended
		place, err := p.place()
		if err != nil {
			ended <- outcome{missing: err}
			continue
		}
		bootstrap := cluster()
		watching := newExporter(t, bootstrap)
		go func() {
			printed, err := p.run(place, bootstrap, watching)
			ended <- outcome{printed: printed, err: err}
		}()
	}
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			o := <-outcomes[p.name]
			if o.missing != nil {
				t.Skip(o.missing)
			}
			if o.err != nil {
				t.Errorf("%s: %v", p.name, o.err)
			}
			judge(t, p, o.printed)
		})
	}
}

// write makes the golden text of a program anew.
func write(t *testing.T, p program, printed []string) {
	t.Helper()
	if t.Failed() {
		return // what a program printed that failed is no golden text
	}
	if err := os.WriteFile(p.golden(), []byte(strings.Join(printed, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p program) golden() string { return filepath.Join("golden", p.name+".txt") }

// compare fails the test where a program did not print its golden text.
func compare(t *testing.T, p program, printed []string) {
	t.Helper()
	b, err := os.ReadFile(p.golden())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	const most = 20
	different := 0
	for n := range max(len(want), len(printed)) {
		w, got := lineOf(want, n), lineOf(printed, n)
		if w == got {
			continue
		}
		if different++; different > most {
			t.Fatalf("and more lines that differ")
		}
		t.Errorf("%s:%d\n  a real Kafka printed %q\n  instead of which      %q", p.golden(), n+1, w, got)
	}
}

func lineOf(lines []string, n int) string {
	if n >= 0 && n < len(lines) {
		return lines[n]
	}
	return "(nothing)"
}

// run runs a program and returns what it printed. The error tells how the program
// failed, or where the exporter says something else of a group's lag than it does.
func (p program) run(place string, bootstrap []string, watching *exporter) (printed []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.topics.create(ctx, bootstrap); err != nil {
		return nil, err
	}
	cmd := p.command(place, strings.Join(bootstrap, ","))
	cmd.Dir = "programs"
	var said strings.Builder
	cmd.Stderr = &said
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	printed, err = follow(ctx, output, answers, watching, newWords(bootstrap))
	if ended := cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("%w after %q: %s", ended, lineOf(printed, len(printed)-1), said.String()))
	}
	return printed, errors.Join(err, ctx.Err())
}

// belief is what a program prints of a group's lag before it waits for a line.
var belief = regexp.MustCompile(`^client: (group (\S+), (\S+)-(\d+): committed .*)$`)

// follow reads what a program prints, and lets it go on where it waits. The error
// tells where the exporter's figures are others.
func follow(ctx context.Context, printed io.Reader, answers io.Writer, watching *exporter, w words) (lines []string, err error) {
	for scanner := bufio.NewScanner(printed); scanner.Scan(); {
		line := scanner.Text()
		if clientLog.MatchString(line) {
			continue
		}
		lines = append(lines, w.replace(line))
		m := belief.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		partition, _ := strconv.Atoi(m[4]) // all digits
		if shown := watching.figures(ctx, m[2], m[3], int32(partition)); shown != m[1] {
			err = errors.Join(err, fmt.Errorf("the client says %q, the exporter %q", m[1], shown))
		}
		if _, writing := io.WriteString(answers, "\n"); writing != nil {
			return lines, writing
		}
	}
	return lines, err
}

// clientLog is a line of librdkafka's own log.
var clientLog = regexp.MustCompile(`^%\d\|`)

// words replaces what is chosen anew each time.
type words []struct {
	what *regexp.Regexp
	word string
}

func newWords(bootstrap []string) words {
	var all words
	add := func(what, word string) {
		all = append(all, struct {
			what *regexp.Regexp
			word string
		}{regexp.MustCompile(what), word})
	}
	for _, address := range bootstrap {
		add(regexp.QuoteMeta(address)+`(/\d+)?`, "BROKER")
	}
	add(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "UUID")
	add(`\b1[5-9]\d{11}\b`, "TIME")
	add(`TxnCoordinator/\d`, "TxnCoordinator/ID")
	add(`\(broker \d PID\{Id:\d+`, "(broker ID PID{Id:ID")
	add(`after \d+ms`, "after TIME")
	// Who answers a client is chance, and so is who is its controller.
	add(`from broker \d`, "from broker ID")
	add(`"originating_broker":\{"id":\d`, `"originating_broker":{"id":ID`)
	add(`"controllerid":\d`, `"controllerid":ID`)
	add(` \(controller\)$`, "")
	return all
}

func (w words) replace(line string) string {
	for _, r := range w {
		line = r.what.ReplaceAllString(line, r.word)
	}
	return line
}
