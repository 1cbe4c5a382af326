import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * A transactional producer's way from initialisation to the end of several transactions,
 * and what consumers in both isolation levels see of it at each step.
 */
final class Transactions {
    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (Admin admin = Kafka.admin(bootstrap)) {
            Kafka.topic(admin, "transactions", 2, 1, 2, 3);
        }
        TopicPartition first = new TopicPartition("transactions", 0);
        TopicPartition second = new TopicPartition("transactions", 1);
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "transactions");
             KafkaProducer<String, String> plain = Kafka.producer(bootstrap);
             KafkaConsumer<String, String> committed = Kafka.consumer(bootstrap, "read_committed");
             KafkaConsumer<String, String> uncommitted = Kafka.consumer(bootstrap, "read_uncommitted")) {
            Kafka.attempt("begin before init", producer::beginTransaction);
            Kafka.attempt("init", producer::initTransactions);
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.attempt("begin twice", producer::beginTransaction);
            Kafka.tell("send", () -> told(producer.send(Kafka.record("transactions", 0, "a")).get()));
            Kafka.tell("send", () -> told(producer.send(Kafka.record("transactions", 1, "b")).get()));
            Kafka.send(plain, "transactions", 0, "plain");
            look(committed, uncommitted, first, second);
            Kafka.attempt("commit", producer::commitTransaction);
            settle(committed, uncommitted, first, second);
            look(committed, uncommitted, first, second);

            Kafka.attempt("commit without a transaction", producer::commitTransaction);
            Kafka.attempt("abort without a transaction", producer::abortTransaction);
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.send(producer, "transactions", 0, "c", "d");
            Kafka.attempt("abort", producer::abortTransaction);
            settle(committed, uncommitted, first, second);
            look(committed, uncommitted, first, second);

            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.attempt("commit nothing", producer::commitTransaction);
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.attempt("abort nothing", producer::abortTransaction);
            look(committed, uncommitted, first, second);

            ConsumerGroupMetadata group = new ConsumerGroupMetadata("transactions");
            Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(first, new OffsetAndMetadata(2, "half"), second, new OffsetAndMetadata(1));
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.attempt("offsets", () -> producer.sendOffsetsToTransaction(offsets, group));
            Kafka.attempt("abort", producer::abortTransaction);
            tellCommitted(bootstrap, first, second);
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.attempt("offsets", () -> producer.sendOffsetsToTransaction(offsets, group));
            Kafka.send(producer, "transactions", 1, "e");
            Kafka.attempt("commit", producer::commitTransaction);
            tellCommitted(bootstrap, first, second);
            settle(committed, uncommitted, first, second);
            look(committed, uncommitted, first, second);

            // A producer that closes leaves its transaction open; its next life aborts it.
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.send(producer, "transactions", 0, "left");
            producer.close();
            Kafka.attempt("begin when closed", producer::beginTransaction);
        }
        try (KafkaProducer<String, String> next = Kafka.transactional(bootstrap, "transactions");
             KafkaConsumer<String, String> committed = Kafka.consumer(bootstrap, "read_committed");
             KafkaConsumer<String, String> uncommitted = Kafka.consumer(bootstrap, "read_uncommitted")) {
            Kafka.attempt("init again", next::initTransactions);
            Kafka.attempt("begin", next::beginTransaction);
            Kafka.send(next, "transactions", 0, "f");
            Kafka.attempt("commit", next::commitTransaction);
            settle(committed, uncommitted, first, second);
            look(committed, uncommitted, first, second);
        }
    }

    private static String told(RecordMetadata m) {
        return m + " " + m.serializedValueSize() + " bytes";
    }

    /** Waits until no transaction is open. */
    private static void settle(KafkaConsumer<?, ?> committed, KafkaConsumer<?, ?> uncommitted, TopicPartition... partitions) throws Exception {
        Kafka.await("end markers", () ->
            committed.endOffsets(List.of(partitions)).equals(uncommitted.endOffsets(List.of(partitions))));
    }

    private static void look(KafkaConsumer<String, String> committed, KafkaConsumer<String, String> uncommitted, TopicPartition... partitions) {
        for (TopicPartition p : partitions) {
            System.out.println("  " + p + " uncommitted " + Kafka.read(uncommitted, p));
            System.out.println("  " + p + " committed " + Kafka.read(committed, p));
        }
    }

    private static void tellCommitted(String bootstrap, TopicPartition... partitions) {
        try (KafkaConsumer<String, String> c = Kafka.consumer(bootstrap, "read_committed", "group.id", "transactions")) {
            for (TopicPartition p : partitions) {
                Kafka.tell("  committed " + p, () -> c.committed(java.util.Set.of(p)));
            }
        }
    }
}
