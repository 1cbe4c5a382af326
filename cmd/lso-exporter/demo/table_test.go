package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// pinned is a view in which a transaction holds one partition, and another has
// no leader.
func pinned(stalled time.Duration, hwm lag.Offset) *lag.View {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &lag.View{
		Started: at.Add(-3 * time.Millisecond), Ended: at,
		Topics: []lag.TopicView{
			{Name: "__consumer_offsets", Internal: true, Partitions: []lag.PartitionView{{Number: 0, Leader: 1}}},
			{Name: "orders", Partitions: []lag.PartitionView{
				{
					Number: 0, Leader: 1, Below: true, StalledFor: stalled,
					LogStart: lag.Known[lag.Offset](0), LastStable: lag.Known[lag.Offset](7),
					HighWatermark: lag.Known(hwm), LogEnd: lag.Known(hwm),
				},
				{Number: 1, Leader: lag.NoBroker},
			}},
		},
		Groups: []lag.GroupView{{
			Name: "billing", State: "Stable", Members: lag.Known(1),
			Topics: []lag.GroupTopicView{{
				Topic: "orders", LSOLag: lag.Known[lag.Count](0), HWMLag: lag.Known(lag.Count(hwm - 7)),
				HWMLagFor: lag.Known(11600 * time.Millisecond), State: lag.StateBlocked,
			}},
		}},
	}
}

// screen is a terminal of that size.
func screen(width, height int) func() (int, int) {
	return func() (int, int) { return width, height }
}

var header = Header{Where: []string{"metrics  http://127.0.0.1:1/metrics", "brokers  a:1"}, Story: []string{"orders    a story"}}

func TestTableOnATerminal(t *testing.T) {
	var out strings.Builder
	table := NewTable(&out, screen(120, 50), header)
	if err := table.Show(pinned(12*time.Second, 9)); err != nil {
		t.Fatal(err)
	}
	want := clearScreen + home + strings.ReplaceAll(`metrics  http://127.0.0.1:1/metrics
brokers  a:1

orders    a story

03:04:05  sweep of 3ms

PARTITION  START  LSO  HWM  LEO  UNSTABLE  UNREPLICATED  STATE
orders-0   0      7    9    9    2         0             LSO stalled for 12s
orders-1                                                 no leader

GROUP              LSO LAG  HWM LAG  WAITING  STATE    GROUP
billing on orders  0        2        12s      blocked  Stable, 1 member
`, "\n", clearLine+"\n") + clearBelow
	if got := out.String(); got != want {
		t.Errorf("first view:\n%s\nwant:\n%s", got, want)
	}
	out.Reset()
	if err := table.Show(pinned(13*time.Second, 9)); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, home+"metrics") || strings.Contains(got, clearScreen) {
		t.Errorf("second view is not drawn over the first: %q", got[:20])
	}
}

// crowded is a view with more partitions than a small terminal has lines, of
// which one is held by a transaction.
func crowded() *lag.View {
	v := pinned(12*time.Second, 9)
	v.Topics[1].Partitions = v.Topics[1].Partitions[:1]
	v.Topics[1].Partitions[0].Blocker = &lag.Blocker{
		Verdict: lag.Hanging, Reason: lag.ReasonNone, TransactionalID: "ledger-import", Age: 12 * time.Second,
	}
	healthy := lag.TopicView{Name: "payments"}
	for i := range int32(30) {
		healthy.Partitions = append(healthy.Partitions, lag.PartitionView{
			Number: i, Leader: 1, LogStart: lag.Known[lag.Offset](0), LastStable: lag.Known[lag.Offset](1234567),
			HighWatermark: lag.Known[lag.Offset](1234567), LogEnd: lag.Known[lag.Offset](1234567),
		})
	}
	v.Topics = append(v.Topics, healthy)
	return v
}

// Whatever the size, nothing is wrapped or scrolled, and the culprit is there.
func TestTableFits(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 50}, {80, 50}, {60, 12}, {110, 24}, {500, 200}} {
		var out strings.Builder
		if err := NewTable(&out, screen(size[0], size[1]), header).Show(crowded()); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(clearScreen, "", home, "", clearLine, "", clearBelow, "").Replace(out.String())
		lines := strings.Split(text, "\n")
		if len(lines) > size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > size[0] {
				t.Errorf("%v: a line of %d characters: %s", size, n, line)
			}
		}
		for _, want := range []string{"http://127.0.0.1:1/metrics", "held by ledger-import: hang", "billing on orders", "blocked"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q in\n%s", size, want, text)
			}
		}
	}
	var out strings.Builder
	if err := NewTable(&out, screen(80, 6), header).Show(crowded()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "… enlarge the terminal to see more") || strings.Count(out.String(), "\n") > 5 {
		t.Errorf("on six lines:\n%s", out.String())
	}
}

func TestTableNamesTheBlocker(t *testing.T) {
	producer := lag.Known(lag.Producer{ID: 4012, Epoch: 3})
	for _, c := range []struct {
		blocker lag.Blocker
		want    string
	}{
		{lag.Blocker{Verdict: lag.OngoingTransaction, Reason: lag.ReasonNone, TransactionalID: "carrier-sync", Producer: producer, Age: 12300 * time.Millisecond},
			"held by carrier-sync: ongoing, 12s"},
		{lag.Blocker{Verdict: lag.Ownerless, Reason: lag.ReasonNone, Producer: producer, Age: 72 * time.Second},
			"held by producer 4012: ownerless, 1m12s"},
		{lag.Blocker{Verdict: lag.Unknown, Reason: lag.ReasonNoReadOnTopic, Age: 12 * time.Second},
			"held by a transaction: unknown (no_read_on_topic), 12s"},
	} {
		v := pinned(12*time.Second, 9)
		v.Topics[1].Partitions[0].Blocker = &c.blocker
		var out strings.Builder
		if err := NewTable(&out, nil, Header{}).Show(v); err != nil {
			t.Fatal(err)
		}
		if want := "UNREPLICATED 0  STATE " + c.want + "\n"; !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

// A reader of a pipe is told what has changed and stays so, not every number.
func TestTableInAPipePrintsWhatChanged(t *testing.T) {
	var out strings.Builder
	table := NewTable(&out, nil, Header{})
	caughtUp := func(v *lag.View) *lag.View {
		v.Groups[0].Topics[0].State = lag.StateCaughtUp
		return v
	}
	gone := pinned(0, 12)
	gone.Groups = nil
	gone.Missed = []lag.Miss{{Kind: lag.MissTimeout, Subject: "broker 2", Count: 1}}
	for _, v := range []*lag.View{
		pinned(0, 9), pinned(0, 10), // numbers
		pinned(5*time.Second, 10), pinned(6*time.Second, 10), pinned(7*time.Second, 10), // a state
		caughtUp(pinned(8*time.Second, 10)), pinned(9*time.Second, 11), // for a moment
		gone,
	} {
		if err := table.Show(v); err != nil {
			t.Fatal(err)
		}
	}
	want := `03:04:05  orders-0  START 0  LSO 7  HWM 9  LEO 9  UNSTABLE 2  UNREPLICATED 0  STATE LSO below HWM
03:04:05  orders-1  STATE no leader
03:04:05  billing on orders  LSO LAG 0  HWM LAG 2  WAITING 12s  STATE blocked  GROUP Stable, 1 member
03:04:05  orders-0  START 0  LSO 7  HWM 10  LEO 10  UNSTABLE 3  UNREPLICATED 0  STATE LSO stalled for 6s
03:04:05  billing on orders  gone
03:04:05  sweep, broker 2 not read (timeout)
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
