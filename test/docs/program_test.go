//go:build unix

package docs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience is how long a command may take.
const patience = 60 * time.Second

// A desk is where a reader sits who follows the pages: with the program, a
// configuration, a cluster, and an exporter that watches it.
type desk struct {
	things   string // the folder with the program and its configuration
	cluster  string // bootstrap addresses
	control  string // URL of the control surface of another cluster
	exporter string // host:port of the exporter
}

// The commands of the pages that need nothing but the program do what they are there
// for: each is given to a shell, with what there is at the desk in the place of what
// the pages speak of, and ends with the status that they promise.
func TestCommandsOfTheProgram(t *testing.T) {
	d := sit(t)
	blocks := make(map[string][]string) // their commands follow each other, in one folder
	for _, c := range commands(t) {
		if text, ours := ofTheProgram(c); ours {
			block := fmt.Sprintf("%s:%d", strings.ReplaceAll(c.page, "/", "."), c.line)
			if c.block > 0 {
				block = fmt.Sprintf("%s:%d", strings.ReplaceAll(c.page, "/", "."), c.block)
			}
			blocks[block] = append(blocks[block], d.translate(text))
		}
	}
	for block, texts := range blocks {
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			folder := d.folder(t)
			for _, text := range texts {
				d.check(t, folder, text)
			}
		})
	}
}

// ofTheProgram is the part of a command that is the program's, or that works on what
// it serves or prints.
func ofTheProgram(c command) (text string, ours bool) {
	switch program(c.text) {
	case "mkdir", "curl":
		return c.text, c.block > 0 || strings.Contains(c.text, "http://")
	case "go":
		return c.text, strings.HasPrefix(c.text, "go run ./cmd/")
	case "docker", "kubectl":
		// Behind the image's name, or in the pod.
		for _, before := range []string{" lso-exporter ", " -- /lso-exporter "} {
			_, arguments, found := strings.Cut(c.text, before)
			if found && !strings.Contains(c.text, "docker build") {
				return "lso-exporter " + arguments, true
			}
		}
	case "lso-exporter":
		text, _, _ = strings.Cut(c.text, " | ") // to a program that has a judge of its own
		switch m := bareFlag.FindStringSubmatch(text); {
		case m != nil && c.block == 0:
			text = m[1] + " --help | grep -q -e " + m[2]
		case !c.complete():
			text += " --help"
		}
		return text, true
	}
	return "", false
}

// bareFlag matches a command that names a flag and no value.
var bareFlag = regexp.MustCompile(`^(.*) (--[a-z.-]+)$`)

// someText matches the name of a scenario's file.
var someText = regexp.MustCompile(`\b[\w-]+\.txt\b`)

// translate puts what there is at the desk into the place of what pages speak of.
func (d desk) translate(text string) string {
	if strings.Contains(text, " scenario ") {
		text = someText.ReplaceAllString(text, "scenario.txt")
	}
	return strings.NewReplacer(
		"go run ./cmd/lso-exporter demo", "lso-exporter demo --web.listen-address=127.0.0.1:0",
		"curl ", "curl --silent --show-error --fail ",
		"kafka-1:9092,kafka-2:9092", d.cluster,
		"kafka-1:9092", d.cluster,
		"localhost:10308", d.exporter,
		"INSTANCE", d.exporter,
		"http://127.0.0.1:9090", d.control,
		"127.0.0.1:9090", "127.0.0.1:0",
		"/etc/lso-exporter/config/", "",
		"/etc/lso-exporter/", "",
		"=FILE", "=lso-exporter.yml",
		"FILE…", "scenario.txt",
		"ADDRESSES", d.cluster,
		"/var/lib/grafana", "grafana",
		"TOPIC", "orders",
	).Replace(text)
}

// folder is a new one, with the program and its configuration.
func (d desk) folder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, file := range []string{"lso-exporter", "lso-exporter.yml", "scenario.txt"} {
		if err := os.Symlink(filepath.Join(d.things, file), filepath.Join(folder, file)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// check runs a command, and holds it to its status.
func (d desk) check(t *testing.T, folder, text string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil && program(text) == "curl" {
		t.Skipf("not run: %v", err)
	}
	status, output := run(t, folder, text)
	want := 0
	if strings.Contains(text, "lso-exporter diagnose") && !strings.HasSuffix(text, "--help") {
		want = 1 // the cluster of the desk has something that is held back
	}
	if status != want {
		t.Errorf("%s\nended with status %d, want %d:\n%s", text, status, want, output)
	}
}

// run gives a command to a shell, has it end once it says that it serves, and returns
// its status and all that it has printed.
func run(t *testing.T, folder, text string) (status int, output string) {
	t.Helper()
	p := start(t, folder, text)
	hangs := time.AfterFunc(patience, func() { p.signal(syscall.SIGKILL) })
	defer hangs.Stop()
	if _, serves := <-p.serves; serves {
		p.interrupt()
	}
	return p.end(t)
}

// A process is a command line that runs.
type process struct {
	shell  *exec.Cmd
	serves chan string     // what it had printed when it said that it serves; closed at its end
	output strings.Builder // all of it, at its end
}

// serving is what says so: the exporter, the demo, the simulated cluster.
var serving = regexp.MustCompile(`Listening on address=|^status +http|^control surface on`)

// start gives a command to a shell, in a folder with the program.
func start(t *testing.T, folder, text string) *process {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// The shell lives through an interrupt, to say how the command has ended.
	p := &process{shell: exec.Command("sh", "-c", "trap : INT\n"+text), serves: make(chan string, 1)}
	p.shell.Dir = folder
	p.shell.Env = []string{"PATH=" + folder + ":" + os.Getenv("PATH"), "LSO_EXPORTER_WEB_LISTEN_ADDRESS=127.0.0.1:0"}
	p.shell.Stdout, p.shell.Stderr = writer, writer
	p.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = p.shell.Start()
	writer.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.serves)
		defer reader.Close()
		said := false
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			p.output.WriteString(lines.Text() + "\n")
			if !said && serving.MatchString(lines.Text()) {
				said = true
				p.serves <- p.output.String()
			}
		}
	}()
	return p
}

// interrupt does what Ctrl-C does.
func (p *process) interrupt() { p.signal(syscall.SIGINT) }

func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.shell.Process.Pid, s) } // it may have ended

// end waits for the end, and returns the status and all that was printed.
func (p *process) end(t *testing.T) (status int, output string) {
	t.Helper()
	for range p.serves {
	}
	var exit *exec.ExitError
	if err := p.shell.Wait(); err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
	return p.shell.ProcessState.ExitCode(), p.output.String()
}

// serve starts what runs as long as the test, and returns the submatches of what it
// prints as it begins to serve.
func (d desk) serve(t *testing.T, text string, expression *regexp.Regexp) []string {
	t.Helper()
	p := start(t, d.folder(t), text)
	t.Cleanup(func() {
		p.interrupt()
		p.end(t)
	})
	found := expression.FindStringSubmatch(<-p.serves)
	if found == nil {
		t.Fatalf("%s does not print %s", text, expression)
	}
	return found
}

// sit builds the program as the README says, and starts a cluster, on which a
// transaction holds a partition and a group back, and an exporter.
func sit(t *testing.T) desk {
	t.Helper()
	d := desk{things: t.TempDir()}
	const said = "go build -o lso-exporter ./cmd/lso-exporter"
	if !slices.ContainsFunc(commands(t), func(c command) bool { return c.page == "README.md" && c.text == said }) {
		t.Fatalf("the README does not say %s", said)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(d.things, "lso-exporter"), "./cmd/lso-exporter")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	file := filepath.Join(d.things, "lso-exporter.yml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	scenario, err := os.ReadFile(filepath.Join(root, "test/litmus/02-commit.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.things, "scenario.txt"), scenario, 0o600); err != nil {
		t.Fatal(err)
	}
	const sim = "lso-exporter sim --brokers 3 --control.listen-address 127.0.0.1:0"
	says := regexp.MustCompile(`(?ms)^(127\.0\.0\.1:\d+,\S+)$.*^control surface on (\S+)$`)
	cluster := d.serve(t, sim, says)
	d.cluster = cluster[1]
	d.control = d.serve(t, sim, says)[2]
	if err := os.WriteFile(file, []byte("kafka: {brokers: ["+d.cluster+"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.hold(t, cluster[2])
	d.exporter = d.serve(t, "lso-exporter --kafka.brokers="+d.cluster, regexp.MustCompile(`address=(\S+)`))[1]
	return d
}

// hold has the transaction billing-7 hold back the group billing in orders-3, for five
// minutes, as its brokers' clocks have it.
func (d desk) hold(t *testing.T, control string) {
	t.Helper()
	response, err := http.Post(control+"/faults", "application/json", strings.NewReader(`{"fault": "skew_clock", "by": "-5m"}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	begin(t, strings.Split(d.cluster, ","))
}

// begin makes the topic orders, unless it is there, leaves a transaction open in its
// partition 3, and has the group billing wait there. It returns the first offset.
func begin(t *testing.T, seeds []string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.TransactionalID("billing-7"),
		kgo.TransactionTimeout(15*time.Minute), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 4, 3, nil, "orders"); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Fatal(err)
	}
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	record := &kgo.Record{Topic: "orders", Partition: 3, Value: []byte("an order")}
	if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var offsets kadm.Offsets
	offsets.AddOffset("orders", 3, record.Offset, -1)
	if err := admin.CommitAllOffsets(ctx, "billing", offsets); err != nil {
		t.Fatal(err)
	}
	return record.Offset
}
