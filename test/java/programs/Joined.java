import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Members of groups that go on reading between two calls: Joined GROUP classic|consumer|share TOPIC CLIENT joins and
 * returns when the member has been given partitions, Joined GROUP leave ends the group's members.
 */
final class Joined {
    private record Member(Thread thread, Runnable wakeup) { }

    private static final Map<String, List<Member>> MEMBERS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        String group = args[1];
        if (args[2].equals("leave")) {
            for (Member m : MEMBERS.remove(group)) {
                m.wakeup.run();
                m.thread.join();
            }
            return;
        }
        Member m = args[2].equals("share") ? share(args[0], group, args[3], args[4]) : member(args[0], group, args[2], args[3], args[4]);
        MEMBERS.computeIfAbsent(group, g -> new java.util.ArrayList<>()).add(m);
    }

    private static Member member(String bootstrap, String group, String protocol, String topic, String client) throws Exception {
        KafkaConsumer<String, String> consumer = Kafka.consumer(bootstrap, "read_committed",
            "group.id", group, "group.protocol", protocol, "client.id", client, "enable.auto.commit", "true", "auto.commit.interval.ms", "200");
        consumer.subscribe(List.of(topic));
        Kafka.await("an assignment", () -> {
            consumer.poll(Duration.ofMillis(50));
            return !consumer.assignment().isEmpty();
        });
        return start(() -> consumer.poll(Duration.ofMillis(200)), consumer::wakeup, consumer::close);
    }

    private static Member share(String bootstrap, String group, String topic, String client) throws Exception {
        KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(
            Kafka.properties(bootstrap, "group.id", group, "client.id", client), new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(topic));
        int[] got = {0};
        Kafka.await("records", () -> {
            got[0] += consumer.poll(Duration.ofMillis(200)).count();
            return got[0] > 0;
        });
        return start(() -> consumer.poll(Duration.ofMillis(200)), consumer::wakeup, consumer::close);
    }

    private static Member start(Runnable poll, Runnable wakeup, Runnable close) {
        Thread thread = new Thread(() -> {
            try {
                while (true) {
                    poll.run();
                }
            } catch (WakeupException e) {
                // the call to leave
            } finally {
                close.run();
            }
        });
        thread.setDaemon(true);
        thread.start();
        return new Member(thread, wakeup);
    }
}
