package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const securedProperties = `
listeners=PLAINTEXT://:0,SASL://:0
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-256
listener.name.sasl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`

// The command says where its listeners and its control surface are, a user that
// it was given logs in, and a fault is caused and undone.
func TestSim(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte(securedProperties), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	stop, end := context.WithCancel(ctx)
	output, stdout := io.Pipe()
	p := &program{stop: stop, stdout: stdout, stderr: io.Discard}
	status := make(chan int)
	go func() {
		status <- p.run([]string{
			"sim", "--brokers=1", "--server.properties=" + file, "--control.listen-address=127.0.0.1:0",
			"--add-scram=SCRAM-SHA-256=[name=alice,password=secret]",
		})
		stdout.Close()
	}()
	var lines []string
	for scanner := bufio.NewScanner(output); len(lines) < 3 && scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	if len(lines) != 3 {
		t.Fatalf("output %q", lines)
	}
	address, isListener := strings.CutPrefix(lines[1], "listener SASL on ")
	control, isControl := strings.CutPrefix(lines[2], "control surface on ")
	if !isListener || !isControl {
		t.Fatalf("output %q", lines)
	}

	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.SASL(scram.Auth{User: "alice", Pass: "secret"}.AsSha256Mechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		t.Errorf("alice at %s: %v", address, err)
	}

	for _, step := range []struct{ method, path, document, want string }{
		{"POST", "/faults", `{"fault":"hold_markers"}`, `{"id":1,"text":"hold markers","document":{"fault":"hold_markers"}}` + "\n"},
		{"DELETE", "/faults/1", "", "fault 1 withdrawn\n"},
		{"GET", "/faults", "", "[]\n"},
	} {
		req, err := http.NewRequestWithContext(ctx, step.method, control+step.path, strings.NewReader(step.document))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != step.want {
			t.Errorf("%s %s: %s, %v, want %s", step.method, step.path, body, err, step.want)
		}
	}
	end()
	if got := <-status; got != exitOK {
		t.Errorf("exit status %d", got)
	}
}

// Each simulated cluster has ids of its own: who has seen another one at the same
// addresses does not take it for that.
func TestSimIsAClusterOfItsOwn(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	clusterID := func() string {
		stop, end := context.WithCancel(ctx)
		output, stdout := io.Pipe()
		p := &program{stop: stop, stdout: stdout, stderr: io.Discard}
		status := make(chan int)
		go func() {
			status <- p.run([]string{"sim", "--brokers=1"})
			stdout.Close()
		}()
		addresses, err := bufio.NewReader(output).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		client, err := kgo.NewClient(kgo.SeedBrokers(strings.TrimSpace(addresses)))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		metadata, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
		if err != nil {
			t.Fatal(err)
		}
		end()
		go io.Copy(io.Discard, output)
		if got := <-status; got != exitOK {
			t.Errorf("exit status %d", got)
		}
		return *metadata.ClusterID
	}
	if one, other := clusterID(), clusterID(); one == other {
		t.Errorf("two clusters have the id %s", one)
	}
}

func TestSimMistakes(t *testing.T) {
	for argument, want := range map[string]string{
		"--add-scram=SCRAM-SHA-256=[name=alice]":                  "--add-scram: SCRAM user: SCRAM-SHA-256 lacks name or password",
		"--property=authorizer.class.name=com.example.Authorizer": "there is no such authorizer",
		"--control.listen-address=0.0.0.0:0":                      "not a loopback address",
	} {
		status, _, stderr := execute(t, "sim", argument)
		if status == exitOK || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %q, want %s", argument, status, stderr, want)
		}
	}
}
