import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Share consumers: what is delivered, acknowledged, released, rejected and delivered again. */
final class Sharing {
    private static final TopicPartition PARTITION = new TopicPartition("sharing", 0);

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (Admin admin = Kafka.admin(bootstrap); KafkaProducer<String, String> producer = Kafka.producer(bootstrap)) {
            Kafka.topic(admin, "sharing", 1, 1);
            for (String group : List.of("sharing-implicit", "sharing-explicit", "sharing-two", "sharing-committed", "sharing-offsets")) {
                set(admin, group, "share.auto.offset.reset", "earliest");
            }
            set(admin, "sharing-committed", "share.isolation.level", "read_committed");
            Kafka.send(producer, "sharing", 0, "a", "b", "c");
            implicit(bootstrap, admin, producer);
            explicit(bootstrap, admin);
            two(bootstrap);
            transactions(bootstrap, producer);
            offsets(bootstrap, admin);
        }
    }

    private static void set(Admin admin, String group, String name, String value) throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group),
            List.of(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)))).all().get();
    }

    private static KafkaShareConsumer<String, String> consumer(String bootstrap, String group, String mode) {
        Properties p = Kafka.properties(bootstrap, "group.id", group, "share.acknowledgement.mode", mode);
        return new KafkaShareConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    }

    /** Polls until so many records have come. */
    private static List<ConsumerRecord<String, String>> take(KafkaShareConsumer<String, String> consumer, int records) throws Exception {
        List<ConsumerRecord<String, String>> all = new ArrayList<>();
        Kafka.await(records + " records", () -> {
            ConsumerRecords<String, String> got = consumer.poll(Duration.ofMillis(200));
            got.forEach(all::add);
            return all.size() >= records;
        });
        return all;
    }

    private static String told(List<ConsumerRecord<String, String>> records) {
        List<String> all = new ArrayList<>();
        for (ConsumerRecord<String, String> r : records) {
            all.add(r.offset() + "=" + r.value() + " delivery " + r.deliveryCount().orElse((short) -1));
        }
        return all.toString();
    }

    private static String lag(Admin admin, String group) throws Exception {
        return String.valueOf(admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(group).get());
    }

    private static void implicit(String bootstrap, Admin admin, KafkaProducer<String, String> producer) throws Exception {
        System.out.println("implicit acknowledgement");
        try (KafkaShareConsumer<String, String> c = consumer(bootstrap, "sharing-implicit", "implicit")) {
            c.subscribe(List.of("sharing"));
            System.out.println("  " + told(take(c, 3)));
            Kafka.tell("commit", () -> Kafka.sorted(c.commitSync()));
            Kafka.send(producer, "sharing", 0, "d");
            System.out.println("  " + told(take(c, 1)));
            Kafka.attempt("acknowledge", () -> c.acknowledge(null));
            System.out.println("  subscription " + c.subscription() + " lock timeout " + c.acquisitionLockTimeoutMs());
        }
        Kafka.tell("offsets", () -> lag(admin, "sharing-implicit"));
    }

    private static void explicit(String bootstrap, Admin admin) throws Exception {
        System.out.println("explicit acknowledgement");
        try (KafkaShareConsumer<String, String> c = consumer(bootstrap, "sharing-explicit", "explicit")) {
            c.subscribe(List.of("sharing"));
            List<ConsumerRecord<String, String>> got = take(c, 4);
            System.out.println("  " + told(got));
            Kafka.attempt("poll without acknowledging all", () -> c.poll(Duration.ofMillis(100)));
            c.acknowledge(got.get(0), AcknowledgeType.ACCEPT);
            c.acknowledge(got.get(1), AcknowledgeType.RELEASE);
            c.acknowledge(got.get(2), AcknowledgeType.REJECT);
            c.acknowledge(got.get(3), AcknowledgeType.RELEASE);
            Kafka.tell("commit", () -> Kafka.sorted(c.commitSync()));
            Kafka.attempt("acknowledge twice", () -> c.acknowledge(got.get(0), AcknowledgeType.ACCEPT));
            got.clear();
            got.addAll(take(c, 2));
            System.out.println("  " + told(got));
            c.acknowledge(got.get(0), AcknowledgeType.ACCEPT);
            c.acknowledge(got.get(1), AcknowledgeType.RENEW);
            Kafka.tell("commit", () -> Kafka.sorted(c.commitSync()));
        }
        Kafka.tell("offsets", () -> lag(admin, "sharing-explicit"));
        try (KafkaShareConsumer<String, String> c = consumer(bootstrap, "sharing-explicit", "explicit")) {
            c.subscribe(List.of("sharing"));
            // What the consumer before had when it left is there again.
            List<ConsumerRecord<String, String>> got = take(c, 1);
            System.out.println("  " + told(got));
            got.forEach(c::acknowledge);
        }
        Kafka.tell("offsets", () -> lag(admin, "sharing-explicit"));
    }

    private static void two(String bootstrap) throws Exception {
        System.out.println("two consumers");
        try (KafkaShareConsumer<String, String> a = consumer(bootstrap, "sharing-two", "explicit");
             KafkaShareConsumer<String, String> b = consumer(bootstrap, "sharing-two", "explicit")) {
            a.subscribe(List.of("sharing"));
            b.subscribe(List.of("sharing"));
            List<ConsumerRecord<String, String>> got = take(a, 4);
            System.out.println("  a " + told(got));
            System.out.println("  b " + b.poll(Duration.ofSeconds(1)).count());
            got.forEach(r -> a.acknowledge(r, AcknowledgeType.RELEASE));
            Kafka.tell("a commits", () -> Kafka.sorted(a.commitSync()));
            got = take(b, 4);
            System.out.println("  b " + told(got));
            got.forEach(b::acknowledge);
            Kafka.tell("b commits", () -> Kafka.sorted(b.commitSync()));
        }
    }

    private static void transactions(String bootstrap, KafkaProducer<String, String> plain) throws Exception {
        System.out.println("read_committed");
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "sharing");
             KafkaShareConsumer<String, String> c = consumer(bootstrap, "sharing-committed", "implicit")) {
            producer.initTransactions();
            producer.beginTransaction();
            Kafka.send(producer, "sharing", 0, "aborted");
            Kafka.send(plain, "sharing", 0, "behind");
            c.subscribe(List.of("sharing"));
            System.out.println("  " + told(take(c, 4)));
            System.out.println("  " + c.poll(Duration.ofSeconds(1)).count());
            producer.abortTransaction();
            System.out.println("  " + told(take(c, 1)));
            producer.beginTransaction();
            Kafka.send(producer, "sharing", 0, "committed");
            producer.commitTransaction();
            System.out.println("  " + told(take(c, 1)));
        }
    }

    private static void offsets(String bootstrap, Admin admin) throws Exception {
        System.out.println("offsets");
        Kafka.tell("of no group", () -> lag(admin, "sharing-none"));
        try (KafkaShareConsumer<String, String> c = consumer(bootstrap, "sharing-offsets", "implicit")) {
            c.subscribe(List.of("sharing"));
            System.out.println("  " + told(take(c, 6)));
            c.commitSync();
            Kafka.attempt("alter while there are members", () -> alter(admin, PARTITION, 2));
            Kafka.attempt("delete while there are members", () ->
                admin.deleteShareGroupOffsets("sharing-offsets", java.util.Set.of("sharing")).all().get());
        }
        Kafka.tell("offsets", () -> lag(admin, "sharing-offsets"));
        Kafka.attempt("alter", () -> alter(admin, PARTITION, 2));
        Kafka.tell("offsets", () -> lag(admin, "sharing-offsets"));
        Kafka.attempt("alter no partition", () -> alter(admin, new TopicPartition("sharing", 7), 2));
        Kafka.attempt("alter no topic", () -> alter(admin, new TopicPartition("sharing-none", 0), 2));
        try (KafkaShareConsumer<String, String> c = consumer(bootstrap, "sharing-offsets", "implicit")) {
            c.subscribe(List.of("sharing"));
            System.out.println("  " + told(take(c, 4)));
        }
        Kafka.attempt("delete", () -> admin.deleteShareGroupOffsets("sharing-offsets", java.util.Set.of("sharing")).all().get());
        Kafka.attempt("delete again", () -> admin.deleteShareGroupOffsets("sharing-offsets", java.util.Set.of("sharing")).all().get());
        Kafka.attempt("delete no topic", () -> admin.deleteShareGroupOffsets("sharing-offsets", java.util.Set.of("sharing-none")).all().get());
        Kafka.attempt("delete of no group", () -> admin.deleteShareGroupOffsets("sharing-none", java.util.Set.of("sharing")).all().get());
        Kafka.tell("offsets", () -> lag(admin, "sharing-offsets"));
        Kafka.attempt("delete the group", () -> admin.deleteShareGroups(List.of("sharing-offsets")).all().get());
        Kafka.tell("offsets", () -> lag(admin, "sharing-offsets"));
    }

    private static void alter(Admin admin, TopicPartition partition, long offset) throws InterruptedException, ExecutionException {
        admin.alterShareGroupOffsets("sharing-offsets", Map.of(partition, offset)).all().get();
    }
}
