package secured

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// program builds the program once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lso-exporter-secured-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "lso-exporter")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/lso-exporter").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(status)
}

// command is a run of the program to come. What it prints is kept as said by the
// world.
func command(t *testing.T, ctx context.Context, environment []string, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, arguments...)
	// A proxy would be asked for the token endpoint.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "NO_PROXY=*"}, environment...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs the program to its end.
func run(t *testing.T, environment []string, arguments ...string) (status int, output string) {
	t.Helper()
	out, err := command(t, t.Context(), environment, arguments...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", arguments, err)
	}
	if exit != nil {
		status = exit.ExitCode()
	}
	return status, string(out)
}

// served is the program while it serves.
type served struct {
	t   *testing.T
	url string
	log *journal
}

// journal keeps what is written.
type journal struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.content.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.content.String()
}

// listening is what the program logs when it serves.
var listening = regexp.MustCompile(`"address":"([^"]*:\d+)"`)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// serve starts the program, which ends with the test.
func serve(t *testing.T, environment []string, arguments ...string) *served {
	t.Helper()
	s := &served{t: t, log: &journal{}}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := command(t, ctx, environment, append([]string{"serve", "--web.listen-address=127.0.0.1:0", "--log.level=debug", "--log.format=json"}, arguments...)...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait() // it was told to end
	})
	s.until("it listens", func() bool {
		m := listening.FindStringSubmatch(s.log.String())
		if m != nil {
			s.url = "http://" + m[1]
		}
		return m != nil
	})
	return s
}

// until waits for something to become true.
func (s *served) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s\n%s", what, s.log)
		}
	}
}

// get reads a page.
func (s *served) get(path string) (status int, body string) {
	s.t.Helper()
	response, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

// sample is the value of a series as it stands on the page; empty without it.
func (s *served) sample(series string) string {
	s.t.Helper()
	_, page := s.get("/metrics")
	for line := range strings.Lines(page) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// link finds the pages that a page links to.
var link = regexp.MustCompile(`href="(/[^"#]*)"`)

// pages are all pages, and what has no link to it.
func (s *served) pages() string {
	s.t.Helper()
	all, queue, seen := "", []string{"/", "/metrics", "/readyz", "/healthz", "/config", "/api/report"}, map[string]bool{}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		_, body := s.get(path)
		all += body
		for _, m := range link.FindAllStringSubmatch(body, -1) {
			queue = append(queue, m[1])
		}
	}
	return all
}
