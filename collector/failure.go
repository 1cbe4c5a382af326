package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector/security"
)

// failure is why a broker did not answer, in words for people that name the
// address. Its cause is for telling kinds of failures apart, and is not shown.
type failure struct {
	text  string
	cause error
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// Unwrap gives the cause.
func (f *failure) Unwrap() error { return f.cause }

// failureOf explains why the broker at an address did not answer a request that
// it had a time for, 0 for no limit. What has to do with how the connection is
// secured has been explained already, with the address.
func failureOf(err error, address string, within time.Duration) error {
	var secured *security.Error
	if errors.As(err, &secured) {
		return err
	}
	return &failure{text: address + ": " + causeText(err, within), cause: err}
}

// causeText says in a few words what went wrong.
func causeText(err error, within time.Duration) string {
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "the name " + name.Name + " does not resolve"
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s could not be looked up (%s)", name.Name, name.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: no broker listens there"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to that host"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		if within <= 0 {
			return "no answer in time"
		}
		return "no answer within " + within.Round(10*time.Millisecond).String()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return "the broker closed the connection"
	case errors.Is(err, ErrAPIMissing):
		return ErrAPIMissing.Error()
	case errors.Is(err, kgo.ErrClientClosed):
		return "the exporter is stopping"
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// failures are why none of several brokers answered, a line each.
type failures []error

// Error implements error.
func (f failures) Error() string {
	var lines []string
	said := make(map[string]bool)
	for _, err := range f {
		if line := strings.Join(strings.Fields(err.Error()), " "); !said[line] { // a broker may have a seed's address
			said[line] = true
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the failures.
func (f failures) Unwrap() []error { return f }
