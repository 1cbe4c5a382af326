package wire

import (
	"net"
	"strconv"
	"strings"
)

// Limits are how many connections a broker has at a time. The zero Limits limit
// nothing.
type Limits struct {
	// Total is max.connections: above it no further connection is accepted until
	// another has ended. 0 limits nothing.
	Total int
	// PerIP are max.connections.per.ip and its overrides: a connection above it is
	// closed at once. Nil limits nothing.
	PerIP func(address string) int
}

// PerIP is the limit for each address: what is set for all, but for those that
// overrides name, as max.connections.per.ip.overrides has them (HOST:CONNECTIONS,
// with commas between). Hosts are addresses, or localhost.
func PerIP(all int, overrides []string) func(address string) int {
	own := make(map[string]int)
	for _, o := range overrides {
		i := strings.LastIndexByte(o, ':')
		if i < 0 {
			continue // the property's check allows no such
		}
		n, _ := strconv.Atoi(strings.TrimSpace(o[i+1:]))
		host := strings.Trim(strings.TrimSpace(o[:i]), "[]")
		if host == "localhost" {
			own["127.0.0.1"], own["::1"] = n, n
			continue
		}
		if ip := net.ParseIP(host); ip != nil {
			own[ip.String()] = n
		}
	}
	return func(address string) int {
		if n, ok := own[address]; ok {
			return n
		}
		return all
	}
}

// admit waits until there is room for a connection from an address, and says
// whether it is taken: not if the address has too many, or if the listener was
// closed meanwhile, when it is to be reset. s.mu is held, and let go while it waits.
func (s *Server) admit(e *entrance, from net.Listener, address string) (ok, reset bool) {
	for e.socket == from && s.limits.Total > 0 && len(s.conns) >= s.limits.Total {
		s.changed.Wait()
	}
	if e.socket != from {
		return false, true
	}
	if s.limits.PerIP == nil {
		return true, false
	}
	n := 0
	for _, other := range s.conns {
		if other == address {
			n++
		}
	}
	return n < s.limits.PerIP(address), false
}

// Limit sets how many connections there may be. Those that there are stay.
func (s *Server) Limit(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
	s.changed.Broadcast()
}
