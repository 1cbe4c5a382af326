package java

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// patience is how long a command may take.
const patience = 8 * time.Minute

// compile compiles the programs against the jars of a version, and returns the
// folder with their classes. Without a compiler the test is skipped.
func compile(t *testing.T, version string) string {
	t.Helper()
	compiler, err := exec.LookPath("javac")
	if err != nil {
		t.Skip("not run: there is no javac (Java's development kit)")
	}
	jars, err := kafka.Jars(context.Background(), version)
	if err != nil {
		t.Skip(err)
	}
	sources, err := filepath.Glob("programs/*.java")
	if err != nil {
		t.Fatal(err)
	}
	classes := t.TempDir()
	arguments := append([]string{"-nowarn", "-proc:none", "-d", classes, "-cp", filepath.Join(jars, "*")}, sources...)
	if out, err := exec.Command(compiler, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return classes
}

// shell is a virtual machine in which commands run one after the other.
type shell struct {
	cmd    *exec.Cmd
	input  io.Writer
	output *bufio.Reader
	said   bytes.Buffer
}

// openShell starts a shell that ends with the test.
func openShell(t *testing.T, version, classes string) *shell {
	t.Helper()
	cmd, err := kafka.Command(context.Background(), version, "Shell")
	if err != nil {
		t.Skip(err)
	}
	s := &shell{cmd: cmd}
	for i, argument := range cmd.Args {
		if argument == "-cp" {
			cmd.Args[i+1] = classes + string(os.PathListSeparator) + cmd.Args[i+1]
		}
	}
	// What the libraries log is not what programs print.
	cmd.Args = append(cmd.Args[:1], append([]string{"-Dlog4j2.level=" + logLevel()}, cmd.Args[1:]...)...)
	cmd.Stderr = &s.said
	if s.input, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.output = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the kill is how it ends
		if t.Failed() && s.said.Len() > 0 {
			t.Logf("the virtual machine said:\n%s", &s.said)
		}
	})
	return s
}

// logLevel is how much the libraries log.
func logLevel() string {
	if level := os.Getenv("LSO_JAVA_LOG"); level != "" {
		return level
	}
	return "OFF"
}

// run runs a class and returns what it printed and its exit status.
func (s *shell) run(class string, arguments, input []string) (printed string, status int, err error) {
	fields := append([]string{class}, arguments...)
	if len(input) > 0 {
		fields = append(append(fields, ""), input...)
	}
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	if _, err := fmt.Fprintln(s.input, strings.Join(fields, "\t")); err != nil {
		return "", 0, fmt.Errorf("%s: %w", class, err)
	}
	var text strings.Builder
	for {
		line, err := s.output.ReadString('\n')
		if err != nil {
			return "", 0, fmt.Errorf("%s ended the virtual machine, or took longer than %v: %w: %s%s", class, patience, err, &text, line)
		}
		if number, ended := strings.CutPrefix(line, "\x00"); ended {
			status, err := strconv.Atoi(strings.TrimSpace(number))
			return text.String(), status, err
		}
		text.WriteString(line)
	}
}
