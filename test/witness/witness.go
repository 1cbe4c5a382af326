// Package witness writes the oracle's record of what clients do to a cluster. It
// looks at their requests and answers on the way: on a scenario.Cluster that it
// wraps, or on the connections of any client that lets it dial.
//
// It promises that an act is recorded with the moments at which the client sent
// it and had its answer, and that an act without an answer is recorded as one
// that may have happened. It leaves out what no exchange shows: members whose
// session ends, and log starts that retention moves; who causes such things
// adds them by hand. It judges nothing.
package witness

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// Witness gathers the record. It is safe for concurrent use.
type Witness struct {
	mu   sync.Mutex
	acts []oracle.Act

	names     map[[16]byte]string      // topic ids
	unplaced  map[string][]oracle.Act  // topics whose replicas no answer has told yet
	producers map[string]int64         // transactional id → its producer id
	open      map[int64]*transaction   // by producer id
	batches   map[batchKey]int         // idempotent batches → index of their act
	partCount map[string]int           // partitions that a topic's record has
	starts    map[topicPartition]start // log starts as last seen at a leader
	highest   map[topicPartition]int64 // log starts as seen anywhere
}

type topicPartition struct {
	topic     string
	partition int32
}

// start is a log start offset and when it was seen.
type start struct {
	offset int64
	seen   time.Time
}

// transaction is what is known of a producer's current transaction.
type transaction struct {
	registered map[topicPartition]bool
	ended      bool
	asked      bool // to commit, without an answer
}

// batchKey is how a broker knows a batch that is sent again (rule C2).
type batchKey struct {
	topicPartition
	producer int64
	epoch    int16
	sequence int32
}

// New returns a witness of a cluster of the given brokers.
func New(brokers []int32, timing oracle.Timing, since time.Time) *Witness {
	w := &Witness{
		names: map[[16]byte]string{}, unplaced: map[string][]oracle.Act{}, producers: map[string]int64{},
		open: map[int64]*transaction{}, batches: map[batchKey]int{}, partCount: map[string]int{}, starts: map[topicPartition]start{}, highest: map[topicPartition]int64{},
	}
	w.Add(oracle.Act{Kind: oracle.Cluster, Sent: since, Answered: since, Brokers: brokers, Timing: &timing})
	return w
}

// Add records an act that no exchange shows.
func (w *Witness) Add(a oracle.Act) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acts = append(w.acts, a)
}

// Acts is a copy of the record so far. It lacks the requests that are under
// way: judge with it once they are answered.
func (w *Witness) Acts() []oracle.Act {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.acts)
}

// ProducerKey is the name under which the record knows the transactions of a
// producer id: markers carry it, not the transactional id.
func ProducerKey(id int64) string { return fmt.Sprintf("producer %d", id) }

// Exchange records a request with its answer; resp is nil when there was none.
func (w *Witness) Exchange(sent, answered time.Time, req kmsg.Request, resp kmsg.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := exchange{w, sent, answered}
	if resp == nil {
		x.answered = time.Time{}
	}
	switch req := req.(type) {
	case *kmsg.CreateTopicsRequest:
		x.createTopics(req, as[*kmsg.CreateTopicsResponse](resp))
	case *kmsg.CreatePartitionsRequest:
		x.createPartitions(req, as[*kmsg.CreatePartitionsResponse](resp))
	case *kmsg.DeleteTopicsRequest:
		x.deleteTopics(req, as[*kmsg.DeleteTopicsResponse](resp))
	case *kmsg.MetadataRequest:
		x.metadata(as[*kmsg.MetadataResponse](resp))
	case *kmsg.DeleteRecordsRequest:
		x.deleteRecords(req, as[*kmsg.DeleteRecordsResponse](resp))
	case *kmsg.ListOffsetsRequest:
		x.listOffsets(req, as[*kmsg.ListOffsetsResponse](resp))
	case *kmsg.FetchRequest:
		x.fetch(req, as[*kmsg.FetchResponse](resp))
	case *kmsg.ElectLeadersRequest:
		x.electLeaders(req, as[*kmsg.ElectLeadersResponse](resp))
	case *kmsg.ProduceRequest:
		x.produce(req, as[*kmsg.ProduceResponse](resp))
	case *kmsg.InitProducerIDRequest:
		x.initProducerID(req, as[*kmsg.InitProducerIDResponse](resp))
	case *kmsg.AddPartitionsToTxnRequest:
		x.addPartitions(req, as[*kmsg.AddPartitionsToTxnResponse](resp))
	case *kmsg.EndTxnRequest:
		x.endTxn(req, as[*kmsg.EndTxnResponse](resp))
	case *kmsg.WriteTxnMarkersRequest:
		x.writeMarkers(req, as[*kmsg.WriteTxnMarkersResponse](resp))
	case *kmsg.DescribeTransactionsRequest:
		x.describeTransactions(as[*kmsg.DescribeTransactionsResponse](resp))
	case *kmsg.TxnOffsetCommitRequest:
		x.txnOffsetCommit(req, as[*kmsg.TxnOffsetCommitResponse](resp))
	case *kmsg.OffsetCommitRequest:
		x.offsetCommit(req, as[*kmsg.OffsetCommitResponse](resp))
	case *kmsg.FindCoordinatorRequest:
		x.findCoordinator(req, as[*kmsg.FindCoordinatorResponse](resp))
	case *kmsg.OffsetDeleteRequest:
		x.offsetDelete(req, as[*kmsg.OffsetDeleteResponse](resp))
	case *kmsg.DeleteGroupsRequest:
		x.deleteGroups(req, as[*kmsg.DeleteGroupsResponse](resp))
	case *kmsg.AlterShareGroupOffsetsRequest:
		x.alterShareGroupOffsets(req, as[*kmsg.AlterShareGroupOffsetsResponse](resp))
	case *kmsg.JoinGroupRequest:
		x.joinGroup(req, as[*kmsg.JoinGroupResponse](resp))
	case *kmsg.LeaveGroupRequest:
		x.leaveGroup(req, as[*kmsg.LeaveGroupResponse](resp))
	case *kmsg.ConsumerGroupHeartbeatRequest:
		x.consumerHeartbeat(req, as[*kmsg.ConsumerGroupHeartbeatResponse](resp))
	case *kmsg.ShareGroupHeartbeatRequest:
		x.shareHeartbeat(req, as[*kmsg.ShareGroupHeartbeatResponse](resp))
	case *kmsg.StreamsGroupHeartbeatRequest:
		x.streamsHeartbeat(req, as[*kmsg.StreamsGroupHeartbeatResponse](resp))
	}
}

// as is a response by its type; nil when there was none.
func as[T kmsg.Response](resp kmsg.Response) T {
	t, _ := resp.(T)
	return t
}

// exchange is one request with its answer, on its way into the record.
type exchange struct {
	*Witness
	sent, answered time.Time
}

// record adds an act with the exchange's moments and returns its index.
func (x exchange) record(a oracle.Act) int {
	a.Sent, a.Answered = x.sent, x.answered
	x.acts = append(x.acts, a)
	return len(x.acts) - 1
}

// silent says whether there was no answer.
func (x exchange) silent() bool { return x.answered.IsZero() }

// topic is a topic's name, given by name or by id.
func (x exchange) topic(name string, id [16]byte) string {
	if name != "" {
		return name
	}
	return x.names[id]
}

// header is what the witness reads of a record batch (rule A1).
type header struct {
	records       int64
	transactional bool
	producer      int64
	epoch         int16
	sequence      int32
}

const headerSize = 61

// headerOf reads the header of the only batch of a produce request's partition.
func headerOf(batch []byte) (header, bool) {
	const attributes, lastDelta, producer, epoch, sequence = 21, 23, 43, 51, 53
	if len(batch) < headerSize {
		return header{}, false
	}
	be := binary.BigEndian
	h := header{
		records:  int64(int32(be.Uint32(batch[lastDelta:]))) + 1,
		producer: int64(be.Uint64(batch[producer:])),
		epoch:    int16(be.Uint16(batch[epoch:])),
		sequence: int32(be.Uint32(batch[sequence:])),
	}
	// Without a producer id a batch opens no transaction, whatever it says (rule A5).
	h.transactional = h.producer >= 0 && be.Uint16(batch[attributes:])&0x10 != 0
	return h, true
}
