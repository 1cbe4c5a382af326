import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What the programs have in common: clients, and how they tell what happened. */
final class Kafka {
    private Kafka() { }

    /** How long anything is waited for. */
    static final Duration PATIENCE = Duration.ofMinutes(2);

    interface Act {
        void run() throws Exception;
    }

    /** Does something and prints that it went well, or with what exception it did not. */
    static void attempt(String what, Act act) {
        tell(what, () -> {
            act.run();
            return "ok";
        });
    }

    /** The same a moment later: a producer's own thread hears of an error after the caller. */
    static void later(String what, Act act) throws InterruptedException {
        Thread.sleep(100);
        attempt(what, act);
    }

    /**
     * A moment later, has a producer send to a topic's first partition, end or begin a transaction, or
     * put an offset of that partition into it for the group with the topic's name; prints the word and what came of it.
     */
    static void act(KafkaProducer<String, String> producer, String topic, String what) throws InterruptedException {
        later(what, switch (what) {
            case "send" -> () -> send(producer, topic, 0, "late");
            case "commit" -> producer::commitTransaction;
            case "abort" -> producer::abortTransaction;
            case "begin" -> producer::beginTransaction;
            case "offsets" -> () -> producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1)), new ConsumerGroupMetadata(topic));
            default -> throw new IllegalArgumentException(what);
        });
    }

    /** Asks for something and prints it, or with what exception that failed. */
    static void tell(String what, Callable<?> asked) {
        String answer;
        try {
            answer = String.valueOf(asked.call());
        } catch (Throwable e) {
            answer = name(e);
        }
        System.out.println(what + ": " + answer);
    }

    /** An exception's class and message, and those of its causes. */
    static String name(Throwable e) {
        if (e instanceof ExecutionException && e.getCause() != null) {
            return name(e.getCause());
        }
        String told = e.getClass().getSimpleName() + " (" + e.getMessage() + ")";
        return e.getCause() == null || e.getCause() == e ? told : told + " by " + name(e.getCause());
    }

    /** Waits until something is so. */
    static void await(String what, Callable<Boolean> so) throws Exception {
        for (long end = System.nanoTime() + PATIENCE.toNanos(); !so.call(); Thread.sleep(20)) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("this does not come: " + what);
            }
        }
    }

    static Properties properties(String bootstrap, String... pairs) {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        for (int i = 0; i < pairs.length; i += 2) {
            p.put(pairs[i], pairs[i + 1]);
        }
        return p;
    }

    static Admin admin(String bootstrap) {
        return Admin.create(properties(bootstrap));
    }

    static KafkaProducer<String, String> producer(String bootstrap, String... pairs) {
        return new KafkaProducer<>(properties(bootstrap, pairs), new StringSerializer(), new StringSerializer());
    }

    static KafkaProducer<String, String> transactional(String bootstrap, String id, String... pairs) {
        String[] all = Arrays.copyOf(pairs, pairs.length + 2);
        all[pairs.length] = "transactional.id";
        all[pairs.length + 1] = id;
        return producer(bootstrap, all);
    }

    static KafkaConsumer<String, String> consumer(String bootstrap, String isolation, String... pairs) {
        Properties p = properties(bootstrap, "isolation.level", isolation, "auto.offset.reset", "earliest",
            "enable.auto.commit", "false");
        p.putAll(properties(bootstrap, pairs));
        return new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    }

    /** Makes topics with replicas on brokers, in this order, and waits until there is a leader. */
    static void topic(Admin admin, String name, int partitions, Integer... replicas) throws Exception {
        Map<Integer, List<Integer>> assignment = new TreeMap<>();
        for (int i = 0; i < partitions; i++) {
            List<Integer> of = new ArrayList<>();
            for (int j = 0; j < replicas.length; j++) {
                of.add(replicas[(i + j) % replicas.length]);
            }
            assignment.put(i, of);
        }
        admin.createTopics(List.of(new NewTopic(name, assignment))).all().get();
        await("leaders of " + name, () -> {
            try {
                return admin.describeTopics(List.of(name)).allTopicNames().get().get(name).partitions().stream()
                    .allMatch(p -> p.leader() != null && !p.leader().isEmpty());
            } catch (ExecutionException e) {
                return false;
            }
        });
    }

    static ProducerRecord<String, String> record(String topic, int partition, String value) {
        return new ProducerRecord<>(topic, partition, null, value);
    }

    /** Sends values, each acknowledged before the next. */
    static void send(KafkaProducer<String, String> producer, String topic, int partition, String... values) throws Exception {
        for (String value : values) {
            producer.send(record(topic, partition, value)).get();
        }
    }

    /** Reads a partition from its beginning to its end as the consumer's isolation level has it. */
    static String read(KafkaConsumer<String, String> consumer, TopicPartition partition) {
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        long end = consumer.endOffsets(List.of(partition)).get(partition);
        List<String> got = new ArrayList<>();
        long late = System.nanoTime() + PATIENCE.toNanos();
        while (consumer.position(partition) < end && System.nanoTime() < late) {
            for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(100))) {
                got.add(r.offset() + "=" + r.value());
            }
        }
        return got + " position " + consumer.position(partition);
    }

    /** Things in the order of their texts. */
    static List<String> sorted(Collection<?> things) {
        List<String> all = new ArrayList<>();
        things.forEach(t -> all.add(String.valueOf(t)));
        all.sort(null);
        return all;
    }

    /** A map in the order of its keys' texts. */
    static String sorted(Map<?, ?> map) {
        TreeMap<String, Object> all = new TreeMap<>();
        map.forEach((k, v) -> all.put(String.valueOf(k), v));
        return all.toString();
    }

    static TreeSet<TopicPartition> partitions(Collection<TopicPartition> some) {
        TreeSet<TopicPartition> all = new TreeSet<>((a, b) -> a.toString().compareTo(b.toString()));
        all.addAll(some);
        return all;
    }
}
