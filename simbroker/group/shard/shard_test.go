package shard

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// rig is a shard on a log in memory. What happens is noted, in order.
type rig struct {
	*Shard
	loop    *clock.Loop
	log     []group.Entry
	hwm     kafka.Offset
	instant bool          // appends are replicated before they return
	refusal error         // of the next appends, which leave nothing
	open    []func(error) // of appends that are not answered yet
	notes   []string
}

func newRig() *rig {
	r := &rig{loop: clock.NewSimulated(time.UnixMilli(1_000_000))}
	config := group.DefaultConfig()
	r.Shard = New(&Broker{Clock: clock.NewHost(r.loop), Config: config, Env: group.Environment{Log: r}}, 3, 0, func(_ *Shard, e group.Entry) {
		r.notes = append(r.notes, fmt.Sprintf("replayed %d %s", e.Offset, e.Key))
	})
	return r
}

func (r *rig) Append(_ int32, b group.Batch, done func(error)) (kafka.Offset, error) {
	if r.refusal != nil {
		return 0, r.refusal
	}
	base := kafka.Offset(len(r.log))
	for i, written := range b.Records {
		r.log = append(r.log, group.Entry{Offset: base + kafka.Offset(i), Producer: b.Producer, Record: written})
	}
	if r.instant {
		r.hwm = kafka.Offset(len(r.log))
		done(nil)
	} else {
		r.open = append(r.open, done)
	}
	return base, nil
}

func (r *rig) AppendMarker(_ int32, _ group.Marker, done func(kafka.Offset, error)) {
	at := kafka.Offset(len(r.log))
	r.log = append(r.log, group.Entry{Offset: at, Marker: true})
	done(at, nil)
}

func (r *rig) HighWatermark(int32) kafka.Offset { return r.hwm }

func (r *rig) Entries(int32) iter.Seq[group.Entry] { return slices.Values(r.log) }

// replicate passes the high watermark over all that was appended.
func (r *rig) replicate() {
	r.hwm = kafka.Offset(len(r.log))
	open := r.open
	r.open = nil
	for _, done := range open {
		done(nil)
	}
}

// note notes an answer.
func (r *rig) note(what string) func(error) {
	return func(err error) { r.notes = append(r.notes, fmt.Sprintf("%s: %v", what, err)) }
}

// expect compares what happened since the last time.
func (r *rig) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.notes, want) {
		t.Errorf("%s; want %s", strings.Join(r.notes, ", "), strings.Join(want, ", "))
	}
	r.notes = nil
}

func named(keys ...string) []group.Record {
	var records []group.Record
	for _, key := range keys {
		records = append(records, group.Record{Key: []byte(key)})
	}
	return records
}

// What is written is replayed before anybody is answered, be the log ever so
// quick; what is refused is not replayed.
func TestWriteIsReplayedFirst(t *testing.T) {
	r := newRig()
	r.Write(r.Plain(named("a", "b")...), r.note("slow"))
	r.expect(t, "replayed 0 a", "replayed 1 b")
	r.replicate()
	r.expect(t, "slow: <nil>")
	r.instant = true
	r.Write(r.Plain(named("c")...), r.note("quick"))
	r.expect(t, "replayed 2 c", "quick: <nil>")
	r.WriteChanges(Changes{Records: named("d"), Written: func() { r.notes = append(r.notes, "written") }}, r.note("changes"))
	r.expect(t, "replayed 3 d", "written", "changes: <nil>")
	r.refusal = kafka.ErrNotLeaderOrFollower
	r.Write(r.Plain(named("e")...), r.note("refused"))
	r.expect(t, "refused: "+kafka.ErrNotCoordinator.Error())
	r.refusal = nil
	r.Persist(named("f"), r.note("persisted"))
	r.expect(t, "persisted: <nil>") // it is in memory already
}

// Without anything to write, an answer waits for what was written before, up to
// offsets.commit.timeout.ms.
func TestAnswersWaitForReplication(t *testing.T) {
	r := newRig()
	r.WriteChanges(Changes{}, r.note("nothing before"))
	r.expect(t, "nothing before: <nil>")
	r.Write(r.Plain(named("a")...), func(error) {})
	r.notes = nil
	r.WriteChanges(Changes{}, r.note("in time"))
	r.expect(t)
	r.replicate()
	r.expect(t, "in time: <nil>")
	r.Mark(group.Marker{}, func(error) {})
	r.WhenReplicated(r.note("too late"))
	r.loop.Advance(r.Config.OffsetCommitTimeout - time.Millisecond)
	r.expect(t)
	r.loop.Advance(time.Millisecond)
	r.expect(t, "too late: "+kafka.ErrNotCoordinator.Error())
	if len(r.waiting) > 0 {
		t.Errorf("%d wait on after their time", len(r.waiting))
	}
	r.replicate()
	r.expect(t)
}

// waiter is a group with members that wait.
type waiter struct {
	Group
	kill func()
}

func (w waiter) Kill(int64) { w.kill() }

// A shard that is given up lets go of all that wait for it, and of its timers.
func TestGiveUp(t *testing.T) {
	r := newRig()
	r.Groups["G1"] = waiter{kill: func() { r.notes = append(r.notes, "killed") }}
	r.Timers.Set(Timer{Group: "G1", Member: "m"}, r.Clock.After(time.Second, func() { r.notes = append(r.notes, "a timer") }))
	r.Write(r.Plain(named("a")...), func(error) {})
	r.notes = nil
	r.WhenReplicated(r.note("read"))
	r.GiveUp()
	r.expect(t, "killed", "read: "+kafka.ErrNotCoordinator.Error())
	r.loop.Advance(time.Minute)
	r.expect(t)
	if r.Owned() {
		t.Error("it counts still")
	}
}

// A timer takes the place of the one of its name, and a member's go together.
func TestTimers(t *testing.T) {
	r := newRig()
	set := func(member string, kind TimerKind, d time.Duration) {
		r.Timers.Set(Timer{Group: "G1", Member: member, Kind: kind}, r.Clock.After(d, func() { r.notes = append(r.notes, fmt.Sprintf("timer %d of %q", kind, member)) }))
	}
	set("a", SessionTimer, time.Second)
	set("a", SessionTimer, 2*time.Second)
	set("a", RebalanceTimer, 2*time.Second)
	set("b", SessionTimer, 3*time.Second)
	set("", InitialTimer, 4*time.Second)
	r.loop.Advance(time.Second)
	r.expect(t)
	r.Timers.StopMember("G1", "a")
	r.loop.Advance(time.Minute)
	r.expect(t, `timer 0 of "b"`, `timer 4 of ""`)
}

// The kinds of errors that a log has are told in a coordinator's words.
func TestCoordinatorError(t *testing.T) {
	own := errors.New("another")
	for err, want := range map[error]error{
		kafka.ErrNotEnoughReplicas:   kafka.ErrCoordinatorNotAvailable,
		kafka.ErrRequestTimedOut:     kafka.ErrCoordinatorNotAvailable,
		kafka.ErrNotLeaderOrFollower: kafka.ErrNotCoordinator,
		kafka.ErrKafkaStorageError:   kafka.ErrNotCoordinator,
		kafka.ErrMessageTooLarge:     kafka.ErrUnknownServerError,
		own:                          own,
	} {
		if got := CoordinatorError(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
