package histories

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// epoch is when the time of each history begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// stage is where a history plays: a cluster on a simulated clock, and actors that
// use it. Each actor is a goroutine, of which one runs at a time: the one whose
// answer has come, or whose time is over, first. So requests of several are under
// way together, and yet the same seed gives the same history.
type stage struct {
	t       testing.TB
	sim     *simbroker.Cluster
	witness *witness.Witness
	actors  []*actor
	// transcript tells every request with its answer, everything that was done to
	// brokers, and every page of the exporter.
	transcript bytes.Buffer
	// begun is when the history began by the clock of package time, which stands
	// still but for stage.keepUp.
	begun time.Time
	over  bool // actors are to end
}

func (s *stage) tell(format string, args ...any) {
	fmt.Fprintf(&s.transcript, "%.6f ", s.sim.Now().Sub(epoch).Seconds())
	fmt.Fprintf(&s.transcript, format, args...)
	s.transcript.WriteByte('\n')
}

// since is the time since the history began.
func (s *stage) since() time.Duration { return s.sim.Now().Sub(epoch) }

// keepUp has the clock of package time show as much time gone as the cluster's:
// it is what contexts go by.
func (s *stage) keepUp() {
	if behind := s.since() - time.Since(s.begun); behind > 0 {
		time.Sleep(behind)
		synctest.Wait()
	}
}

// actor is one who does something to the cluster, or with it.
type actor struct {
	*stage
	name   string
	random *rand.Rand
	resume chan struct{}
	paused chan struct{}
	ended  bool

	call *simbroker.Call // it waits for this answer, if not nil
	till time.Time       // and no longer than until then
}

// prepare makes an actor, whose random numbers are its own.
func (s *stage) prepare(name string, seed uint64) *actor {
	a := &actor{
		stage: s, name: name, random: rand.New(rand.NewPCG(seed, uint64(len(s.actors))+100)),
		resume: make(chan struct{}), paused: make(chan struct{}),
	}
	s.actors = append(s.actors, a)
	return a
}

// begin has an actor play from now on.
func (s *stage) begin(a *actor, play func()) {
	a.till = s.sim.Now()
	go func() {
		<-a.resume
		defer func() { // also when the test is given up
			a.ended = true
			a.paused <- struct{}{}
		}()
		play()
	}()
}

// run plays until every actor has ended.
func (s *stage) run() {
	for {
		soonest := time.Time{}
		playing := false
		now := s.sim.Now()
		for i := 0; i < len(s.actors); i++ { // one may bring in others
			a := s.actors[i]
			if a.ended {
				continue
			}
			playing = true
			if a.due(now) {
				s.keepUp()
				a.resume <- struct{}{}
				<-a.paused
				now = s.sim.Now()
			}
			if !a.ended && (soonest.IsZero() || a.till.Before(soonest)) {
				soonest = a.till
			}
		}
		if !playing {
			return
		}
		s.sim.RunUntil(s.answered, max(soonest.Sub(now), 0))
	}
}

func (a *actor) due(now time.Time) bool {
	return a.call != nil && a.call.Done() || !a.till.After(now)
}

// answered says whether an answer has come that somebody waits for.
func (s *stage) answered() bool {
	for _, a := range s.actors {
		if !a.ended && a.call != nil && a.call.Done() {
			return true
		}
	}
	return false
}

// pause lets the others play for a time.
func (a *actor) pause(d time.Duration) {
	a.till = a.sim.Now().Add(d)
	a.yield()
}

func (a *actor) yield() {
	a.paused <- struct{}{}
	<-a.resume
}

// some is a random duration from least to most.
func (a *actor) some(least, most time.Duration) time.Duration {
	return least + time.Duration(a.random.Int64N(int64(most-least)+1))
}

// chance is true one time in n.
func (a *actor) chance(n int) bool { return a.random.IntN(n) == 0 }

// errNoAnswer is what request returns when there was no answer in time, and errRefused
// when nobody was there to take the request.
var (
	errNoAnswer = errors.New("no answer")
	errRefused  = errors.New("connection refused")
)

// request sends a request on a way that takes its time, and waits for the answer.
func (a *actor) request(broker int32, version int16, req kmsg.Request, timeout time.Duration) (kmsg.Response, error) {
	req.SetVersion(version)
	name := kmsg.NameForKey(req.Key())
	a.pause(a.way())
	a.tell("%s → %d %s v%d %s", a.name, broker, name, version, short(req.AppendTo(nil)))
	call, err := a.sim.Send(simbroker.Client{ID: a.name}, kafka.BrokerID(broker), req)
	if err != nil {
		a.t.Errorf("%s: %v", a.name, err)
		return nil, err
	}
	a.call, a.till = call, a.sim.Now().Add(timeout)
	refused := call.Done() && a.sim.State(kafka.BrokerID(broker)) != simbroker.Running
	if !call.Done() {
		a.yield()
	}
	a.call = nil
	if !call.Done() {
		call.GiveUp()
	}
	resp, err := call.Answer()
	if err != nil {
		a.tell("%s ← %d %s: %v", a.name, broker, name, err)
		if refused {
			return nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	a.tell("%s ← %d %s %s", a.name, broker, name, short(resp.AppendTo(nil)))
	a.pause(a.way())
	return resp, nil
}

// way is how long a request or an answer is on its way between a client and a
// broker.
func (a *actor) way() time.Duration { return a.some(100*time.Microsecond, 3*time.Millisecond) }

// short is bytes in a few characters: all of them, or what tells them from others.
func short(b []byte) string {
	const most = 160
	if len(b) <= most {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%x…%d bytes, SHA-256 %x", b[:most/2], len(b), sha256.Sum256(b))
}

// later says whether an error means that a client is to try again.
func later(err error) bool {
	return errors.Is(err, errNoAnswer) || errors.Is(err, errRefused) || errors.Is(err, errNowhere) ||
		kerr.IsRetriable(err) || errors.Is(err, kerr.ConcurrentTransactions)
}

// client is a client of the cluster, whose doings are recorded.
type client struct {
	*actor
	*play
	leaders map[string][]int32 // by topic
	seat    map[string]int32   // coordinators, by kind and key
}

func (a *actor) client(p *play) *client {
	return &client{actor: a, play: p, leaders: map[string][]int32{}, seat: map[string]int32{}}
}

// patience is how long clients wait for an answer.
const patience = 3 * time.Second

// send sends a request to a broker. The error says that there was no answer.
func send[R kmsg.Response](c *client, broker int32, version int16, req kmsg.Request) (R, error) {
	return sendWithin[R](c, broker, version, req, patience)
}

func sendWithin[R kmsg.Response](c *client, broker int32, version int16, req kmsg.Request, timeout time.Duration) (R, error) {
	sent := c.sim.Now()
	resp, err := c.request(broker, version, req, timeout)
	if err != nil {
		if !errors.Is(err, errRefused) {
			c.witness.Exchange(sent, c.sim.Now(), req, nil)
		}
		var none R
		return none, err
	}
	c.witness.Exchange(sent, c.sim.Now(), req, resp)
	return resp.(R), nil
}

// anyBroker is one of the brokers, whatever its state.
func (c *client) anyBroker() int32 { return int32(1 + c.random.IntN(brokers)) }

// leader is the leader of a partition as far as is known: -1 if none is.
func (c *client) leader(at partition) int32 {
	if leaders := c.leaders[at.Topic]; int(at.Index) < len(leaders) {
		return leaders[at.Index]
	}
	c.metadata(at.Topic)
	if leaders := c.leaders[at.Topic]; int(at.Index) < len(leaders) {
		return leaders[at.Index]
	}
	return -1
}

// metadata asks some broker for the leaders of topics.
func (c *client) metadata(topics ...string) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
		delete(c.leaders, name)
	}
	resp, err := send[*kmsg.MetadataResponse](c, c.anyBroker(), 12, req)
	if err != nil {
		return
	}
	for _, t := range resp.Topics {
		if t.ErrorCode != 0 || t.Topic == nil {
			continue
		}
		leaders := make([]int32, len(t.Partitions))
		for _, p := range t.Partitions {
			leaders[p.Partition] = p.Leader
			if p.Leader < 0 {
				c.noLeader(partition{Topic: *t.Topic, Index: p.Partition})
			}
		}
		c.leaders[*t.Topic] = leaders
	}
}

// forget drops what is known of a topic's leaders.
func (c *client) forget(topic string) { delete(c.leaders, topic) }

// Kinds of coordinators.
const (
	ofGroup       int8 = 0
	ofTransaction int8 = 1
)

// coordinator is the broker that coordinates a group or a transactional id; -1 if
// that is not to be found out now.
func (c *client) coordinator(kind int8, key string) int32 {
	name := fmt.Sprint(kind, key)
	if id, known := c.seat[name]; known {
		return id
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = kind, []string{key}
	resp, err := send[*kmsg.FindCoordinatorResponse](c, c.anyBroker(), 6, req)
	if err != nil || resp.Coordinators[0].ErrorCode != 0 {
		return -1
	}
	c.seat[name] = resp.Coordinators[0].NodeID
	return resp.Coordinators[0].NodeID
}

// forgetCoordinator has the next request find the coordinator anew.
func (c *client) forgetCoordinator(kind int8, key string) { delete(c.seat, fmt.Sprint(kind, key)) }

// errNowhere: nobody is known to send a request to.
var errNowhere = errors.New("no broker is known to be responsible")

// toCoordinator sends a request to a coordinator.
func toCoordinator[R kmsg.Response](c *client, kind int8, key string, version int16, req kmsg.Request) (R, error) {
	id := c.coordinator(kind, key)
	if id < 0 {
		var none R
		return none, errNowhere
	}
	resp, err := send[R](c, id, version, req)
	if err != nil {
		c.forgetCoordinator(kind, key)
	}
	return resp, err
}

// settle finds a coordinator anew if a code says that it is another.
func (c *client) settle(kind int8, key string, code int16) error {
	err := kerr.ErrorForCode(code)
	switch err {
	case kerr.NotCoordinator, kerr.CoordinatorNotAvailable:
		c.forgetCoordinator(kind, key)
	}
	return err
}
