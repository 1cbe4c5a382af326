// Package secured proves the exporter on secured clusters: every way to secure a
// connection, and every way in which it can go wrong, on the simulator and on a
// real Kafka (LSO_KAFKA=VERSION), by one table and the same words. The program
// runs as its users run it, and nothing that it says or serves may hold a secret.
package secured
