// Package foreign runs programs on clients of other languages, unchanged, on the
// simulator and on a real Kafka: librdkafka by Python's confluent-kafka, kcat,
// kafkajs, aiokafka. There is nothing in it but tests.
//
// What a real Kafka 4.3.1 printed stands in golden/, a file a program; both must
// print it, line by line. Names and times that are chosen anew each time are
// replaced by words in capitals. Where a program says what it takes for the lag of
// its group, the exporter watches the same cluster and must say the same.
//
// A client runs where the environment says where it is: LSO_PYTHON is a Python
// that has confluent-kafka and aiokafka, LSO_NODE a folder whose node_modules has
// kafkajs, LSO_KCAT the program kcat. ".ci/run --all" installs them; without them
// the tests say "not run".
package foreign
