package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// blocked returns a view of one topic whose partitions are held by the given
// transactions.
func blocked(blockers ...*lag.Blocker) *lag.View {
	partitions := make([]lag.PartitionView, len(blockers))
	for i, b := range blockers {
		partitions[i] = lag.PartitionView{
			Number: int32(i), Leader: 1, LastStable: offset(5), HighWatermark: offset(9), Below: true, Blocker: b,
		}
	}
	return &lag.View{
		Ended: sweepEnd, Period: 10 * time.Second,
		Topics: []lag.TopicView{{Name: "orders", Partitions: partitions}},
	}
}

// samplesOf keeps the samples of a page about blocking transactions.
func samplesOf(page string) string {
	var kept []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "kafka_partition_blocking") || strings.HasPrefix(line, "kafka_partition_open") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestBlockingTransaction(t *testing.T) {
	producer := lag.Known(lag.Producer{ID: 9, Epoch: 2})
	for _, c := range []struct {
		reason  string
		blocker *lag.Blocker
		want    string
	}{
		{"no blocker, no sample", nil, ""},
		{"what is not known is empty, and no sample", &lag.Blocker{
			Verdict: lag.Unknown, Reason: lag.ReasonNoReadOnTopic, Coordinator: lag.NoBroker, Age: 12 * time.Second, AgeSource: lag.AgeByObservation,
		}, `kafka_partition_blocking_transaction_age_seconds{partition="0",topic="orders"} 12
kafka_partition_blocking_transaction_info{age_source="observed",coordinator="",partition="0",producer_epoch="",producer_id="",reason="no_read_on_topic",topic="orders",transactional_id="",verdict="unknown"} 1
`},
		{"no transaction is open", &lag.Blocker{
			Verdict: lag.Completing, Reason: lag.ReasonAmbiguous, TransactionalID: "a", Coordinator: 0, Producer: producer,
			OpenTransactions: count(0), Age: 1500 * time.Millisecond, AgeSource: lag.AgeByCoordinator,
		}, `kafka_partition_blocking_transaction_age_seconds{partition="0",topic="orders"} 1.5
kafka_partition_blocking_transaction_info{age_source="coordinator",coordinator="0",partition="0",producer_epoch="2",producer_id="9",reason="ambiguous",topic="orders",transactional_id="a",verdict="completing"} 1
kafka_partition_open_transactions{partition="0",topic="orders"} 0
`},
		{"a deadline", &lag.Blocker{
			Verdict: lag.Overdue, Reason: lag.ReasonNone, TransactionalID: "a", Coordinator: 3, Producer: producer,
			OpenTransactions: count(4), Age: 0, AgeSource: lag.AgeByCoordinator, Deadline: lag.Known(sweepEnd.Add(250 * time.Millisecond)),
		}, `kafka_partition_blocking_transaction_age_seconds{partition="0",topic="orders"} 0
kafka_partition_blocking_transaction_deadline_timestamp_seconds{partition="0",topic="orders"} 1.79604000025e+09
kafka_partition_blocking_transaction_info{age_source="coordinator",coordinator="3",partition="0",producer_epoch="2",producer_id="9",reason="none",topic="orders",transactional_id="a",verdict="overdue"} 1
kafka_partition_open_transactions{partition="0",topic="orders"} 4
`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			e := at(0, Options{})
			e.Publish(blocked(c.blocker))
			if got := samplesOf(text(t, e)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			off := at(0, Options{Without: []string{"transactions"}})
			off.Publish(blocked(c.blocker))
			if got := samplesOf(text(t, off)); got != "" {
				t.Errorf("the collector is switched off, and the page has\n%s", got)
			}
		})
	}
}

// The series with transactional ids are cut, those held the longest are kept,
// and what is cut is counted once for each view.
func TestBlockingTransactionsAreCut(t *testing.T) {
	const beyond = 7
	var blockers []*lag.Blocker
	for i := range MaxBlockingTransactions + beyond {
		blockers = append(blockers, &lag.Blocker{
			Verdict: lag.Hanging, Reason: lag.ReasonNone, TransactionalID: fmt.Sprint("id-", i), Coordinator: 1,
			Age: time.Duration(i+1) * time.Second, AgeSource: lag.AgeByObservation,
		})
	}
	e := at(0, Options{})
	for n := 1; n <= 2; n++ {
		e.Publish(blocked(blockers...))
		for range 3 { // scrapes do not count
			page := text(t, e)
			if got := strings.Count(page, "\n"+blockingTransactionInfo+"{"); got != MaxBlockingTransactions {
				t.Fatalf("%d series, want %d", got, MaxBlockingTransactions)
			}
			if got := strings.Count(page, "\nkafka_partition_blocking_transaction_age_seconds{"); got != len(blockers) {
				t.Errorf("%d ages, want %d: they have no labels that could be too many", got, len(blockers))
			}
			for i := range blockers {
				if shown := strings.Contains(page, fmt.Sprintf("transactional_id=%q", fmt.Sprint("id-", i))); shown != (i >= beyond) {
					t.Errorf("%d held for %d s: shown %t", i, i+1, shown)
				}
			}
			want := fmt.Sprintf("\nlso_exporter_series_cut_total{metric=%q} %d\n", blockingTransactionInfo, n*beyond)
			if !strings.Contains(page, want) {
				t.Errorf("the page of view %d has no line %q", n, want)
			}
		}
	}
}

func TestTransactionalIDsThatCannotBeShownAreCounted(t *testing.T) {
	long := strings.Repeat("x", MaxLabelValue+1)
	e := at(0, Options{})
	e.Publish(blocked(
		&lag.Blocker{Verdict: lag.Hanging, TransactionalID: long + "a", Coordinator: 1},
		&lag.Blocker{Verdict: lag.Hanging, TransactionalID: long + "b", Coordinator: 1},
		&lag.Blocker{Verdict: lag.Hanging, TransactionalID: `Source: "Custom" \ Sink` + "\n", Coordinator: 1},
	))
	page := text(t, e)
	if want := "\nlso_exporter_altered_label_values{label=\"transactional_id\"} 2\n"; !strings.Contains(page, want) {
		t.Errorf("the page has no line %q", want)
	}
	ids := make(map[string]bool)
	for _, metric := range familiesOf(t, page)[blockingTransactionInfo].GetMetric() {
		for _, pair := range metric.GetLabel() {
			if pair.GetName() == "transactional_id" {
				ids[pair.GetValue()] = true
			}
		}
	}
	if len(ids) != 3 || !ids[`Source: "Custom" \ Sink`+"\n"] {
		t.Errorf("ids are shown as %v", ids)
	}
}
