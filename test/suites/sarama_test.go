package suites

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/test/kafka"
)

const (
	saramaModule    = "github.com/IBM/sarama@v1.61.1"
	toxiproxyModule = "github.com/Shopify/toxiproxy/v2@v2.5.0"
	saramaBrokers   = 5
)

// sarama's functional tests: producers, transactions, consumers, groups, static
// members, mixed groups with Java's consumer, and the calls of its admin client,
// with brokers that are stopped and started, and connections that are slow or
// torn by toxiproxy. Each test is a process of its own, with topics of its own.
func TestSarama(t *testing.T) {
	proxies := startToxiproxy(t)
	s := compile(t, source{module: saramaModule, tags: "functional", changes: []change{
		// The tests know toxiproxy and brokers by ports that others may have here.
		{"functional_test.go", `"http://localhost:8474"`, fmt.Sprintf("%q", proxies)},
		{"functional_test.go", `fmt.Sprintf("127.0.0.1:%d", 29090+i)`, "proxy.ListenAddr"},
	}})
	tests := functionalTests(t, s.dir)
	excepted := readExceptions(t, "sarama.txt")
	advertised := map[int32]string{}
	own := map[int32]map[string]string{}
	for id := range int32(saramaBrokers) {
		advertised[id+1] = makeProxy(t, proxies, id+1)
		own[id+1] = map[string]string{"broker.rack": fmt.Sprint(id + 1)}
	}
	on(t, setting{brokers: saramaBrokers, advertised: advertised, own: own, parent: memory(), properties: map[string]string{
		// As sarama's own cluster has it, except for fewer partitions of internal topics.
		"default.replication.factor":               "2",
		"offsets.topic.replication.factor":         "2",
		"transaction.state.log.replication.factor": "2",
		"offsets.topic.num.partitions":             "10",
		"transaction.state.log.num.partitions":     "10",
		"transaction.state.log.min.isr":            "1",
		"replica.selector.class":                   "org.apache.kafka.common.replica.RackAwareReplicaSelector",
		"auto.create.topics.enable":                "false",
		"group.initial.rebalance.delay.ms":         "0",
	}}, func(t *testing.T, c cluster) {
		for id, address := range c.addresses() {
			pointProxy(t, proxies, id, address)
		}
		d := docker(t, c)
		env := append(d.env, "KAFKA_VERSION="+toolsVersion())
		javaMissing := kafka.WriteScripts(context.Background(), d.tools, toolsVersion())
		if javaMissing != nil && !errors.Is(javaMissing, kafka.ErrNotRun) {
			t.Fatal(javaMissing)
		}
		for _, name := range tests {
			t.Run(name, func(t *testing.T) {
				if javaMissing != nil && strings.Contains(name, "Java") {
					t.Skip(javaMissing)
				}
				o := s.run(context.Background(), "^"+name+"$", 10*time.Minute, env...)
				again(t, s, &o, excepted.of(o), env)
				if err := d.restore(); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// memory is a folder whose files are in memory; empty where there is none. Each
// test makes topics anew and goes on when one broker tells of them. Kafka flushes
// files for each replica that it makes: on a slow disk its brokers tell of
// partitions for a second before they lead them, and tests end at the first
// NOT_LEADER_OR_FOLLOWER.
func memory() string {
	const folder = "/dev/shm"
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return ""
	}
	return folder
}

// of are the exceptions that are about tests that ran.
func (all exceptions) of(o outcomes) exceptions {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(name string, _ exception) bool { return o.ended[name] == "" })
	return some
}

var functionalTest = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// functionalTests are the tests in files that are for a cluster.
func functionalTests(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "functional_*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range functionalTest.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	if len(names) == 0 {
		t.Fatalf("no functional tests in %s", dir)
	}
	slices.Sort(names)
	return names
}

// startToxiproxy builds and starts toxiproxy, and returns its address.
func startToxiproxy(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "toxiproxy")
	build(t, fetch(t, toxiproxyModule), "build", "-o", program, "./cmd/server")
	host, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-host", host, "-port", port)
	cmd.Env = append(os.Environ(), "LOG_LEVEL=error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := "http://" + net.JoinHostPort(host, port)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(address + "/version")
		if err == nil {
			resp.Body.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatal("toxiproxy: ", err)
		}
	}
}

// makeProxy makes the proxy for a broker, and returns the address at which it
// listens from now on. It leads nowhere yet.
func makeProxy(t *testing.T, proxies string, id int32) (address string) {
	t.Helper()
	made := postProxy(t, proxies+"/proxies", http.StatusCreated, map[string]string{
		"name": proxyName(id), "listen": "127.0.0.1:0", "upstream": "nowhere",
	})
	return made.Listen
}

// pointProxy has the proxy for a broker lead to where the broker listens.
func pointProxy(t *testing.T, proxies string, id int32, address string) {
	t.Helper()
	postProxy(t, proxies+"/proxies/"+proxyName(id), http.StatusOK, map[string]string{"upstream": address})
}

// proxyName is what sarama's tests call the proxy for a broker.
func proxyName(id int32) string { return fmt.Sprintf("kafka%d", id) }

// proxy is what toxiproxy says of one.
type proxy struct{ Listen string }

func postProxy(t *testing.T, url string, want int, fields map[string]string) proxy {
	t.Helper()
	document, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		t.Fatalf("toxiproxy: %s: %s", url, resp.Status)
	}
	var said proxy
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		t.Fatalf("toxiproxy: %s: %v", url, err)
	}
	return said
}

// freeAddress is an address that the system has free just now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
