package wire

import (
	"errors"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Errors that only the protocol knows; no room answers them.
const (
	errInvalidFetchSessionEpoch   kafka.Error = "INVALID_FETCH_SESSION_EPOCH"
	errTopicDeletionDisabled      kafka.Error = "TOPIC_DELETION_DISABLED"
	errUnsupportedCompressionType kafka.Error = "UNSUPPORTED_COMPRESSION_TYPE"
	errMismatchedEndpointType     kafka.Error = "MISMATCHED_ENDPOINT_TYPE"
	errTokenAuthDisabled          kafka.Error = "DELEGATION_TOKEN_AUTH_DISABLED"
	errTokenRequestNotAllowed     kafka.Error = "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"
	errIllegalSASLState           kafka.Error = "ILLEGAL_SASL_STATE"
	errSASLAuthenticationFailed   kafka.Error = "SASL_AUTHENTICATION_FAILED"
)

// codes gives the code on the wire of each error that a room answers.
var codes = map[kafka.Error]int16{
	kafka.ErrUnknownServerError:                 -1,
	kafka.ErrOffsetOutOfRange:                   1,
	kafka.ErrCorruptMessage:                     2,
	kafka.ErrUnknownTopicOrPartition:            3,
	kafka.ErrLeaderNotAvailable:                 5,
	kafka.ErrNotLeaderOrFollower:                6,
	kafka.ErrRequestTimedOut:                    7,
	kafka.ErrBrokerNotAvailable:                 8,
	kafka.ErrReplicaNotAvailable:                9,
	kafka.ErrMessageTooLarge:                    10,
	kafka.ErrOffsetMetadataTooLarge:             12,
	kafka.ErrCoordinatorLoadInProgress:          14,
	kafka.ErrCoordinatorNotAvailable:            15,
	kafka.ErrNotCoordinator:                     16,
	kafka.ErrInvalidTopicException:              17,
	kafka.ErrRecordListTooLarge:                 18,
	kafka.ErrNotEnoughReplicas:                  19,
	kafka.ErrNotEnoughReplicasAfterAppend:       20,
	kafka.ErrInvalidRequiredAcks:                21,
	kafka.ErrIllegalGeneration:                  22,
	kafka.ErrInconsistentGroupProtocol:          23,
	kafka.ErrInvalidGroupID:                     24,
	kafka.ErrUnknownMemberID:                    25,
	kafka.ErrInvalidSessionTimeout:              26,
	kafka.ErrRebalanceInProgress:                27,
	kafka.ErrInvalidCommitOffsetSize:            28,
	kafka.ErrTopicAuthorizationFailed:           29,
	kafka.ErrGroupAuthorizationFailed:           30,
	kafka.ErrClusterAuthorizationFailed:         31,
	kafka.ErrInvalidTimestamp:                   32,
	kafka.ErrUnsupportedSASLMechanism:           33,
	errIllegalSASLState:                         34,
	kafka.ErrUnsupportedVersion:                 35,
	kafka.ErrTopicAlreadyExists:                 36,
	kafka.ErrInvalidPartitions:                  37,
	kafka.ErrInvalidReplicationFactor:           38,
	kafka.ErrInvalidReplicaAssignment:           39,
	kafka.ErrInvalidConfig:                      40,
	kafka.ErrNotController:                      41,
	kafka.ErrInvalidRequest:                     42,
	kafka.ErrPolicyViolation:                    44,
	kafka.ErrOutOfOrderSequenceNumber:           45,
	kafka.ErrInvalidProducerEpoch:               47,
	kafka.ErrInvalidTxnState:                    48,
	kafka.ErrInvalidProducerIDMapping:           49,
	kafka.ErrInvalidTransactionTimeout:          50,
	kafka.ErrConcurrentTransactions:             51,
	kafka.ErrTransactionCoordinatorFenced:       52,
	kafka.ErrTransactionalIDAuthorizationFailed: 53,
	kafka.ErrSecurityDisabled:                   54,
	kafka.ErrOperationNotAttempted:              55,
	kafka.ErrKafkaStorageError:                  56,
	errSASLAuthenticationFailed:                 58,
	kafka.ErrReassignmentInProgress:             60,
	kafka.ErrNonEmptyGroup:                      68,
	kafka.ErrGroupIDNotFound:                    69,
	kafka.ErrFetchSessionIDNotFound:             70,
	errInvalidFetchSessionEpoch:                 71,
	errTopicDeletionDisabled:                    73,
	kafka.ErrFencedLeaderEpoch:                  74,
	kafka.ErrUnknownLeaderEpoch:                 75,
	errUnsupportedCompressionType:               76,
	kafka.ErrOffsetNotAvailable:                 78,
	kafka.ErrMemberIDRequired:                   79,
	kafka.ErrPreferredLeaderNotAvailable:        80,
	kafka.ErrGroupMaxSizeReached:                81,
	kafka.ErrFencedInstanceID:                   82,
	kafka.ErrEligibleLeadersNotAvailable:        83,
	kafka.ErrElectionNotNeeded:                  84,
	kafka.ErrNoReassignmentInProgress:           85,
	kafka.ErrGroupSubscribedToTopic:             86,
	kafka.ErrInvalidRecord:                      87,
	kafka.ErrUnstableOffsetCommit:               88,
	kafka.ErrProducerFenced:                     90,
	kafka.ErrResourceNotFound:                   91,
	kafka.ErrDuplicateResource:                  92,
	kafka.ErrUnacceptableCredential:             93,
	kafka.ErrLogDirNotFound:                     57,
	errTokenAuthDisabled:                        61,
	errTokenRequestNotAllowed:                   64,
	kafka.ErrInvalidUpdateVersion:               95,
	kafka.ErrBrokerIDNotRegistered:              102,
	kafka.ErrFeatureUpdateFailed:                96,
	kafka.ErrUnknownTopicID:                     100,
	kafka.ErrInconsistentTopicID:                103,
	kafka.ErrTransactionalIDNotFound:            105,
	kafka.ErrFetchSessionTopicIDError:           106,
	kafka.ErrFencedMemberEpoch:                  110,
	kafka.ErrUnreleasedInstanceID:               111,
	kafka.ErrUnsupportedAssignor:                112,
	kafka.ErrStaleMemberEpoch:                   113,
	errMismatchedEndpointType:                   114,
	kafka.ErrTransactionAbortable:               120,
	kafka.ErrInvalidRecordState:                 121,
	kafka.ErrShareSessionNotFound:               122,
	kafka.ErrInvalidShareSessionEpoch:           123,
	kafka.ErrFencedStateEpoch:                   124,
	kafka.ErrInvalidRegularExpression:           128,
	kafka.ErrStreamsInvalidTopology:             130,
	kafka.ErrShareSessionLimitReached:           133,
}

// codeOf is the code of an error: 0 for nil, and that of the kafka.Error it
// wraps. An error that wraps none is UNKNOWN_SERVER_ERROR, as an unexpected
// exception is in Kafka.
func codeOf(err error) int16 {
	if err == nil {
		return 0
	}
	if code, ok := codes[domainError(err)]; ok {
		return code
	}
	return codes[kafka.ErrUnknownServerError]
}

// messageOf is the text that goes with an error's code: null where the error
// says no more than its name does.
func messageOf(err error) *string {
	if err == nil || err == error(domainError(err)) {
		return nil
	}
	text := err.Error()
	return &text
}

// spelledOut are Kafka's own words for errors that it does not leave to the
// client in some APIs.
var spelledOut = map[kafka.Error]string{
	kafka.ErrUnknownTopicOrPartition:    "This server does not host this topic-partition.",
	kafka.ErrElectionNotNeeded:          "Leader election not needed for topic partition.",
	kafka.ErrTopicAuthorizationFailed:   "Topic authorization failed.",
	kafka.ErrGroupAuthorizationFailed:   "Group authorization failed.",
	kafka.ErrClusterAuthorizationFailed: "Cluster authorization failed.",
}

// fullMessageOf is messageOf, with Kafka's own words where the error has none.
func fullMessageOf(err error) *string {
	if text, ok := spelledOut[domainError(err)]; ok && messageOf(err) == nil {
		return &text
	}
	return messageOf(err)
}

// domainError is the kafka.Error in an error.
func domainError(err error) kafka.Error {
	var domain kafka.Error
	errors.As(err, &domain)
	return domain
}
