// Package e2e tests the exporter from outside: it sweeps a cluster, simulated
// or real, is scraped over HTTP, and every value is compared with the one that
// must be there. There is nothing in it but tests.
//
// Stories with exact values are texts under testdata, in the language of
// package scenario with a few verbs for the exporter (verbs_test.go). Those in
// testdata/both are played on the simulator and on a real Kafka and give the
// same samples on both, as do those in testdata/long, which take a real Kafka
// too long for every run; those in testdata/simulated need simulated time or
// faults, or show what the exporter says of itself. Those in testdata/rights are
// of an exporter that logs in as a user with few rights, on both. Every metric of
// the catalogue is proven with an exact value by one of them.
//
// The oracle judges every scrape of every test.
package e2e
