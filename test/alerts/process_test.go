package alerts

import (
	"bufio"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for anything: well above the longest time
// in the demo's storyline, forty seconds.
const patience = 90 * time.Second

// A process is a program that runs until the test is over.
type process struct {
	name  string
	mu    sync.Mutex
	text  strings.Builder // all that it has printed
	grown chan struct{}   // closed and replaced when it prints
}

// start runs a program and ends it with the test.
func start(t *testing.T, name string, arguments ...string) *process {
	t.Helper()
	p := &process{name: name, grown: make(chan struct{})}
	command := exec.Command(name, arguments...)
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			p.mu.Lock()
			p.text.WriteString(lines.Text() + "\n")
			close(p.grown)
			p.grown = make(chan struct{})
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()         // killed, that is no news
		writer.Close()
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			text := p.text.String()
			t.Logf("the end of what %s printed:\n%s", p.name, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// await waits for what the process prints and returns its submatches.
func (p *process) await(t *testing.T, pattern string) []string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		found, grown := expression.FindStringSubmatch(p.text.String()), p.grown
		p.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-grown:
		case <-deadline:
			t.Fatalf("%s did not print %s", p.name, pattern)
		}
	}
}
