package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster is what a scenario is played on. Its methods are called from one
// goroutine.
type Cluster interface {
	// Brokers lists the node ids in ascending order: A, B, C, … of the texts.
	Brokers() []int32
	// Request sends one request to a broker, in the version that is set in it,
	// under a client id, and waits for the answer, for as long as a patient
	// client would. It must neither retry nor change the request. The error says
	// that there was no answer.
	Request(ctx context.Context, broker int32, clientID string, req kmsg.Request) (kmsg.Response, error)
	// Now is the time by which deadlines are measured and records are stamped.
	Now() time.Time
	// Wait lets time pass.
	Wait(ctx context.Context, d time.Duration) error

	Faults
}

// Vendored is what a Cluster's Faults are as well if it is known whose brokers they
// seem to be.
type Vendored interface {
	// Vendor is one of the names that "lso-exporter sim --vendor" takes, or empty
	// for a Kafka of this project's version.
	Vendor() string
}

// facet is what a cluster, or what controls its processes, is as well, if it is.
func facet[T any](c Cluster) (T, bool) {
	var of any = c
	if n, over := c.(interface{ processes() Faults }); over {
		of = n.processes()
	}
	f, ok := of.(T)
	return f, ok
}

// Faults are what can be done to a broker's process. Each returns when it has
// happened; Start when the broker serves requests again.
type Faults interface {
	Pause(ctx context.Context, broker int32) error  // as SIGSTOP
	Resume(ctx context.Context, broker int32) error // as SIGCONT
	Kill(ctx context.Context, broker int32) error   // as SIGKILL
	Stop(ctx context.Context, broker int32) error   // as SIGTERM: a controlled shutdown
	Start(ctx context.Context, broker int32) error  // after Kill or Stop
}

// Users is a Cluster on which requests can be made as a user. All other requests
// are those of a user who may do everything.
type Users interface {
	// RequestAs is Request as a user, who has a SCRAM-SHA-256 credential with
	// Password.
	RequestAs(ctx context.Context, broker int32, user, clientID string, req kmsg.Request) (kmsg.Response, error)
}

// Password is the password of a scenario's user.
func Password(user string) string { return "password-of-" + user }

// ErrNoAnswer is wrapped by the errors of requests that got no answer.
var ErrNoAnswer = errors.New("no answer")

const noAnswer = "no answer"

// ErrNotOffered is wrapped by what Run returns when the cluster lacks what the
// scenario requires; the error names it.
var ErrNotOffered = errors.New("not offered by this cluster")
