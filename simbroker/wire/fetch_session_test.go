package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sessionClient fetches from broker 2 in a session.
type sessionClient struct {
	*cluster
	version   int16
	id, epoch int32
}

// fetch names partitions with their offsets, as in single-0@3, and forgets
// others, as in -single-0. It shows the answer's error, or the partitions in it.
func (c *sessionClient) fetch(words ...string) string {
	c.t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxBytes, req.SessionID, req.SessionEpoch = c.version, -1, 1<<20, c.id, c.epoch
	for _, word := range words {
		name, at, _ := strings.Cut(strings.TrimPrefix(word, "-"), "@")
		topic, number := name[:len(name)-2], int32(name[len(name)-1]-'0')
		if strings.HasPrefix(word, "-") {
			req.ForgottenTopics = append(req.ForgottenTopics, kmsg.FetchRequestForgottenTopic{Topic: topic, Partitions: []int32{number}})
			continue
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = number, 1<<20
		if _, err := fmt.Sscan(at, &p.FetchOffset); err != nil {
			c.t.Fatal(err)
		}
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
		req.Topics = append(req.Topics, t)
	}
	resp := ask[*kmsg.FetchResponse](c.cluster, 2, req)
	if resp.ErrorCode != 0 {
		return fmt.Sprintf("error %d", resp.ErrorCode)
	}
	if c.id = resp.SessionID; c.id != 0 {
		c.epoch = max(1, c.epoch+1)
	}
	var got []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			one := fmt.Sprintf("%s-%d hwm %d", t.Topic, p.Partition, p.HighWatermark)
			if p.ErrorCode != 0 {
				one = fmt.Sprintf("%s-%d error %d", t.Topic, p.Partition, p.ErrorCode)
			}
			if n := len(p.RecordBatches); n > 0 {
				one += fmt.Sprintf(" %d bytes", n)
			}
			got = append(got, one)
		}
	}
	return strings.Join(got, ", ")
}

func (c *sessionClient) expect(want string, words ...string) {
	c.t.Helper()
	if got := c.fetch(words...); got != want {
		c.t.Errorf("fetch %v: got %q, want %q", words, got, want)
	}
}

// KIP-227: a request of a session names what has changed, and an answer tells
// what is new.
func TestFetchSessions(t *testing.T) {
	c := &sessionClient{cluster: newCluster(t, nil), version: 12}
	produce := func(topic string, partition int32) {
		t.Helper()
		if p := ask[*kmsg.ProduceResponse](c.cluster, 2, produceRequest(12, topic, [16]byte{}, partition, records(1))).Topics[0].Partitions[0]; p.ErrorCode != 0 {
			t.Fatalf("error %d", p.ErrorCode)
		}
		c.Advance(time.Second)
	}
	size := len(records(1))
	one := func(name string, hwm int) string { return fmt.Sprintf("%s hwm %d %d bytes", name, hwm, size) }
	produce("single", 0)
	c.expect(one("single-0", 1)+", orders-1 hwm 0", "single-0@0", "orders-1@0")
	if c.id == 0 {
		t.Fatal("no session")
	}
	c.expect("", "single-0@1")
	c.expect("")
	produce("orders", 1)
	c.expect(one("orders-1", 1))
	c.expect(one("orders-1", 1)) // it was not moved on
	c.expect("", "orders-1@1")
	produce("single", 0)
	produce("orders", 1)
	c.expect(one("single-0", 2) + ", " + one("orders-1", 2))
	c.expect("single-0 error 1", "single-0@9", "-orders-1")
	c.expect("single-0 error 1") // an error each time
	c.expect("single-0 hwm 2", "single-0@2")
	produce("orders", 1)
	c.expect("")

	id, epoch := c.id, c.epoch
	for _, wrong := range []struct {
		id, epoch int32
		version   int16
		want      string
	}{
		{id, epoch + 1, 12, "error 71"}, {id, epoch - 1, 12, "error 71"}, {id + 7, 1, 12, "error 70"}, {0, 3, 12, "error 70"}, {-1, 1, 12, "error 70"},
		{0, -5, 12, "error 70"}, {id, epoch, 13, "error 106"},
	} {
		c.id, c.epoch, c.version = wrong.id, wrong.epoch, wrong.version
		c.expect(wrong.want)
	}
	c.id, c.epoch, c.version = id, epoch, 12
	c.expect("", "-single-0") // nothing is left: the session is over
	if c.id != 0 {
		t.Errorf("session %d is still there", c.id)
	}
	c.id, c.epoch = id, epoch+1
	c.expect("error 70")
	c.id, c.epoch = 0, -1
	c.expect("orders-1 hwm 3", "orders-1@3")
	if c.id != 0 {
		t.Errorf("session %d for a client that wants none", c.id)
	}
}

// A full fetch with a session's id replaces it; a broker that restarts knows
// none; and there are only so many.
func TestFetchSessionsEnd(t *testing.T) {
	c := &sessionClient{cluster: newCluster(t, map[string]string{"max.incremental.fetch.session.cache.slots": "2"}), version: 12}
	open := func() (id int32) {
		t.Helper()
		c.epoch = 0
		c.expect("single-0 hwm 0", "single-0@0")
		return c.id
	}
	first := open()
	second := open() // in place of the first
	if second == 0 || second == first {
		t.Errorf("sessions %d and %d", first, second)
	}
	c.id, c.epoch = first, 1
	c.expect("error 70")
	c.id = 0
	third := open()
	c.id = 0
	if id := open(); third == 0 || id != 0 {
		t.Errorf("sessions %d and %d of two", third, id)
	}
	c.Advance(3 * time.Minute)
	c.id = 0
	if id := open(); id == 0 {
		t.Error("no session after an old one could go")
	}
	if err := c.Kill(2); err != nil {
		t.Fatal(err)
	}
	c.Advance(10 * time.Second)
	if err := c.Start(2); err != nil {
		t.Fatal(err)
	}
	id, epoch := c.id, c.epoch
	c.expect("error 70")
	c.id = 0
	if again := open(); again == id {
		t.Errorf("session %d at epoch %d again", again, epoch)
	}
}
