package collector

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

const (
	// maxLogRounds is how many Fetches of the transaction log a leader answers in
	// one sweep at most; one is enough while no more than maxFetchBytes were
	// appended since the sweep before.
	maxLogRounds = 8

	// logFetchBytes bounds what one partition has of an answer.
	logFetchBytes = 1 << 20
)

// The requests of the collector txnlog, which are counted apart.
const (
	askLogEnds = "ListOffsets (transaction log)"
	askLog     = "Fetch (transaction log)"
)

// logTail is how far __transaction_state was read.
type logTail struct {
	absent bool            // the topic did not exist in the sweep before
	next   map[int32]int64 // by partition: the first offset not read yet
}

// readTransactionLog reads what was appended to __transaction_state since the
// sweep before: from the end of the log on, or from its beginning if the topic
// was created under the eyes of the exporter.
func (w *sweep) readTransactionLog(ctx context.Context) []lag.TransactionRecord {
	t := &w.tail
	terms := w.layout.transactionState
	if t.next == nil {
		t.next = make(map[int32]int64)
	} else if t.absent {
		for number := range terms {
			t.next[int32(number)] = 0
		}
	}
	if t.absent = len(terms) == 0; t.absent {
		return nil
	}
	w.findLogEnds(ctx)
	var records []lag.TransactionRecord
	behind := func(int32) bool { return true }
	for range maxLogRounds {
		ends := make(map[int32]int64) // of the partitions that were answered
		w.askOptional(ctx, TransactionLog, askLog, w.logRequests(behind), func(id int32, a answered) {
			records = append(records, w.takeLog(id, a.resp.(*kmsg.FetchResponse), ends)...)
		})
		more := false
		for number, end := range ends {
			more = more || t.next[number] < end
		}
		if !more {
			break
		}
		behind = func(number int32) bool { return t.next[number] < ends[number] }
	}
	return records
}

// findLogEnds asks for the ends of the partitions of which nothing was read yet.
func (w *sweep) findLogEnds(ctx context.Context) {
	chunks := make(map[int32]*chunk)
	for i, term := range w.layout.transactionState {
		number, leader := int32(i), int32(term.Leader)
		if _, known := w.tail.next[number]; known || leader < 0 {
			continue
		}
		if chunks[leader] == nil {
			chunks[leader] = &chunk{}
		}
		c := chunks[leader]
		c.latest = addToTopic(c.latest, transactionStateTopic, &lag.Partition{Number: number, LeaderEpoch: term.Epoch}, timestampLatest)
	}
	requests := make(map[int32]kmsg.Request)
	for leader, c := range chunks {
		requests[leader] = c.request(highWatermark)
	}
	w.askOptional(ctx, TransactionLog, askLogEnds, requests, func(_ int32, a answered) {
		for _, topic := range a.resp.(*kmsg.ListOffsetsResponse).Topics {
			for i := range topic.Partitions {
				answer := &topic.Partitions[i]
				if answer.ErrorCode == 0 {
					w.tail.next[answer.Partition] = answer.Offset
					continue
				}
				w.missLog(answer.ErrorCode, askLogEnds)
			}
		}
	})
}

// logRequests returns a Fetch to each leader for its partitions of which want
// says so.
func (w *sweep) logRequests(want func(number int32) bool) map[int32]kmsg.Request {
	requests := make(map[int32]kmsg.Request)
	for i, term := range w.layout.transactionState {
		number, leader := int32(i), int32(term.Leader)
		next, known := w.tail.next[number]
		if !known || leader < 0 || !want(number) {
			continue
		}
		req, _ := requests[leader].(*kmsg.FetchRequest)
		if req == nil {
			req = newFetchRequest()
			req.IsolationLevel = 0 // records of coordinators are in no transaction
			requests[leader] = req
		}
		addFetch(req, lag.WantedFetch{Topic: transactionStateTopic, Partition: number, From: lag.Offset(next)},
			&lag.Partition{LeaderEpoch: term.Epoch}, logFetchBytes)
	}
	return requests
}

// takeLog takes over the records that a leader answered, and where the log ended
// then.
func (w *sweep) takeLog(id int32, resp *kmsg.FetchResponse, ends map[int32]int64) []lag.TransactionRecord {
	if resp.ErrorCode != 0 {
		w.misses.add(missOfCode(resp.ErrorCode), brokerSubject(id), 1, askLog+": "+codeText(resp.ErrorCode), TransactionLog)
		return nil
	}
	var records []lag.TransactionRecord
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			answer := &resp.Topics[i].Partitions[j]
			next, asked := w.tail.next[answer.Partition]
			if !asked {
				continue
			}
			if answer.ErrorCode != 0 {
				if kerr.ErrorForCode(answer.ErrorCode) == kerr.OffsetOutOfRange {
					delete(w.tail.next, answer.Partition) // truncated: from its end on again
				}
				w.missLog(answer.ErrorCode, askLog)
				continue
			}
			read, until := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
				Offset: next, Topic: transactionStateTopic, Partition: answer.Partition, IsolationLevel: kgo.ReadUncommitted(),
			}, answer, w.decompressor, nil)
			for _, r := range read.Records {
				if record, ok := w.transactionRecord(r); ok {
					records = append(records, record)
				}
			}
			if read.Err != nil {
				w.misses.add(lag.MissOther, "topic "+transactionStateTopic, 1, askLog+": "+read.Err.Error(), TransactionLog)
				delete(w.tail.next, answer.Partition)
				continue
			}
			w.tail.next[answer.Partition] = max(next, until)
			ends[answer.Partition] = answer.HighWatermark
		}
	}
	return records
}

// missLog counts a partition of the log that a leader refused.
func (w *sweep) missLog(code int16, question string) {
	w.misses.add(missOfCode(code), "topic "+transactionStateTopic, 1, question+": "+codeText(code), TransactionLog)
}

// transactionRecord decodes a record; ok is false for one that is not about a
// transactional id, or in a form that is not known: a later one decodes without
// an error.
func (w *sweep) transactionRecord(r *kgo.Record) (record lag.TransactionRecord, ok bool) {
	var key kmsg.TxnMetadataKey
	if err := key.ReadFrom(r.Key); err != nil || key.Version != 0 {
		return record, false
	}
	record = lag.TransactionRecord{
		ID: key.TransactionalID, Application: w.options.Application(key.TransactionalID), Appended: r.Timestamp,
	}
	if r.Value == nil {
		return record, true
	}
	var value kmsg.TxnMetadataValue
	if err := value.ReadFrom(r.Value); err != nil || value.Version > 1 {
		w.misses.add(lag.MissOther, "topic "+transactionStateTopic, 1, askLog+": a record in an unknown form", TransactionLog)
		return record, false
	}
	record.State = logStates[value.State]
	record.Timeout = time.Duration(value.TimeoutMillis) * time.Millisecond
	record.Start, record.LastUpdate = momentOf(value.StartTimestamp), momentOf(value.LastUpdateTimestamp)
	for i := range value.Topics {
		record.Partitions += len(value.Topics[i].Partitions)
	}
	return record, true
}

// logStates are the states by the number that stands in records.
var logStates = map[kmsg.TransactionState]lag.TransactionState{
	kmsg.TransactionStateEmpty: lag.Empty, kmsg.TransactionStateOngoing: lag.Ongoing,
	kmsg.TransactionStatePrepareCommit: lag.PrepareCommit, kmsg.TransactionStatePrepareAbort: lag.PrepareAbort,
	kmsg.TransactionStateCompleteCommit: lag.CompleteCommit, kmsg.TransactionStateCompleteAbort: lag.CompleteAbort,
	kmsg.TransactionStateDead: "Dead", kmsg.TransactionStatePrepareEpochFence: "PrepareEpochFence",
}

// momentOf is a timestamp in milliseconds; zero for none.
func momentOf(millis int64) time.Time {
	if millis < 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}
