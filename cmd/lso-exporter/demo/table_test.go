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

func TestTableOnATerminal(t *testing.T) {
	var out strings.Builder
	table := NewTable(&out, true, "metrics  http://127.0.0.1:1/metrics")
	if err := table.Show(pinned(12*time.Second, 9)); err != nil {
		t.Fatal(err)
	}
	want := clearScreen + home + strings.ReplaceAll(`metrics  http://127.0.0.1:1/metrics

03:04:05  sweep of 3ms

PARTITION   START   LSO   HWM   LEO   UNSTABLE   UNREPLICATED   STATE
orders-0    0       7     9     9     2          0              LSO stalled for 12s
orders-1                                                        no leader

GROUP               LSO LAG   HWM LAG   WAITING   STATE     GROUP
billing on orders   0         2         12s       blocked   Stable, 1 member
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

func TestTableNamesTheBlocker(t *testing.T) {
	producer := lag.Known(lag.Producer{ID: 4012, Epoch: 3})
	for _, c := range []struct {
		blocker lag.Blocker
		want    string
	}{
		{lag.Blocker{Verdict: lag.OngoingTransaction, Reason: lag.ReasonNone, TransactionalID: "carrier-sync", Producer: producer, Age: 12300 * time.Millisecond},
			"held by carrier-sync (ongoing, 12s)"},
		{lag.Blocker{Verdict: lag.Ownerless, Reason: lag.ReasonNone, Producer: producer, Age: 72 * time.Second},
			"held by producer 4012 (ownerless, 1m12s)"},
		{lag.Blocker{Verdict: lag.Unknown, Reason: lag.ReasonNoReadOnTopic, Age: 12 * time.Second},
			"held by a transaction (unknown, no_read_on_topic, 12s)"},
	} {
		v := pinned(12*time.Second, 9)
		v.Topics[1].Partitions[0].Blocker = &c.blocker
		var out strings.Builder
		if err := NewTable(&out, false).Show(v); err != nil {
			t.Fatal(err)
		}
		if want := "UNREPLICATED 0  STATE " + c.want + "\n"; !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

func TestTableInAPipePrintsWhatChanged(t *testing.T) {
	var out strings.Builder
	table := NewTable(&out, false)
	views := []*lag.View{pinned(0, 9), pinned(0, 9), pinned(0, 10)}
	gone := pinned(0, 10)
	gone.Groups = nil
	gone.Missed = []lag.Miss{{Kind: lag.MissTimeout, Subject: "broker 2", Count: 1}}
	for _, v := range append(views, gone) {
		if err := table.Show(v); err != nil {
			t.Fatal(err)
		}
	}
	want := `03:04:05  orders-0  START 0  LSO 7  HWM 9  LEO 9  UNSTABLE 2  UNREPLICATED 0  STATE LSO below HWM
03:04:05  orders-1  STATE no leader
03:04:05  billing on orders  LSO LAG 0  HWM LAG 2  WAITING 12s  STATE blocked  GROUP Stable, 1 member
03:04:05  orders-0  START 0  LSO 7  HWM 10  LEO 10  UNSTABLE 3  UNREPLICATED 0  STATE LSO below HWM
03:04:05  billing on orders  LSO LAG 0  HWM LAG 3  WAITING 12s  STATE blocked  GROUP Stable, 1 member
03:04:05  billing on orders  gone
03:04:05  sweep, broker 2 not read (timeout)
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
