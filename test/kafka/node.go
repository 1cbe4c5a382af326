package kafka

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// node is one process of a cluster, or the place for one.
type node struct {
	id          int
	address     string
	userAddress string // of the listener on which users log in
	listeners   map[string]string
	dir         string
	cluster     *Cluster

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process is gone
}

var javaOptions = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"}

func (n *node) propertiesFile() string { return filepath.Join(n.dir, "server.properties") }
func (n *node) logFile() string        { return filepath.Join(n.dir, "server.log") }

// java is a command line that runs a class of Kafka's jars.
func (n *node) java(ctx context.Context, options []string, class string, args ...string) *exec.Cmd {
	line := slices.Concat(javaOptions, options,
		[]string{"-Dlog4j2.configurationFile=" + n.cluster.logging(), "-cp", filepath.Join(n.cluster.jars, "*"), class}, args)
	return exec.CommandContext(ctx, n.cluster.java, line...)
}

// format writes the configuration and formats the storage.
func (n *node) format(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(n.dir, "data"), 0o755); err != nil {
		return err
	}
	content := strings.Join(n.cluster.properties(n), "\n") + "\n"
	if err := os.WriteFile(n.propertiesFile(), []byte(content), 0o644); err != nil {
		return err
	}
	args := []string{"format", "--cluster-id", n.cluster.id, "--config", n.propertiesFile(), "--no-initial-controllers"}
	if n.id == controllerID {
		args[len(args)-1] = "--standalone"
	}
	for _, name := range slices.Sorted(maps.Keys(n.cluster.config.Features)) {
		args = append(args, "--feature", name+"="+n.cluster.config.Features[name])
	}
	if c := n.cluster.config.Secured; c != nil {
		for _, user := range c.Scram {
			args = append(args, "--add-scram", user)
		}
	}
	if out, err := n.java(ctx, nil, "kafka.tools.StorageTool", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format node %d: %w: %s", n.id, err, tail(out))
	}
	return nil
}

// start starts the process; it does not wait until it serves.
func (n *node) start() error {
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// The process outlives the call, so no context ends it.
	n.cmd = n.java(context.Background(), append([]string{"-Xms64m", "-Xmx384m"}, n.cluster.config.JVM...), "kafka.Kafka", n.propertiesFile())
	n.cmd.Stdout, n.cmd.Stderr = log, log
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("start node %d: %w", n.id, err)
	}
	n.cluster.guard.remember(n.pid())
	n.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // how it ended does not matter: signals do it
		close(exited)
	}(n.cmd, n.exited)
	return nil
}

func (n *node) pid() int { return n.cmd.Process.Pid }

// running says whether there is a process, paused or not.
func (n *node) running() bool {
	if n.cmd == nil || n.exited == nil {
		return false
	}
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

func (n *node) signal(s os.Signal) error {
	if !n.running() {
		return fmt.Errorf("node %d is not running", n.id)
	}
	if err := n.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal node %d: %w", n.id, err)
	}
	return nil
}

// end kills the process, if there is one, and returns when it is gone.
func (n *node) end() error {
	if !n.running() {
		return nil
	}
	if err := n.signal(os.Kill); err != nil && n.running() {
		return err
	}
	<-n.exited
	n.cluster.guard.forget(n.pid())
	return nil
}
