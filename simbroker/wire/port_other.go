//go:build !linux

package wire

import "net"

// port is the TCP port of one broker. Systems other than Linux do not let a
// bound socket and a listening one share a port: while the broker is down,
// nothing but luck keeps it free.
type port struct {
	addr  *net.TCPAddr
	first *net.TCPListener // chose the port; handed out by the first listen
}

// reservePort takes a port; port 0 lets the system choose.
func reservePort(address string) (*port, error) {
	wanted, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", wanted)
	if err != nil {
		return nil, err
	}
	return &port{addr: listener.Addr().(*net.TCPAddr), first: listener}, nil
}

// listen opens the listener.
func (p *port) listen() (net.Listener, error) {
	if first := p.first; first != nil {
		p.first = nil
		return first, nil
	}
	return net.ListenTCP("tcp", p.addr)
}

// release gives the port back.
func (p *port) release() {
	if p.first != nil {
		p.first.Close()
	}
}
