package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// pythonVariable is the environment variable that names a Python with
// confluent-kafka.
const pythonVariable = "LSO_PYTHON"

// consumer is one of the consumers that are compared, each the only member of a
// group of its own.
type consumer struct {
	client    string // java, librdkafka or franz-go
	protocol  string // classic or consumer (KIP-848)
	isolation string // read_committed or read_uncommitted
}

// consumers are all of them.
func consumers() (all []consumer) {
	for _, client := range []string{"java", "librdkafka", "franz-go"} {
		for _, protocol := range []string{"classic", "consumer"} {
			for _, isolation := range []string{"read_committed", "read_uncommitted"} {
				all = append(all, consumer{client, protocol, isolation})
			}
		}
	}
	return all
}

func (c consumer) group() string { return c.client + "-" + c.protocol + "-" + c.isolation }

// start has the consumer read a topic from its beginning and commit as it goes,
// until the returned function is called: then it leaves its group. The error
// wraps kafka.ErrNotRun if the machine lacks the client, or the cluster the
// protocol.
func (c consumer) start(t *testing.T, cl *cluster, topic string) (stop func(), err error) {
	if c.protocol == "consumer" && !cl.offers("group.version") {
		return nil, fmt.Errorf("%w: not offered by this cluster: group.version 1", kafka.ErrNotRun)
	}
	bootstrap := strings.Join(cl.bootstrap, ",")
	switch c.client {
	case "java":
		cmd, err := kafka.Command(context.Background(), cl.version, "org.apache.kafka.tools.consumer.ConsoleConsumer",
			"--bootstrap-server", bootstrap, "--topic", topic, "--group", c.group(), "--isolation-level", c.isolation, "--from-beginning",
			"--consumer-property", "group.protocol="+c.protocol, "--consumer-property", "client.id=java",
			"--consumer-property", "auto.commit.interval.ms=200")
		if err != nil {
			return nil, err
		}
		return c.startProcess(t, cmd)
	case "librdkafka":
		python := os.Getenv(pythonVariable)
		if python == "" {
			return nil, fmt.Errorf("%w: no %s names a Python that has confluent-kafka", kafka.ErrNotRun, pythonVariable)
		}
		return c.startProcess(t, exec.Command(python, "consume.py", bootstrap, c.group(), topic, c.isolation, c.protocol))
	default:
		return c.startFranz(cl, topic)
	}
}

// startProcess starts a consumer that leaves its group on SIGTERM. What it has
// printed is shown when the test fails.
func (c consumer) startProcess(t *testing.T, cmd *exec.Cmd) (stop func(), err error) {
	var output strings.Builder
	cmd.Stderr = &output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // a signal ends it
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("%s: %s", c.group(), output.String())
		}
	})
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(patience):
			t.Errorf("%s does not end", c.group())
		}
	}, nil
}

func (c consumer) startFranz(cl *cluster, topic string) (stop func(), err error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(cl.bootstrap...), kgo.ClientID("franz-go"), kgo.ConsumerGroup(c.group()), kgo.ConsumeTopics(topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(200 * time.Millisecond), kgo.Balancers(kgo.RangeBalancer()),
		kgo.FetchMaxWait(200 * time.Millisecond),
	}
	if c.isolation == "read_committed" {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if c.protocol == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			// A poll marks what the one before returned for being committed.
			poll, end := context.WithTimeout(ctx, 200*time.Millisecond)
			client.PollFetches(poll)
			end()
		}
	}()
	return func() {
		cancel()
		<-done
		client.Close()
	}, nil
}

// missing says whether an error tells that a client cannot run.
func missing(err error) bool { return errors.Is(err, kafka.ErrNotRun) }
