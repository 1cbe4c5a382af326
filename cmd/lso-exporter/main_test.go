package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
)

// execute runs a command line that ends by itself.
func execute(t *testing.T, arguments ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	p := &program{stop: context.Background(), stdout: &out, stderr: &errs}
	status = p.run(arguments)
	return status, out.String(), errs.String()
}

func TestExitStatus(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bad.yml", []byte("sweep:\n  intervall: 10s\nlog:\n  level: loud\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("good.yml", []byte("kafka:\n  brokers: [kafka-1:9092]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	bad := `bad.yml:2: sweep.intervall = "10s" is an unknown key; remove it; did you mean sweep.interval?
bad.yml:4: log.level = "loud" is not one of trace, debug, info, warn, error; choose one of them
`
	tests := []struct {
		arguments string
		status    int
		stderr    string
	}{
		{"config check --config.file=good.yml", exitOK, ""},
		{"config check --config.file=bad.yml", exitUsage, bad},
		{"config print --config.file=bad.yml", exitUsage, bad},
		{"serve --config.file=bad.yml", exitUsage, bad},
		{"--config.file=bad.yml", exitUsage, bad},
		{"--config.file=missing.yml", exitUsage, "missing.yml: cannot be read (no such file or directory); create it, or name one that is there\n"},
		{"config check", exitUsage, `configuration: kafka.brokers = "" is empty; list at least one host:port there, in --kafka.brokers or in LSO_EXPORTER_KAFKA_BROKERS` + "\n"},
		{"config print", exitOK, ""},
		{"config schema", exitOK, ""},
		{"version", exitOK, ""},
		{"--version", exitOK, ""},
		{"--help", exitOK, ""},
		{"serve --help", exitOK, ""},
		{"help", exitOK, ""},
		{"help config print", exitOK, ""},
		{"--sweep.intervall=3s", exitUsage, `command line: --sweep.intervall = "3s" is an unknown flag; remove it; did you mean --sweep.interval?` + "\n"},
		{"--kafka.brokers=127.0.0.1:1 --web.listen-address=" + address, exitFailed,
			"lso-exporter: listen on " + address + ": listen tcp " + address + ": bind: address already in use\n"},
	}
	for _, test := range tests {
		t.Run(test.arguments, func(t *testing.T) {
			status, stdout, stderr := execute(t, strings.Fields(test.arguments)...)
			if status != test.status || stderr != test.stderr {
				t.Errorf("status %d, %q; want %d, %q", status, stderr, test.status, test.stderr)
			}
			if (status == exitOK) != (stdout != "") {
				t.Errorf("status %d and %q on standard output", status, stdout)
			}
		})
	}
}

// A command line that cannot be read is told of in one line, as every mistake is.
func TestCommandLineMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for arguments, want := range map[string]string{
		"":                                  `" " is an empty word; remove it, or give a variable in it a value; see lso-exporter serve --help`,
		"servee":                            `"servee" is no command; did you mean serve?`,
		"help me":                           `"me" is no command; write one of serve, diagnose, demo, sim, `,
		"frobnicate":                        `"frobnicate" is no command; write one of serve, diagnose, demo, sim, `,
		"config":                            `"config" needs a command after it; write one of check, schema, print`,
		"config chekc":                      `"chekc" is no command; did you mean check?`,
		"serve now":                         `"now" belongs to no flag; remove it, or write it as --FLAG=VALUE; see lso-exporter serve --help`,
		"--log.level=debug config check":    `"config" stands after a flag or another command; write the command first`,
		"--kafka.broker=a:1":                `--kafka.broker = "a:1" is an unknown flag; remove it; did you mean --kafka.brokers?`,
		"-kafka.brokers=a:1":                `-kafka.brokers = "a:1" is an unknown flag; remove it; did you mean --kafka.brokers?`,
		"--colour=red":                      `--colour = "red" is an unknown flag; remove it; see lso-exporter serve --help`,
		"--kafka.sasl.passwrd=hunter2":      `--kafka.sasl.passwrd = "<secret>" is an unknown flag; remove it`,
		"--no-collector.group":              `--no-collector.group = "" is an unknown flag; remove it; did you mean --no-collector.groups?`,
		"--collector.groups=false":          `--collector.groups = "false" is a switch without a value; write --collector.groups or --no-collector.groups`,
		"--sweep.interval":                  `--sweep.interval = "" has no value; write --sweep.interval=VALUE`,
		"--sweep.interval --log.level=x":    `--sweep.interval = "" has no value; write --sweep.interval=VALUE`,
		"--cluster=a --cluster=b":           `--cluster = "" stands there twice; remove one of the two`,
		"sim --brokers=x":                   `--brokers = "x" is no number from 1 to 26; write one`,
		"sim --brokers=27":                  `--brokers = "27" is no number from 1 to 26; write one`,
		"sim --kafka.listen-address=x":      `--kafka.listen-address = "x" is not host:port; write such as :10308 or 127.0.0.1:10308`,
		"sim --kafka.listen-address=:65534": `--kafka.listen-address = ":65534" leaves too few ports for 3 brokers; write a lower one`,
		"sim --control.listen-address=x":    `--control.listen-address = "x" is not host:port; write such as :10308 or 127.0.0.1:10308`,
		"sim --control.listen-address=:1":   `--control.listen-address = ":1" is not a loopback address, and anybody could use what has no authentication; write 127.0.0.1, [::1] or localhost`,
		"sim --vendor=kafka-39":             `--vendor = "kafka-39" is not one of ` + strings.Join(simbroker.Vendors(), ", ") + `; choose one of them; did you mean kafka-3.9?`,
		"demo --for=x":                      `--for = "x" is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s`,
		"demo --for=-1s":                    `--for = "-1s" is too short; write at least 0s`,
		"demo --sweep.interval=1ms":         `--sweep.interval = "1ms" is too short; write at least 100ms`,
		"demo --web.listen-address=10308":   `--web.listen-address = "10308" has the entry "10308", which is not host:port; write such as :10308 or 127.0.0.1:10308`,
		"@missing":                          `"@missing" names a file of arguments that cannot be read (open missing: no such file or directory); name one that can, or leave out the @`,
		"sim --scenario=missing":            `--scenario = "missing" cannot be read (no such file or directory); create it, or name one that is there`,
		"sim --server.properties=missing":   `--server.properties = "missing" cannot be read (no such file or directory); create it, or name one that is there`,
		"sim --property=x":                  `--property = "x" is no property (`,
		"diagnose --output=xml":             `--output = "xml" is not one of text, json; choose one of them`,
		"diagnose --wait=soon":              `--wait = "soon" is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s`,
	} {
		words := strings.Fields(arguments)
		if arguments == "" {
			words = []string{""}
		}
		status, stdout, stderr := execute(t, words...)
		if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "command line: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %q, %q; want command line: %s", arguments, status, stdout, stderr, want)
		}
	}
}

// The variables that serve reads are those of the process, and a flag wins.
func TestEnvironment(t *testing.T) {
	var out, errs bytes.Buffer
	p := &program{
		stop: context.Background(), stdout: &out, stderr: &errs,
		environment: []string{"LSO_EXPORTER_KAFKA_BROKERS=kafka-1:9092", "LSO_EXPORTER_CLUSTER=blue"},
	}
	if status := p.run([]string{"config", "print", "--cluster=green"}); status != exitOK {
		t.Fatalf("status %d: %s", status, &errs)
	}
	for _, want := range []string{`brokers: ["kafka-1:9092"]`, `cluster: "green"`, "LSO_EXPORTER_KAFKA_BROKERS; here: environment\n", "LSO_EXPORTER_CLUSTER; here: command line\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
}

// Without a broker that answers the exporter serves, says why it is not ready,
// and stops when it is told to.
func TestServeWithoutKafka(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nobody.Addr().String()
	nobody.Close()

	stop, cancel := context.WithCancel(context.Background())
	defer cancel()
	reader, writer := io.Pipe()
	p := &program{stop: stop, stdout: io.Discard, stderr: writer}
	status := make(chan int, 1)
	go func() {
		status <- p.run([]string{"--kafka.brokers=" + address, "--web.listen-address=127.0.0.1:0", "--sweep.interval=500ms", "--log.format=json"})
		writer.Close()
	}()
	log := &journal{lines: logLines(reader)}
	listening := log.await(t, "Listening on")
	base := "http://" + listening["address"].(string)
	// The reason is logged once, however many sweeps fail.
	if reason, _ := log.await(t, "no broker reachable")["reason"].(string); !strings.Contains(reason, "refused") {
		t.Errorf("logged the reason %q, want that the connection was refused", reason)
	}
	code, body := get(t, base+"/readyz")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "no broker reachable") || !strings.Contains(body, "refused") {
		t.Errorf("/readyz: %d %q, want 503 and the reason", code, body)
	}
	if code, body = get(t, base+"/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d %q", code, body)
	}
	// Once a second sweep has failed, the reason was not logged a second time.
	again := regexp.MustCompile(`lso_exporter_sweeps_total\{result="failed"\} ([2-9]|\d\d+)\n`)
	deadline := time.After(10 * time.Second)
	for poll := time.NewTicker(20 * time.Millisecond); !again.MatchString(body); {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("no second sweep:\n%s", body)
		}
		code, body = get(t, base+"/metrics")
		if code != http.StatusOK || strings.Contains(body, "\nkafka_") {
			t.Fatalf("/metrics: %d\n%s", code, body)
		}
	}
	cancel()
	if n := log.count("no broker reachable"); n != 1 {
		t.Errorf("the reason was logged %d times", n)
	}
	if got := <-status; got != exitOK {
		t.Errorf("status %d after a stop, want 0", got)
	}
}

// logLines decodes JSON log lines as they come.
func logLines(r io.Reader) <-chan map[string]any {
	lines := make(chan map[string]any, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			line := make(map[string]any)
			if json.Unmarshal(scanner.Bytes(), &line) != nil {
				line["message"] = scanner.Text()
			}
			lines <- line
		}
	}()
	return lines
}

// A journal is what was logged so far; lines may come in any order.
type journal struct {
	lines <-chan map[string]any
	seen  []map[string]any
}

// await returns the first line with a message, when it comes.
func (j *journal) await(t *testing.T, message string) map[string]any {
	t.Helper()
	for _, line := range j.seen {
		if line["message"] == message {
			return line
		}
	}
	timeout := time.After(10 * time.Second)
	for {
		select {
		case line, ok := <-j.lines:
			if !ok {
				t.Fatalf("the log ended before %q", message)
			}
			j.seen = append(j.seen, line)
			if line["message"] == message {
				return line
			}
		case <-timeout:
			t.Fatalf("no log line %q", message)
		}
	}
}

// count returns how many lines have a message, when the log has ended.
func (j *journal) count(message string) (n int) {
	for line := range j.lines {
		j.seen = append(j.seen, line)
	}
	for _, line := range j.seen {
		if line["message"] == message {
			n++
		}
	}
	return n
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// How sweeps fare is logged when it changes.
func TestSweepLog(t *testing.T) {
	var out bytes.Buffer
	l := &sweepLog{logger: zerolog.New(&out)}
	complete := &lag.View{Topics: []lag.TopicView{{Partitions: make([]lag.PartitionView, 3)}}, Groups: make([]lag.GroupView, 2)}
	hung := &lag.View{Missed: []lag.Miss{{Kind: lag.MissTimeout, Subject: "broker 2", Count: 1, Detail: "no answer"}}}
	hungAgain := &lag.View{Missed: []lag.Miss{{Kind: lag.MissTimeout, Subject: "broker 2", Count: 7}}}
	suspended := &lag.View{Missed: []lag.Miss{{Kind: lag.MissSuspended, Subject: "broker 2", Count: 1}}}
	dead := &lag.View{Failure: "connection refused", Missed: suspended.Missed}
	deadAgain := &lag.View{Failure: "connection reset"}
	refused := &lag.View{Failure: "login refused", Missed: []lag.Miss{{Kind: lag.MissAuthentication, Subject: "broker 2", Count: 1}}}
	for _, view := range []*lag.View{complete, complete, hung, hungAgain, suspended, dead, deadAgain, refused, refused, complete} {
		l.observe(view)
	}
	want := `{"level":"info","topics":1,"partitions":3,"groups":2,"took":"0s","message":"the cluster is read completely"}
{"level":"warn","missed":["broker 2: timeout (no answer)"],"misses":1,"message":"the cluster is read in part"}
{"level":"warn","missed":["broker 2: suspended"],"misses":1,"message":"the cluster is read in part"}
{"level":"error","reason":"connection refused","message":"no broker reachable"}
{"level":"error","reason":"login refused","message":"no broker reachable"}
{"level":"info","topics":1,"partitions":3,"groups":2,"took":"0s","message":"the cluster is read completely"}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// The exporter's own metrics name results as the collector does.
func TestSweepResults(t *testing.T) {
	got := strings.Join(metrics.SweepResults, " ")
	var want []string
	for _, r := range []collector.Result{collector.Complete, collector.Partial, collector.Failed, collector.Skipped} {
		want = append(want, string(r))
	}
	if got != strings.Join(want, " ") {
		t.Errorf("metrics.SweepResults is %q, want %q", got, want)
	}
}
