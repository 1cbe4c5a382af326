package clients

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// difference is a case in which tool and exporter do not print the same, on
// partition 0 of a topic of its name.
type difference struct {
	topic string
	group string
	// tool has its CURRENT-OFFSET, LOG-END-OFFSET and LAG.
	tool, exporter string
}

// differences are all of them. docs/consumer-groups-tool.md has them as rows.
var differences = []difference{
	{"below", "below", "2 / 10 / 8", "committed 2, high 10, hwm_lag 2, lso_lag 2, lost_offsets 6"},
	{"ahead", "ahead", "25 / 10 / -15", "committed 25, high 10, hwm_lag 0, lso_lag 0, ahead_offsets 15"},
	{"held", "held", "10 / 13 / 3", "committed 10, high 13, hwm_lag 3, lso_lag 0"},
	{"marker", "marker", "3 / 4 / 1", "committed 3, high 4, hwm_lag 1, lso_lag 1"},
	{"aborted", "aborted", "0 / 6 / 6", "committed 0, high 6, hwm_lag 6, lso_lag 6"},
	{"pending", "pending", "4 / 10 / 6", "committed 4, high 10, hwm_lag 6, lso_lag 6, pending"},
	{"uncommitted", "member", "- / 10 / -", "high 10"},
	{"left", "member", "5 / 10 / 5", "committed 5, high 10, hwm_lag 5, lso_lag 5, unassigned"},
}

// differ looks at the differences through tool and exporter.
func differ(t *testing.T, printed map[string][]row, e *exporter) {
	for _, d := range differences {
		t.Run(d.topic, func(t *testing.T) {
			tool := "no row"
			for _, r := range printed[d.group] {
				if r["TOPIC"] == d.topic {
					tool = fmt.Sprintf("%s / %s / %s", r["CURRENT-OFFSET"], r["LOG-END-OFFSET"], r["LAG"])
				}
			}
			if tool != d.tool {
				t.Errorf("the tool prints %s, want %s", tool, d.tool)
			}
			if shown := e.figuresOf(d.group, d.topic); shown != d.exporter {
				t.Errorf("the exporter shows %s, want %s", shown, d.exporter)
			}
		})
	}
	if got := e.show("kafka_group_uncommitted_partitions", "group", "member"); got != "1" {
		t.Errorf("%s partitions are uncommitted, want 1", got)
	}
}

// furnish writes, commits and deletes what the differences are about.
func furnish(c *cluster) {
	c.t.Helper()
	plain := c.client()
	var topics []string
	for _, d := range differences {
		topics = append(topics, d.topic)
	}
	c.createTopics(1, topics...)
	for _, d := range differences {
		if d.topic != "marker" && d.topic != "aborted" {
			c.produce(plain, d.topic, 0, 10)
		}
	}
	c.commit("below", "below", 0, 2)
	until := kadm.Offsets{}
	until.AddOffset("below", 0, 8, -1)
	_, err := c.admin.DeleteRecords(c.context(), until)
	c.must(err)
	c.commit("ahead", "ahead", 0, 25)
	c.transaction("holds", "held", 0, 3)
	c.commit("held", "held", 0, 10)
	c.end(c.transaction("commits", "marker", 0, 3), kgo.TryCommit, "marker", 0)
	c.commit("marker", "marker", 0, 3)
	c.end(c.transaction("aborts", "aborted", 0, 5), kgo.TryAbort, "aborted", 0)
	c.commit("aborted", "aborted", 0, 0)
	c.commit("pending", "pending", 0, 4)
	c.pendingCommit("commits-later", "pending", "pending", 0, 9)
	c.commit("member", "left", 0, 5)
	c.join("member", "uncommitted")
}

// join has a member join a group, which reads a topic and commits nothing.
func (c *cluster) join(group, topic string) {
	c.t.Helper()
	assigned := make(chan struct{})
	var once sync.Once
	member := c.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { once.Do(func() { close(assigned) }) }))
	go member.PollFetches(c.context())
	select {
	case <-assigned:
	case <-time.After(patience):
		c.t.Fatal("nothing is assigned")
	}
}

// The page for users has the figures that were seen.
func TestPageHasDifferences(t *testing.T) {
	page, err := os.ReadFile("../../docs/consumer-groups-tool.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if row := fmt.Sprintf("| %s | %s |", d.tool, d.exporter); !strings.Contains(string(page), row) {
			t.Errorf("it lacks the row of %s: %s", d.topic, row)
		}
	}
	for client := range commits["read_committed"] {
		committed, uncommitted := commits["read_committed"][client], commits["read_uncommitted"][client]
		row := fmt.Sprintf("| %s, %s | %s, %s |", committed[0], committed[1], uncommitted[0], uncommitted[1])
		if !strings.Contains(string(page), row) {
			t.Errorf("it lacks what consumers of %s commit: %s", client, row)
		}
	}
}
