//go:build unix

package docs

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// complaint is how tools tell of what went wrong that end with status 0.
var complaint = regexp.MustCompile(`(?m)^Error|^\s*at [a-z]+\.|Exception`)

// Kafka's own tools take the commands of the pages: each is given to a shell, with the
// scripts of the tools, and what it names is there.
func TestKafkaTools(t *testing.T) {
	version := kafka.Version(t)
	kafka.Long(t)
	if strings.HasPrefix(version, "3.") {
		t.Skip("not run: the pages speak of the tools of Kafka 4")
	}
	cluster := kafka.StartFor(t, kafka.Config{Version: version, Brokers: 3, Secured: &kafka.Security{}})
	folder := t.TempDir()
	if err := kafka.WriteScripts(t.Context(), folder, version); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	begin(t, cluster.Bootstrap())
	for _, line := range readLedger(t, kafkaLedger) {
		offset := held(t, admin, cluster.Bootstrap())
		text := strings.TrimPrefix(line, "+ ")
		text = fill(text, strings.Join(cluster.Bootstrap(), ","), fmt.Sprint(offset), segment(t, admin))
		status, output := run(t, folder, text)
		if status != 0 || complaint.MatchString(output) {
			t.Errorf("%s\nended with status %d:\n%s", text, status, output)
		}
		t.Logf("%s\n%s", text, output)
	}
}

// held is the offset from which a transaction holds orders-3; one that a command has
// ended is begun anew.
func held(t *testing.T, admin *kadm.Client, seeds []string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var orders kadm.TopicsSet
	orders.Add("orders", 3)
	described, err := admin.DescribeProducers(ctx, orders)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range described {
		for _, partition := range topic.Partitions {
			for _, producer := range partition.ActiveProducers {
				if producer.CurrentTxnStartOffset >= 0 {
					return producer.CurrentTxnStartOffset
				}
			}
		}
	}
	return begin(t, seeds)
}

// segment is the file in which a broker keeps orders-3.
func segment(t *testing.T, admin *kadm.Client) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	directories, err := admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := ""
	directories.Each(func(d kadm.DescribedLogDir) {
		if _, found := d.Topics.Lookup("orders", 3); found {
			file = filepath.Join(d.Dir, "orders-3", "00000000000000000000.log")
		}
	})
	return file
}

// fill puts what there is into the place of what pages speak of.
func fill(text, brokers, offset, segment string) string {
	return strings.NewReplacer(
		"--bootstrap-server …", "--bootstrap-server "+brokers,
		"BROKER", brokers, "kafka-1:9092", brokers,
		"--topic TOPIC", "--topic orders", "--topic T ", "--topic orders ", "--topic …", "--topic orders", "--entity-name TOPIC", "--entity-name orders",
		"--partition PARTITION", "--partition 3", "--partition P", "--partition 3", "--partition …", "--partition 3",
		"--group GROUP", "--group billing", "--group …", "--group billing",
		"--transactional-id ID", "--transactional-id billing-7", "--transactionalId ID", "--transactionalId billing-7", "--transactionalId …", "--transactionalId billing-7",
		"--max-messages 1463", "--max-messages 1", // there is no other
		"--start-offset OFFSET", "--start-offset "+offset, "--start-offset …", "--start-offset "+offset, "9123", offset,
		"--broker-id B", "--broker-id 1",
		"--to-offset N", "--to-offset 0", "--to-datetime …", "--to-datetime 2026-01-01T00:00:00.000", "retention.ms=…", "retention.ms=604800000",
		"--files …", "--files "+segment,
		"User:PRINCIPAL", "User:lso-exporter", "--entity-name USER", "--entity-name lso-exporter",
	).Replace(text)
}
