package suites

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The tests of franz-go's package kgo: producing, consuming, groups of every
// protocol, transactions from input to output, share groups.
func TestKgo(t *testing.T) {
	s := compile(t, source{module: "github.com/twmb/franz-go@v1.22.3", folder: "pkg/kgo"})
	excepted := readExceptions(t, "kgo.txt")
	on(t, setting{brokers: 3, logins: true, properties: map[string]string{
		"group.initial.rebalance.delay.ms":     "0",
		"auto.create.topics.enable":            "false",
		"offsets.topic.num.partitions":         "5",
		"transaction.state.log.num.partitions": "5",
	}}, func(t *testing.T, c cluster) {
		logins := addUser(t, c, "suite", "suite-secret")
		for _, replicas := range []int{1, 3} {
			t.Run(fmt.Sprintf("replicas=%d", replicas), func(t *testing.T) {
				env := []string{
					"KGO_SEEDS=" + bootstrap(c), "KGO_LOG_LEVEL=none",
					fmt.Sprintf("KGO_TEST_RF=%d", replicas), "KGO_TEST_RECORDS=50000",
					"KGO_TEST_SCRAM=suite:suite-secret:256", "KGO_TEST_SCRAM_SEEDS=" + logins, "KGO_TEST_OAUTH_SEEDS=" + logins,
				}
				o := s.run(context.Background(), ".", 20*time.Minute, env...)
				again(t, s, &o, excepted, env)
			})
		}
	})
}

// addUser gives a user a password for SCRAM-SHA-256, and returns the addresses at
// which users log in.
func addUser(t *testing.T, c cluster, name, password string) string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap(c), ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	added, err := kadm.NewClient(client).AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{
		User: name, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: password,
	}})
	if err == nil {
		err = added.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(c.loginAddresses(), ",")
}

// again gives tests that failed more chances, each alone, and judges what came of
// them. On the simulator alone there are none, but for one test of sarama.
func again(t *testing.T, s suite, o *outcomes, excepted exceptions, env []string) {
	t.Helper()
	o.save(t)
	wrong := o.judge(t, excepted)
	for range chances(t.Name(), o.output) {
		wrong = s.still(t, wrong, env)
	}
	if len(wrong) > 0 {
		t.Errorf("%s\n%s", strings.Join(wrong, "\n"), tailOf(o.output))
	}
	t.Logf("%d passed, %d skipped, %d failed", o.count(passed), o.count(skipped), o.count(failed)+o.count(cutShort))
}

// still runs each of the tests at fault by itself, those within others first, and
// returns what is still at fault. A test that has others within it is as they are.
func (s suite) still(t *testing.T, wrong []string, env []string) (left []string) {
	t.Helper()
	within := func(lines []string, name string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+"/") })
	}
	for _, line := range wrong { // what is within comes first: they are sorted, and "/" is before ":"
		name, _, _ := strings.Cut(line, ":")
		if within(wrong, name) {
			if within(left, name) {
				left = append(left, line)
			}
			continue
		}
		levels := strings.Split(name, "/")
		for i, level := range levels {
			levels[i] = "^" + regexp.QuoteMeta(level) + "$"
		}
		if next := s.run(context.Background(), strings.Join(levels, "/"), 20*time.Minute, env...); next.ended[name] != passed {
			left = append(left, line)
		} else {
			t.Logf("passed when it ran alone: %s", name)
		}
	}
	return left
}

// chances are how many more a test has that failed, where processes of Java share
// few cores with tests that are written for more: on a real Kafka, and beside
// Java's clients; and where sarama's leader came too late.
func chances(test string, output []byte) int {
	switch {
	case strings.Contains(test, "/kafka"):
		return 4
	case strings.Contains(test, "Java"):
		return 1
	case strings.HasSuffix(test, "/"+lateLeader) && bytes.Contains(output, []byte(expelled)):
		return 4
	}
	return 0
}

// lateLeader is a test in which sarama's leader may come too late with its
// SyncGroup, and expelled is what it is told then. A Fetch of sarama's holds its
// connection's lock until it is answered, here for 0.5 s, and whoever waits for the
// lock often gets it after one more Fetch only. The leader wants the lock of each
// broker, to see how busy it is, then of one for Metadata, then of the coordinator:
// six waits at most. It is expelled after 6 s. On a real Kafka, whose brokers answer
// at different moments, the next broker is half way through its Fetch, and all of it
// took up to 5.1 s. Brokers that answer at the same moment, as those of one process
// do, make each wait as long as it can be; so does a real Kafka behind a network that
// holds answers back to the same moments.
const (
	lateLeader = "TestFuncConsumerGroupCooperative"
	expelled   = "The provided member is not known in the current generation"
)

// tailOf is the end of what a suite printed; LSO_SUITES_OUTPUT keeps the whole.
func tailOf(output []byte) string {
	const most = 4000
	if len(output) > most {
		output = output[len(output)-most:]
	}
	return string(output)
}
