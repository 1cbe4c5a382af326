package suites

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sarama's tests have docker start and stop brokers, show their logs, and run
// Kafka's tools beside them. The stand-in does that on the cluster that is
// there. What it must know is in its environment.
const (
	dockerControl = "LSO_SUITES_CONTROL" // URL of the cluster's keeper
	dockerTools   = "LSO_SUITES_TOOLS"   // folder with Kafka's tools
	dockerBrokers = "LSO_SUITES_BROKERS" // addresses that stand for kafka-1:9091
)

// dockerStandIn is the program docker.
func dockerStandIn(args []string) int {
	status, err := dockerCompose(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return status
}

func dockerCompose(args []string) (int, error) {
	if len(args) > 3 && args[1] == "--profile" { // for versions that need ZooKeeper
		args = slices.Concat(args[:1], args[3:])
	}
	if len(args) < 2 || args[0] != "compose" {
		return 1, fmt.Errorf("docker %s: only compose is known", strings.Join(args, " "))
	}
	switch command, rest := args[1], args[2:]; command {
	case "up", "down", "rm":
		return 0, nil // the cluster is up, and is not the tests' to take down
	case "start", "stop":
		return keeper(command, url.Values{"id": {brokerID(rest[len(rest)-1])}})
	case "logs":
		values := url.Values{"id": {brokerID(rest[len(rest)-1])}}
		if len(rest) == 3 && rest[0] == "--since" {
			values.Set("since", rest[1])
		}
		return keeper(command, values)
	case "exec": // -T kafka-1 COMMAND ARGUMENTS
		return insideBroker(rest[2:])
	default:
		return 1, fmt.Errorf("docker compose %s is not known", command)
	}
}

func brokerID(service string) string { return strings.TrimPrefix(service, "kafka-") }

// keeper asks whoever keeps the cluster, and prints the answer.
func keeper(command string, values url.Values) (int, error) {
	resp, err := http.PostForm(os.Getenv(dockerControl)+"/"+command, values)
	if err != nil {
		return 1, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return 1, fmt.Errorf("%s: %s", command, text)
	}
	_, err = io.Copy(os.Stdout, resp.Body)
	return 0, err
}

// insideBroker runs a command with the tools and addresses of this machine in
// place of those inside a container.
func insideBroker(words []string) (int, error) {
	inside := "/opt/kafka-" + os.Getenv("KAFKA_VERSION") + "/bin"
	here := strings.NewReplacer(inside, os.Getenv(dockerTools), "kafka-1:9091", os.Getenv(dockerBrokers))
	line := make([]string, len(words))
	for i, word := range words {
		line[i] = here.Replace(word)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 127, err
	}
	return 0, nil
}

// dockered is a cluster that tests reach by the stand-in.
type dockered struct {
	env []string // in which they find it
	// tools is the folder for the tools that are beside the brokers.
	tools string
	// restore starts the brokers that a test has left stopped.
	restore func() error
}

// docker keeps the cluster for the stand-in.
func docker(t *testing.T, c cluster) dockered {
	t.Helper()
	keeper, restore := keeperOf(c)
	control := httptest.NewServer(keeper)
	t.Cleanup(control.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "docker")); err != nil {
		t.Fatal(err)
	}
	return dockered{tools: dir, restore: restore, env: []string{
		"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"),
		dockerControl + "=" + control.URL, dockerTools + "=" + dir, dockerBrokers + "=" + bootstrap(c),
	}}
}

func keeperOf(c cluster) (handler http.Handler, restore func() error) {
	mux := http.NewServeMux()
	handle := func(command string, do func(id int32, r *http.Request) (string, error)) {
		mux.HandleFunc("/"+command, func(w http.ResponseWriter, r *http.Request) {
			id, err := strconv.ParseInt(r.FormValue("id"), 10, 32)
			var out string
			if err == nil {
				out, err = do(int32(id), r)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusConflict)
				return
			}
			fmt.Fprint(w, out)
		})
	}
	down := map[int32]bool{} // one request at a time: the tests wait for each
	handle("stop", func(id int32, _ *http.Request) (string, error) {
		if down[id] {
			return "", nil
		}
		down[id] = true
		return "", c.stop(id)
	})
	handle("start", func(id int32, _ *http.Request) (string, error) {
		if !down[id] {
			return "", nil // as docker has it
		}
		down[id] = false
		return "", c.start(id)
	})
	handle("logs", func(id int32, r *http.Request) (string, error) {
		since, err := time.Parse(time.RFC3339, r.FormValue("since"))
		return c.log(id, since), err
	})
	return mux, func() error {
		var errs []error
		for id := range down {
			if down[id] {
				down[id] = false
				errs = append(errs, c.start(id))
			}
		}
		return errors.Join(errs...)
	}
}
