package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// VersionVariable is the environment variable that names the version of Kafka
// on which tests are to run.
const VersionVariable = "LSO_KAFKA"

// Version is the version that the environment names. Without one the test is
// skipped, and says so.
func Version(t testing.TB) string {
	t.Helper()
	version := os.Getenv(VersionVariable)
	if version == "" {
		t.Skipf("not run: a real Kafka is asked for by %s=4.3.1 (needs Java 17 and Maven)", VersionVariable)
	}
	return version
}

// LongVariable is the environment variable with which tests on a real Kafka run
// that take too long for every run.
const LongVariable = "LSO_LONG"

// Long skips the test, and says so, unless the environment asks for long ones.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv(LongVariable) == "" {
		t.Skipf("not run: it takes too long for every run, and is asked for by %s=1", LongVariable)
	}
}

// StartFor starts a cluster that ends with the test. If the machine lacks what
// it takes, the test is skipped, and says what.
func StartFor(t testing.TB, config Config) *Cluster {
	t.Helper()
	c, err := Start(context.Background(), config)
	if errors.Is(err, ErrNotRun) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("LSO_KAFKA_LOGS") != "" {
			for _, n := range c.nodes {
				t.Log(fmt.Sprintf("log of node %d:\n", n.id) + c.Log(int32(n.id)))
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
