package collector

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What is filtered out is not asked for, and leaves no trace in a sample.
func TestFilters(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 2)
	f.topic("secret", 2)
	f.group("billing", 1).commit("orders", 0, 3).commit("secret", 0, 4).assigned = []string{"orders", "secret"}
	f.group("modern", 1).commit("secret", 1, 4).assigned = []string{"secret"}
	f.groups[1].groupType = "consumer"
	f.group("shadow", 2).commit("orders", 1, 3)
	var asked []string
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		switch r := req.(type) {
		case *kmsg.ListOffsetsRequest:
			for _, topic := range r.Topics {
				asked = append(asked, topic.Topic)
			}
		case *kmsg.DescribeGroupsRequest:
			asked = append(asked, r.Groups...)
		case *kmsg.OffsetFetchRequest:
			for _, g := range r.Groups {
				asked = append(asked, g.Group)
			}
		}
		return nil, nil
	}
	sample := NewSweeper(f, Options{
		Serial: true,
		Topics: func(name string) bool { return name != "secret" },
		Groups: func(name string) bool { return name != "shadow" },
	}).Sweep(t.Context())

	if slices.Contains(asked, "secret") || slices.Contains(asked, "shadow") || !slices.Contains(asked, "orders") || !slices.Contains(asked, "billing") {
		t.Errorf("asked for %v", asked)
	}
	got := fmt.Sprint(len(sample.Topics), " ", sample.Topics[0].Name)
	for i := range sample.Groups {
		got += "\n" + sample.Groups[i].Name + ": " + showGroup(&sample.Groups[i])
	}
	want := `1 orders
billing: classic/consumer Stable at 1, 1 members, assigned [orders], commits orders-0@3
modern: consumer/consumer Stable at 1, 1 members, assigned [], commits`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(missed(sample), "secret") || len(sample.Missed) > 0 {
		t.Errorf("missed %s", missed(sample))
	}
}
