// Package wire is where a simulated broker meets its clients: listeners,
// frames, the table of API versions, and one file an API that decodes a
// request, authorises it, calls a room and encodes the answer. It alone knows
// kmsg, sockets and error codes.
//
// It promises what a client of Apache Kafka 4.3 sees at a socket: the ranges of
// ApiVersions (rules J1 to J4), one request of a connection at a time and
// answers in order, the errors of a broker, its silences (Produce with null
// records, rule A5) and its closed connections (unknown APIs, unsupported
// versions, requests that cannot be decoded, too many connections, idle ones).
//
// It leaves out quotas (throttle times are always 0), delegation tokens, and the
// replicas' own requests: the brokers of a cluster talk to each other without a
// socket.
//
//	socket ─► reader: login, frame, decode ─► Loop.Post ─► Handle ─► rooms
//	socket ◄─ writer: encode, frame ◄────────────────────── reply ◄────┘
//
// Each file knows those below it only. At the bottom are the Broker and what it
// offers; on them stands call, a request being answered; then the APIs, a file
// each, and files of what several of them need (rights, endpoints, groups); then
// dispatcher, which finds the API of a request, and connection with its login and
// its writer; at the top the table of all APIs and the Server.
package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/group/coordinator"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// Broker is one broker as its clients meet it: the rooms that answer them. The
// fields belong to events of the loop, one of which may replace them (a restart
// that builds new rooms).
type Broker struct {
	// ID is the broker's node id.
	ID kafka.BrokerID
	// Loop runs the events of the cluster; what arrives at a socket is posted to
	// it.
	Loop *clock.Loop
	// Host is the machine of the broker: while it is paused, requests are read
	// and held back, unanswered.
	Host *clock.Host

	Replicas *replica.Broker
	Txn      *txn.Coordinator
	Groups   *coordinator.Coordinator
	Shares   *share.Broker
	Cluster  Cluster

	// Versions is what the broker offers. Nil stands for Kafka43. It must not
	// change while the broker listens.
	Versions Versions
	// Vendor is whose broker this is, with what Versions then are; nil for Kafka
	// 4.3's. It must not change while the broker listens.
	Vendor *Vendor
	// MaxRequestBytes is socket.request.max.bytes, above which a request closes
	// its connection; 0 stands for Kafka's default. It must not change while the
	// broker listens.
	MaxRequestBytes int32
	// MaxIdle is connections.max.idle.ms, after which a connection on which nothing
	// happens is closed; 0 or less stands for never. It must not change while the
	// broker listens.
	MaxIdle time.Duration
	// Authorizer decides who may do what; nil allows everything, and has no
	// ACLs, as a Kafka without authorizer.class.name.
	Authorizer Authorizer
	// Intercept, if not nil, sees every request before its handler does. It must
	// call one of handle and refuse, once, at once or in a later event; refuse
	// answers with an error wherever the response has room for one. What it does
	// not want to touch it handles.
	Intercept func(conn ConnInfo, req kmsg.Request, handle func(), refuse func(error))
	// Shape, if not nil, says how the answer to a request is to be written.
	Shape func(req kmsg.Request) Shape
}

// offered is what Versions and Vendor say that the broker offers.
func (b *Broker) offered() Versions {
	switch {
	case b.Versions != nil:
		return b.Versions
	case b.Vendor != nil:
		return b.Vendor.Versions
	}
	return kafka43
}

func (b *Broker) maxRequestBytes() int32 {
	if b.MaxRequestBytes == 0 {
		return maxRequestSize
	}
	return b.MaxRequestBytes
}

// Shape says how an answer is written to a socket. The zero Shape is as fast as
// the client reads.
type Shape struct {
	Bytes int           // at a time, or before the end
	Every time.Duration // between two times
	Cut   bool          // close the connection after Bytes
}

// ConnInfo says who makes a request.
type ConnInfo struct {
	// ClientID is the client.id of the request's header; empty if it was null.
	ClientID string
	// ClientHost is the client's address as Kafka shows it in DescribeGroups:
	// with a leading slash, without the port.
	ClientHost string
	// ServerHost is the address at which the client has reached the broker; a
	// client of a broker that listens on all addresses is told this one.
	ServerHost string
	// Principal names the user in Kafka's form, User:alice.
	Principal string
	// Listener is the name of the listener that the client came by, which
	// decides the addresses that it is told; empty stands for the first.
	Listener string
}

// AnonymousPrincipal is the user of a connection that did not log in.
const AnonymousPrincipal = "User:ANONYMOUS"
