// Package rights holds what each API asks for: which right, and what happens
// without it, as a table that is played on the simulator and on a real Kafka
// with the same users, and as scenarios of users who see less than there is.
//
// It promises that a row says the same of both; a real Apache Kafka 4.3.1 gave
// the answers that stand in it. Every API that the simulator serves has a row.
package rights
