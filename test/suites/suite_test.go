package suites

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// suite is the tests of a module, compiled.
type suite struct {
	dir     string // the package's folder, in which its tests run
	program string
}

// source is where a suite comes from.
type source struct {
	module  string // with version
	folder  string // of the package, below the module's
	tags    string
	changes []change // to be made before compiling
}

// change is a text in a file of a module that is other than its authors have it:
// an address that they have written down.
type change struct{ file, from, to string }

// fetch is a module's folder, in the module cache.
func fetch(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir() // outside of any module
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr != nil || got.Error != "" || got.Dir == "" {
		t.Skipf("not run: %s cannot be fetched: %v %s", module, err, got.Error)
	}
	return got.Dir
}

// compile compiles a suite in its own module: with the versions that its authors
// test with, by their checksums.
func compile(t *testing.T, from source) suite {
	t.Helper()
	module := fetch(t, from.module)
	if len(from.changes) > 0 {
		module = changed(t, module, from.changes)
	}
	s := suite{dir: filepath.Join(module, from.folder), program: filepath.Join(t.TempDir(), "suite.test")}
	build(t, s.dir, "test", "-c", "-o", s.program, "-tags", from.tags, ".")
	return s
}

// build runs the go command in a module.
func build(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
}

// changed is a copy of a module with changes: the module cache is not ours.
func changed(t *testing.T, module string, changes []change) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(module, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		path := filepath.Join(dir, c.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(c.from)) {
			t.Fatalf("%s has no %q any more", c.file, c.from)
		}
		if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(c.from), []byte(c.to)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The ways in which a test ends.
const (
	passed   = "PASS"
	failed   = "FAIL"
	skipped  = "SKIP"
	cutShort = "cut short" // it began, and its process ended before it did
	neverRan = "did not run"
)

// outcomes are how tests ended, by name, and what they printed.
type outcomes struct {
	ended  map[string]string
	output []byte
}

var (
	testBegan = regexp.MustCompile(`^\x16?=== RUN +(\S+)`)
	testEnded = regexp.MustCompile(`^\x16? *--- (PASS|FAIL|SKIP): (\S+) \(`)
)

// run runs tests of the suite whose names match, in one process.
func (s suite) run(ctx context.Context, pattern string, timeout time.Duration, env ...string) outcomes {
	ctx, cancel := context.WithTimeout(ctx, timeout+time.Minute)
	defer cancel()
	// The marks of test2json keep apart what tests and what the frame prints.
	cmd := exec.CommandContext(ctx, s.program, "-test.v=test2json", "-test.run", pattern, "-test.timeout", timeout.String())
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	o := outcomes{ended: map[string]string{}, output: out}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if m := testBegan.FindStringSubmatch(lines.Text()); m != nil {
			o.ended[m[1]] = cutShort
		}
		if m := testEnded.FindStringSubmatch(lines.Text()); m != nil {
			o.ended[m[2]] = m[1]
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.output = fmt.Appendf(o.output, "\n%v", err)
	}
	return o
}

// exceptions are the tests of a suite that do not pass on a real Kafka, by name.
type exceptions map[string]exception

type exception struct {
	ends   string // FAIL, SKIP, or MAY where it is either
	reason string
}

// readExceptions reads a file of lines such as: SKIP TestName the reason.
func readExceptions(t *testing.T, name string) exceptions {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	all := exceptions{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.SplitN(line, " ", 3)
		if len(words) != 3 || words[0] != failed && words[0] != skipped && words[0] != mayFail {
			t.Fatalf("testdata/%s:%d: %q; expected FAIL, SKIP or MAY, a test and the reason", name, i+1, line)
		}
		all[words[1]] = exception{words[0], words[2]}
	}
	return all
}

// mayFail marks tests that pass at times on a real Kafka and fail at others.
const mayFail = "MAY"

// judge holds what came out to what is written down: every test passes but the
// exceptions, and these end as it says. It returns the tests at fault.
func (o outcomes) judge(t *testing.T, excepted exceptions) (wrong []string) {
	t.Helper()
	if len(o.ended) == 0 {
		wrong = append(wrong, "no test: the suite did not come to any")
	}
	for name, ended := range o.ended {
		want := passed
		e, isException := excepted[name]
		if isException {
			want = e.ends
		}
		if ended != want && want != mayFail {
			wrong = append(wrong, fmt.Sprintf("%s: %s, expected %s", name, ended, want))
		}
	}
	for name := range excepted {
		if _, ran := o.ended[name]; !ran {
			wrong = append(wrong, fmt.Sprintf("%s: %s, and stands in the list of exceptions", name, neverRan))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// count is how many tests ended in a way.
func (o outcomes) count(way string) int {
	n := 0
	for _, ended := range o.ended {
		if ended == way {
			n++
		}
	}
	return n
}

// save keeps what a run has printed where LSO_SUITES_OUTPUT names a folder.
func (o outcomes) save(t *testing.T) {
	t.Helper()
	dir := os.Getenv("LSO_SUITES_OUTPUT")
	if dir == "" {
		return
	}
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + ".txt"
	if err := os.WriteFile(filepath.Join(dir, name), o.output, 0o644); err != nil {
		t.Error(err)
	}
}
