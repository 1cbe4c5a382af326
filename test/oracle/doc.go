// Package oracle judges scrapes. It is a model of what is true of a cluster,
// fed by nothing but the record of what a scenario did to it, and it says of
// every sample whether it was true at some moment of the sweep it comes from,
// and of every sample that is missing whether it may be.
//
// A client knows of its act only when it was sent and when it was answered; the
// act itself happened at some moment between, and what follows from it (an end
// marker, replication, an ISR that shrinks) at a later one still. So the truth
// is, for every quantity, a set of values over time, and a sample is wrong only
// when no order of events that agrees with the record makes it true. Offsets
// that the brokers answered (a batch's base offset) put the events of one
// partition in order, which makes these sets small: a log's end is always the
// end of a batch, and a last stable offset below the high watermark is always
// the first offset of a transaction that may be open.
//
// The package shares no code with the simulator or the exporter: it imports the
// standard library and a parser of the exposition format, and knows metrics by
// their names only. It judges the four offsets, commits, lags, sums, states and
// counters against the record, the seconds below, observed and stalled by
// bounds, and everything else by its type: no sample is negative or NaN, no
// counter falls, no state has two values.
//
// What it leaves out: the content of Kafka's internal topics (their samples
// are held to the order of the four offsets only), records lost by unclean
// elections, and offsets that expire. A scenario that does such things must
// record what came of them, or not use the oracle.
package oracle
