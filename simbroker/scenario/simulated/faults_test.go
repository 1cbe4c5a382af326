package simulated

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/control"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

// faultStory causes every fault and takes it away again.
const faultStory = `# Faults come and go.
id X1 coordinator=A
id X2 coordinator=A
topic T1 partitions=2
topic T2 replicas=B,C
topic T3 message.timestamp.type=LogAppendTime

InitProducerId X1 => ok (P1,0)
T(P1,0,0,1) T1-0 T(P1,0,0,1) T1-1 => ok @0 ok @0
fault hold_markers T1-1 => F1
EndTxn/v5 X1 COMMIT (P1,0) => ok (P1,1)
await T1-0 LEO/HWM/LSO => 2/2/2
hold 200ms T1-1 LEO/HWM/LSO => 1/1/0
DescribeTransactions X1 => PrepareCommit P1 epoch 1 start set topics [T1-1]
heal F1
await T1-1 LEO/HWM/LSO => 2/2/2
await DescribeTransactions X1 => CompleteCommit P1 epoch 1 start set topics []

T(P1,1,0,1) T1-0 => ok @2
fault drop_markers T1 => F2
EndTxn/v5 X1 ABORT (P1,1) => ok (P1,2)
hold 200ms T1-0 LEO/HWM/LSO => 3/3/2
heal F2
await T1-0 LEO/HWM/LSO => 4/4/4

fault fail_requests apis=DescribeProducers,ListTransactions error=COORDINATOR_LOAD_IN_PROGRESS times=2 at A => F3
DescribeProducers T1-0 => COORDINATOR_LOAD_IN_PROGRESS(14)
DescribeProducers T1-0 => COORDINATOR_LOAD_IN_PROGRESS(14)
DescribeProducers T1-0 => P1 epoch 2 seq -1 ce CE1 start -1
heal F3

# Nobody waits an hour for an answer.
fault delay_requests apis=ListOffsets delay=1h at A => F4
send T1-0 LEO/HWM/LSO => sent
heal F4
T1-0 LEO/HWM/LSO => 4/4/4

fault hold_fetches T2 at C => F5
N(2) T2-0 => ok @0
hold 200ms T2-0 LEO/HWM/LSO => 2/0/0
heal F5
await T2-0 LEO/HWM/LSO => 2/2/2

fault delay_loading X1-log unaware=300ms loading=300ms => F6
reassign X1-log to B => ok
await FindCoordinator X1 => B
await DescribeTransactions X1 at A => NOT_COORDINATOR(16)
DescribeTransactions X1 => NOT_COORDINATOR(16)
await DescribeTransactions X1 => COORDINATOR_LOAD_IN_PROGRESS(14)
await DescribeTransactions X1 => CompleteAbort P1 epoch 2 start set topics []

InitProducerId X2 => ok (P2,0)
T(P2,0,0,1) T1-1 => ok @2
fault forget_transactional_id X2 => F7
DescribeTransactions X2 => TRANSACTIONAL_ID_NOT_FOUND(105)
T1-1 LEO/HWM/LSO => 3/3/2
DescribeProducers T1-1 => P1 epoch 1 seq -1 ce CE1 start -1; P2 epoch 0 seq 0 ce -1 start 2

fault lose_requests apis=DescribeProducers at A => F8
send DescribeProducers T1-0 => sent
heal F8
# A clock that is ahead gives a record of now a time to come.
fault skew_clock by=1h at A => F9
N(1) T3-0 => ok @0
heal F9
wait 10ms
N(1) T3-0 => ok @1
ListOffsets ru T3-0 MAX => 0 ts now
# What is still in place ends with the story.
fault hold_markers => F10
`

// connectionStory is about connections, which there are none of in process.
const connectionStory = `# Answers that do not come, or come bit by bit.
topic T4

N(2) T4-0 => ok @0
fault cut_answers apis=DescribeProducers bytes=3 times=1 at A => F1
DescribeProducers T4-0 => no answer
DescribeProducers T4-0 => none
heal F1
fault trickle_answers apis=DescribeProducers bytes=10 every=20ms at A => F2
DescribeProducers T4-0 => none
heal F2
`

var faultProperties = map[string]string{
	"offsets.topic.num.partitions":             "5",
	"offsets.topic.replication.factor":         "1",
	"transaction.state.log.num.partitions":     "5",
	"transaction.state.log.replication.factor": "1",
	"transaction.state.log.min.isr":            "1",
}

func start(t *testing.T, config simbroker.Config) *simbroker.Cluster {
	t.Helper()
	config.Brokers, config.Properties, config.Seed = 3, faultProperties, 1
	cluster, err := simbroker.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func tell(t *testing.T, text string, cluster scenario.Cluster) {
	t.Helper()
	s, err := scenario.Parse("faults", text)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Run(context.Background(), cluster, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Err(); err != nil {
		t.Error(err)
	}
}

func TestFaultsInProcess(t *testing.T) {
	cluster := start(t, simbroker.Config{Clock: simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))})
	tell(t, faultStory, New(cluster))
	if left := cluster.Faults(); left != nil {
		t.Errorf("faults are left: %v", left)
	}
}

// The same over TCP, with the faults caused over HTTP.
func TestFaultsByControl(t *testing.T) {
	cluster := start(t, simbroker.Config{ListenAddress: "127.0.0.1:0"})
	surface := httptest.NewServer(control.Handler(cluster))
	defer surface.Close()
	network, err := scenario.Dial(context.Background(), cluster.Bootstrap(), scenario.Control{URL: surface.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	tell(t, faultStory, network)
	tell(t, connectionStory, network)
	if left := cluster.Faults(); left != nil {
		t.Errorf("faults are left: %v", left)
	}
}

// A cluster that cannot be disturbed, or has no users, says so before the story
// begins.
func TestNotOffered(t *testing.T) {
	cluster := start(t, simbroker.Config{ListenAddress: "127.0.0.1:0"})
	network, err := scenario.Dial(context.Background(), cluster.Bootstrap(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	for _, text := range []string{"fault hold_markers => F1\n", "topic T1\nas U1 T1-0 leader => A epoch 0 ISR [A]\n"} {
		s, err := scenario.Parse("story", text)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Offered(context.Background(), network); !errors.Is(err, scenario.ErrNotOffered) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
