// Package wire is where a simulated broker meets its clients: listeners,
// frames, the table of API versions, and one file an API that decodes a
// request, authorises it, calls a room and encodes the answer. It alone knows
// kmsg, sockets and error codes.
//
// It promises what a client of Apache Kafka 4.3 sees at a socket: the ranges of
// ApiVersions (rules J1 to J4), one request at a time and answers in order per
// connection, the errors of a broker, its silences (Produce with null records,
// rule A5) and its closed connections (unknown APIs, unsupported versions,
// requests that cannot be decoded).
//
// It leaves out fetch sessions (the session id is always 0, which clients take
// as "none"), quotas (throttle times are always 0), SASL and TLS, and replicas'
// own requests: the brokers of a cluster talk to each other without a socket.
//
//	TCP ── reader ──▶ decode ──┐                          ┌── writer ──▶ TCP
//	                           ▼                          │ encode
//	                      Loop.Post ──▶ Handle ──▶ room ──┘
//	in-process call ───────────▲
package wire

import (
	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Broker is one broker as its clients meet it: the rooms that answer them. The
// fields belong to events of the loop and may be replaced by one (a restart
// that builds new rooms).
type Broker struct {
	// ID is the broker's node id.
	ID kafka.BrokerID
	// Loop runs the events of the cluster: requests that arrive at a socket are
	// posted to it.
	Loop *clock.Loop
	// Host is the machine of this broker: while it is paused, requests are read
	// and held back, unanswered.
	Host *clock.Host
	// Cluster answers for metadata, topics and configurations, as this broker
	// sees them.
	Cluster Cluster
	// Authorizer decides who may do what; nil allows everything, as a Kafka
	// without authorizer.class.name does.
	Authorizer Authorizer
}

// ConnInfo says who makes a request.
type ConnInfo struct {
	// ClientID is the client.id of the request header; empty if it was null.
	ClientID string
	// ClientHost is the client's address as Kafka shows it in DescribeGroups:
	// with a leading slash, without the port.
	ClientHost string
	// Principal names the user, in Kafka's form: User:ANONYMOUS where nobody
	// logged in.
	Principal string
}

// AnonymousPrincipal is the user of a connection that did not log in.
const AnonymousPrincipal = "User:ANONYMOUS"
