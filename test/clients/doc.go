// Package clients compares what the exporter shows of consumers with what
// Kafka's own kafka-consumer-groups.sh prints, for the consumers of Java,
// librdkafka and franz-go, of both group protocols and in both isolation levels,
// on the simulator and on a real Kafka. There is nothing in it but tests.
//
// docs/consumer-groups-tool.md says where the two differ, in the figures that
// these tests demand.
//
// They run only when the environment names a version (LSO_KAFKA=4.3.1), as the
// tool and the Java client are classes of Kafka's jars. librdkafka is that of
// Python's confluent-kafka, in the interpreter that LSO_PYTHON names. A client
// that the machine lacks is said to be not run.
package clients
