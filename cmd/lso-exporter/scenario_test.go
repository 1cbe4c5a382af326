package main

import (
	"context"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/control"
)

const (
	goodText = `# A record is there again when its broker is.
topic T1 replicas=B

N(2) T1-0 => ok @0
stop B
start B
await T1-0 LEO/HWM/LSO => 2/2/2
`
	wrongText = `# Two records, it is said.
topic T1

N(3) T1-0 => ok @0
T1-0 LEO/HWM/LSO => 2/2/2
`
	demandingText = "# Not to be had.\nrequires Produce v99\ntopic T1\n\nN(1) T1-0 => ok @0\n"
)

// writeTexts writes files into an empty folder, which becomes the working one.
func writeTexts(t *testing.T, texts map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range texts {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestScenarioRun(t *testing.T) {
	writeTexts(t, map[string]string{"good.txt": goodText, "wrong.txt": wrongText, "demanding.txt": demandingText, "none.txt": "topic T1\nnonsense\n"})
	cluster, err := simbroker.Start(simbroker.Config{Brokers: 3, ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	surface := httptest.NewServer(control.Handler(cluster))
	defer surface.Close()
	running := "--kafka.brokers=" + strings.Join(cluster.Bootstrap(), ",")

	for _, tt := range []struct {
		name, arguments  string
		status           int
		ends, complaints string
	}{
		{"in simulated time", "good.txt", exitOK, "T1-0 LEO/HWM/LSO => 2/2/2\n# 1 of 1 scenarios gave their outputs\n", ""},
		{"over TCP", "--tcp good.txt", exitOK, "# 1 of 1 scenarios gave their outputs\n", ""},
		{"on a cluster that runs", running + " --control.url=" + surface.URL + " good.txt", exitOK, "# 1 of 1 scenarios gave their outputs\n", ""},
		{"the same once more", running + " --control.url=" + surface.URL + " good.txt", exitOK, "# 1 of 1 scenarios gave their outputs\n", ""},
		{"without its control surface", running + " good.txt", exitFailed, "# 0 of 1 scenarios gave their outputs\n",
			"good.txt:5: stop B: this cluster's processes cannot be controlled\n"},
		{"another output", "wrong.txt good.txt", exitFailed, "# 1 of 2 scenarios gave their outputs\n",
			"wrong.txt:5: T1-0 LEO/HWM/LSO\n  want 2/2/2\n  got  3/3/3\n"},
		{"what the cluster lacks", "demanding.txt", exitFailed, "# 0 of 1 scenarios gave their outputs\n",
			"demanding.txt:2: requires Produce v99: not offered by this cluster: Produce 99\n"},
		{"no scenario", "none.txt", exitUsage, "", `none.txt:2: unknown command nonsense: "nonsense"` + "\n"},
		{"no file", "missing.txt", exitUsage, "", "missing.txt: cannot be read (no such file or directory); create it, or name one that is there\n"},
		{"nothing", "", exitUsage, "", `command line: "scenario run" needs words after it; write at least one FILE; see lso-exporter scenario run --help` + "\n"},
		{"two clusters", "--tcp " + running + " good.txt", exitUsage, "",
			"command line: --tcp is for a simulated cluster; leave out it or --kafka.brokers\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, stdout, stderr := execute(t, append([]string{"scenario", "run"}, strings.Fields(tt.arguments)...)...)
			if status != tt.status || !strings.HasSuffix(stdout, tt.ends) || stderr != tt.complaints {
				t.Errorf("status %d, output %q, errors %q; want %d, …%q, %q", status, stdout, stderr, tt.status, tt.ends, tt.complaints)
			}
		})
	}
}

// What a text or a flag cannot be is found before any text is played, and named.
func TestScenarioRunMistakes(t *testing.T) {
	for _, tt := range []struct{ name, text, flags, complaint string }{
		{"a property of a topic", "topic T1 retention.ms=x\n", "", `text.txt:1: Invalid value x for configuration retention.ms`},
		{"a property", "\nproperty log.retention.ms=abc\n", "", "text.txt:2: log.retention.ms=abc: Not a number of type LONG"},
		{"a replica", "topic T1 replicas=A,Z\n", "", "text.txt:1: no broker Z"},
		{"a broker", "topic T1\nkill Q\n", "", "text.txt:2: no broker Q"},
		{"a fault", "topic T1\nfault nope T1 => F1\n", "", `text.txt:2: not the description of a fault: fault "nope" is none; expected one of cut_answers`},
		{"an API of a fault", "fault lose_requests apis=Nope => F1\n", "", `text.txt:1: not the description of a fault: apis: "Nope" is none`},
		{"a fault for a cluster that runs", "fault nope => F1\n", "--kafka.brokers=127.0.0.1:1", "text.txt:1: not the description of a fault"},
		{"a version", "EndTxn/v9 X1 COMMIT (P1,0) => ok\n", "", "text.txt:1: EndTxn has no version 9"},
		{"a vendor", "vendor kafka-1.0\n", "", `text.txt:1: vendor "kafka-1.0" is none; expected one of event-hubs`},
		{"a feature", "feature group.version=7\n", "", "text.txt:1: feature group.version has no level 7; expected 0 for none, or 1 to 1"},
		{"a feature on the command line", "topic T1\n", "--feature=transaction.version=9", `command line: --feature = "transaction.version=9" cannot be: feature transaction.version has no level 9`},
		{"a feature of nothing", "topic T1\n", "--feature=transaction.version", `command line: --feature = "transaction.version" cannot be: a feature is NAME=LEVEL`},
		{"a feature of a cluster that runs", "topic T1\n", "--feature=group.version=0 --kafka.brokers=127.0.0.1:1", `command line: --feature = "group.version=0" is for a simulated cluster`},
		{"a vendor of a cluster that runs", "topic T1\n", "--vendor=kafka-3.9 --kafka.brokers=127.0.0.1:1", `command line: --vendor = "kafka-3.9" is for a simulated cluster`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			writeTexts(t, map[string]string{"good.txt": goodText, "text.txt": tt.text})
			status, stdout, stderr := execute(t, append([]string{"scenario", "run", "good.txt", "text.txt"}, strings.Fields(tt.flags)...)...)
			if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, tt.complaint) {
				t.Errorf("status %d, output %q, errors %q; want %s…", status, stdout, stderr, tt.complaint)
			}
		})
	}
}

// Features, vendors and properties of the flags are over those of a text.
func TestScenarioRunOffers(t *testing.T) {
	const groups = `# Without the feature there are no groups of the protocol.
feature group.version=%
property transaction.max.timeout.ms=30000
topic T1

InitProducerId X1 timeout=20s => ok (P1,0)
ConsumerGroupHeartbeat G1 M1 join T1 => UNSUPPORTED_VERSION(35)
`
	writeTexts(t, map[string]string{
		"none.txt": strings.ReplaceAll(groups, "%", "0"), "one.txt": strings.ReplaceAll(groups, "%", "1"),
		"plain.txt": "topic T1\n\nN(1) T1-0 => ok @0\nT1-0 LEO/HWM/LSO => 1/1/1\n",
		"older.txt": "vendor kafka-3.9\ntopic T1\n\nEndTxn/v5 X1 COMMIT (P1,0) => ok\n",
	})
	const joined = "got  epoch "
	for _, tt := range []struct {
		arguments string
		status    int
		complaint string
	}{
		{"none.txt", exitOK, ""},
		{"--tcp none.txt", exitOK, ""},
		{"one.txt", exitFailed, joined},
		{"--feature=group.version=0 one.txt", exitOK, ""},
		{"--feature=group.version=1 none.txt", exitFailed, joined},
		{"--property=transaction.max.timeout.ms=10000 none.txt", exitFailed, "got  INVALID_TRANSACTION_TIMEOUT(50)\n"},
		{"--vendor=kafka-4.2 none.txt", exitOK, ""},
		{"older.txt", exitFailed, "older.txt:4: EndTxn/v5 X1 COMMIT (P1,0): not offered by this cluster: EndTxn in version 5\n"},
		{"--vendor=redpanda older.txt", exitFailed, "not offered by this cluster"},
		{"--tcp --vendor=kafka-2.8 plain.txt", exitOK, ""},
		{"--tcp --vendor=redpanda plain.txt", exitOK, ""},
		{"--tcp --vendor=event-hubs plain.txt", exitOK, ""},
	} {
		t.Run(tt.arguments, func(t *testing.T) {
			status, _, stderr := execute(t, append([]string{"scenario", "run"}, strings.Fields(tt.arguments)...)...)
			if status != tt.status || !strings.Contains(stderr, tt.complaint) || tt.complaint == "" && stderr != "" {
				t.Errorf("status %d, errors %q; want %d, %q", status, stderr, tt.status, tt.complaint)
			}
		})
	}
}

// The text gets the outputs that came.
func TestScenarioRunUpdates(t *testing.T) {
	writeTexts(t, map[string]string{"text.txt": strings.ReplaceAll(wrongText, " => 2/2/2", "")})
	if status, _, stderr := execute(t, "scenario", "run", "--update", "text.txt"); status != exitOK {
		t.Fatalf("status %d, %s", status, stderr)
	}
	written, err := os.ReadFile("text.txt")
	if want := strings.ReplaceAll(wrongText, "2/2/2", "3/3/3"); err != nil || string(written) != want {
		t.Errorf("%q, %v, want %q", written, err, want)
	}
}

func TestScenarioFormat(t *testing.T) {
	spaced := strings.NewReplacer(" T1", "  T1", "=>", " => ", "\n\n", "\n\n\n").Replace(goodText) + "\n\n"
	writeTexts(t, map[string]string{"good.txt": goodText, "spaced.txt": spaced, "none.txt": "  | output\n"})
	for _, tt := range []struct {
		name, arguments string
		status          int
		stdout, stderr  string
		file            string // spaced.txt afterwards
	}{
		{"check", "--check good.txt spaced.txt", exitFailed, "spaced.txt\n", "", spaced},
		{"write", "good.txt spaced.txt", exitOK, "spaced.txt\n", "", goodText},
		{"check again", "--check good.txt spaced.txt", exitOK, "", "", goodText},
		{"no scenario", "none.txt", exitUsage, "", `none.txt:1: output without a command; each line of it begins with two spaces, | and one space, below a command and a lone =>: "  | output"` + "\n", goodText},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, stdout, stderr := execute(t, append([]string{"scenario", "fmt"}, strings.Fields(tt.arguments)...)...)
			if status != tt.status || stdout != tt.stdout || stderr != tt.stderr {
				t.Errorf("status %d, output %q, errors %q; want %d, %q, %q", status, stdout, stderr, tt.status, tt.stdout, tt.stderr)
			}
			if content, err := os.ReadFile("spaced.txt"); err != nil || string(content) != tt.file {
				t.Errorf("the file is %q, %v, want %q", content, err, tt.file)
			}
		})
	}
}

// A scenario ends with the process.
func TestScenarioRunStops(t *testing.T) {
	writeTexts(t, map[string]string{"good.txt": goodText})
	stopped, stop := context.WithCancel(context.Background())
	stop()
	p := &program{stop: stopped, stdout: &strings.Builder{}, stderr: &strings.Builder{}}
	if status := p.run([]string{"scenario", "run", "--tcp", "good.txt"}); status != exitFailed {
		t.Errorf("status %d", status)
	}
}
