// Package histories plays random histories of a whole cluster, each from a seed:
// producers, transactions of both protocols, an exactly-once pipeline, consumers,
// an administrator, brokers that come and go, faults, and the exporter among them.
//
// A history is judged from outside. Package check follows records, offsets and the
// pipeline by the answers that clients got, and shares no code with the simulator;
// test/oracle judges every page of the exporter by the record of what clients did.
// The same seed gives the same history, to the byte of every request and answer.
package histories
