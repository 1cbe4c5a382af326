package txn

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// ClientVersion is the transaction protocol that a request speaks, which its
// API version decides (rule G14).
type ClientVersion int16

// The protocols. TV1 stands for transaction versions 0 and 1, which clients
// cannot tell apart: EndTxn up to v4, AddPartitionsToTxn up to v4, Produce up
// to v11, TxnOffsetCommit up to v4. TV2 is KIP-890 part 2: EndTxn v5,
// AddPartitionsToTxn v5, Produce v12, TxnOffsetCommit v5.
const (
	TV1 ClientVersion = 0
	TV2 ClientVersion = 2
)

// InitProducerIDRequest asks for a producer id and epoch.
type InitProducerIDRequest struct {
	// TransactionalID is nil for an idempotent producer without transactions.
	TransactionalID *string
	// Timeout is the transaction timeout.
	Timeout time.Duration
	// Expected is the producer id and epoch that the client has (v3+), or
	// NoProducerID and NoProducerEpoch.
	Expected kafka.Producer
}

// AddPartitionsRequest adds partitions to a transaction. One error answers for
// all of them, as in Kafka; topics that do not exist are the caller's affair
// (rule G8).
type AddPartitionsRequest struct {
	TransactionalID string
	Producer        kafka.Producer
	Partitions      []kafka.TopicPartition
	ClientVersion   ClientVersion
}

// VerifyPartitionsRequest asks which partitions are in a transaction
// (AddPartitionsToTxn v4+ with verifyOnly).
type VerifyPartitionsRequest struct {
	TransactionalID string
	Producer        kafka.Producer
	Partitions      []kafka.TopicPartition
}

// EndTxnRequest ends a transaction.
type EndTxnRequest struct {
	TransactionalID string
	Producer        kafka.Producer
	Commit          bool // otherwise abort
	ClientVersion   ClientVersion
}

// Description is what DescribeTransactions tells of one transactional id
// (rule G22).
type Description struct {
	TransactionalID string
	State           State
	Timeout         time.Duration
	// Start is when the transaction began; the zero time if the state is Empty.
	Start    time.Time
	Producer kafka.Producer
	// Partitions are all of an Ongoing transaction, those without a marker in a
	// Prepare state, and none after; sorted.
	Partitions []kafka.TopicPartition
}

// ListRequest selects transactions (rule G21). Empty filters select all.
type ListRequest struct {
	States      []string // Kafka's names, case-sensitive
	ProducerIDs []kafka.ProducerID
	// Duration keeps transactions that run longer; negative is no filter.
	Duration time.Duration
	// Pattern is a regular expression for the whole id; "" is no filter.
	Pattern string
}

// Listing is one transaction of a list.
type Listing struct {
	TransactionalID string
	ProducerID      kafka.ProducerID
	State           State
}

// ListResult is the answer to ListTransactions.
type ListResult struct {
	UnknownStates []string // state filters that name no state, in the order given
	Transactions  []Listing
}
