import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Errors that a producer meets, those that a transaction survives by its abort and those that it does not. */
final class Errors {
    private static final TopicPartition PARTITION = new TopicPartition("errors", 0);
    private static final ProducerRecord<String, String> LARGE = Kafka.record("errors", 0, "x".repeat(400));
    private static final ProducerRecord<String, String> OLD = new ProducerRecord<>("errors", 0, 1L, null, "x");

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (Admin admin = Kafka.admin(bootstrap)) {
            Kafka.topic(admin, "errors", 1, 1, 2, 3);
            limit(bootstrap, admin, "max.message.bytes", "300", LARGE);
            tooLarge(bootstrap);
            tooOld(bootstrap, admin);
            missing(bootstrap);
            offsets(bootstrap);
        }
    }

    /** Sets a limit and waits until the leader refuses a record that is beyond it. */
    private static void limit(String bootstrap, Admin admin, String name, String value, ProducerRecord<String, String> beyond) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "errors");
        admin.incrementalAlterConfigs(Map.of(topic, List.of(
            new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)))).all().get();
        try (KafkaProducer<String, String> producer = Kafka.producer(bootstrap)) {
            Kafka.await(name, () -> {
                try {
                    producer.send(beyond).get();
                    return false;
                } catch (ExecutionException e) {
                    return true;
                }
            });
        }
    }

    private static void tooLarge(String bootstrap) throws Exception {
        try (KafkaProducer<String, String> plain = Kafka.producer(bootstrap)) {
            Kafka.attempt("a record that is too large", () -> plain.send(LARGE).get());
            Kafka.attempt("a small one", () -> Kafka.send(plain, "errors", 0, "x"));
        }
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "errors")) {
            producer.initTransactions();
            producer.beginTransaction();
            Kafka.attempt("a record that is too large, in a transaction", () -> producer.send(LARGE).get());
            Kafka.later("a small one", () -> Kafka.send(producer, "errors", 0, "x"));
            Kafka.later("commit", producer::commitTransaction);
            Kafka.attempt("abort", producer::abortTransaction);
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.attempt("a small one", () -> Kafka.send(producer, "errors", 0, "x"));
            Kafka.later("commit", producer::commitTransaction);
        }
    }

    private static void tooOld(String bootstrap, Admin admin) throws Exception {
        limit(bootstrap, admin, "message.timestamp.before.max.ms", "60000", OLD);
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "errors")) {
            producer.initTransactions();
            producer.beginTransaction();
            Kafka.attempt("a record that is too old", () -> producer.send(OLD).get());
            Kafka.later("commit", producer::commitTransaction);
            Kafka.attempt("abort", producer::abortTransaction);
        }
    }

    private static void missing(String bootstrap) throws Exception {
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "errors", "max.block.ms", "3000")) {
            producer.initTransactions();
            producer.beginTransaction();
            Kafka.attempt("a topic that is not there", () -> Kafka.send(producer, "errors-missing", 0, "x"));
            Kafka.later("commit", producer::commitTransaction);
            Kafka.attempt("abort", producer::abortTransaction);
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.attempt("a partition that is not there", () -> Kafka.send(producer, "errors", 9, "x"));
            Kafka.attempt("abort", producer::abortTransaction);
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.attempt("a topic that cannot be", () -> Kafka.send(producer, "errors:", 0, "x"));
            Kafka.attempt("abort", producer::abortTransaction);
        }
    }

    private static void offsets(String bootstrap) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> some = Map.of(PARTITION, new OffsetAndMetadata(1));
        offsets(bootstrap, "offsets of a generation", some, new ConsumerGroupMetadata("errors", 3, "member-a", Optional.empty()));
        offsets(bootstrap, "offsets of a member", some, new ConsumerGroupMetadata("errors", -1, "member-a", Optional.empty()));
        offsets(bootstrap, "offsets of a static member", some, new ConsumerGroupMetadata("errors", 3, "member-a", Optional.of("instance")));
        offsets(bootstrap, "offsets with too much metadata", Map.of(PARTITION, new OffsetAndMetadata(1, "x".repeat(5000))),
            new ConsumerGroupMetadata("errors"));
        offsets(bootstrap, "offsets of no group", some, new ConsumerGroupMetadata(""));
    }

    private static void offsets(String bootstrap, String what, Map<TopicPartition, OffsetAndMetadata> some, ConsumerGroupMetadata group) throws Exception {
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "errors", "max.block.ms", "3000")) {
            producer.initTransactions();
            producer.beginTransaction();
            Kafka.attempt(what, () -> producer.sendOffsetsToTransaction(some, group));
            Kafka.later("commit", producer::commitTransaction);
            Kafka.attempt("abort", producer::abortTransaction);
            Kafka.attempt("begin", producer::beginTransaction);
            Kafka.later("commit", producer::commitTransaction);
        }
    }
}
