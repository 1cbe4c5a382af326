// Package kafka runs a real Apache Kafka on loopback for tests: a controller
// and N brokers, each a process of its own that can be paused, killed, stopped
// and started.
//
// It needs Java 17; the jars come by name from Maven's registry, once a version,
// into a folder under the user's cache directory. It promises that nothing is
// left behind: Close ends every process and deletes the data, and if the test
// itself dies, a watchdog does. Versions 4.4.0, 4.3.1 and 3.9.1 were tried.
//
// Tests that use it run only when the environment names a version
// (LSO_KAFKA=4.3.1); otherwise they say that they were not run.
package kafka
