package alerting

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files and docs/alerts.md anew")

// golden compares got with the file, or writes it there with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./alerting -update and read the difference\ngot:\n%s", file, got)
	}
}

// told are stories at whose end alerts are read.
var told = []story{
	{
		name: "a stall, and groups behind it", minutes: 14,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, ongoing())},
			group{name: "billing", topic: "orders", state: inState("blocked"), rows: []row{{committed: steady(1200), blocked: always}}},
			group{name: `say "a\b"`, topic: "orders", state: inState("blocked"), rows: []row{{committed: steady(1200), blocked: always}}}))},
	},
	{
		name: "a stall of which nothing is known, in a cluster without a name", minutes: 14,
		exporters: []*exporter{watched(clusterOf("", []partition{pinned(18, nil)}))},
	},
	{
		name: "a stall that only Prometheus remembers, and a group that shows no partitions", minutes: 17,
		exporters: func() []*exporter {
			e := watched(clusterOf(blue, []partition{pinned(18, &blocker{verdict: "unknown", reason: "no_read_on_topic", source: "observed", began: 14})},
				group{name: "billing", topic: "orders", state: inState("blocked")}))
			e.starts = []float64{14}
			return []*exporter{e}
		}(),
	},
	{
		name: "a hanging transaction, and an exporter that does not know yet", minutes: 9,
		exporters: func() []*exporter {
			p := pinned(18, &blocker{id: "billing-7", verdict: "hanging", began: 2})
			less := pinned(18, &blocker{verdict: "unknown", reason: "not_yet_confirmed", began: 2})
			return []*exporter{
				{of: clusterOf(blue, []partition{less}), instance: "0:10308"},
				{of: clusterOf(blue, []partition{p}), instance: "a:10308"},
			}
		}(),
	},
	{
		name: "a transaction that nobody knows", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, &blocker{verdict: "ownerless", began: 2})}))},
	},
	{
		name: "an overdue transaction", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, &blocker{id: "billing-7", verdict: "overdue", began: 2})}))},
	},
	{
		name: "an end marker that does not arrive", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, []partition{pinned(18, &blocker{id: "billing-7", verdict: "completing", began: 2})}))},
	},
	{
		name: "a coordinator that is stuck, and no partition is held", minutes: 9,
		exporters: []*exporter{watched(&cluster{name: blue, completing: completingFrom(2)})},
	},
	{
		name: "a slow group, one that has stopped, one that is gone", minutes: 30, settings: []string{"ALERTS_GROUP_LAG=slow 1000 10m"},
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "slow", topic: "orders", members: steady(1), state: inState("consuming"),
				rows: []row{{committed: growing(0, 100), lag: growing(0, 100), seconds: growing(0, 30)}}},
			group{name: "billing", topic: "orders", members: steady(3), state: inState("stopped")},
			group{name: "gone", topic: "orders", members: steady(1).until(2, steady(0)), state: inState("inactive"),
				rows: []row{{committed: steady(10), lag: steady(99)}}}))},
	},
	{
		name: "commits", minutes: 9,
		exporters: []*exporter{watched(clusterOf(blue, nil,
			group{name: "billing", topic: "orders", members: steady(1), state: inState("lost"), rows: []row{{partition: 3, committed: steady(10), pended: always}}},
			group{name: "mirrored", topic: "orders", members: steady(0), state: inState("ahead")}))},
	},
	{
		name: "exporters", minutes: 30,
		exporters: func() []*exporter {
			gone := &exporter{of: clusterOf(blue, nil), instance: "a:10308", up: between(0, 10)}
			frozen := &exporter{of: clusterOf(green, nil), instance: "b:10308", frozen: from(10)}
			refused := &exporter{of: clusterOf(green, nil), instance: "c:10308", incomplete: always, kind: "unauthorized"}
			return []*exporter{gone, frozen, refused}
		}(),
	},
	{
		name: "an exporter with an old password, one whose authorities are not the brokers', and one that does not count requests", minutes: 9,
		exporters: func() []*exporter {
			other := refused("tls", always)
			other.instance, other.of = "b:10308", clusterOf("", nil)
			silent := refused("tls", always)
			silent.instance, silent.without = "c:10308", []string{"lso_exporter_requests_total"}
			return []*exporter{refused("authentication", always), other, silent}
		}(),
	},
	{
		name: "bad configurations", minutes: 12,
		exporters: []*exporter{misread(blue, "a:10308", always), misread("", "b:10308", always)},
	},
}

// The alerts of promtool's complaint about alerts that it did not expect.
var (
	gotAlert    = regexp.MustCompile(`Labels:(\{.*\})\s*\n\s*Annotations:(\{.*\})`)
	quotedLabel = regexp.MustCompile(`([a-z_]+)=("(?:[^"\\]|\\.)*")`)
)

// What alerts say, for every one of them; in testdata as people get it.
func TestAnnotations(t *testing.T) {
	tool := promtool(t)
	var page strings.Builder
	said := make(map[string]bool)
	for i := range told {
		s := &told[i]
		c := s.config(t)
		groups := All(c.Cluster, c.Alerts)
		var alerts []alertTest
		for _, g := range groups {
			for _, a := range g.Alerts {
				if !slices.ContainsFunc(alerts, func(before alertTest) bool { return before.Name == a.Name }) {
					alerts = append(alerts, alertTest{At: fmt.Sprintf("%dm", s.minutes), Name: a.Name})
				}
			}
		}
		output, err := exec.Command(tool, "test", "rules", s.writeFiles(t, t.TempDir(), groups, alerts)).CombinedOutput()
		if err == nil {
			t.Fatalf("%s: no alert fires", s.name)
		}
		fmt.Fprintf(&page, "== %s\n", s.name)
		got := gotAlert.FindAllStringSubmatch(string(output), -1)
		if got == nil {
			t.Fatalf("%s: promtool says\n%s", s.name, output)
		}
		for _, alert := range got {
			fmt.Fprintf(&page, "\n%s\n", alert[1])
			for _, name := range quotedLabel.FindAllStringSubmatch(alert[1], -1) {
				if name[1] == "alertname" {
					said[strings.Trim(name[2], `"`)] = true
				}
			}
			for _, annotation := range quotedLabel.FindAllStringSubmatch(alert[2], -1) {
				text, err := strconv.Unquote(annotation[2])
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(text, "error expanding template") {
					t.Errorf("%s: %s", s.name, text)
				}
				fmt.Fprintf(&page, "  %s: %s\n", annotation[1], text)
			}
		}
		page.WriteString("\n")
	}
	golden(t, filepath.Join("testdata", "annotations.txt"), strings.TrimSpace(page.String())+"\n")
	for _, g := range All("", (&story{}).config(t).Alerts) {
		for _, a := range g.Alerts {
			if !said[a.Name] {
				t.Errorf("what %s says is in no story", a.Name)
			}
		}
	}
}
