//go:build !unix

package kafka

import (
	"context"
	"fmt"
	"os"
)

var (
	signalContinue os.Signal = os.Interrupt
	signalEnd      os.Signal = os.Interrupt
)

func (n *node) pause(context.Context) error {
	return fmt.Errorf("%w: this system cannot pause a process", ErrNotRun)
}

// watchdog needs a Unix shell.
type watchdog struct{}

func watch(string) (*watchdog, error) {
	return nil, fmt.Errorf("%w: a real Kafka is started on Unix only", ErrNotRun)
}

func (*watchdog) remember(int)   {}
func (*watchdog) forget(int)     {}
func (*watchdog) dismiss() error { return nil }
