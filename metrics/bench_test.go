package metrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// aLargeView has 100 topics and 5,000 groups: 20,000 partitions, and as many
// commits.
func aLargeView() *lag.View {
	view := &lag.View{Ended: sweepEnd, Period: 10 * time.Second}
	for i := range 100 {
		t := lag.TopicView{Name: fmt.Sprintf("topic-%03d", i)}
		for j := range int32(200) {
			t.Partitions = append(t.Partitions, lag.PartitionView{
				Number: j, Leader: lag.BrokerID(j % 3), Replicas: 3, InSync: 3,
				LogStart: offset(1234), LastStable: offset(987654321), HighWatermark: offset(987654400), LogEnd: offset(987654400),
				BelowFor: 1234 * time.Second, ObservedFor: 5678 * time.Second,
			})
		}
		view.Topics = append(view.Topics, t)
	}
	for i := range 5000 {
		g := lag.GroupView{
			Name: fmt.Sprintf("group-%05d", i), Type: lag.Classic, ProtocolType: "consumer", Coordinator: 1, State: "Stable",
			Members: lag.Known(2), Uncommitted: count(0), Orphans: count(0),
		}
		t := lag.GroupTopicView{Topic: fmt.Sprintf("topic-%03d", i%100), LSOLag: count(40), HWMLag: count(356)}
		for j := range int32(4) {
			t.Partitions = append(t.Partitions, lag.GroupPartitionView{
				Partition: j, Committed: offset(987654311), LSOLag: count(10), HWMLag: count(89), Lost: count(0), Ahead: count(0),
			})
		}
		g.Topics = []lag.GroupTopicView{t}
		view.Groups = append(view.Groups, g)
	}
	return view
}

// discard is a response that goes nowhere.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return io.Discard.Write(b) }
func (d discard) WriteHeader(int)             {}

func scrapeRequest() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
	r.Header.Set("Accept-Encoding", "gzip")
	return r
}

// A scrape of a large cluster: what Prometheus costs every scrape_interval.
func BenchmarkScrape(b *testing.B) {
	for name, view := range map[string]*lag.View{"20000 partitions, 5000 groups": aLargeView(), "4 partitions, 3 groups": aView()} {
		b.Run(name, func(b *testing.B) {
			e := at(0, Options{})
			e.Publish(view)
			r := scrapeRequest()
			e.ServeHTTP(discard{http.Header{}}, r)
			b.ReportAllocs()
			for b.Loop() {
				e.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

// A view of a large cluster, published and encoded in one form: what a sweep
// costs here.
func BenchmarkPublish(b *testing.B) {
	view := aLargeView()
	e := at(0, Options{})
	r := scrapeRequest()
	b.ReportAllocs()
	for b.Loop() {
		e.Publish(view)
		e.ServeHTTP(discard{http.Header{}}, r)
	}
}
