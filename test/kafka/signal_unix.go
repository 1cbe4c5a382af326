//go:build unix

package kafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	signalStop     = syscall.SIGSTOP
	signalContinue = syscall.SIGCONT
	signalEnd      = syscall.SIGTERM
)

// pause returns when every thread of the process stands still.
func (n *node) pause(ctx context.Context) error {
	if err := n.signal(signalStop); err != nil {
		return err
	}
	for !stopped(n.pid()) {
		select {
		case <-n.exited:
			return fmt.Errorf("node %d ended", n.id)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// stopped looks at the threads' states where the system shows them (Linux);
// elsewhere the signal has to do.
func stopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return true
	}
	for _, stat := range stats {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the name, which is in parentheses.
		_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')'):]), " ")
		if !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return true
}

// watchdog is a process that kills a cluster's nodes and deletes its data when
// the test that started them dies without having done so.
type watchdog struct {
	cmd   *exec.Cmd
	input interface {
		Write([]byte) (int, error)
		Close() error
	}
}

// watch starts the watchdog of a folder. Its standard input lists the processes
// to kill; the input's end, which comes with the test's, is the signal.
func watch(dir string) (*watchdog, error) {
	const script = `pids=" "
while read -r act pid; do
	case $act in
	+) pids="$pids$pid " ;;
	-) pids="${pids%% $pid *} ${pids#* $pid }" ;;
	esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
rm -rf "$1"`
	cmd := exec.Command("sh", "-c", script, "watchdog", dir)
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return &watchdog{cmd, input}, nil
}

func (w *watchdog) remember(pid int) { _, _ = fmt.Fprintf(w.input, "+ %d\n", pid) }
func (w *watchdog) forget(pid int)   { _, _ = fmt.Fprintf(w.input, "- %d\n", pid) }

// dismiss ends the watchdog, which finds nothing left to kill.
func (w *watchdog) dismiss() error {
	if err := w.input.Close(); err != nil {
		return err
	}
	return w.cmd.Wait()
}
