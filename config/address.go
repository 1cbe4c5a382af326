package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// CheckBroker says what is wrong with the address of a broker, host:port, and
// how to mend it; nil for nothing.
func CheckBroker(address string) error {
	host, port, err := splitAddress(address, "kafka-1:9092 or [::1]:9092", 1)
	switch {
	case err != nil:
		return err
	case host == "":
		return errors.New("has no host; write such as kafka-1:9092")
	case port == 0:
		return errors.New("has the port 0, on which nobody listens; write a number from 1 to 65535")
	}
	return nil
}

// CheckListenAddress says what is wrong with an address to listen on, host:port,
// and how to mend it; nil for nothing. No host stands for all interfaces, port
// 0 for one that the system chooses.
func CheckListenAddress(address string) error {
	_, _, err := splitAddress(address, ":10308 or 127.0.0.1:10308", 0)
	return err
}

// hostName matches the names that a resolver knows.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

// numbers matches what can only be meant for an IPv4 address.
var numbers = regexp.MustCompile(`^[0-9.]+$`)

// errHasUser quotes nothing: a user may have a password.
var errHasUser = errors.New("has an @, as a user has before a host; write host:port alone")

func splitAddress(address, example string, leastPort int) (host string, port uint16, err error) {
	if strings.Contains(address, "@") {
		return "", 0, errHasUser
	}
	if scheme, _, ok := strings.Cut(address, "://"); ok {
		return "", 0, fmt.Errorf("begins with %s://; write host:port alone, such as %s", cut(scheme), example)
	}
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("is not host:port; write such as %s", example)
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != digits {
		return "", 0, fmt.Errorf("has the port %s; write a number from %d to 65535", quote(digits), leastPort)
	}
	if _, err := netip.ParseAddr(host); host != "" && err != nil && (!hostName.MatchString(host) || numbers.MatchString(host) || len(host) > 253) {
		return "", 0, fmt.Errorf("has the host %s; write a name or an IP address", quote(host))
	}
	return host, uint16(n), nil
}

// sameBroker says whether two addresses name one broker in different spelling.
func sameBroker(a, b string) bool { return strings.EqualFold(a, b) }

// sameListener says whether one process cannot listen on both addresses.
func sameListener(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	if portA != portB || portA == "0" {
		return false
	}
	ipA, _ := netip.ParseAddr(hostA) // not valid for a name
	ipB, _ := netip.ParseAddr(hostB)
	covers := func(host string, ip, other netip.Addr) bool {
		return host == "" || ip.IsUnspecified() && (ip.Is6() || !other.Is6())
	}
	return strings.EqualFold(hostA, hostB) || ipA.IsValid() && ipA == ipB || covers(hostA, ipA, ipB) || covers(hostB, ipB, ipA)
}
