// Package collector reads a cluster: it sends the requests of a sweep in the
// order that makes false numbers impossible (measurements.md 2), a fixed
// number of them per broker, and hands what was answered to package lag as a
// sample. It is the only package that talks to Kafka.
package collector

import (
	"context"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Sweeper reads samples of one cluster, one after the other. It keeps between
// them what saves requests and time: which brokers failed, and the prepared
// requests. It is not safe for concurrent use.
type Sweeper struct {
	client  Client
	options Options
}

// NewSweeper returns a sweeper that asks client. It panics if the options are
// not valid.
func NewSweeper(client Client, options Options) *Sweeper {
	if err := options.Validate(); err != nil {
		panic("collector: " + err.Error())
	}
	return &Sweeper{client: client, options: options.withDefaults()}
}

// Sweep reads one sample. It returns when everything is read, or has failed,
// or the deadline is over, and never fails as a whole: a cluster of which
// nothing could be read gives a sample that says why.
func (s *Sweeper) Sweep(ctx context.Context) lag.Sample { return lag.Sample{} }
