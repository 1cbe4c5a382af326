package kafka

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestFreePortsDiffer(t *testing.T) {
	ports, err := freePorts(8)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range ports {
		if p == 0 || seen[p] {
			t.Errorf("ports %v: %d is no port or comes twice", ports, p)
		}
		seen[p] = true
	}
}

func TestClusterIDsAreNoOptions(t *testing.T) {
	for range 2000 { // one in 64 would be
		id, err := newClusterID()
		if err != nil {
			t.Fatal(err)
		}
		if len(id) != 22 || id[0] == '-' {
			t.Fatalf("cluster id %q", id)
		}
	}
}

// A test that dies leaves nothing behind: the watchdog's input ends with it.
func TestWatchdogKillsWhatIsLeft(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("not run: there is no sleep command")
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := watch(dir)
	if err != nil {
		t.Skip(err)
	}
	left, ended := exec.Command("sleep", "600"), exec.Command("sleep", "600")
	for _, cmd := range []*exec.Cmd{left, ended} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.remember(cmd.Process.Pid)
	}
	w.forget(ended.Process.Pid)
	if err := w.dismiss(); err != nil {
		t.Fatal(err)
	}
	if err := left.Wait(); err == nil {
		t.Error("the process that was left is not killed")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data is still there: %v", err)
	}
	if err := ended.Process.Signal(os.Kill); err != nil {
		t.Errorf("the process that had ended for the watchdog was killed: %v", err)
	}
	_ = ended.Wait() // killed by the line above
}

// One broker is killed, started, stopped and started, paused and resumed, and
// serves after each.
func TestOneBroker(t *testing.T) {
	c := StartFor(t, Config{Version: Version(t), Brokers: 1})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, act := range []struct {
		name string
		do   func(context.Context, int32) error
	}{
		{"kill", c.Kill}, {"start", c.Start}, {"stop", c.Stop}, {"start", c.Start}, {"pause", c.Pause}, {"resume", c.Resume},
	} {
		if err := act.do(ctx, 1); err != nil {
			t.Fatalf("%s: %v", act.name, err)
		}
	}
	if err := c.nodes[1].awaitRegistered(ctx, 1); err != nil {
		t.Error(err)
	}
}
