// Package control is the HTTP surface on which the brokers of a simulated
// cluster are paused, resumed, killed, started and stopped:
//
//	POST /brokers/ID/pause|resume|kill|start|stop   answered when it has happened
//	GET  /brokers                                   the brokers' states as JSON
//
// It has no authentication: Listen refuses anything but a loopback address.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Cluster is what a Handler controls. Each act returns when it has happened;
// an error says that the broker's state does not allow it, or that it did not
// happen in time.
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

// Broker is a broker as GET /brokers shows it.
type Broker struct {
	ID      kafka.BrokerID `json:"id"`
	Address string         `json:"address"`
	State   string         `json:"state"` // running, paused, killed or stopped
	Fenced  bool           `json:"fenced"`
}

// acts are what can be done to a broker, with what the answer calls it done.
var acts = map[string]struct {
	do   func(Cluster, kafka.BrokerID) error
	done string
}{
	"pause":  {Cluster.Pause, "paused"},
	"resume": {Cluster.Resume, "resumed"},
	"kill":   {Cluster.Kill, "killed"},
	"start":  {Cluster.Start, "started"},
	"stop":   {Cluster.Stop, "stopped"},
}

// Handler serves the control surface of a cluster. An act is answered with 200
// and one line, with 404 for a broker or an act that does not exist, and with
// 409 when the broker's state does not allow it.
func Handler(c Cluster) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /brokers", func(w http.ResponseWriter, _ *http.Request) {
		brokers := []Broker{}
		for _, id := range c.Brokers() {
			address, state, fenced := c.Describe(id)
			brokers = append(brokers, Broker{ID: id, Address: address, State: state, Fenced: fenced})
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(brokers) // a client that left gets nothing
	})
	mux.HandleFunc("POST /brokers/{id}/{act}", func(w http.ResponseWriter, r *http.Request) {
		a, ok := acts[r.PathValue("act")]
		if !ok {
			http.Error(w, fmt.Sprintf("no such act %q: pause, resume, kill, start or stop", r.PathValue("act")), http.StatusNotFound)
			return
		}
		id, ok := brokerID(c, r.PathValue("id"))
		if !ok {
			http.Error(w, fmt.Sprintf("no such broker %q", r.PathValue("id")), http.StatusNotFound)
			return
		}
		if err := a.do(c, id); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		fmt.Fprintf(w, "broker %d %s\n", id, a.done)
	})
	return mux
}

func brokerID(c Cluster, text string) (kafka.BrokerID, bool) {
	for _, id := range c.Brokers() {
		if text == strconv.Itoa(int(id)) {
			return id, true
		}
	}
	return kafka.NoBroker, false
}

// ErrNotLoopback is returned by Listen for an address that others could reach.
var ErrNotLoopback = errors.New("not a loopback address")

// Listen listens on host:port if, and only if, host is an IP address of the
// loopback interface or localhost. A host that is a name could be anything by
// the time it is resolved, and no host means every interface.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("control listen address %q: expected host:port: %w", address, err)
	}
	if host == "localhost" {
		return net.Listen("tcp", address)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("control listen address %q: %w: it has no authentication; use 127.0.0.1, [::1] or localhost", address, ErrNotLoopback)
	}
	return net.Listen("tcp", address)
}
