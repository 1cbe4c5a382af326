package collector

import (
	"maps"
	"testing"
)

// TestSight: a cluster of which nothing may be seen does not look empty, and an
// empty one does not look hidden.
func TestSight(t *testing.T) {
	const (
		noTopics = "topics: unauthorized 1"
		noGroups = "groups: unauthorized 1"
	)
	for _, c := range []struct {
		reason  string
		build   func(*fake)
		options Options
		missed  string
		asked   map[string]int // beyond Metadata and ListGroups, which are always asked
	}{
		{"an empty cluster", func(*fake) {}, Options{}, "[]", map[string]int{"Metadata": 1}},
		{"no right at all", func(f *fake) {
			f.refusesTopics, f.refusesGroups = true, true
			f.topic("orders", 1)
			f.group("g", 1)
		}, Options{}, "[" + noGroups + " " + noTopics + "]", map[string]int{"Metadata": 1, "DescribeGroups": 1}},
		{"no group may be described", func(f *fake) {
			f.refusesGroups = true
			f.topic("orders", 1)
			f.group("g", 1)
		}, Options{}, "[" + noGroups + "]", map[string]int{"DescribeGroups": 1}},
		{"groups are not read", func(f *fake) {
			f.refusesGroups = true
			f.topic("orders", 1)
		}, Options{Disabled: []Collector{Groups}}, "[]", nil},
		{"a part of the cluster may be seen", func(f *fake) {
			f.refusesTopics, f.refusesGroups, f.mayDescribe = true, true, "app-"
			f.topic("app-orders", 1)
			f.topic("orders", 1)
			f.group("app-g", 1)
			f.group("g", 1)
		}, Options{}, "[]", map[string]int{"DescribeGroups": 1, "OffsetFetch": 1}},
		{"a part is watched that may be seen, and is empty", func(f *fake) {
			f.refusesTopics, f.refusesGroups, f.mayDescribe = true, true, "app-"
			f.topic("orders", 1)
			f.group("g", 1)
		}, Options{SightTopic: "app-x", SightGroup: "app-x"}, "[]", map[string]int{"Metadata": 1, "DescribeGroups": 1}},
		{"a part is watched that may not be seen", func(f *fake) {
			f.refusesTopics, f.refusesGroups, f.mayDescribe = true, true, "app-"
			f.topic("app-orders", 1)
			f.group("app-g", 1)
		}, Options{SightTopic: "web-x", SightGroup: "web-x", Topics: func(name string) bool { return name[:4] == "web-" }, Groups: func(name string) bool { return name[:4] == "web-" }},
			"[" + noGroups + " " + noTopics + "]", map[string]int{"Metadata": 1, "DescribeGroups": 1}},
		{"a broker that does not list its groups is one miss", func(f *fake) {
			f.refusesGroups = true
			f.dead[2] = true
		}, Options{}, "[broker 2: unreachable 1]", map[string]int{"Metadata": 1}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := newFake(2)
			c.build(f)
			c.options.Serial = true
			c.options.Disabled = append(c.options.Disabled, noLookUps...)
			sample := NewSweeper(f, c.options).Sweep(t.Context())
			if got := missed(sample); got != c.missed {
				t.Errorf("missed %s, want %s", got, c.missed)
			}
			got := count(f.take())
			for _, name := range []string{"log start offset", "high watermark", "last stable offset", "log end offset"} {
				delete(got, name)
			}
			want := map[string]int{"Metadata": 1, "ListGroups": 2}
			if !c.options.enabled(Groups) {
				delete(want, "ListGroups")
			}
			for name, n := range c.asked {
				want[name] += n
			}
			if !maps.Equal(got, want) {
				t.Errorf("asked %v, want %v", got, want)
			}
		})
	}
}
