// Package alerts goes the whole way of an alert: the demo's storyline, the
// exporter, Prometheus with the rules that "lso-exporter rules" prints,
// Alertmanager with the example of docs/alertmanager.yml, and a webhook at which
// the alerts arrive and are resolved. The same storyline fills the dashboard:
// every query of it is asked at a Prometheus that has scraped the demo.
//
// It runs where LSO_PROMETHEUS is set and prometheus, prometheus-alertmanager
// and promtool are installed, as Debian's packages prometheus and
// prometheus-alertmanager do; elsewhere it is skipped. Everything listens on
// loopback, on ports that the system chooses.
package alerts
