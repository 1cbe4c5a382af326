package collector

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Client sends one request to one broker and returns its answer. It is the
// whole of what this package needs from Kafka, so that a franz-go client (see
// Kafka) and a cluster in the same process can both be asked.
//
// An implementation must never retry, split, merge or redirect a request, nor
// ask the cluster anything on its own account but what a connection needs: a
// sweep counts its requests and relies on the order of its reads. It picks the
// version: the request carries the one that this package was written for, and
// a client that negotiates lowers it.
//
// Request must be safe for concurrent use, return soon after ctx is done, and
// never both return a response and an error.
type Client interface {
	// Seeds returns the ids by which Request reaches a broker while the
	// cluster's brokers are not known yet. There is at least one.
	Seeds() []int32

	// Request sends req to a broker: a seed, or one that a Metadata answer of
	// this client listed. It returns an error that matches ErrAPIMissing when
	// the broker does not speak the API in a version this package can use.
	Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error)
}

// ErrAPIMissing is matched by a Client's error when the broker does not speak
// an API, or none of the versions that are needed.
var ErrAPIMissing = errors.New("the broker does not speak this API in a version that is needed")
