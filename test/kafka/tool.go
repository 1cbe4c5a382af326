package kafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Tool runs one of Kafka's own command-line tools, a class of
// org.apache.kafka.tools such as TransactionsCommand, and returns what it
// printed. The error tells that too.
func (c *Cluster) Tool(ctx context.Context, class string, args ...string) (string, error) {
	out, err := c.nodes[controllerID].java(ctx, nil, "org.apache.kafka.tools."+class, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", class, err, tail(out))
	}
	return string(out), nil
}

// Command is the command line that runs a class of a version's jars, such as
// org.apache.kafka.tools.consumer.ConsoleConsumer, on the cluster that its
// arguments name. The error wraps ErrNotRun if the machine lacks what it takes.
func Command(ctx context.Context, version, class string, args ...string) (*exec.Cmd, error) {
	path, err := java(ctx)
	if err != nil {
		return nil, err
	}
	jars, err := Jars(ctx, version)
	if err != nil {
		return nil, err
	}
	line := slices.Concat(javaOptions, []string{"-cp", filepath.Join(jars, "*"), class}, args)
	return exec.CommandContext(ctx, path, line...), nil
}

// Tools are the classes behind the scripts that Kafka brings along, by their names.
var Tools = map[string]string{
	"kafka-acls.sh":                     "org.apache.kafka.tools.AclCommand",
	"kafka-broker-api-versions.sh":      "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"kafka-cluster.sh":                  "org.apache.kafka.tools.ClusterTool",
	"kafka-configs.sh":                  "kafka.admin.ConfigCommand",
	"kafka-console-consumer.sh":         "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"kafka-console-producer.sh":         "org.apache.kafka.tools.ConsoleProducer",
	"kafka-console-share-consumer.sh":   "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
	"kafka-consumer-groups.sh":          "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
	"kafka-consumer-perf-test.sh":       "org.apache.kafka.tools.ConsumerPerformance",
	"kafka-delete-records.sh":           "org.apache.kafka.tools.DeleteRecordsCommand",
	"kafka-dump-log.sh":                 "org.apache.kafka.tools.DumpLogSegments",
	"kafka-features.sh":                 "org.apache.kafka.tools.FeatureCommand",
	"kafka-get-offsets.sh":              "org.apache.kafka.tools.GetOffsetShell",
	"kafka-groups.sh":                   "org.apache.kafka.tools.GroupsCommand",
	"kafka-leader-election.sh":          "org.apache.kafka.tools.LeaderElectionCommand",
	"kafka-log-dirs.sh":                 "org.apache.kafka.tools.LogDirsCommand",
	"kafka-metadata-quorum.sh":          "org.apache.kafka.tools.MetadataQuorumCommand",
	"kafka-producer-perf-test.sh":       "org.apache.kafka.tools.ProducerPerformance",
	"kafka-reassign-partitions.sh":      "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
	"kafka-share-consumer-perf-test.sh": "org.apache.kafka.tools.ShareConsumerPerformance",
	"kafka-share-groups.sh":             "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
	"kafka-streams-groups.sh":           "org.apache.kafka.tools.streams.StreamsGroupCommand",
	"kafka-topics.sh":                   "org.apache.kafka.tools.TopicCommand",
	"kafka-transactions.sh":             "org.apache.kafka.tools.TransactionsCommand",
	"kafka-verifiable-consumer.sh":      "org.apache.kafka.tools.VerifiableConsumer",
}

// WriteScripts writes a shell script for each of Tools into a folder, which runs it
// with a version's jars. The error wraps ErrNotRun if the machine lacks what it
// takes.
func WriteScripts(ctx context.Context, folder, version string) error {
	for name, class := range Tools {
		command, err := Command(ctx, version, class)
		if err != nil {
			return err
		}
		script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", strings.Join(command.Args, "' '"))
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return nil
}
