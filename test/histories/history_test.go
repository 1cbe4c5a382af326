package histories

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/histories/check"
	"github.com/lso-exporter/lso-exporter/test/oracle"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

var (
	count      = flag.Int("histories", everyday(), "how many histories to play; LSO_HISTORIES says it too")
	firstSeed  = flag.Uint64("first", 1, "the seed of the first history")
	onlySeed   = flag.Uint64("seed", 0, "play the history of this seed alone")
	transcript = flag.String("transcript", "", "write the transcript of the history to this file, the oracle's record to FILE.acts, and the exporter's pages to FILE.pages")
)

// everyday is how many histories are played unless somebody asks for more.
func everyday() int {
	if n, err := strconv.Atoi(os.Getenv("LSO_HISTORIES")); err == nil {
		return n
	}
	return 4
}

// temper is how rough a history is, and with it what is promised in it.
type temper int

const (
	// gentle: one broker is away at a time. Everything is promised.
	gentle temper = iota
	// rough: brokers go and come as they like, and partitions may be without a
	// leader when a marker is due: their transactions may hang, or end otherwise
	// than they were told (rule G17).
	rough
	// unclean: elections of a topic may lose records besides (rule F6).
	unclean
)

// String names the temper.
func (t temper) String() string { return [...]string{"gentle", "rough", "unclean"}[t] }

// temperOf is the temper of the history of a seed: every other is gentle.
func temperOf(seed uint64) temper {
	switch seed % 4 {
	case 1:
		return rough
	case 3:
		return unclean
	}
	return gentle
}

// consumersOf says which instances of the pipeline are members of its group by the
// consumer protocol in the history of a seed: none, both, or one beside a classic one.
func consumersOf(seed uint64) [2]bool {
	switch seed % 7 {
	case 1, 2:
		return [2]bool{true, true}
	case 4:
		return [2]bool{true, false}
	}
	return [2]bool{}
}

const brokers = 3

// The topics, of three replicas each but for the loose one.
const (
	inputTopic  = "input"
	outputTopic = "output"
	mixedTopic  = "mixed"
	looseTopic  = "loose"
)

var topics = []struct {
	name       string
	partitions int
}{{inputTopic, 2}, {outputTopic, 2}, {mixedTopic, 2}, {looseTopic, 1}}

func partitionsOf(topic string) int {
	for _, t := range topics {
		if t.name == topic {
			return t.partitions
		}
	}
	return 0
}

// all are the partitions of some topics.
func all(names ...string) []partition {
	var list []partition
	for _, name := range names {
		for n := range partitionsOf(name) {
			list = append(list, partition{Topic: name, Index: int32(n)})
		}
	}
	return list
}

var transactionalIDs = []string{"tx-0", "tx-1", "tx-2", "pipe-0", "pipe-1"}

// properties are those of every broker: Kafka's defaults, but for smaller internal
// topics and transactions that all replicas take part in.
var properties = map[string]string{
	"offsets.topic.num.partitions":         "2",
	"transaction.state.log.num.partitions": "2",
	"min.insync.replicas":                  "2",
	"group.initial.rebalance.delay.ms":     "0",
}

// retention has brokers delete segments all the time, and segments be small.
var retention = struct{ brokers, topics map[string]string }{
	map[string]string{"log.retention.check.interval.ms": "7000"},
	map[string]string{"retention.ms": "40000", "segment.ms": "5000"},
}

// retained are the topics that retention is on in the histories that have it.
var retained = []string{mixedTopic, looseTopic}

// timing is what the oracle is to expect of the brokers. Fetches that are held back make
// followers late.
var timing = oracle.Timing{ReplicationDelay: 4 * time.Second}

// play is what the actors of a history share.
type play struct {
	temper   temper
	hangs    bool                // brokers do not verify, so that late writes hang (rule G24)
	retains  bool                // records of some topics are deleted when they are old
	renews   bool                // a topic is deleted and created again
	consumer [2]bool             // which instances of the pipeline speak the consumer protocol
	ids      map[string][16]byte // of topics
	written  int                 // values so far
	finished bool                // the pipeline is to end
	blurred  bool                // see client.loseSight
	ledger   *check.Ledger
	offsets  *check.Offsets
	pipeline check.Pipeline
	scrapes  []oracle.Scrape
	logs     map[partition]check.Log
}

// noLeader notes that a partition was seen without a leader.
func (p *play) noLeader(at partition) {
	for _, t := range topics {
		for n := range t.partitions {
			p.ledger.Loosen(partition{Topic: t.name, Index: int32(n)})
		}
	}
}

// TestHistories plays histories of seeds 1, 2, …; they end without a complaint.
func TestHistories(t *testing.T) {
	first := *firstSeed
	last := first + uint64(*count) - 1
	if *onlySeed != 0 {
		first, last = *onlySeed, *onlySeed
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := playHistory(t, seed)
				h.judge()
				h.write(t)
				if t.Failed() {
					t.Logf("the end of the history:\n%s\n%s", tail(h.transcript.Bytes(), 40), h.again())
				}
			})
		})
	}
}

// TestHistoriesReplay plays a few histories twice: every request, answer and page
// is the same.
func TestHistoriesReplay(t *testing.T) {
	for _, seed := range []uint64{2, 5} {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			var told [2][]byte
			for i := range told {
				synctest.Test(t, func(t *testing.T) { told[i] = playHistory(t, seed).transcript.Bytes() })
			}
			if !bytes.Equal(told[0], told[1]) {
				first, second := strings.Split(string(told[0]), "\n"), strings.Split(string(told[1]), "\n")
				for i := range min(len(first), len(second)) {
					if first[i] != second[i] {
						t.Fatalf("line %d was\n%s\nand is\n%s", i+1, first[i], second[i])
					}
				}
				t.Fatalf("%d lines, and then %d", len(first), len(second))
			}
		})
	}
}

// again says how to play the history again.
func (h *history) again() string {
	return fmt.Sprintf("to play it again: go test ./test/histories -run 'TestHistories$' -seed %d -transcript FILE", h.seed)
}

// write writes down what the flag transcript asks for.
func (h *history) write(t testing.TB) {
	if *transcript == "" {
		return
	}
	var acts, pages bytes.Buffer
	if err := oracle.Encode(&acts, h.witness.Acts()); err != nil {
		t.Error(err)
	}
	for _, sc := range h.scrapes {
		fmt.Fprintf(&pages, "# %s at %v of [%v, %v]\n%s", sc.Exporter, sc.At.Sub(epoch), sc.Start.Sub(epoch), sc.End.Sub(epoch), sc.Text)
	}
	for suffix, content := range map[string][]byte{"": h.transcript.Bytes(), ".acts": acts.Bytes(), ".pages": pages.Bytes()} {
		if err := os.WriteFile(*transcript+suffix, content, 0o644); err != nil {
			t.Error(err)
		}
	}
}

// tail is the last lines of a text.
func tail(text []byte, lines int) string {
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// history is one that was played.
type history struct {
	*stage
	*play
	seed uint64
}

// playHistory plays the history of a seed.
func playHistory(t testing.TB, seed uint64) *history {
	p := &play{temper: temperOf(seed), hangs: seed%5 == 0, retains: seed%3 == 2, renews: seed%4 == 2, consumer: consumersOf(seed), ids: map[string][16]byte{}, ledger: check.NewLedger(), offsets: check.NewOffsets(), logs: map[partition]check.Log{}}
	all := maps.Clone(properties)
	if p.hangs {
		all["transaction.partition.verification.enable"] = "false"
	}
	if p.retains {
		maps.Copy(all, retention.brokers)
	}
	if p.consumer != [2]bool{} {
		maps.Copy(all, consumerProperties)
	}
	sim, err := simbroker.Start(simbroker.Config{Brokers: brokers, Properties: all, Clock: simbroker.Simulated(epoch), Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, sim: sim, begun: time.Now().Add(-sim.Now().Sub(epoch)), witness: witness.New([]int32{1, 2, 3}, timing, sim.Now())}
	h := &history{stage: s, play: p, seed: seed}
	s.tell("a %v history of seed %d, hangs: %v, retains: %v, renews: %v, consumers: %v", p.temper, seed, p.hangs, p.retains, p.renews, p.consumer)
	director := s.prepare("director", seed)
	s.begin(director, func() { h.direct(director.client(p)) })
	defer func() { // a broken invariant panics
		if r := recover(); r != nil {
			h.write(t)
			t.Fatalf("%v\n%s\nthe end of the history:\n%s\n%s", r, debug.Stack(), tail(h.transcript.Bytes(), 40), h.again())
		}
	}()
	s.run()
	if err := sim.Close(); err != nil {
		t.Error(err)
	}
	return h
}

// direct sets the stage, has everybody play, and brings all to an end.
func (h *history) direct(c *client) {
	h.createTopics(c)
	for i := range 3 {
		tx := h.newActor(transactionalIDs[i]).transactor(transactionalIDs[i], i > 0, c.some(6*time.Second, 30*time.Second))
		targets := all(inputTopic, mixedTopic)
		if i == 2 {
			targets = all(inputTopic)
		}
		if h.temper == unclean {
			targets = append(targets, all(looseTopic)...)
		}
		h.begin(tx.actor, func() { tx.work(targets) })
	}
	for i := range 2 {
		id := transactionalIDs[3+i]
		// Without verification only protocol 2 keeps a late batch out of the next
		// transaction, and the pipeline its promise.
		pipe := &pipeline{transactor: h.newActor(id).transactor(id, i == 0 || h.hangs, 20*time.Second), consumer: h.consumer[i]}
		h.begin(pipe.actor, pipe.run)
	}
	plain, idempotent := h.newActor("plain"), h.newActor("idempotent")
	h.begin(plain.actor, func() { plain.plain(all(mixedTopic, looseTopic), false) })
	h.begin(idempotent.actor, func() { idempotent.plain(all(inputTopic, mixedTopic), true) })
	for i, committed := range []bool{true, true, false} {
		r := &consumer{client: h.newActor(fmt.Sprint("consumer-", i)), group: fmt.Sprint("group-", i), committed: committed, position: map[partition]int64{}}
		of := all(mixedTopic, looseTopic)
		if i == 0 {
			of = all(outputTopic)
		}
		h.begin(r.actor, func() { r.run(of) })
	}
	watcher := h.newActor("watcher")
	h.begin(watcher.actor, func() { watcher.watch(all(inputTopic, outputTopic, mixedTopic)) })
	disturber, meddler, manager := h.newActor("disturber"), h.newActor("meddler"), h.newActor("manager")
	h.begin(disturber.actor, disturber.disturb)
	h.begin(meddler.actor, meddler.meddle)
	h.begin(manager.actor, manager.manage)
	exporter := h.newActor("exporter")
	h.begin(exporter.actor, func() { exporter.actor.observe(&h.scrapes) })

	if h.renews {
		renewer := h.newActor("renewer")
		h.begin(renewer.actor, renewer.renew)
	}

	c.pause(c.some(60*time.Second, 150*time.Second))
	h.end(c)
}

func (h *history) newActor(name string) *client {
	return h.prepare(name, h.seed).client(h.play)
}

// end brings everything to rest and reads what is there.
func (h *history) end(c *client) {
	h.over = true
	c.pause(45 * time.Second) // whatever is under way
	for _, i := range h.sim.Injections() {
		if err := h.sim.Withdraw(i.ID); err != nil {
			h.t.Error(err)
		}
	}
	for _, id := range h.sim.Brokers() {
		c.bringBack(id)
	}
	for limit := h.since() + 2*time.Minute; !c.whole() && h.since() < limit; {
		c.pause(time.Second)
	}
	c.pause(45 * time.Second) // open transactions reach their timeout
	for _, at := range all(inputTopic, mixedTopic, looseTopic) {
		c.until("ends what hangs in "+at.String(), func() bool { return c.endHanging(at, 0) == nil })
	}
	// Where the pipeline works, what hangs is what is older than its transactions.
	for _, at := range append(all(outputTopic), partition{Topic: kafka.ConsumerOffsetsTopic}, partition{Topic: kafka.ConsumerOffsetsTopic, Index: 1}) {
		c.until("ends what hangs in "+at.String(), func() bool { return c.endHanging(at, time.Minute) == nil })
	}
	c.pause(3 * time.Second)
	h.drain(c)
	h.finished = true
	c.pause(10 * time.Second)
	for _, at := range all(inputTopic, outputTopic, mixedTopic, looseTopic) {
		c.until("reads "+at.String(), func() bool { return h.readLog(c, at) })
	}
	h.judgePipeline(c)
}

// until does something until it succeeds, for two minutes at most.
func (c *client) until(what string, do func() bool) bool {
	for limit := c.since() + 2*time.Minute; c.since() < limit; {
		if do() {
			return true
		}
		c.pause(200 * time.Millisecond)
	}
	c.t.Errorf("%s %s: not within 2 minutes after all is well", c.name, what)
	return false
}

// drain waits until the pipeline has read everything.
func (h *history) drain(c *client) {
	c.until("waits for the pipeline", func() bool {
		offsets, err := c.committed(pipelineGroup, all(inputTopic), true)
		if err != nil {
			return false
		}
		for _, at := range all(inputTopic) {
			stable, err := c.offsetOf(at, check.LastStable, -1)
			if err != nil || max(offsets[at], 0) < stable {
				return false
			}
		}
		return true
	})
}

// readLog reads a partition whole, in both isolation levels.
func (h *history) readLog(c *client, at partition) bool {
	start, err := c.offsetOf(at, check.LogStart, -1)
	if err != nil {
		return false
	}
	end, err := c.offsetOf(at, check.LogEnd, -1)
	if err != nil {
		return false
	}
	stable, err := c.offsetOf(at, check.LastStable, -1)
	if err != nil {
		return false
	}
	if stable < end {
		h.t.Errorf("%v: last stable offset %d, log end offset %d, long after all is well", at, stable, end)
	}
	log := check.Log{Start: start}
	for _, committed := range []bool{false, true} {
		for from := start; from < stable; {
			records, next, err := c.fetch(at, from, committed)
			if err != nil {
				return false
			}
			if committed {
				log.Committed = append(log.Committed, records...)
			} else {
				log.All = append(log.All, records...)
			}
			from = next
		}
	}
	h.logs[at] = log
	return true
}

// judgePipeline judges the pipeline by its topics.
func (h *history) judgePipeline(c *client) {
	for _, at := range all(inputTopic, outputTopic) {
		if h.ledger.Loose(at) {
			return
		}
	}
	var committed map[partition]int64
	c.until("reads the pipeline's commits", func() bool {
		var err error
		committed, err = c.committed(pipelineGroup, all(inputTopic), true)
		return err == nil
	})
	input, output := map[partition][]check.Record{}, map[partition][]check.Record{}
	for _, at := range all(inputTopic) {
		input[at] = h.logs[at].Committed
	}
	for _, at := range all(outputTopic) {
		output[at] = h.logs[at].Committed
	}
	h.pipeline.Judge(input, committed, output)
}

// judge reports everything that is wrong.
func (h *history) judge() {
	h.ledger.Judge(h.logs)
	for _, complaints := range [][]string{h.ledger.List(), h.offsets.List(), h.pipeline.List()} {
		for i, line := range complaints {
			if i == 10 {
				h.t.Errorf("and %d complaints more", len(complaints)-i)
				break
			}
			h.t.Error(line)
		}
	}
	truth, err := oracle.Learn(h.witness.Acts())
	if err != nil {
		h.t.Error(err)
		return
	}
	judge := oracle.NewJudge(truth)
	wrong := 0
	for _, sc := range h.scrapes {
		for _, v := range judge.Judge(sc) {
			if wrong++; wrong <= 10 {
				h.t.Errorf("oracle: %s, scraped at %v: %v", sc.Exporter, sc.At.Sub(epoch), v)
			}
		}
	}
	if wrong > 10 {
		h.t.Errorf("oracle: %d violations more", wrong-10)
	}
	if *onlySeed != 0 {
		h.t.Logf("%v of history, %d values, %d pages, %d bytes of transcript", h.since(), h.written, len(h.scrapes), h.transcript.Len())
	}
}

// createTopics creates the topics, each partition led by another broker.
func (h *history) createTopics(c *client) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 30_000
	n := int32(h.seed)
	for _, t := range topics {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.name, -1, -1
		for i := range t.partitions {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition = int32(i)
			for r := range int32(3) {
				a.Replicas = append(a.Replicas, (n+r)%brokers+1)
			}
			if t.name == looseTopic {
				a.Replicas = a.Replicas[:2]
			}
			topic.ReplicaAssignment = append(topic.ReplicaAssignment, a)
			n++
		}
		settings := map[string]string{"min.insync.replicas": "2"}
		if t.name == looseTopic {
			settings["min.insync.replicas"] = "1"
			settings["unclean.leader.election.enable"] = strconv.FormatBool(h.temper == unclean)
		}
		if h.retains && slices.Contains(retained, t.name) {
			maps.Copy(settings, retention.topics)
			h.witness.Add(oracle.Act{Kind: oracle.Retention, Topic: t.name, Sent: h.sim.Now()})
		}
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			config := kmsg.NewCreateTopicsRequestTopicConfig()
			config.Name, config.Value = name, kmsg.StringPtr(settings[name])
			topic.Configs = append(topic.Configs, config)
		}
		req.Topics = append(req.Topics, topic)
	}
	if h.temper != gentle {
		h.ledger.Loosen(partition{Topic: looseTopic})
	}
	resp, err := sendWithin[*kmsg.CreateTopicsResponse](c, 1, 7, req, 30*time.Second)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, t := range resp.Topics {
		h.ids[t.Topic] = t.TopicID
		if t.ErrorCode != 0 {
			h.t.Fatalf("create topic %s: %v", t.Topic, kerr.ErrorForCode(t.ErrorCode))
		}
	}
	c.pause(time.Second)
}
