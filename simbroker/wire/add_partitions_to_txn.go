package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// addPartitionsToTxn serves AddPartitionsToTxn (rule G8).
//
// v0 to v3: from clients, one transaction. A partition that does not exist, or
// that may not be written, as no client may write an internal one, keeps all of
// them out: it has its error, the others OPERATION_NOT_ATTEMPTED. v2: PRODUCER_FENCED, before that
// INVALID_PRODUCER_EPOCH (rule G7). v4: from brokers, many transactions, each
// of which may ask for verification alone (rule G10). v5: the transactions go
// by protocol 2.
func (c *call) addPartitionsToTxn(req *kmsg.AddPartitionsToTxnRequest) {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	if req.Version < 4 {
		t := singleTransaction(req)
		c.addToTransaction(&t, req.Version, func(errs []error) {
			for _, topic := range addedTopics(&t, errs) {
				resp.Topics = append(resp.Topics, clientTopic(topic))
			}
			c.send(resp)
		})
		return
	}
	if !c.mayCluster(acl.ClusterAction) {
		c.refuse(kafka.ErrClusterAuthorizationFailed)
		return
	}
	resp.Transactions = make([]kmsg.AddPartitionsToTxnResponseTransaction, len(req.Transactions))
	outstanding := len(req.Transactions)
	if outstanding == 0 {
		c.send(resp)
	}
	for i := range req.Transactions {
		t := &req.Transactions[i]
		c.addToTransaction(t, req.Version, func(errs []error) {
			resp.Transactions[i].TransactionalID = t.TransactionalID
			resp.Transactions[i].Topics = addedTopics(t, errs)
			if outstanding--; outstanding == 0 {
				c.send(resp)
			}
		})
	}
}

// singleTransaction is a client's request in the form of v4.
func singleTransaction(req *kmsg.AddPartitionsToTxnRequest) kmsg.AddPartitionsToTxnRequestTransaction {
	t := kmsg.NewAddPartitionsToTxnRequestTransaction()
	t.TransactionalID, t.ProducerID, t.ProducerEpoch = req.TransactionalID, req.ProducerID, req.ProducerEpoch
	for _, topic := range req.Topics {
		t.Topics = append(t.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic(topic))
	}
	return t
}

// addToTransaction adds or verifies partitions, and answers an error for each
// in the order of the request.
func (c *call) addToTransaction(t *kmsg.AddPartitionsToTxnRequestTransaction, version int16, done func([]error)) {
	partitions := transactionPartitions(t)
	if version < 4 && !c.may(acl.Write, acl.TransactionalID, t.TransactionalID) {
		done(repeated(kafka.ErrTransactionalIDAuthorizationFailed, len(partitions)))
		return
	}
	if errs, ok := c.checkAll(partitions, version); !ok {
		done(errs)
		return
	}
	p := kafka.Producer{ID: kafka.ProducerID(t.ProducerID), Epoch: kafka.ProducerEpoch(t.ProducerEpoch)}
	if t.VerifyOnly {
		done(c.broker.Txn.VerifyPartitions(txn.VerifyPartitionsRequest{
			TransactionalID: t.TransactionalID, Producer: p, Partitions: partitions,
		}))
		return
	}
	protocol := txn.TV1
	if version >= 5 {
		protocol = txn.TV2
	}
	c.broker.Txn.AddPartitions(txn.AddPartitionsRequest{
		TransactionalID: t.TransactionalID, Producer: p, Partitions: partitions, ClientVersion: protocol,
	}, func(err error) { done(repeated(fencedBefore(2, version, err), len(partitions))) })
}

// checkAll reports whether every partition exists and may be written. If not,
// it gives each its error.
func (c *call) checkAll(partitions []kafka.TopicPartition, version int16) (errs []error, ok bool) {
	errs, ok = make([]error, len(partitions)), true
	for i, tp := range partitions {
		errs[i] = kafka.ErrOperationNotAttempted
		_, exists := c.image().Partition(tp)
		switch {
		case version < 4 && (kafka.IsInternal(tp.Topic) || !c.may(acl.Write, acl.Topic, tp.Topic)):
			errs[i], ok = kafka.ErrTopicAuthorizationFailed, false
		case !exists:
			errs[i], ok = kafka.ErrUnknownTopicOrPartition, false
		}
	}
	return errs, ok
}

func transactionPartitions(t *kmsg.AddPartitionsToTxnRequestTransaction) []kafka.TopicPartition {
	var partitions []kafka.TopicPartition
	for _, topic := range t.Topics {
		for _, number := range topic.Partitions {
			partitions = append(partitions, kafka.TopicPartition{Topic: topic.Topic, Partition: number})
		}
	}
	return partitions
}

// addedTopics pairs the partitions of a request with their errors.
func addedTopics(t *kmsg.AddPartitionsToTxnRequestTransaction, errs []error) []kmsg.AddPartitionsToTxnResponseTransactionTopic {
	var topics []kmsg.AddPartitionsToTxnResponseTransactionTopic
	for _, asked := range t.Topics {
		topic := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
		topic.Topic = asked.Topic
		for _, number := range asked.Partitions {
			partition := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			partition.Partition, partition.ErrorCode = number, codeOf(errs[0])
			topic.Partitions = append(topic.Partitions, partition)
			errs = errs[1:]
		}
		topics = append(topics, topic)
	}
	return topics
}

// clientTopic is a topic in the form of v3 and below.
func clientTopic(t kmsg.AddPartitionsToTxnResponseTransactionTopic) kmsg.AddPartitionsToTxnResponseTopic {
	topic := kmsg.NewAddPartitionsToTxnResponseTopic()
	topic.Topic = t.Topic
	for _, p := range t.Partitions {
		topic.Partitions = append(topic.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition(p))
	}
	return topic
}

func repeated(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func refuseAddPartitionsToTxn(req *kmsg.AddPartitionsToTxnRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	resp.ErrorCode = code
	for _, asked := range req.Topics {
		topic := kmsg.NewAddPartitionsToTxnResponseTopic()
		topic.Topic = asked.Topic
		for _, number := range asked.Partitions {
			partition := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			partition.Partition, partition.ErrorCode = number, code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
