package diagnose

import (
	"fmt"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Abort is how a transaction that nobody will end is ended by hand, in one
// partition.
type Abort struct {
	// Command aborts it, on brokers since Kafka 3.0; OlderCommand on those before,
	// which cannot find the transaction by its start offset.
	Command      string `json:"command"`
	OlderCommand string `json:"older_command"`
	// SaveCommand prints the records first, those of others among them.
	SaveCommand string `json:"save_command"`
	// Discards says what read_committed consumers will never see.
	Discards string `json:"discards"`
}

// abortOf returns how to end what holds a partition by hand; nil where nobody
// should, or where the values are not known.
func (r *reporter) abortOf(b *lag.Blocker, p *HeldPartition) *Abort {
	producer, known := b.Producer.Get()
	if !known || p.StartOffset == nil || b.Verdict != lag.Hanging && b.Verdict != lag.Ownerless {
		return nil
	}
	target := fmt.Sprintf("kafka-transactions.sh --bootstrap-server %s abort %s --partition %d",
		shell(r.Bootstrap), option("--topic", p.Topic), p.Partition)
	// Retention may have passed the start. Offsets are no records: others write
	// between, and markers count too.
	from := max(*p.StartOffset, p.LastStableOffset)
	unread := p.HighWatermark - from
	return &Abort{
		Command: fmt.Sprintf("%s --start-offset %d", target, *p.StartOffset),
		OlderCommand: fmt.Sprintf("%s --producer-id %d --producer-epoch %d --coordinator-epoch %d",
			target, producer.ID, producer.Epoch, max(0, producer.CoordinatorEpoch)),
		SaveCommand: fmt.Sprintf("kafka-console-consumer.sh --bootstrap-server %s %s --partition %d --offset %d --max-messages %d --timeout-ms 10000 --isolation-level read_uncommitted %s",
			shell(r.Bootstrap), option("--topic", p.Topic), p.Partition, from, max(1, unread), formatter(p.Topic)),
		Discards: fmt.Sprintf("every record of producer %d in %s from offset %d on that has not been committed there, among the %s up to %d",
			producer.ID, p.name(), from, count(unread, "offset"), p.HighWatermark-1),
	}
}

// formatter is how the console consumer prints the records of a topic.
func formatter(topic string) string {
	if topic == offsetsTopic {
		return "--formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
	}
	return "--property print.offset=true --property print.key=true"
}
