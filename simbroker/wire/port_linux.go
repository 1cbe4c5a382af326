package wire

import (
	"net"
	"os"
	"syscall"
)

// port keeps a TCP port for one broker for good. A socket that is bound and
// does not listen keeps the system from handing the port to anybody else while
// the broker is down, and connections to it are refused.
type port struct {
	addr   *net.TCPAddr
	holder int // file descriptor
}

// reservePort takes a port; port 0 lets the system choose.
func reservePort(address string) (*port, error) {
	wanted, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if wanted.IP == nil {
		wanted.IP = net.IPv4zero
	}
	family, socketAddr := socketAddress(wanted)
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{holder: fd}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		p.release()
		return nil, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, socketAddr); err != nil {
		p.release()
		return nil, os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		p.release()
		return nil, os.NewSyscallError("getsockname", err)
	}
	p.addr = &net.TCPAddr{IP: wanted.IP, Port: boundPort(bound), Zone: wanted.Zone}
	return p, nil
}

// listen opens a listener beside the holder: both allow the address to be
// reused, and only one of them listens.
func (p *port) listen() (net.Listener, error) { return net.ListenTCP("tcp", p.addr) }

// release gives the port back.
func (p *port) release() { syscall.Close(p.holder) }

func socketAddress(addr *net.TCPAddr) (family int, to syscall.Sockaddr) {
	if ip := addr.IP.To4(); ip != nil {
		return syscall.AF_INET, &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}
	}
	in6 := &syscall.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())}
	if zone, err := net.InterfaceByName(addr.Zone); err == nil {
		in6.ZoneId = uint32(zone.Index)
	}
	return syscall.AF_INET6, in6
}

func boundPort(addr syscall.Sockaddr) int {
	switch addr := addr.(type) {
	case *syscall.SockaddrInet4:
		return addr.Port
	case *syscall.SockaddrInet6:
		return addr.Port
	}
	panic("bound socket is neither IPv4 nor IPv6")
}
