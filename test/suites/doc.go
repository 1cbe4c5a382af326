// Package suites runs programs against the simulated cluster that were not
// written for it: the tests of other clients, as their authors have them. What
// fails must fail on a real Kafka too, and stands in testdata with the reason.
//
//	kgo          github.com/twmb/franz-go, the tests of package kgo
//	sarama       github.com/IBM/sarama, its functional tests
//	kafka-go     calls of github.com/segmentio/kafka-go, with programs of this package
//
// Suites come by the Go module proxy, with the checksums of the module that they
// are of, and are compiled there: nothing of them becomes a dependency of the
// exporter. It needs the network once, and LSO_KAFKA=VERSION for the real Kafka.
package suites
