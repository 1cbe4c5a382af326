package txn

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Config holds the broker properties of the transaction coordinator, named as
// Kafka names them.
type Config struct {
	// Partitions is transaction.state.log.num.partitions.
	Partitions int32
	// MaxTimeout is transaction.max.timeout.ms.
	MaxTimeout time.Duration
	// AbortTimedOutInterval is
	// transaction.abort.timed.out.transaction.cleanup.interval.ms.
	AbortTimedOutInterval time.Duration
	// RemoveExpiredInterval is
	// transaction.remove.expired.transaction.cleanup.interval.ms.
	RemoveExpiredInterval time.Duration
	// IDExpiration is transactional.id.expiration.ms.
	IDExpiration time.Duration
}

// DefaultConfig is what Kafka does without being told otherwise.
func DefaultConfig() Config {
	return Config{
		Partitions:            50,
		MaxTimeout:            15 * time.Minute,
		AbortTimedOutInterval: 10 * time.Second,
		RemoveExpiredInterval: time.Hour,
		IDExpiration:          7 * 24 * time.Hour,
	}
}

// Coordinator is one broker's transaction coordinator.
type Coordinator struct {
	broker kafka.BrokerID
	clk    clock.Clock
	cfg    Config
	env    Environment
}

// New returns a coordinator that leads no partition yet, with its scans
// running on clk. What it held in memory is lost with the broker: a restarted
// broker gets a new one.
func New(broker kafka.BrokerID, clk clock.Clock, cfg Config, env Environment) *Coordinator {
	return &Coordinator{broker: broker, clk: clk, cfg: cfg, env: env}
}

// Load makes the coordinator the owner of a partition of __transaction_state
// under a leader epoch. Reading the log takes one event, during which the
// partition answers COORDINATOR_LOAD_IN_PROGRESS; then every transaction in a
// Prepare state sends its markers again, with the new epoch (rule G18).
// Loading a partition that is already owned, under a later epoch, reloads it.
func (c *Coordinator) Load(partition int32, epoch kafka.CoordinatorEpoch) {}

// Unload gives a partition up: its transactions leave memory, markers in
// flight are forgotten, and requests get NOT_COORDINATOR.
func (c *Coordinator) Unload(partition int32) {}

// PartitionFor is the partition of __transaction_state that keeps an id.
func (c *Coordinator) PartitionFor(transactionalID string) int32 {
	return kafka.PartitionFor(transactionalID, c.cfg.Partitions)
}

// InitProducerID allocates a producer id, or bumps the epoch of the one a
// transactional id has, aborting what it left open (rules G5, G6, G15). Errors:
// INVALID_REQUEST, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
// INVALID_TRANSACTION_TIMEOUT, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED and
// what the log answers.
func (c *Coordinator) InitProducerID(req InitProducerIDRequest, done func(kafka.Producer, error)) {}

// AddPartitions adds partitions to a transaction and begins it if need be
// (rule G8). Errors: INVALID_REQUEST, NOT_COORDINATOR,
// COORDINATOR_LOAD_IN_PROGRESS, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
// CONCURRENT_TRANSACTIONS and what the log answers.
func (c *Coordinator) AddPartitions(req AddPartitionsRequest, done func(error)) {}

// VerifyPartitions says for each partition, in the order asked, whether it is
// in the transaction: nil, or TRANSACTION_ABORTABLE (rule G10). The errors of
// AddPartitions stand for all partitions.
func (c *Coordinator) VerifyPartitions(req VerifyPartitionsRequest) []error { return nil }

// EndTxn commits or aborts (rules G12 to G15). It answers when the Prepare
// state is replicated, with the producer id and epoch for the next
// transaction; a TV1 client goes on with its own. Errors: INVALID_REQUEST,
// NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_PRODUCER_ID_MAPPING,
// PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE and what the log
// answers.
func (c *Coordinator) EndTxn(req EndTxnRequest, done func(kafka.Producer, error)) {}

// Describe tells of one transactional id (rule G22). Errors: INVALID_REQUEST,
// NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, TRANSACTIONAL_ID_NOT_FOUND.
func (c *Coordinator) Describe(transactionalID string) (Description, error) {
	return Description{}, nil
}

// List lists the transactions of this broker, sorted by id (rule G21). Errors:
// COORDINATOR_LOAD_IN_PROGRESS while any partition loads,
// INVALID_REGULAR_EXPRESSION.
func (c *Coordinator) List(req ListRequest) (ListResult, error) { return ListResult{}, nil }

// Configure replaces the configuration; the scans take new intervals up at
// their next run.
func (c *Coordinator) Configure(cfg Config) { c.cfg = cfg }

// String is the coordinator's state on one line, sorted by id.
func (c *Coordinator) String() string { return "" }
