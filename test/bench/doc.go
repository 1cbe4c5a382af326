// Package bench measures what a sweep, a scrape and a produced record cost, each
// beside what it replaces: the calls that a lag exporter on kadm makes, a page
// that is rendered for each scrape, and franz-go's own fake cluster. Both sides
// run in turn in one benchmark, so that a busy machine slows them alike; the
// ratio is what counts. docs/performance.md says how to run it, and what it gave.
package bench
