package clients

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/test/kafka"
)

const topic = "orders"

// commits are what each client commits on the two partitions of the topic when it
// has read what its isolation level lets it. Java's and librdkafka's commit their
// position, behind end markers and aborted records; franz-go's commits its last
// record plus one.
var commits = map[string]map[string][2]string{
	"read_committed":   {"java": {"14", "16"}, "librdkafka": {"14", "16"}, "franz-go": {"13", "10"}},
	"read_uncommitted": {"java": {"21", "16"}, "librdkafka": {"21", "16"}, "franz-go": {"21", "15"}},
}

// story is a topic that consumers read: on partition 0 a transaction that was
// committed, and one that is open with records behind it; on partition 1 one that
// was aborted.
//
//	partition 0: 0-9 plain, 10-12 committed, 13 marker, 14-16 open, 17-20 plain
//	partition 1: 0-9 plain, 10-14 aborted, 15 marker
func story(c *cluster) (open *kgo.Client) {
	c.t.Helper()
	c.createTopics(2, topic)
	plain := c.client()
	c.produce(plain, topic, 0, 10)
	c.produce(plain, topic, 1, 10)
	c.end(c.transaction("committed", topic, 0, 3), kgo.TryCommit, topic, 0)
	c.end(c.transaction("aborted", topic, 1, 5), kgo.TryAbort, topic, 1)
	open = c.transaction("open", topic, 0, 3)
	c.produce(plain, topic, 0, 4)
	return open
}

func TestOnSimulator(t *testing.T) {
	kafka.Version(t)
	kafka.Long(t)
	compare(t, startSimulator(t))
}

func TestOnKafka(t *testing.T) { compare(t, startKafka(t)) }

// While consumers are at work, and when they have left and the log went on without
// them, the exporter's figures of each are those of the tool, but for the
// differences that there are.
func compare(t *testing.T, c *cluster) {
	open := story(c)
	e := newExporter(c)
	var running []consumer
	var stops []func()
	for _, one := range consumers() {
		stop, err := one.start(t, c, topic)
		if missing(err) {
			t.Run(one.group(), func(t *testing.T) { t.Skip(err) })
			continue
		}
		c.must(err)
		running, stops = append(running, one), append(stops, stop)
	}
	await(e, running)
	same(t, "at work", c.ask("--state", "--members", "--offsets"), e, running)

	var all sync.WaitGroup
	for _, stop := range stops {
		all.Go(stop)
	}
	all.Wait()
	c.end(open, kgo.TryCommit, topic, 0)
	c.produce(c.client(), topic, 1, 5)
	furnish(c)
	e.sweep()
	e.sweep() // a commit above the high watermark is ahead from the second sweep on
	told := c.ask("--state", "--offsets")
	same(t, "gone", told, e, running)
	differ(t, told["--offsets"], e)
}

// await waits until every consumer has committed what it can, and the exporter
// has seen it.
func await(e *exporter, running []consumer) {
	e.cluster.t.Helper()
	var waiting []string
	for end := time.Now().Add(patience); time.Now().Before(end); {
		<-time.After(200 * time.Millisecond)
		e.sweep()
		waiting = nil
		for _, one := range running {
			for partition, want := range commits[one.isolation][one.client] {
				of := []string{"group", one.group(), "topic", topic, "partition", strconv.Itoa(partition)}
				if got := e.show("kafka_group_partition_committed_offset", of...); got != want {
					waiting = append(waiting, one.group()+" "+got+" instead of "+want)
				}
			}
		}
		if len(waiting) == 0 {
			return
		}
	}
	e.cluster.t.Fatalf("these commits do not come:\n%s", strings.Join(waiting, "\n"))
}

// same compares what the last sweep saw with what the tool tells.
func same(t *testing.T, when string, told answers, e *exporter, running []consumer) {
	for _, one := range running {
		t.Run(one.group()+" "+when, func(t *testing.T) {
			printed, shown := told.of(one.group()), e.of(one.group())
			if len(printed) < 3 || !slices.Equal(printed, shown) {
				t.Errorf("kafka-consumer-groups.sh prints\n%s\nthe exporter shows\n%s", strings.Join(printed, "\n"), strings.Join(shown, "\n"))
			}
		})
	}
}
