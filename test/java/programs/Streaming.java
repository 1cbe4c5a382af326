import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/**
 * Kafka Streams with exactly_once_v2, whose instances count records by key: one is killed, one is restarted, one of two
 * is killed. Readers of committed records see each count once, in order.
 */
final class Streaming {
    private static final int ROUND = 160;
    private static final int KEYS = 4;

    private static String bootstrap;
    private static String protocol;
    private static String application;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        protocol = args[1];
        application = "streaming-" + protocol;
        List<Instance> all = new ArrayList<>();
        try (Admin admin = Kafka.admin(bootstrap);
             KafkaProducer<String, String> producer = Kafka.producer(bootstrap);
             KafkaConsumer<String, String> output = Kafka.consumer(bootstrap, "read_committed")) {
            Kafka.topic(admin, in(), 2, 1, 2);
            Kafka.topic(admin, out(), 2, 2, 3);
            TopicPartition[] partitions = {new TopicPartition(out(), 0), new TopicPartition(out(), 1)};
            output.assign(List.of(partitions));
            Map<String, List<Integer>> counts = new TreeMap<>();

            Instance first = new Instance(all);
            feed(producer, ROUND / 2);
            collect(output, counts, ROUND / 4);
            feed(producer, ROUND / 2);
            first.kill(); // in the midst of its work
            System.out.println("the first was killed");

            Instance second = new Instance(all);
            feed(producer, ROUND / 2);
            collect(output, counts, ROUND + ROUND / 4);
            feed(producer, ROUND / 2);
            second.stop();
            System.out.println("the second was stopped");

            Instance third = new Instance(all);
            Instance fourth = new Instance(all);
            feed(producer, ROUND / 2);
            collect(output, counts, 2 * ROUND + ROUND / 4);
            feed(producer, ROUND / 2);
            third.kill();
            System.out.println("the third was killed");
            feed(producer, ROUND);
            collect(output, counts, 4 * ROUND);
            fourth.stop();
            System.out.println("the fourth was stopped");

            collect(output, counts, 4 * ROUND); // nothing comes late
            counts.forEach((key, of) -> System.out.println(key + " " + told(of)));
            Map<TopicPartition, OffsetAndMetadata> committed = admin.listConsumerGroupOffsets(application).partitionsToOffsetAndMetadata().get();
            Map<TopicPartition, Long> ends = output.endOffsets(committed.keySet());
            committed.forEach((p, at) -> ends.merge(p, at.offset(), (end, offset) -> end - offset));
            System.out.println("lag " + Kafka.sorted(ends));
            System.out.println("topics " + Kafka.sorted(admin.listTopics().names().get().stream().filter(t -> t.startsWith(application)).toList()));
        } finally {
            all.forEach(Instance::kill);
        }
    }

    private static String in() {
        return application + "-in";
    }

    private static String out() {
        return application + "-out";
    }

    private static void feed(KafkaProducer<String, String> producer, int records) throws Exception {
        for (int i = 0; i < records; i++) {
            int key = i % KEYS;
            producer.send(new ProducerRecord<>(in(), key % 2, "key" + key, "one")).get();
        }
    }

    /** Reads until so many records have come, and a moment longer. */
    private static void collect(KafkaConsumer<String, String> output, Map<String, List<Integer>> counts, int wanted) throws Exception {
        Kafka.await(wanted + " counts", () -> {
            for (ConsumerRecord<String, String> r : output.poll(Duration.ofMillis(200))) {
                counts.computeIfAbsent(r.key(), k -> new ArrayList<>()).add(Integer.parseInt(r.value()));
            }
            return counts.values().stream().mapToInt(List::size).sum() >= wanted;
        });
    }

    /** What was counted, as runs: 1-100 if all is well. */
    private static String told(List<Integer> counts) {
        List<String> runs = new ArrayList<>();
        int from = 0;
        for (int i = 1; i <= counts.size(); i++) {
            if (i == counts.size() || counts.get(i) != counts.get(i - 1) + 1) {
                runs.add(counts.get(from) + "-" + counts.get(i - 1));
                from = i;
            }
        }
        return String.join(" ", runs);
    }

    /** An instance of the application, in a process of its own. */
    private static final class Instance {
        final Process process;

        Instance(List<Instance> all) throws Exception {
            String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
            process = new ProcessBuilder(java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF", "-cp",
                System.getProperty("java.class.path"), Worker.class.getName(), bootstrap, protocol, application)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start();
            all.add(this);
        }

        void kill() {
            process.destroyForcibly();
            process.onExit().join();
        }

        void stop() throws Exception {
            process.getOutputStream().close();
            process.waitFor();
            if (process.exitValue() != 0) {
                throw new IllegalStateException("an instance ended with " + process.exitValue());
            }
        }
    }

    /** Counts until its input ends. */
    static final class Worker {
        public static void main(String[] args) throws Exception {
            File state = java.nio.file.Files.createTempDirectory("streaming").toFile();
            state.deleteOnExit();
            StreamsBuilder builder = new StreamsBuilder();
            builder.<String, String>stream(args[2] + "-in").groupByKey()
                .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long())
                    .withCachingDisabled())
                .toStream().mapValues(String::valueOf).to(args[2] + "-out");
            Properties p = Kafka.properties(args[0], "application.id", args[2], "processing.guarantee", StreamsConfig.EXACTLY_ONCE_V2,
                "state.dir", state.getPath(), "commit.interval.ms", "100", "group.protocol", args[1], "replication.factor", "2",
                "default.key.serde", Serdes.StringSerde.class.getName(), "default.value.serde", Serdes.StringSerde.class.getName(),
                "producer.transaction.timeout.ms", "5000", "consumer.auto.offset.reset", "earliest");
            if (args[1].equals("classic")) { // the streams protocol leaves these to the brokers
                p.putAll(Kafka.properties(args[0], "consumer.session.timeout.ms", "6000", "consumer.heartbeat.interval.ms", "500"));
            }
            KafkaStreams streams = new KafkaStreams(builder.build(), p);
            streams.setUncaughtExceptionHandler(e -> {
                e.printStackTrace();
                return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.REPLACE_THREAD;
            });
            streams.start();
            while (System.in.read() >= 0) { }
            streams.close(Duration.ofSeconds(30));
            System.exit(0);
        }
    }
}
