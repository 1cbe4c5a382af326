// Package control is the HTTP surface of a simulated cluster, on which its
// brokers are paused, resumed, killed, started and stopped, faults put in place
// and taken away, and the clock moved on:
//
//	POST   /brokers/ID/pause|resume|kill|start|stop   answered when it has happened
//	GET    /brokers                                   the brokers' states
//	POST   /faults                                    a fault, as JSON; answers its id
//	GET    /faults                                    those in place
//	DELETE /faults/ID                                 takes one away
//	DELETE /faults                                    takes all away
//	GET    /clock                                     the cluster's time
//	POST   /clock/advance                             {"by": "10m"}
//	GET    /state                                     everything that brokers and controller keep
//
// What a client can do by Kafka's own protocol, such as making ACLs and users
// or moving leaders, it does there. docs/simulator.md describes the documents.
//
// The surface has no authentication: Listen refuses anything but a loopback
// address.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Cluster is what a Handler controls; a simbroker.Cluster is one. Each act on a
// broker returns when it has happened; an error says that the broker's state
// does not allow it, or that it did not happen in time.
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

	Inject(simbroker.Fault) (id int, err error)
	Withdraw(id int) error
	Injections() []simbroker.Injection

	Now() time.Time
	Advance(time.Duration)
	Snapshot() simbroker.Snapshot
}

var _ Cluster = (*simbroker.Cluster)(nil)

// Broker is a broker as GET /brokers shows it.
type Broker struct {
	ID      kafka.BrokerID `json:"id"`
	Address string         `json:"address"`
	State   string         `json:"state"` // running, paused, killed or stopped
	Fenced  bool           `json:"fenced"`
}

// Fault is a fault in place as GET /faults shows it.
type Fault struct {
	ID int `json:"id"`
	// Text is the fault in words.
	Text string `json:"text"`
	// Document is the fault as POST /faults takes it.
	Document json.RawMessage `json:"document"`
}

// Clock is the time as GET /clock shows it.
type Clock struct {
	Now time.Time `json:"now"`
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

// maxDocument is how long a document of a request may be.
const maxDocument = 1 << 20

// handler serves one cluster.
type handler struct{ cluster Cluster }

// Handler serves the control surface of a cluster. What has happened is answered
// with 200, 201 for a new fault; what does not exist with 404, a document that
// makes no sense with 400 and the reason, and what a broker's state does not
// allow with 409.
func Handler(c Cluster) http.Handler {
	h := handler{c}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /brokers", h.brokers)
	mux.HandleFunc("POST /brokers/{id}/{act}", h.act)
	mux.HandleFunc("GET /faults", h.faults)
	mux.HandleFunc("POST /faults", h.inject)
	mux.HandleFunc("DELETE /faults", h.withdrawAll)
	mux.HandleFunc("DELETE /faults/{id}", h.withdraw)
	mux.HandleFunc("GET /clock", h.clock)
	mux.HandleFunc("POST /clock/advance", h.advance)
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { show(w, http.StatusOK, c.Snapshot()) })
	return mux
}

// show answers with a document. A client that has left gets nothing.
func show(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(document)
}

func (h handler) brokers(w http.ResponseWriter, _ *http.Request) {
	brokers := []Broker{}
	for _, id := range h.cluster.Brokers() {
		address, state, fenced := h.cluster.Describe(id)
		brokers = append(brokers, Broker{ID: id, Address: address, State: state, Fenced: fenced})
	}
	show(w, http.StatusOK, brokers)
}

func (h handler) act(w http.ResponseWriter, r *http.Request) {
	a, ok := acts[r.PathValue("act")]
	if !ok {
		http.Error(w, fmt.Sprintf("no such act %q: pause, resume, kill, start or stop", r.PathValue("act")), http.StatusNotFound)
		return
	}
	id, ok := brokerID(h.cluster, r.PathValue("id"))
	if !ok {
		http.Error(w, fmt.Sprintf("no such broker %q", r.PathValue("id")), http.StatusNotFound)
		return
	}
	if err := a.do(h.cluster, id); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	fmt.Fprintf(w, "broker %d %s\n", id, a.done)
}

func brokerID(c Cluster, text string) (kafka.BrokerID, bool) {
	for _, id := range c.Brokers() {
		if text == strconv.Itoa(int(id)) {
			return id, true
		}
	}
	return kafka.NoBroker, false
}

// describe is a fault as it is shown.
func describe(i simbroker.Injection) (Fault, error) {
	document, err := simbroker.Document(i.Fault)
	return Fault{ID: i.ID, Text: i.Fault.String(), Document: document}, err
}

func (h handler) faults(w http.ResponseWriter, _ *http.Request) {
	faults := []Fault{}
	for _, i := range h.cluster.Injections() {
		f, err := describe(i)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		faults = append(faults, f)
	}
	show(w, http.StatusOK, faults)
}

func (h handler) inject(w http.ResponseWriter, r *http.Request) {
	document, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDocument))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fault, err := simbroker.ParseFault(document)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id, err := h.cluster.Inject(fault)
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, simbroker.ErrUnknownBroker) || errors.Is(err, simbroker.ErrUnknownTransactionalID) {
			status = http.StatusNotFound
		}
		http.Error(w, err.Error(), status)
		return
	}
	f, err := describe(simbroker.Injection{ID: id, Fault: fault})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	show(w, http.StatusCreated, f)
}

func (h handler) withdraw(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err == nil {
		err = h.cluster.Withdraw(id)
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("no such fault %q", r.PathValue("id")), http.StatusNotFound)
		return
	}
	fmt.Fprintf(w, "fault %d withdrawn\n", id)
}

func (h handler) withdrawAll(w http.ResponseWriter, _ *http.Request) {
	for _, i := range h.cluster.Injections() {
		if h.cluster.Withdraw(i.ID) == nil { // else somebody else was faster
			fmt.Fprintf(w, "fault %d withdrawn\n", i.ID)
		}
	}
}

func (h handler) clock(w http.ResponseWriter, _ *http.Request) {
	show(w, http.StatusOK, Clock{h.cluster.Now()})
}

func (h handler) advance(w http.ResponseWriter, r *http.Request) {
	var document struct {
		By string `json:"by"`
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDocument))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		http.Error(w, fmt.Sprintf(`%v; expected {"by": "10m"}`, err), http.StatusBadRequest)
		return
	}
	by, err := time.ParseDuration(document.By)
	if err != nil || by < 0 || by > longestAdvance {
		http.Error(w, fmt.Sprintf(`by %q is no time to advance by; expected a duration such as 10m, up to %v, not negative`,
			document.By, longestAdvance), http.StatusBadRequest)
		return
	}
	for left := by; left > 0 && r.Context().Err() == nil; left -= advanceStep {
		h.cluster.Advance(min(left, advanceStep))
	}
	show(w, http.StatusOK, Clock{h.cluster.Now()})
}

// A clock is moved on by so much at once, in steps: others have their turn
// between two, and a client that has gone is not worked for.
const (
	longestAdvance = 480 * time.Hour
	advanceStep    = time.Minute
)

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
