package simbroker

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// transactionVerifier implements replica.Verifier: AddPartitionsToTxn between
// brokers (rule G10).
type transactionVerifier struct {
	*node
	brokers *nodes
}

func (b transactionVerifier) Verify(req replica.VerifyRequest, done func([]error)) {
	all := func(err error) []error {
		errs := make([]error, len(req.Partitions))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	coordinator, err := b.agent.Coordinator(kafka.TransactionStateTopic, req.TransactionalID)
	if err != nil {
		done(all(err))
		return
	}
	to := b.brokers.node(coordinator.ID)
	b.brokers.call(b.port, to.port, b.agent.Config().Duration("request.timeout.ms"), func(reply func(func())) {
		to.verify(req, func(errs []error, err error) {
			if errs == nil {
				errs = all(err)
			}
			reply(func() { done(errs) })
		})
	}, func(error) { done(all(kafka.ErrCoordinatorNotAvailable)) })
}

// verify serves AddPartitionsToTxn of another broker: with one error for each
// partition, or one for all.
func (n *node) verify(req replica.VerifyRequest, done func([]error, error)) {
	if req.Add {
		n.txn.AddPartitions(txn.AddPartitionsRequest{
			TransactionalID: req.TransactionalID,
			Producer:        req.Producer,
			Partitions:      req.Partitions,
			ClientVersion:   txn.TV2,
		}, func(err error) { done(nil, err) })
		return
	}
	done(n.txn.VerifyPartitions(txn.VerifyPartitionsRequest{
		TransactionalID: req.TransactionalID,
		Producer:        req.Producer,
		Partitions:      req.Partitions,
	}), nil)
}

// offsetsVerifier implements group.Verifier.
type offsetsVerifier struct{ *node }

func (b offsetsVerifier) Verify(v group.Verification, done func(producer.Guard, error)) {
	support := map[group.VerifyMode]replica.TransactionSupport{
		group.DefaultError:          replica.DefaultError,
		group.GenericErrorSupported: replica.GenericErrorSupported,
		group.AddPartition:          replica.AddPartition,
	}[v.Mode]
	b.replicas.Verify(v.Partition, v.TransactionalID, v.Producer, support, done)
}
