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
