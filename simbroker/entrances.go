package simbroker

import (
	"fmt"
	"net"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// entrance is one listener of a broker.
type entrance struct {
	listenerSetting
	address *net.TCPAddr // nil without TCP
}

// entrances are the listeners of a broker, at least one.
type entrances []entrance

// endpoints are where clients are told to find the listeners of a broker. Without
// TCP they have made-up addresses, which no two share.
func (e entrances) endpoints(id kafka.BrokerID) []controller.Endpoint {
	endpoints := make([]controller.Endpoint, len(e))
	for i := range e {
		endpoints[i] = controller.Endpoint{Listener: e[i].name, Host: fmt.Sprintf("broker-%d", id), Port: 9092 + int32(i)}
		if e[i].address != nil {
			endpoints[i] = e[i].endpoint()
		}
	}
	return endpoints
}

// endpoint is where clients are told to find a listener that has an address.
func (e *entrance) endpoint() controller.Endpoint {
	at := controller.Endpoint{Listener: e.name, Host: e.address.IP.String(), Port: int32(e.address.Port)}
	if told := e.advertised; told != nil {
		at.Host = told.host
		if told.port > 0 {
			at.Port = int32(told.port)
		}
	}
	return at
}
