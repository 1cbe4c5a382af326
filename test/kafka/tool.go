package kafka

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
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
