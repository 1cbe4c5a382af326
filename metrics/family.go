package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/lso-exporter/lso-exporter/lag"
)

// emit adds a sample to a family. extra are the values of the labels that the
// metric has beyond those of the object, in the order of its declaration; they
// must differ between two samples of one object.
type emit func(value float64, extra ...string)

// A source is a metric and how its family is read from the objects of a view.
type source struct {
	Metric
	// level is the finest thing of a group that the metric tells apart.
	level level
	// kafkaExporter says that the metric is only there for those who come from
	// kafka_exporter.
	kafkaExporter bool
	build         func(*objects, *arena) *dto.MetricFamily
}

// level is what a granularity keeps or drops.
type level int

const (
	always level = iota
	perTopic
	perPartition
)

// sources holds the metrics of a view, by name.
var sources = func() []source {
	all := slices.Concat(clusterSources, auditSources, partitionSources, groupProgressSources, blockerSources, transactionSources, groupSources, kafkaExporterSources)
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.Name, b.Name) })
	return all
}()

// labelled is an object of a view with the labels that all its samples share,
// by name.
type labelled[T any] struct {
	object T
	labels []*dto.LabelPair
}

// declare makes a source of a metric about the objects that pick finds. base
// are the labels of those objects, extra the further ones of the metric.
func declare[T any](m Metric, base, extra []string, pick func(*objects) []labelled[T], samples func(T, emit)) source {
	m.Labels = slices.Concat(base, extra)
	m.Cluster = true
	help := m.Help()
	return source{Metric: m, build: func(o *objects, a *arena) *dto.MetricFamily {
		family := &dto.MetricFamily{Name: proto.String(m.Name), Help: proto.String(help)}
		switch m.Type {
		case Gauge:
			family.Type = dto.MetricType_GAUGE.Enum()
		case Counter:
			family.Type = dto.MetricType_COUNTER.Enum()
		default:
			panic(fmt.Sprintf("metrics: %s of a view is a %s, want a gauge or counter", m.Name, m.Type))
		}
		a.reset()
		var labels []*dto.LabelPair // of the object at hand
		add := func(value float64, values ...string) {
			own := labels
			if len(values) != len(extra) {
				panic(fmt.Sprintf("metrics: %s has %d values for the labels %v", m.Name, len(values), extra))
			}
			if len(values) > 0 {
				own = slices.Clone(labels)
				for i, v := range values {
					own = append(own, o.pair(extra[i], v))
				}
				sortPairs(own)
			}
			a.add(m.Type, own, value)
		}
		for _, l := range pick(o) {
			labels = l.labels
			samples(l.object, add)
		}
		family.Metric = a.metrics
		return family
	}}
}

func sortPairs(pairs []*dto.LabelPair) {
	slices.SortFunc(pairs, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
}

// An arena holds the samples of one family after the other, so that a page of
// any size needs the memory of its largest family.
type arena struct {
	chunks  [][]sample
	used    int // samples handed out
	metrics []*dto.Metric
}

// sample is a metric with all that it points to.
type sample struct {
	metric  dto.Metric
	gauge   dto.Gauge
	counter dto.Counter
	value   float64
}

const arenaChunk = 512

func (a *arena) reset() { a.used, a.metrics = 0, a.metrics[:0] }

func (a *arena) add(t Type, labels []*dto.LabelPair, value float64) {
	if a.used == len(a.chunks)*arenaChunk {
		a.chunks = append(a.chunks, make([]sample, arenaChunk))
	}
	s := &a.chunks[a.used/arenaChunk][a.used%arenaChunk]
	a.used++
	s.value = value
	s.metric.Label, s.metric.Gauge, s.metric.Counter = labels, nil, nil
	if t == Counter {
		s.counter.Value, s.metric.Counter = &s.value, &s.counter
	} else {
		s.gauge.Value, s.metric.Gauge = &s.value, &s.gauge
	}
	a.metrics = append(a.metrics, &s.metric)
}

// objects are the things of a view that have samples, each with its labels.
type objects struct {
	clusters        []labelled[*lag.Cluster]
	brokers         []labelled[*lag.Broker]
	checks          []labelled[*lag.Check]
	idCounts        []labelled[*lag.IDCount]
	completing      []labelled[*lag.Completion]
	topics          []labelled[*lag.TopicView]
	partitions      []labelled[*lag.PartitionView]
	blocked         []labelled[*lag.PartitionView] // held by a transaction
	named           []labelled[*lag.PartitionView] // those of them that are shown with it
	cut             int                            // how many are not; not above 0 for none
	groups          []labelled[*lag.GroupView]
	groupTopics     []labelled[*lag.GroupTopicView]
	groupPartitions []labelled[*lag.GroupPartitionView]
	pending         []labelled[*lag.PendingCommit]
	shares          []labelled[*lag.ShareView]

	// altered counts, per label, the values that could not be shown as they are.
	altered map[string]int

	names map[string]*string
	base  []*dto.LabelPair // cluster, where configured
}

// objectsOf lists the objects of a view under the label cluster, unless that
// is empty. It panics when the view holds a thing twice.
func objectsOf(view *lag.View, cluster string) *objects {
	o := &objects{altered: make(map[string]int), names: make(map[string]*string)}
	if cluster != "" {
		o.base = []*dto.LabelPair{o.pair("cluster", cluster)}
	}
	if c, ok := view.Cluster.Get(); ok {
		o.clusters = append(o.clusters, labelled[*lag.Cluster]{&c, o.base})
		for i := range c.Brokers {
			ascending("brokers", c.Brokers, i, func(b lag.Broker) lag.BrokerID { return b.ID })
			o.brokers = append(o.brokers, labelled[*lag.Broker]{&c.Brokers[i], o.labels(o.number("broker", int32(c.Brokers[i].ID)))})
		}
	}
	o.setChecks(view.Audit)
	o.setTransactions(view)
	partitionNumbers := make(map[int32]*dto.LabelPair)
	partition := func(n int32) *dto.LabelPair {
		if partitionNumbers[n] == nil {
			partitionNumbers[n] = o.number("partition", n)
		}
		return partitionNumbers[n]
	}
	topics := make(map[string]*dto.LabelPair)
	topic := func(name string) *dto.LabelPair {
		if topics[name] == nil {
			topics[name] = o.pair("topic", name)
			o.note("topic", name)
		}
		return topics[name]
	}
	for i := range view.Topics {
		t := &view.Topics[i]
		ascending("topics", view.Topics, i, func(t lag.TopicView) string { return t.Name })
		o.topics = append(o.topics, labelled[*lag.TopicView]{t, o.labels(topic(t.Name))})
		for j := range t.Partitions {
			p := &t.Partitions[j]
			ascending("partitions of "+t.Name, t.Partitions, j, func(p lag.PartitionView) int32 { return p.Number })
			o.partitions = append(o.partitions, labelled[*lag.PartitionView]{p, o.labels(partition(p.Number), topic(t.Name))})
		}
	}
	o.setBlocked()
	for i := range view.Groups {
		g := &view.Groups[i]
		ascending("groups", view.Groups, i, func(g lag.GroupView) string { return g.Name })
		group := o.pair("group", g.Name)
		o.note("group", g.Name)
		o.note("protocol_type", g.ProtocolType)
		o.groups = append(o.groups, labelled[*lag.GroupView]{g, o.labels(group)})
		for j := range g.Topics {
			t := &g.Topics[j]
			ascending("topics of group "+g.Name, g.Topics, j, func(t lag.GroupTopicView) string { return t.Topic })
			o.groupTopics = append(o.groupTopics, labelled[*lag.GroupTopicView]{t, o.labels(group, topic(t.Topic))})
			for k := range t.Partitions {
				p := &t.Partitions[k]
				ascending("partitions of group "+g.Name, t.Partitions, k, func(p lag.GroupPartitionView) int32 { return p.Partition })
				o.groupPartitions = append(o.groupPartitions, labelled[*lag.GroupPartitionView]{p, o.labels(group, partition(p.Partition), topic(t.Topic))})
			}
		}
		for j := range g.Pending {
			p := &g.Pending[j]
			ascending("pending commits of group "+g.Name, g.Pending, j, func(p lag.PendingCommit) string { return place(p.Topic, p.Partition) })
			o.pending = append(o.pending, labelled[*lag.PendingCommit]{p, o.labels(group, partition(p.Partition), topic(p.Topic))})
		}
		for j := range g.Shares {
			p := &g.Shares[j]
			ascending("shares of group "+g.Name, g.Shares, j, func(p lag.ShareView) string { return place(p.Topic, p.Partition) })
			o.shares = append(o.shares, labelled[*lag.ShareView]{p, o.labels(group, partition(p.Partition), topic(p.Topic))})
		}
	}
	return o
}

// place is a key by which partitions of several topics are in order.
func place(topic string, partition int32) string { return fmt.Sprintf("%s\x00%010d", topic, partition) }

// ascending panics unless the key of list[i] is above that of list[i-1]: a
// thing that stands twice would make a series that stands twice, and Prometheus
// refuses such a page as a whole.
func ascending[T any, K int32 | lag.BrokerID | string](what string, list []T, i int, key func(T) K) {
	if i > 0 && key(list[i-1]) >= key(list[i]) {
		panic(fmt.Sprintf("metrics: %s of a view are not in order: %v before %v", what, key(list[i-1]), key(list[i])))
	}
}

// note counts a name that cannot be shown as it is.
func (o *objects) note(label, name string) {
	if _, altered := LabelValue(name); altered {
		o.altered[label]++
	}
}

// labels are pairs, given by name, after the ones that every metric has.
func (o *objects) labels(pairs ...*dto.LabelPair) []*dto.LabelPair {
	all := slices.Concat(o.base, pairs)
	sortPairs(all)
	return all
}

func (o *objects) number(name string, value int32) *dto.LabelPair {
	return o.pair(name, strconv.FormatInt(int64(value), 10))
}

func (o *objects) pair(name, value string) *dto.LabelPair {
	shown, _ := LabelValue(value)
	if o.names[name] == nil {
		o.names[name] = proto.String(name)
	}
	return &dto.LabelPair{Name: o.names[name], Value: proto.String(shown)}
}
