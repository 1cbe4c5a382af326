package kafka

import (
	"context"
	"fmt"
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
