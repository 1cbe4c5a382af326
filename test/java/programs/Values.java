import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;

import kafka.server.KafkaConfig;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Prints what Kafka's own classes say to values of configuration: of a topic, of a group, of
 * a broker that starts. First the values that are tried, each by itself, with every property;
 * then a block for each property: a text, and which values got it. {} in a text stands for the
 * value, and "ok" is the text of those that were taken. A block without a property is about
 * several together.
 */
final class Values {
    private static final String[] VALUES = {
        "-5", "-2", "-1", "0", "1", "2", "10", "100", "1048576", "2147483647", "2147483648", "9223372036854775807",
        "9223372036854775808", "1.5", "0.5", "true", "false", "TRUE", "", " ", "x", "x,x", "x,", ",", "*", "*,x", "0:1", "0:1,", "0:1:2", "0:1,2:3",
        "compact", "compact,delete", "compact,compact", "delete,x", "latest", "earliest", "by_duration:PT1H", "by_duration:x",
        "by_duration:-PT1H", "by_duration:P1D", "none", "read_committed", "READ_COMMITTED", "gzip", "uncompressed", "GZIP",
        "CreateTime", "createtime", " 5 ", "classic", "consumer,classic", "streams", "range", "Uniform", "simple", "disabled", "Upgrade", "127.0.0.1:5", "a:b", "INFO",
        "requested", "REQUIRED", "https", "/tmp/kafka-logs", "PLAIN",
    };

    private static final String[][] TOGETHER = {
        {"topic", "min.compaction.lag.ms=100", "max.compaction.lag.ms=50"},
        {"topic", "min.compaction.lag.ms=50", "max.compaction.lag.ms=50"},
        {"topic", "remote.storage.enable=false", "remote.log.delete.on.disable=true"},
        {"topic", "remote.log.copy.disable=true"},
        {"topic", "local.retention.ms=10", "retention.ms=5"},
        {"topic", "local.retention.bytes=10", "retention.bytes=5"},
        {"group", "consumer.session.timeout.ms=45000", "consumer.heartbeat.interval.ms=15000"},
        {"group", "consumer.session.timeout.ms=45000", "consumer.heartbeat.interval.ms=45000"},
        {"group", "share.session.timeout.ms=45000", "share.heartbeat.interval.ms=15000"},
        {"group", "streams.session.timeout.ms=60000", "streams.heartbeat.interval.ms=15000"},
        {"broker", "group.consumer.min.session.timeout.ms=1000", "group.consumer.session.timeout.ms=5000"},
        {"broker", "group.consumer.min.session.timeout.ms=1000", "group.consumer.session.timeout.ms=5001"},
        {"broker", "group.share.min.session.timeout.ms=1000", "group.share.session.timeout.ms=5000"},
        {"broker", "group.streams.min.session.timeout.ms=1000", "group.streams.session.timeout.ms=5000"},
        {"broker", "log.cleaner.min.compaction.lag.ms=100", "log.cleaner.max.compaction.lag.ms=50"},
        {"broker", "log.retention.ms=10", "log.local.retention.ms=20"},
        {"broker", "log.retention.ms=-1", "log.retention.minutes=0"},
        {"broker", "log.retention.minutes=5", "log.retention.hours=0"},
        {"broker", "log.roll.ms=5", "log.roll.hours=0"},
        {"broker", "socket.request.max.bytes=1000", "queued.max.request.bytes=999"},
        {"broker", "queued.max.request.bytes=-7"},
        {"broker", "max.connections.per.ip=0", "max.connections.per.ip.overrides=127.0.0.1:5"},
        {"broker", "max.connections.per.ip.overrides=127.0.0.1:5,localhost:7"},
        {"broker", "max.connections.per.ip.overrides=127.0.0.1:x"},
        {"broker", "max.connections.per.ip.overrides=nobody.invalid:5"},
        {"broker", "connections.max.idle.ms=100"},
        {"broker", "connections.max.idle.ms=101"},
        {"broker", "connection.failed.authentication.delay.ms=50", "connections.max.idle.ms=60"},
        {"broker", "log.cleaner.threads=2", "log.cleaner.dedupe.buffer.size=2097152"},
        {"broker", "log.cleaner.threads=2", "log.cleaner.dedupe.buffer.size=3145728"},
        {"broker", "log.cleaner.threads=1", "log.cleaner.dedupe.buffer.size=1048576"},
        {"broker", "log.cleaner.threads=1", "log.cleaner.dedupe.buffer.size=1048577"},
        {"broker", "log.dirs=/a,/b", "cordoned.log.dirs=/b"},
        {"broker", "log.dirs=/a,/b", "cordoned.log.dirs=/c"},
        {"broker", "log.dirs=/a,/b", "log.dir=/c", "cordoned.log.dirs=/c"},
        {"broker", "group.consumer.assignors=org.apache.kafka.coordinator.group.assignor.RangeAssignor"},
        {"broker", "group.consumer.assignors=range,range"},
        {"broker", "group.share.assignors=org.apache.kafka.coordinator.group.assignor.SimpleAssignor"},
        {"broker", "group.share.assignors=simple,simple"},
        {"broker", "replica.fetch.wait.max.ms=500", "replica.lag.time.max.ms=500"},
        {"broker", "replica.fetch.wait.max.ms=500", "replica.socket.timeout.ms=500"},
    };

    public static void main(String[] args) {
        PrintStream out = System.out;
        List<String> tried = new ArrayList<>();
        for (String value : VALUES) {
            tried.add(quote(value));
        }
        out.println("values\n\t" + String.join(" ", tried));
        KafkaConfig started = new KafkaConfig(least());
        print(out, "topic", new TreeSet<>(LogConfig.configNames()), set ->
            LogConfig.validate(Map.of(), set, started.extractLogConfigMap(), false));
        print(out, "group", new TreeSet<>(GroupConfig.configNames()), set ->
            GroupConfig.validate(set, started.groupCoordinatorConfig(), started.shareGroupConfig()));
        TreeSet<String> names = new TreeSet<>(KafkaConfig.configDef().names());
        names.removeIf(Values::ofNode);
        print(out, "broker", names, Values::start);
    }

    interface Check {
        void of(Map<String, String> set) throws Exception;
    }

    private static Properties least() {
        Properties p = new Properties();
        p.put("node.id", "1");
        p.put("process.roles", "broker");
        p.put("controller.quorum.bootstrap.servers", "localhost:1");
        p.put("controller.listener.names", "CONTROLLER");
        p.put("listeners", "PLAINTEXT://:1");
        return p;
    }

    private static void start(Map<String, String> set) {
        Properties p = least();
        p.putAll(set);
        new KafkaConfig(p);
    }

    /** What says which node it is and by which ways it is reached is not tried by itself. */
    private static boolean ofNode(String name) {
        return name.contains("listener") || name.equals("node.id") || name.equals("process.roles") || name.equals("broker.id")
            || name.startsWith("controller.quorum.bootstrap") || name.equals("controller.quorum.voters");
    }

    private static void print(PrintStream out, String resource, Iterable<String> names, Check check) {
        for (String name : names) {
            Map<String, List<String>> said = new LinkedHashMap<>();
            for (String value : VALUES) {
                said.computeIfAbsent(pattern(say(check, Map.of(name, value)), value), t -> new ArrayList<>()).add(quote(value));
            }
            out.println(resource + " " + name);
            int most = said.values().stream().mapToInt(List::size).max().getAsInt();
            boolean[] told = new boolean[1];
            said.forEach((text, values) -> {
                boolean others = values.size() == most && !told[0];
                told[0] |= others;
                out.println("\t" + text + "\t" + (others ? "the others" : String.join(" ", values)));
            });
        }
        for (String[] settings : TOGETHER) {
            if (settings[0].equals(resource)) {
                Map<String, String> set = new HashMap<>();
                for (int i = 1; i < settings.length; i++) {
                    String[] parts = settings[i].split("=", 2);
                    set.put(parts[0], parts[1]);
                }
                out.println(resource + "\n\t" + say(check, set) + "\t" + String.join(" ", List.of(settings).subList(1, settings.length)));
            }
        }
    }

    private static String say(Check check, Map<String, String> set) {
        try {
            check.of(new HashMap<>(set));
            return "ok";
        } catch (Throwable e) {
            return String.valueOf(e.getMessage()).replaceAll("\\s*\n\\s*", " ");
        }
    }

    /** A text with {} where it shows the value, if that is clear. */
    private static String pattern(String text, String value) {
        int end = text.indexOf(" for configuration ");
        if (value.isBlank()) {
            return text;
        }
        if (text.startsWith("Invalid value ") && end > 0) {
            String head = "Invalid value " + text.substring("Invalid value ".length(), end).replace(value, "{}"), tail = text.substring(end);
            return head + tail.replace("`" + value + "`", "`{}`").replace("Class " + value + " could", "Class {} could");
        }
        if (text.endsWith(": " + value)) {
            return text.substring(0, text.length() - value.length()) + "{}";
        }
        if (text.startsWith("Class " + value + " ")) {
            return text.replace(value, "{}");
        }
        return text;
    }

    private static String quote(String value) {
        return '"' + value + '"';
    }
}
