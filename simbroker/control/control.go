// Package control is the HTTP surface on which brokers of a simulated cluster
// are paused, resumed, killed, started and stopped:
//
//	POST /brokers/ID/pause|resume|kill|start|stop   answered when it has happened
//	GET  /brokers                                   the brokers' states as JSON
//
// It has no authentication: Listen refuses anything but a loopback address.
package control

import (
	"errors"
	"net"
	"net/http"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Cluster is what a Handler controls. Each act returns when it has happened.
type Cluster interface {
	Brokers() []kafka.BrokerID
	// Describe is a broker's address (empty without TCP), the state of its
	// process, and whether the controller has fenced it.
	Describe(kafka.BrokerID) (address, state string, fenced bool)
	Pause(kafka.BrokerID) error
	Resume(kafka.BrokerID) error
	Kill(kafka.BrokerID) error
	Start(kafka.BrokerID) error
	Stop(kafka.BrokerID) error
}

// Handler serves the control surface of a cluster. Acts answer 200 with one
// line, 404 for an unknown broker or act, 409 when the broker's state does not
// allow it.
func Handler(c Cluster) http.Handler { return http.NotFoundHandler() }

// ErrNotLoopback is returned by Listen for an address others could reach.
var ErrNotLoopback = errors.New("not a loopback address")

// Listen listens on host:port if, and only if, host is a loopback address.
func Listen(address string) (net.Listener, error) { return nil, ErrNotLoopback }
