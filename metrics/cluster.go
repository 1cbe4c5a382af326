package metrics

import (
	"encoding/base64"
	"net"
	"strconv"

	"github.com/lso-exporter/lso-exporter/lag"
)

// clusterSources are the metrics that describe the cluster and its topics.
var clusterSources = []source{
	declare(Metric{
		Name: "kafka_cluster_info", Type: Gauge, Section: 7,
		Meaning: "Always 1. Id of the cluster.",
	}, nil, []string{"cluster_id"}, func(o *objects) []labelled[*lag.Cluster] { return o.clusters },
		func(c *lag.Cluster, add emit) { add(1, c.ID) }),

	declare(Metric{
		Name: "kafka_broker_info", Type: Gauge, Section: 7,
		Meaning: "Always 1. Brokers that the cluster lists as alive, with the address that clients are told and the rack.",
	}, []string{"broker"}, []string{"address", "rack"}, func(o *objects) []labelled[*lag.Broker] { return o.brokers },
		func(b *lag.Broker, add emit) {
			add(1, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), b.Rack)
		}),

	declare(Metric{
		Name: "kafka_topic_info", Type: Gauge, Section: 7,
		Meaning: "Always 1. Id of the topic in Kafka's own form (empty where the broker has none: a topic that is created anew has another) and whether it is internal.",
	}, []string{"topic"}, []string{"topic_id", "internal"}, func(o *objects) []labelled[*lag.TopicView] { return o.topics },
		func(t *lag.TopicView, add emit) { add(1, topicID(t.ID), strconv.FormatBool(t.Internal)) }),
}

// topicID is a topic's id as Kafka's tools print it.
func topicID(id lag.TopicID) string {
	if id == (lag.TopicID{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}
