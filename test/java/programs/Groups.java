import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** Members of a group of one protocol: they come, share, commit, leave and are thrown out. */
final class Groups {
    private static String bootstrap;
    private static String protocol;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        protocol = args[1];
        try (Admin admin = Kafka.admin(bootstrap); KafkaProducer<String, String> producer = Kafka.producer(bootstrap)) {
            Kafka.topic(admin, topic("one"), 4, 1, 2, 3);
            Kafka.topic(admin, topic("two"), 2, 2, 3, 1);
            for (int p = 0; p < 4; p++) {
                Kafka.send(producer, topic("one"), p, "a" + p, "b" + p);
            }
            share();
            commits();
            patterns(admin, producer);
            statics();
            left();
            resets();
        }
    }

    private static String topic(String name) {
        return "groups-" + protocol + "-" + name;
    }

    /** A member whose poll goes on in the calls of {@link #poll}. */
    private static final class Member implements AutoCloseable, ConsumerRebalanceListener {
        final String name;
        final KafkaConsumer<String, String> consumer;
        final Map<String, List<String>> got = new TreeMap<>();
        final Set<String> events = new java.util.TreeSet<>();

        Member(String name, String... pairs) {
            this.name = name;
            String[] all = java.util.Arrays.copyOf(pairs, pairs.length + 2);
            all[pairs.length] = "group.protocol";
            all[pairs.length + 1] = protocol;
            consumer = Kafka.consumer(bootstrap, "read_committed", all);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            events.add("revoked");
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            events.add("assigned");
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            events.add("lost");
        }

        void poll() {
            for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(50))) {
                got.computeIfAbsent(r.topic() + "-" + r.partition(), k -> new ArrayList<>()).add(r.offset() + "=" + r.value());
            }
        }

        int owned() {
            return consumer.assignment().size();
        }

        @Override
        public void close() {
            consumer.close();
        }
    }

    /** Polls members until they own so many partitions. */
    private static void settle(Map<Member, Integer> wanted) throws Exception {
        Kafka.await("assignments " + wanted.values(), () -> {
            wanted.keySet().forEach(Member::poll);
            return wanted.entrySet().stream().allMatch(e -> e.getKey().owned() == e.getValue());
        });
    }

    private static void tell(Member... members) {
        for (Member m : members) {
            System.out.println("  " + m.name + " owns " + Kafka.partitions(m.consumer.assignment()) + " after " + m.events);
        }
    }

    private static void share() throws Exception {
        String group = "groups-" + protocol + "-share";
        System.out.println("two members share");
        try (Member a = new Member("a", "group.id", group); Member b = new Member("b", "group.id", group)) {
            a.consumer.subscribe(List.of(topic("one")), a);
            settle(Map.of(a, 4));
            Kafka.await("records", () -> {
                a.poll();
                return a.got.size() == 4;
            });
            tell(a);
            System.out.println("  a has read " + a.got);
            b.consumer.subscribe(List.of(topic("one"), topic("two")), b);
            // Range goes topic by topic, uniform over all.
            settle(protocol.equals("classic") ? Map.of(a, 2, b, 4) : Map.of(a, 3, b, 3));
            System.out.println("  a owns " + a.owned() + ", b owns " + b.owned());
            Kafka.attempt("a commits", a.consumer::commitSync);
            b.consumer.unsubscribe();
            settle(Map.of(a, 4));
            System.out.println("  a owns " + a.owned() + ", b " + b.consumer.assignment() + " after " + b.events);
            a.consumer.subscribe(List.of(topic("two")), a);
            settle(Map.of(a, 2));
            System.out.println("  a owns " + Kafka.partitions(a.consumer.assignment()));
        }
    }

    private static void commits() {
        String group = "groups-" + protocol + "-commits";
        System.out.println("commits");
        TopicPartition p0 = new TopicPartition(topic("one"), 0);
        TopicPartition missing = new TopicPartition(topic("missing"), 0);
        try (Member a = new Member("a", "group.id", group, "default.api.timeout.ms", "2000")) {
            a.consumer.assign(List.of(p0));
            Kafka.tell("before", () -> a.consumer.committed(Set.of(p0)));
            Kafka.attempt("commit", () -> a.consumer.commitSync(Map.of(p0, new OffsetAndMetadata(1, java.util.Optional.of(0), "meta"))));
            Kafka.tell("after", () -> a.consumer.committed(Set.of(p0)));
            Kafka.attempt("commit beyond the end", () -> a.consumer.commitSync(Map.of(p0, new OffsetAndMetadata(100))));
            Kafka.tell("after", () -> a.consumer.committed(Set.of(p0)));
            Kafka.attempt("commit below 0", () -> a.consumer.commitSync(Map.of(p0, new OffsetAndMetadata(-1))));
            Kafka.attempt("commit too much metadata", () -> a.consumer.commitSync(Map.of(p0, new OffsetAndMetadata(1, "x".repeat(5000)))));
            Kafka.tell("committed of no topic", () -> a.consumer.committed(Set.of(missing)));
        }
        try (Member a = new Member("a", "group.id", "")) {
            Kafka.attempt("an empty group id", () -> a.consumer.subscribe(List.of(topic("one"))));
        } catch (Exception e) {
            System.out.println("an empty group id: " + Kafka.name(e));
        }
    }

    private static void patterns(Admin admin, KafkaProducer<String, String> producer) throws Exception {
        String group = "groups-" + protocol + "-patterns";
        System.out.println("patterns");
        try (Member a = new Member("a", "group.id", group, "metadata.max.age.ms", "300")) {
            a.consumer.subscribe(Pattern.compile(topic("t.*")), a);
            settle(Map.of(a, 2));
            tell(a);
            Kafka.topic(admin, topic("three"), 1, 3);
            settle(Map.of(a, 3));
            tell(a);
            a.consumer.unsubscribe();
            Kafka.attempt("a pattern for the brokers", () -> {
                a.consumer.subscribe(new SubscriptionPattern(topic("(one|three)")), a);
                settle(Map.of(a, 5));
            });
        }
    }

    private static void statics() throws Exception {
        String group = "groups-" + protocol + "-statics";
        System.out.println("static members");
        try (Member a = new Member("a", "group.id", group, "group.instance.id", "one", "client.id", "statics")) {
            a.consumer.subscribe(List.of(topic("one")), a);
            settle(Map.of(a, 4));
            Member twin = new Member("twin", "group.id", group, "group.instance.id", "one", "client.id", "statics");
            twin.consumer.subscribe(List.of(topic("one")), twin);
            if (protocol.equals("classic")) {
                settle(Map.of(twin, 4));
                Kafka.attempt("the fenced member", () -> {
                    for (int i = 0; i < 100; i++) {
                        a.poll();
                        a.consumer.commitSync();
                    }
                });
                tell(twin);
            } else {
                Kafka.attempt("a twin", () -> {
                    for (int i = 0; i < 100; i++) {
                        twin.poll();
                    }
                });
                tell(a);
            }
            twin.close();
        }
        try (Member back = new Member("back", "group.id", group, "group.instance.id", "one", "client.id", "statics")) {
            back.consumer.subscribe(List.of(topic("one")), back);
            settle(Map.of(back, 4));
            tell(back);
        }
    }

    /** A member that does not poll for too long has left: it may not commit. */
    private static void left() throws Exception {
        String group = "groups-" + protocol + "-left";
        System.out.println("a member that does not poll");
        try (Member a = new Member("a", "group.id", group, "max.poll.interval.ms", "1000", "client.id", "left")) {
            a.consumer.subscribe(List.of(topic("one")), a);
            settle(Map.of(a, 4));
            try (Member b = new Member("b", "group.id", group, "client.id", "left")) {
                b.consumer.subscribe(List.of(topic("one")), b);
                settle(Map.of(b, 4));
                // Without a position that it knows, a consumer commits nothing, and may.
                Kafka.attempt("commit", () -> a.consumer.commitSync(Map.of(new TopicPartition(topic("one"), 0), new OffsetAndMetadata(1))));
                settle(Map.of(a, 2, b, 2));
                System.out.println("  a again owns " + a.owned() + " after " + a.events);
            }
        }
    }

    private static void resets() throws Exception {
        System.out.println("where a group begins");
        TopicPartition p0 = new TopicPartition(topic("one"), 0);
        for (String reset : List.of("earliest", "latest", "none", "by_duration:PT1H")) {
            try (Member a = new Member("a", "group.id", "groups-" + protocol + "-reset", "auto.offset.reset", reset)) {
                a.consumer.assign(Collections.singleton(p0));
                Kafka.tell(reset, () -> {
                    Kafka.await("the end", () -> {
                        a.poll();
                        return a.consumer.position(p0) == 2;
                    });
                    return a.consumer.position(p0) + " " + a.got;
                });
            }
        }
    }
}
