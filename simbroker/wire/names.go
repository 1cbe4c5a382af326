package wire

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// kafkaNames are Kafka's names of APIs that kmsg calls otherwise.
var kafkaNames = map[string]kmsg.Key{
	"AlterPartitionReassignments": kmsg.AlterPartitionAssignments,
}

// APINamed finds an API that a broker may serve by its name, whatever its case.
func APINamed(name string) (key kmsg.Key, ok bool) {
	for own, key := range kafkaNames {
		if strings.EqualFold(own, name) {
			return key, true
		}
	}
	for key := range handlers {
		if strings.EqualFold(kmsg.NameForKey(key), name) {
			return kmsg.Key(key), true
		}
	}
	return 0, false
}

// ErrorNamed finds an error that has a code by Kafka's name.
func ErrorNamed(name string) (kafka.Error, bool) {
	_, ok := codes[kafka.Error(name)]
	return kafka.Error(name), ok
}
