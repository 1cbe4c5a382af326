import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/** What consumers and the admin client call beginning, end and time of a partition, in both isolation levels. */
final class Offsets {
    private static final TopicPartition PARTITION = new TopicPartition("offsets", 0);
    private static final TopicPartition EMPTY = new TopicPartition("offsets", 1);
    private static final long BEGIN = 1_500_000_000_000L;

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (Admin admin = Kafka.admin(bootstrap);
             KafkaProducer<String, String> plain = Kafka.producer(bootstrap);
             KafkaProducer<String, String> open = Kafka.transactional(bootstrap, "offsets");
             KafkaConsumer<String, String> committed = Kafka.consumer(bootstrap, "read_committed");
             KafkaConsumer<String, String> uncommitted = Kafka.consumer(bootstrap, "read_uncommitted")) {
            admin.createTopics(List.of(new org.apache.kafka.clients.admin.NewTopic("offsets", Map.of(0, List.of(1), 1, List.of(2)))
                .configs(Map.of("retention.ms", "-1")))).all().get();
            Kafka.await("leaders", () -> {
                try {
                    committed.beginningOffsets(List.of(PARTITION, EMPTY));
                    return true;
                } catch (RuntimeException e) {
                    return false;
                }
            });
            tell(admin, committed, uncommitted, "empty");
            for (int i = 0; i < 4; i++) {
                plain.send(new ProducerRecord<>("offsets", 0, BEGIN + i * 1000, null, "plain" + i)).get();
            }
            tell(admin, committed, uncommitted, "plain");
            open.initTransactions();
            open.beginTransaction();
            for (int i = 4; i < 6; i++) {
                open.send(new ProducerRecord<>("offsets", 0, BEGIN + i * 1000, null, "open" + i)).get();
            }
            plain.send(new ProducerRecord<>("offsets", 0, BEGIN + 9000, null, "behind")).get();
            tell(admin, committed, uncommitted, "open");
            open.abortTransaction();
            Kafka.await("end marker", () -> committed.endOffsets(List.of(PARTITION)).get(PARTITION) == 8);
            tell(admin, committed, uncommitted, "aborted");
            Kafka.tell("delete records below 2", () ->
                admin.deleteRecords(Map.of(PARTITION, RecordsToDelete.beforeOffset(2))).lowWatermarks().get(PARTITION).get().lowWatermark());
            tell(admin, committed, uncommitted, "deleted");
            Kafka.tell("delete records below the end and one", () ->
                admin.deleteRecords(Map.of(PARTITION, RecordsToDelete.beforeOffset(9))).lowWatermarks().get(PARTITION).get());
            Kafka.tell("delete records up to the end", () ->
                admin.deleteRecords(Map.of(PARTITION, RecordsToDelete.beforeOffset(-1))).lowWatermarks().get(PARTITION).get().lowWatermark());
            tell(admin, committed, uncommitted, "all deleted");
            outside(committed);
        }
    }

    private static void tell(Admin admin, KafkaConsumer<String, String> committed, KafkaConsumer<String, String> uncommitted, String when) {
        System.out.println(when);
        List<TopicPartition> both = List.of(PARTITION, EMPTY);
        for (KafkaConsumer<String, String> c : List.of(committed, uncommitted)) {
            String level = c == committed ? "read_committed" : "read_uncommitted";
            Kafka.tell("  " + level + " beginningOffsets", () -> Kafka.sorted(c.beginningOffsets(both)));
            Kafka.tell("  " + level + " endOffsets", () -> Kafka.sorted(c.endOffsets(both)));
            StringBuilder times = new StringBuilder();
            for (long at : new long[] {0, BEGIN + 1, BEGIN + 4500, BEGIN + 9001}) {
                times.append(at == 0 ? " 0" : " +" + (at - BEGIN)).append(' ').append(c.offsetsForTimes(Map.of(PARTITION, at)).get(PARTITION));
            }
            System.out.println("  " + level + " offsetsForTimes" + times);
            Kafka.tell("  " + level + " seekToEnd", () -> {
                c.assign(both);
                c.seekToEnd(both);
                return c.position(PARTITION) + " " + c.position(EMPTY);
            });
            Kafka.tell("  " + level + " seekToBeginning", () -> {
                c.seekToBeginning(both);
                return c.position(PARTITION) + " " + c.position(EMPTY);
            });
            Kafka.tell("  " + level + " reads", () -> Kafka.read(c, PARTITION));
            Kafka.tell("  " + level + " lag", () -> c.currentLag(PARTITION));
        }
        Map<String, OffsetSpec> specs = new TreeMap<>(Map.of("earliest", OffsetSpec.earliest(), "latest", OffsetSpec.latest(),
            "max timestamp", OffsetSpec.maxTimestamp(), "earliest local", OffsetSpec.earliestLocal(),
            "latest tiered", OffsetSpec.latestTiered(), "timestamp", OffsetSpec.forTimestamp(BEGIN + 1500)));
        for (IsolationLevel level : IsolationLevel.values()) {
            specs.forEach((name, spec) -> Kafka.tell("  listOffsets " + level + " " + name, () ->
                admin.listOffsets(Map.of(PARTITION, spec), new ListOffsetsOptions(level)).partitionResult(PARTITION).get()));
        }
    }

    /** Positions that are not there. */
    private static void outside(KafkaConsumer<String, String> c) {
        TopicPartition missing = new TopicPartition("offsets", 7);
        Kafka.tell("endOffsets of no partition", () -> c.endOffsets(List.of(missing), Duration.ofSeconds(1)));
        c.assign(List.of(PARTITION));
        c.seek(PARTITION, 100);
        Kafka.tell("a position above the end", () -> {
            c.poll(Duration.ofMillis(500));
            return c.position(PARTITION);
        });
        c.seek(PARTITION, 1);
        Kafka.tell("a position below the beginning", () -> {
            c.poll(Duration.ofMillis(500));
            return c.position(PARTITION);
        });
    }
}
