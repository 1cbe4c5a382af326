package collector

import (
	"context"
	"errors"
	"os"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/lso-exporter/lso-exporter/collector/security"
	"github.com/lso-exporter/lso-exporter/lag"
)

// errOver is the error of a request that was not sent: the sweep, or its part
// of the sweep, was over, or the budget of requests used up.
var errOver = errors.New("the sweep was over")

// missOfError returns the kind of miss that an error of Client.Request is.
func missOfError(err error) lag.MissKind {
	var kafka *kerr.Error
	var secured *security.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errOver), errors.Is(err, context.Canceled):
		return lag.MissDeadline
	case errors.Is(err, ErrAPIMissing):
		return lag.MissAPIMissing
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return lag.MissTimeout
	case errors.As(err, &secured):
		return missOfSecurity(secured.Kind)
	case errors.As(err, &kafka):
		return missOfCode(kafka.Code)
	default:
		return lag.MissUnreachable
	}
}

// missOfSecurity returns the kind of miss that a connection is which could not be
// secured.
func missOfSecurity(kind security.Kind) lag.MissKind {
	if kind == security.KindTLS {
		return lag.MissTLS
	}
	return lag.MissAuthentication
}

// missOfCode returns the kind of miss that an error code in an answer is.
func missOfCode(code int16) lag.MissKind {
	switch kerr.ErrorForCode(code) {
	case nil:
		return ""
	case kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.ReplicaNotAvailable,
		kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.KafkaStorageError:
		return lag.MissLeaderChanged
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InconsistentTopicID:
		return lag.MissTopicGone
	case kerr.OffsetNotAvailable:
		return lag.MissOffsetNotAvailable
	case kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator:
		return lag.MissNoCoordinator
	case kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed:
		return lag.MissUnauthorized
	case kerr.UnsupportedVersion:
		return lag.MissAPIMissing
	default:
		return lag.MissOther
	}
}

// codeText names an error code.
func codeText(code int16) string {
	var kafka *kerr.Error
	if errors.As(kerr.ErrorForCode(code), &kafka) {
		return kafka.Message
	}
	return ""
}
