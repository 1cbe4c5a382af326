//go:build linux

package image

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// listening is what the exporter logs once it does.
var listening = regexp.MustCompile(`Listening on address=(\S+)`)

// deadline is how long the exporter may take to listen and to see the cluster.
const deadline = 30 * time.Second

// checkRun runs the exporter of an unpacked image against a simulated cluster, as
// little trusted as a pod of the restricted level.
func checkRun(t *testing.T, root string) {
	cluster, err := simbroker.Start(simbroker.Config{Brokers: 3, ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	command := exec.Command("/lso-exporter", "serve", "--kafka.brokers="+strings.Join(cluster.Bootstrap(), ","),
		"--web.listen-address=127.0.0.1:0", "--sweep.interval=500ms")
	command.Dir = "/"
	command.Env = []string{}
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := contained(command, root); err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}()

	// All of the log is read, as the exporter must not block on it.
	addresses := make(chan string, 1)
	go func() {
		defer close(addresses)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				addresses <- m[1]
			}
		}
	}()
	var address string
	select {
	case address = <-addresses:
	case <-time.After(deadline):
	}
	if address == "" {
		t.Fatal("the exporter does not say where it listens")
	}

	checkProcess(t, command.Process.Pid)
	if status, body := get(t, address, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	for begin := time.Now(); ; {
		status, body := get(t, address, "/readyz")
		if status == http.StatusOK {
			break
		}
		if time.Since(begin) > deadline {
			t.Fatalf("/readyz: %d %s", status, body)
		}
	}
	if _, body := get(t, address, "/metrics"); !strings.Contains(body, "\nlso_exporter_last_sweep_success 1\n") {
		t.Errorf("the metrics do not tell of a sweep that missed nothing:\n%s", body)
	}

	stopped = true
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range addresses { // to the end of the log, as Wait closes it
	}
	if err := command.Wait(); err != nil {
		t.Errorf("on SIGTERM: %v", err)
	}
}

// checkProcess looks at what the kernel says of the process.
func checkProcess(t *testing.T, pid int) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		t.Fatal(err)
	}
	const none = "0000000000000000"
	for _, want := range []string{
		"Uid:\t65532\t65532\t65532\t65532", "Gid:\t65532\t65532\t65532\t65532", "NoNewPrivs:\t1",
		"CapInh:\t" + none, "CapPrm:\t" + none, "CapEff:\t" + none, "CapBnd:\t" + none, "CapAmb:\t" + none,
	} {
		if !strings.Contains(string(status), want+"\n") {
			t.Errorf("the process has not %q:\n%s", want, status)
		}
	}
	mounts, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^\d+ \d+ \S+ \S+ / (\S+)`).FindStringSubmatch(string(mounts)); m == nil || !strings.HasPrefix(m[1], "ro,") {
		t.Errorf("the root can be written:\n%s", mounts)
	}
}

func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// Of linux/prctl.h.
const (
	prCapBSetDrop  = 24
	prSetNoNewPriv = 38
)

// contained starts a command on a root that is mounted read-only, as user and group
// 65532, without any capability and without a way to get one.
//
// Mounts and what a thread may gain are of one thread, and what it starts has them
// too. The thread ends with the goroutine, as it is never unlocked.
func contained(command *exec.Cmd, root string) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- func() error {
			if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
				return os.NewSyscallError("unshare", err)
			}
			for _, m := range []struct {
				source, target string
				flags          uintptr
			}{
				{"", "/", syscall.MS_REC | syscall.MS_PRIVATE},
				{root, root, syscall.MS_BIND},
				{"", root, syscall.MS_REMOUNT | syscall.MS_BIND | syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV},
			} {
				if err := syscall.Mount(m.source, m.target, "", m.flags, ""); err != nil {
					return os.NewSyscallError("mount "+m.target, err)
				}
			}
			for capability := uintptr(0); ; capability++ {
				if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, capability, 0); err == syscall.EINVAL {
					break // after the last that this kernel knows
				} else if err != 0 {
					return os.NewSyscallError("prctl", err)
				}
			}
			if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPriv, 1, 0, 0, 0, 0); err != 0 {
				return os.NewSyscallError("prctl", err)
			}
			command.SysProcAttr = &syscall.SysProcAttr{
				Chroot:     root,
				Credential: &syscall.Credential{Uid: 65532, Gid: 65532},
			}
			return command.Start()
		}()
		// The thread must outlive the start alone; the child is killed by nobody
		// when it ends.
	}()
	return <-started
}
