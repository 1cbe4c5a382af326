package kafka

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

//go:embed pom.xml
var pom []byte

// ErrNotRun is wrapped by errors that say what the machine lacks for running a
// Kafka.
var ErrNotRun = errors.New("not run")

// javaMinimum is the oldest Java that Kafka's brokers run on.
const javaMinimum = 17

var javaVersion = regexp.MustCompile(`version "(\d+)`)

// java is the path of a Java that is new enough.
func java(ctx context.Context) (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("%w: Java is missing", ErrNotRun)
	}
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: java -version: %w", ErrNotRun, err)
	}
	m := javaVersion.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%w: java -version does not say which", ErrNotRun)
	}
	if v, err := strconv.Atoi(string(m[1])); err != nil || v < javaMinimum {
		return "", fmt.Errorf("%w: Java is %s, Kafka needs %d", ErrNotRun, m[1], javaMinimum)
	}
	return path, nil
}

// Jars is the folder with the jars of a version, fetched with Maven if it is
// not in the user's cache yet.
func Jars(ctx context.Context, version string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	parent := filepath.Join(cache, "lso-exporter", "kafka")
	dir := filepath.Join(parent, version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("%w: Maven is missing, and %s is not in %s", ErrNotRun, version, parent)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("fetch Kafka %s: %w", version, err)
	}
	// A folder is complete when it has its final name.
	work, err := os.MkdirTemp(parent, "fetch-")
	if err != nil {
		return "", fmt.Errorf("fetch Kafka %s: %w", version, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := fetch(ctx, mvn, work, version); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(work, "jars"), dir); err != nil {
		if _, raced := os.Stat(dir); raced == nil {
			return dir, nil // another test was faster
		}
		return "", fmt.Errorf("fetch Kafka %s: %w", version, err)
	}
	return dir, nil
}

func fetch(ctx context.Context, mvn, work, version string) error {
	file, jars := filepath.Join(work, "pom.xml"), filepath.Join(work, "jars")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return fmt.Errorf("fetch Kafka %s: %w", version, err)
	}
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", file, "-Dkafka.version="+version,
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+jars)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: Maven cannot fetch Kafka %s: %w: %s", ErrNotRun, version, err, tail(out))
	}
	// Kafka 3.9 brings a second binding of its logging interface.
	second, err := filepath.Glob(filepath.Join(jars, "slf4j-reload4j-*.jar"))
	if err != nil {
		return err
	}
	for _, jar := range second {
		if err := os.Remove(jar); err != nil {
			return err
		}
	}
	return nil
}

// tailSize is how much of a log an error shows.
const tailSize = 2000

func tail(b []byte) []byte { return b[max(0, len(b)-tailSize):] }
