package simbroker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

func TestFaultsPrintThemselves(t *testing.T) {
	for _, c := range []struct {
		fault simbroker.Fault
		want  string
	}{
		{simbroker.HoldMarkers{}, "hold markers"},
		{simbroker.HoldMarkers{Topic: "t"}, "hold markers of t"},
		{simbroker.DropMarkers{Topic: "t", Partitions: []int32{0, 2}}, "drop markers of t[0 2]"},
		{simbroker.HoldFetches{}, "hold fetches"},
		{simbroker.HoldFetches{Broker: 3, Topic: "t", Partitions: []int32{1}}, "hold fetches of t[1] by broker 3"},
		{simbroker.DelayRequests{Delay: time.Millisecond}, "delay requests by 1ms"},
		{simbroker.DelayRequests{Broker: 2, APIs: []kmsg.Key{kmsg.ListOffsets, kmsg.Fetch}, Delay: time.Second}, "delay requests ListOffsets, Fetch at broker 2 by 1s"},
		{simbroker.FailRequests{APIs: []kmsg.Key{kmsg.Produce}, Err: kafka.ErrKafkaStorageError, Times: 3}, "fail requests Produce with KAFKA_STORAGE_ERROR, 3 times"},
		{simbroker.DelayLoading{}, "delay loading: unaware for 0s, loading for 0s"},
		{simbroker.DelayLoading{Broker: 2, Topic: "__transaction_state", Partitions: []int32{3}, Unaware: time.Second, Loading: time.Minute}, "delay loading of __transaction_state[3] at broker 2: unaware for 1s, loading for 1m0s"},
		{simbroker.LoseRequests{Broker: 2}, "lose requests at broker 2"},
		{simbroker.TrickleAnswers{APIs: []kmsg.Key{kmsg.Fetch}, Bytes: 10, Every: time.Second}, "trickle answers to requests Fetch, 10 bytes every 1s"},
		{simbroker.CutAnswers{Bytes: 7, Times: 2}, "cut answers to requests after 7 bytes, 2 times"},
		{simbroker.CutOff{Broker: 3}, "cut broker 3 off from the controller"},
		{simbroker.CutOff{}, "cut all brokers off from the controller"},
		{simbroker.SkewClock{Broker: 3, By: -time.Minute}, "skew the clock of broker 3 by -1m0s"},
		{simbroker.ForgetTransactionalID{ID: "x"}, "forget transactional id x"},
	} {
		if got := c.fault.String(); got != c.want {
			t.Errorf("%T prints %q, want %q", c.fault, got, c.want)
		}
	}
}

// Markers that are held keep the LSO; those of other partitions are not
// touched, and the coordinator tells which one it waits for.
func TestHeldMarkers(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("held", 1)
	s.createTopic("free", 1)
	p := s.begin("x", time.Minute)
	s.mustProduce(1, "held", -1, 2, p)
	p.sequence = 0
	s.mustProduce(1, "free", -1, 2, p)
	release := s.Install(simbroker.HoldMarkers{Topic: "held"})
	if got := fmt.Sprint(s.Faults()); got != "[hold markers of held]" {
		t.Error(got)
	}
	s.must(s.end(p, true))
	s.Advance(3 * time.Minute) // past the coordinator's own patience
	s.wantOffsets(1, "held", "2/2/0")
	s.wantOffsets(1, "free", "3/3/3")
	if got := s.describe(p); got != "PrepareCommit held[0]" {
		t.Error(got)
	}
	release()
	release()
	s.await("CompleteCommit", func() string { return s.describe(p) })
	if got := s.Faults(); got != nil {
		t.Errorf("still installed: %v", got)
	}
	if got := s.offset(1, "held", -1, 1); got < "3" {
		t.Errorf("LSO of held is %s", got)
	}
}

func TestDroppedMarkersAreSentAgain(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1)
	p := s.begin("x", time.Minute)
	s.mustProduce(1, "t", -1, 2, p)
	remove := s.Install(simbroker.DropMarkers{Topic: "t", Partitions: []int32{0}})
	s.must(s.end(p, false))
	s.Advance(time.Minute)
	s.wantOffsets(1, "t", "2/2/0")
	remove()
	s.awaitOffsets(1, "t", "3/3/3")
	s.await("CompleteAbort", func() string { return s.describe(p) })
}

func TestDelayedRequests(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1)
	took := func() time.Duration {
		before := s.Now()
		s.offset(1, "t", -1, 0)
		return s.Now().Sub(before)
	}
	all := s.Install(simbroker.DelayRequests{Delay: time.Millisecond})
	one := s.Install(simbroker.DelayRequests{Broker: 1, APIs: []kmsg.Key{kmsg.ListOffsets}, Delay: 10 * time.Millisecond})
	s.Install(simbroker.DelayRequests{Broker: 2, Delay: time.Second})
	s.Install(simbroker.DelayRequests{APIs: []kmsg.Key{kmsg.Fetch}, Delay: time.Second})
	if got := took(); got != 11*time.Millisecond {
		t.Errorf("both delays take %v", got)
	}
	one()
	if got := took(); got != time.Millisecond {
		t.Errorf("one delay takes %v", got)
	}
	all()
	if got := took(); got != 0 {
		t.Errorf("no delay takes %v", got)
	}
}

func TestFailedRequests(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1)
	s.Install(simbroker.FailRequests{Broker: 1, APIs: []kmsg.Key{kmsg.Produce}, Err: kafka.ErrKafkaStorageError, Times: 2})
	for range 2 {
		if _, err := s.produce(1, "t", -1, 1, nil); !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("produce: %v", err)
		}
	}
	s.mustProduce(1, "t", -1, 1, nil)
	s.wantOffsets(1, "t", "1/1/1")
	remove := s.Install(simbroker.FailRequests{APIs: []kmsg.Key{kmsg.ListOffsets}, Err: kafka.ErrRequestTimedOut})
	if got := s.offset(1, "t", -1, 0); got != "REQUEST_TIMED_OUT" {
		t.Errorf("ListOffsets answers %s", got)
	}
	remove()
	s.wantOffsets(1, "t", "1/1/1")
}

// A forgotten id is unknown to its coordinator, also after a restart, while its
// transaction stays open in the log (litmus test 29).
func TestForgottenTransactionalID(t *testing.T) {
	s := simulated(t, small)
	p := s.begin("x", time.Minute)
	leader := p.coordinator%3 + 1
	s.createTopic("t", int32(leader))
	s.mustProduce(leader, "t", -1, 3, p)
	s.Install(simbroker.ForgetTransactionalID{ID: "x"})()
	unknown := func() string { return s.describe(p) }
	s.await("TRANSACTIONAL_ID_NOT_FOUND", unknown)
	s.Advance(5 * time.Minute)
	s.wantOffsets(leader, "t", "3/3/0")
	s.must(s.Kill(p.coordinator))
	s.Advance(10 * time.Second)
	s.must(s.Start(p.coordinator))
	s.await("TRANSACTIONAL_ID_NOT_FOUND", unknown)
	s.wantOffsets(leader, "t", "3/3/0")
	if err := s.end(p, true); !errors.Is(err, kerr.InvalidProducerIDMapping) {
		t.Errorf("commit: %v", err)
	}
}

// A follower that does not fetch holds the high watermark until it has been
// behind for replica.lag.time.max.ms, which is longer than a session lasts: its
// broker is alive (rules F1, F4).
func TestHeldFetches(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("held", 1, 2)
	s.createTopic("free", 1, 2)
	release := s.Install(simbroker.HoldFetches{Broker: 2, Topic: "held"})
	s.Advance(time.Second) // the fetch that is under way
	s.mustProduce(1, "held", 1, 3, nil)
	s.mustProduce(1, "free", -1, 3, nil)
	s.Advance(25 * time.Second)
	s.wantOffsets(1, "held", "3/0/0")
	if s.Fenced(2) {
		t.Error("broker 2 is fenced")
	}
	s.await("leader 1 epoch 0 ISR [1]", func() string { return s.leader(1, "held") })
	s.wantOffsets(1, "held", "3/3/3")
	s.wantOffsets(1, "free", "3/3/3")
	release()
	s.await("leader 1 epoch 0 ISR [1 2]", func() string { return s.leader(1, "held") })
	if got := s.offset(2, "held", -2, 0); got != "3" {
		t.Errorf("follower's log ends at %s", got)
	}
}

// A follower that is told to fetch anew while it stands still begins one session, not
// two of which each takes the other's answers for its own.
func TestFetchAnewOfAPausedFollower(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("idle", 1, 2)
	s.createTopic("t", 1, 2)
	s.must(s.Pause(2))
	s.mustProduce(1, "t", 1, 1, nil)
	s.Advance(time.Millisecond) // the answer to the fetch that is under way is in the follower's socket
	remove := s.Install(simbroker.HoldFetches{Topic: "other"})
	s.mustProduce(1, "idle", 1, 3, nil)
	s.Advance(time.Second)
	remove()
	s.must(s.Resume(2))
	s.Advance(2 * time.Second)
	for _, topic := range []string{"idle", "t"} {
		if got, want := s.offset(2, topic, -2, 0), s.offset(1, topic, -2, 0); got != want {
			t.Errorf("%s ends at %s at the follower, at %s at the leader", topic, got, want)
		}
	}
}

// A broker that is cut off from the controller is replaced, and does not know: it
// leads in its old term, and tells what it knew. When it is connected again it learns
// what has become of it.
func TestBrokerThatIsCutOff(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 3, 2)
	s.mustProduce(3, "t", -1, 2, nil)
	s.Advance(time.Second)
	leaders := func() string { return s.leader(1, "t") + ", " + s.leader(3, "t") }
	s.await("leader 3 epoch 0 ISR [3 2], leader 3 epoch 0 ISR [3 2]", leaders)
	connect := s.Install(simbroker.CutOff{Broker: 3})
	s.await("leader 2 epoch 1 ISR [2], leader 3 epoch 0 ISR [3 2]", leaders)
	s.mustProduce(2, "t", -1, 3, nil)
	s.wantOffsets(2, "t", "5/5/5")
	s.wantOffsets(3, "t", "2/2/2")
	if !s.Fenced(3) {
		t.Error("the broker is not fenced")
	}
	connect()
	s.await("leader 2 epoch 1 ISR [2 3], leader 2 epoch 1 ISR [2 3]", leaders)
	s.await("false", func() string { return fmt.Sprint(s.Fenced(3)) })
	if got := s.offset(3, "t", -1, 0); got != "NOT_LEADER_FOR_PARTITION" {
		t.Errorf("ListOffsets at the former leader answers %s", got)
	}
}
