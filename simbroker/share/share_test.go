package share

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// The lag counts from what was written, which is nothing before the first
// acknowledgement, and the start offset of before the last one then.
func TestLag(t *testing.T) {
	w := newWorld(t)
	w.produce(5)
	w.fetch("m").is("0-4*1")
	w.written(-1, -1)
	w.lag(-1)
	w.is(w.ack("m", all(0, 2, Accept)), "ok")
	w.written(0, 3)
	w.lag(2)
	w.is(w.ack("m", all(4, 4, Reject)), "ok")
	w.written(3, 1)
	w.lag(1)
	w.is(w.inFlight(), "3:Ax")
	w.is(w.ack("m", all(3, 3, Gap)), "ok")
	w.written(3, 2)
	w.lag(0)
	w.is(w.inFlight(), "5:")
	w.produce(1)
	w.lag(1)
	w.fetch("m").is("5-5*1")
	w.lag(1)
	w.end = func(kafka.TopicPartition) (kafka.Offset, error) { return -1, kafka.ErrNotLeaderOrFollower }
	w.Offsets(key, jobs, func(o Offsets) {
		if o.Lag != -1 || !errors.Is(o.Err, kafka.ErrNotLeaderOrFollower) {
			t.Errorf("without a leader: %+v", o)
		}
	})
}

// A record is with one member at a time; what is released comes again, until it
// has come too often.
func TestReleaseAndRedelivery(t *testing.T) {
	w := newWorld(t)
	w.settings.DeliveryLimit = 2
	w.produce(3)
	w.fetch("m").is("0-2*1")
	waiting := w.fetch("n")
	waiting.is("waits")
	w.is(w.ack("m", all(1, 1, Release)), "ok")
	waiting.is("1-1*2")
	w.is(w.ack("n", all(1, 1, Release)), "ok")
	w.is(w.inFlight(), "0:AxA")
	w.written(0, 1)
	again := w.fetch("n")
	again.is("waits")
	w.advance(time.Second)
	again.is("nothing")
}

// Records that fail again and again come in ever smaller parts of their batch, the
// last time alone: what is wrong with one of them costs the others nothing.
func TestThrottling(t *testing.T) {
	w := newWorld(t)
	w.produce(10)
	again := func(want string) {
		t.Helper()
		w.fetch("m").is(want)
		w.advance(30 * time.Second)
	}
	again("0-9*1")
	again("0-9*2")
	again("0-9*3")
	again("0-4*4")
	again("0-0*5")
	w.is(w.inFlight(), "1:vvvvvvvvv")
	w.fetch("m").is("1-1*5")
	w.fetch("m").is("2-2*5")
	w.is(w.ack("m", all(1, 1, Reject), all(2, 2, Accept)), "ok")
	again("3-3*5")
	again("4-4*5")
	w.produce(3)
	again("5-9*4") // and nothing else with it
	again("5-5*5")
}

// A leader that comes later knows as much: what was written alike is one batch.
func TestThrottlingByAnotherLeader(t *testing.T) {
	w := newWorld(t)
	w.produce(8, 1)
	for range 3 {
		w.fetch("m", atMost(8))
		w.is(w.ack("m", all(0, 7, Release)), "ok")
	}
	w.fetch("m", atMost(2)).is("0-3*4")
	w.is(w.ack("m", all(0, 1, Accept), all(2, 3, Release)), "ok")
	w.lead(1, 1)
	w.restart()
	w.fetch("m").is("2-2*5")
	w.fetch("m").is("3-3*5")
	w.fetch("m").is("4-5*4") // of 4-7
}

// Records that the log has lost before those that were read are given up.
func TestHole(t *testing.T) {
	w := newWorld(t)
	w.produce(2, 3)
	w.fetch("m", atMost(1)).is("0-1*1")
	w.is(w.ack("m", all(1, 1, Release)), "ok")
	p := w.partitions[key]
	read := func(from kafka.Offset) (got replica.FetchedPartition) {
		w.loop.Do(func() {
			ask := replica.FetchPartition{Partition: jobs, Offset: from, MaxBytes: 1 << 20, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}
			w.replicas.Fetch(replica.FetchRequest{ReplicaID: replica.ConsumerReplica, MaxBytes: 1 << 20, Partitions: []replica.FetchPartition{ask}}, func(r replica.FetchResult) { got = r.Partitions[0] })
		})
		return got
	}
	runs, _ := p.acquire(acquisition{member: "n", from: 1, max: 9, batchSize: 9, records: read(2).Records})
	if want := []Run{{2, 4, 1}}; !slices.Equal(runs, want) {
		t.Errorf("acquired %v, want %v", runs, want)
	}
	w.is(w.inFlight(), "0:AxAAA")
	w.produce(2, 1)
	p.acquire(acquisition{member: "n", from: 5, max: 9, batchSize: 9, records: read(7).Records})
	w.is(w.inFlight(), "0:AxAAAxxA")
	w.advance(time.Minute)
	w.is(w.inFlight(), "0:vxvvvxxv")
	w.fetch("m").is("0-0*2 2-4*2 7-7*2")
}

// An acquisition ends after a time, unless it is renewed.
func TestLocksEnd(t *testing.T) {
	w := newWorld(t)
	w.produce(3)
	w.fetch("m").is("0-2*1")
	w.advance(20 * time.Second)
	w.is(w.ack("m", all(1, 1, Renew)), "ok")
	w.advance(10 * time.Second)
	w.is(w.inFlight(), "0:vAv")
	w.is(w.ack("m", all(0, 0, Accept)), "The batch cannot be acknowledged. The batch is not in the acquired state.")
	w.fetch("n").is("0-0*2 2-2*2")
	w.is(w.ack("m", all(0, 0, Accept)), "Member is not the owner of batch record")
	w.advance(20 * time.Second)
	w.is(w.inFlight(), "0:AvA")
	w.settings.Renew = false
	w.is(w.ack("n", all(0, 0, Renew)), "Renewing acquisition locks is not enabled for the group.")
}

// Acknowledgements are taken as a whole, for what the member has.
func TestAcknowledgementRefused(t *testing.T) {
	w := newWorld(t)
	w.fetch("m").is("waits")
	w.is(w.ack("m", all(0, 0, Accept)), "Batch record not found. The request batch offsets are not found in the cache.")
	w.produce(3)
	for name, c := range map[string]struct {
		batches []AckBatch
		want    string
	}{
		"the end before the beginning": {[]AckBatch{all(2, 1, Accept)}, "INVALID_REQUEST"},
		"not in order":                 {[]AckBatch{all(1, 2, Accept), all(0, 0, Accept)}, "INVALID_REQUEST"},
		"no type":                      {[]AckBatch{{First: 0, Last: 1}}, "INVALID_REQUEST"},
		"too few types":                {[]AckBatch{{0, 2, []AckType{Accept, Accept}}}, "INVALID_REQUEST"},
		"an unknown type":              {[]AckBatch{all(0, 2, 5)}, "INVALID_REQUEST"},
		"twice":                        {[]AckBatch{all(0, 1, Accept), all(1, 2, Accept)}, "The record state is invalid. The acknowledgement of delivery could not be completed."},
		"behind":                       {[]AckBatch{all(3, 4, Accept)}, "Batch record not found. The first offset in request is past acquired records."},
		"beyond":                       {[]AckBatch{all(0, 1, Accept), all(2, 3, Accept)}, "Batch record not found. The last offset in request is past acquired records."},
	} {
		if got := w.ack("m", c.batches...); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	w.is(w.inFlight(), "0:AAA")
	renew := func(r *AckRequest) { r.Acks[0].Batches, r.Renews = []AckBatch{all(0, 0, Renew)}, false }
	w.is(w.acknowledge("m", renew), "INVALID_REQUEST")
	old := func(r *AckRequest) { r.Acks[0].Batches, r.AckRules = []AckBatch{all(0, 0, Renew)}, AckRules{} }
	w.is(w.acknowledge("m", old), "INVALID_REQUEST")
	w.is(w.ack("m", AckBatch{0, 2, []AckType{Accept, Release, Reject}}), "ok")
	w.is(w.inFlight(), "1:vx")
	w.is(w.ack("m", all(0, 0, Accept)), "ok") // done with, whoever did it
}

// Sessions begin at epoch 0 and count up.
func TestSessions(t *testing.T) {
	w := newWorld(t)
	w.produce(1)
	at := func(epoch int32) func(*FetchRequest) { return func(r *FetchRequest) { r.Epoch = epoch } }
	w.fetch("m", at(1)).is("SHARE_SESSION_NOT_FOUND")
	w.fetch("m", at(finalEpoch)).is("SHARE_SESSION_NOT_FOUND")
	w.is(w.ack("m", all(0, 0, Accept)), "INVALID_SHARE_SESSION_EPOCH")
	acknowledging := func(r *FetchRequest) { r.Acks = []Ack{{jobsID, 0, []AckBatch{all(0, 0, Accept)}}} }
	w.fetch("m", acknowledging).is("INVALID_REQUEST")
	w.fetch("m").is("0-0*1")
	w.fetch("m", at(2)).is("INVALID_SHARE_SESSION_EPOCH")
	w.sessions["m"] = 1
	w.fetch("m", acknowledging).is("waits")
	w.written(0, 1)
	w.is(w.acknowledge("m", func(r *AckRequest) { r.Epoch = 7 }), "INVALID_SHARE_SESSION_EPOCH")
	w.is(w.acknowledge("n", func(r *AckRequest) { r.Epoch = 1 }), "SHARE_SESSION_NOT_FOUND")
	w.sessions["m"] = 2
	w.produce(1)
	forget := func(r *FetchRequest) { r.Forget = []TopicPartition{{jobsID, 0}} }
	w.advance(time.Second)
	w.fetch("m", forget).is("nothing")
	w.sessions["m"] = 0
	w.fetch("m", func(r *FetchRequest) { r.Add = []TopicPartition{{kafka.TopicID{9}, 0}} }).is("UNKNOWN_SERVER_ERROR")
	if nextEpoch(1<<31-1) != 1 {
		t.Error("epochs do not begin again at 1")
	}
}

// A broker has no more sessions than it may have: none is given up for another.
func TestTooManySessions(t *testing.T) {
	w := newWorld(t)
	for _, member := range []string{"a", "b", "c", "d"} {
		w.fetch(member).is("waits")
	}
	w.fetch("e").is("SHARE_SESSION_LIMIT_REACHED")
	w.sessions["a"] = 0
	w.fetch("a").is("waits") // it takes its own place
	w.is(w.acknowledge("b", func(r *AckRequest) { r.Epoch, r.Acks = finalEpoch, nil }), "ok")
	w.fetch("e").is("waits")
}

// A session that is closed, or whose client is gone, gives back what its member
// has.
func TestSessionsEnd(t *testing.T) {
	w := newWorld(t)
	w.produce(5)
	w.fetch("m", func(r *FetchRequest) { r.Client = "c1" }).is("0-4*1")
	w.is(w.ack("m", all(0, 4, Accept)), "ok")
	w.written(0, 5)
	w.produce(3)
	w.fetch("m").is("5-7*1")
	w.is(w.acknowledge("m", func(r *AckRequest) { r.Epoch, r.Acks = finalEpoch, nil }), "ok")
	w.is(w.inFlight(), "5:vvv")
	w.written(5, 0)
	w.fetch("n", func(r *FetchRequest) { r.Client = "c2" }).is("5-7*2")
	w.loop.Do(func() { w.Disconnected("c2") })
	w.is(w.inFlight(), "5:vvv")
	w.fetch("o").is("5-7*3")
	w.loop.Do(func() { w.Disconnected("c1") })
	w.fetch("o", func(r *FetchRequest) {
		r.Epoch, r.Acks = finalEpoch, []Ack{{jobsID, 0, []AckBatch{all(5, 6, Accept)}}}
	}).is("nothing")
	w.is(w.inFlight(), "7:v")
	w.fetch("p").is("7-7*4")
}

// When the last connection of a group is gone, its leader keeps nothing in mind: who
// comes next begins where the group's offsets were set to. A session that is closed
// changes nothing about that.
func TestOffsetsSetBetweenConnections(t *testing.T) {
	w := newWorld(t)
	w.produce(5)
	by := func(client string) func(*FetchRequest) { return func(r *FetchRequest) { r.Client = client } }
	w.fetch("m", by("c1")).is("0-4*1")
	w.is(w.ack("m", all(0, 4, Accept)), "ok")
	waiting := w.fetch("n", by("c2"))
	waiting.is("waits")
	end := func(r *AckRequest) { r.Epoch, r.Acks = finalEpoch, nil }
	w.is(w.acknowledge("m", end), "ok")
	w.loop.Do(func() { w.Disconnected("c1") })
	w.is(w.inFlight(), "5:") // n is still there
	w.is(w.acknowledge("n", end), "ok")
	w.is(w.inFlight(), "5:") // and its connection
	w.loop.Do(func() { w.Disconnected("c2") })
	waiting.is("nothing")
	if err := w.store.Initialize(key, 3, 2); err != nil {
		t.Fatal(err)
	}
	w.fetch("o").is("2-4*1")
}

// As many records as were asked for are acquired, and the rest of their batch
// unless the number is exact; no more than may be in flight.
func TestHowMany(t *testing.T) {
	w := newWorld(t)
	w.produce(2, 3, 3)
	w.fetch("m", atMost(3)).is("0-4*1")
	w.fetch("m", atMost(1), func(r *FetchRequest) { r.Exact = true }).is("5-5*1")
	w.fetch("m", atMost(0)).is("nothing")
	w.settings.MaxLocks = 7
	w.fetch("n").is("6-7*1") // the batch is given whole
	full := w.fetch("o")
	full.is("waits")
	w.produce(1)
	full.is("waits")
	w.is(w.ack("m", all(4, 4, Release)), "ok")
	full.is("4-4*2")
	again := w.fetch("o")
	again.is("waits")
	w.is(w.ack("m", all(0, 3, Accept)), "ok")
	again.is("8-8*1")
}

// A fetch waits for what is produced, as long as it may.
func TestWaiting(t *testing.T) {
	w := newWorld(t)
	first, second := w.fetch("m"), w.fetch("n")
	w.produce(1)
	first.is("0-0*1")
	second.is("waits")
	w.produce(1)
	second.is("1-1*1")
	late := w.fetch("m")
	w.advance(999 * time.Millisecond)
	late.is("waits")
	w.advance(time.Millisecond)
	late.is("nothing")
	w.fetch("m", func(r *FetchRequest) { r.MinBytes = 0 }).is("nothing")
	w.fetch("m", func(r *FetchRequest) { r.Renews = true }).is("nothing")
	if late.result.LockDuration != 30*time.Second {
		t.Errorf("locks of %v", late.result.LockDuration)
	}
}

// A new leader goes on where the one before left it. What was acquired from that
// one is available, and what it says does not count any more.
func TestAnotherLeader(t *testing.T) {
	w := newWorld(t)
	w.produce(5)
	w.fetch("m").is("0-4*1")
	w.is(w.ack("m", all(0, 0, Accept), all(2, 2, Accept), all(3, 3, Release)), "ok")
	old := w.partitions[key]
	w.lead(1, 1)
	w.restart()
	w.fetch("n").is("1-1*1 3-3*2 4-4*1")
	w.is(w.inFlight(), "1:AkAA")
	if err := old.acknowledge("m", []AckBatch{all(1, 1, Accept)}); !errors.Is(err, kafka.ErrNotLeaderOrFollower) {
		t.Errorf("the leader before: %v", err)
	}
	w.lead(2, 2)
	w.fetch("n").is("NOT_LEADER_OR_FOLLOWER")
	w.is(w.ack("n", all(1, 1, Accept)), "NOT_LEADER_OR_FOLLOWER")
	w.lead(1, 3)
	w.fetch("n").is("1-1*1 3-3*2 4-4*1")
	stored := sortedKeys(w.store.states[key].Records)
	if want := []kafka.Offset{0, 2, 3}; !slices.Equal(stored, want) {
		t.Errorf("written are %v, want %v", stored, want)
	}
}

// A leader loses its partition while a fetch waits.
func TestLeaderLostWhileWaiting(t *testing.T) {
	w := newWorld(t)
	waiting := w.fetch("m")
	w.lead(2, 1)
	waiting.is("NOT_LEADER_OR_FOLLOWER")
	w.lead(1, 2)
	waiting = w.fetch("m")
	if err := w.store.Initialize(key, 2, kafka.NoOffset); !errors.Is(err, kafka.ErrFencedStateEpoch) {
		t.Errorf("an older group: %v", err)
	}
	if err := w.store.Initialize(key, 4, kafka.NoOffset); err != nil {
		t.Fatal(err)
	}
	w.produce(1)
	waiting.is("0-0*1")
	w.is(w.ack("m", all(0, 0, Accept)), "NOT_LEADER_OR_FOLLOWER") // of a group that was set up anew
	w.fetch("m").is("0-0*1")
	w.store.DeleteGroup("G1")
	w.is(w.ack("m", all(0, 0, Accept)), "Write operation on uninitialized share partition not allowed.")
	w.is(w.ack("m", all(0, 0, Accept)), "UNKNOWN_TOPIC_OR_PARTITION")
	w.fetch("m").is("Read operation on uninitialized share partition not allowed.")
}

// Where the log begins later, so does the group.
func TestLogStart(t *testing.T) {
	w := newWorld(t)
	w.produce(5)
	w.fetch("m").is("0-4*1")
	w.loop.Do(func() {
		w.replicas.DeleteRecords([]replica.DeleteRecordsPartition{{Partition: jobs, Offset: 3}}, 0, func([]replica.DeletedRecords) {})
	})
	w.is(w.ack("m", all(0, 3, Accept)), "ok")
	w.written(3, 1)
	w.is(w.inFlight(), "4:A")
	w.loop.Do(func() {
		w.replicas.DeleteRecords([]replica.DeleteRecordsPartition{{Partition: jobs, Offset: 5}}, 0, func([]replica.DeletedRecords) {})
	})
	w.produce(1)
	w.fetch("m").is("5-5*1")
}

// Groups that read what is committed wait for the last stable offset, and do not
// see what was aborted.
func TestReadCommitted(t *testing.T) {
	w := newWorld(t)
	w.settings.ReadCommitted = true
	p := kafka.Producer{ID: 7}
	w.append(commitlog.Producing{Producer: p, Transactional: true}, 2)
	w.produce(1)
	waiting := w.fetch("m")
	waiting.is("waits")
	w.loop.Do(func() {
		w.replicas.WriteMarkers(replica.MarkersRequest{Producer: p, Partitions: []kafka.TopicPartition{jobs}}, func([]replica.MarkerResult) {})
	})
	waiting.is("2-3*1") // and the marker, which clients skip
	w.is(w.inFlight(), "0:xxAA")
	w.is(w.ack("m", all(2, 2, Accept)), "ok")
	w.written(0, 3)
	w.is(w.inFlight(), "3:A")
}

// A group that is new to a partition begins where its setting says.
func TestReset(t *testing.T) {
	w := newWorld(t)
	w.produce(1)
	w.advance(time.Hour)
	w.produce(1)
	w.advance(time.Hour)
	for setting, want := range map[string]kafka.Offset{
		"earliest": 0, "latest": 2, "by_duration:PT1H30M": 1, "by_duration:P1DT0.5S": 0, "by_duration:PT1S": 2, "by_duration:pt1h30m": 1,
	} {
		reset, err := ParseReset(setting)
		if err != nil {
			t.Fatal(err)
		}
		w.settings.Reset = reset
		w.restart()
		got := w.fetch("m")
		if p := w.partitions[key]; p == nil || p.start != want {
			t.Errorf("%s begins at %+v, want %d; %v", setting, p, want, got)
		}
	}
	for _, bad := range []string{"", "middle", "by_duration:1h"} {
		if _, err := ParseReset(bad); err == nil {
			t.Errorf("%q is a reset", bad)
		}
	}
}

// A client gets what it may read.
func TestCheck(t *testing.T) {
	w := newWorld(t)
	w.produce(1)
	w.fetch("m", func(r *FetchRequest) {
		r.Check = func(kafka.TopicPartition) error { return kafka.ErrTopicAuthorizationFailed }
	}).is("TOPIC_AUTHORIZATION_FAILED")
	w.fetch("n", func(r *FetchRequest) { r.Add = []TopicPartition{{jobsID, 1}, {jobsID, 0}} }).is("UNKNOWN_TOPIC_OR_PARTITION 0-0*1")
}

// What was never set up, or is forgotten, has no offsets.
func TestStore(t *testing.T) {
	s := NewStore()
	if got := s.Summary(key); got.Start != -1 || got.Complete != -1 {
		t.Errorf("a partition that is unknown: %+v", got)
	}
	if err := s.Initialize(key, 1, kafka.NoOffset); err != nil {
		t.Fatal(err)
	}
	if _, err := s.load(key, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := s.load(key, 4); !errors.Is(err, kafka.ErrFencedLeaderEpoch) {
		t.Errorf("a leader before: %v", err)
	}
	if got := s.Summary(key); got.LeaderEpoch != 5 || got.Epoch != 1 {
		t.Errorf("summary %+v", got)
	}
	s.DeleteTopic(jobsID)
	if err := s.save(key, State{}); !errors.Is(err, kafka.ErrUnknownServerError) {
		t.Errorf("after the topic is gone: %v", err)
	}
}
